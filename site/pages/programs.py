"""Runs programs on the reference package, and keeps what they print and draw. Begin at `run`."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from collections.abc import Iterable
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from pages import pictured
from pages.site import Site

PICTURES = "_static/pictures"  # where they lie on the site
COLOURS = 128  # of a picture on a page: half the bytes, and no difference to be seen
TELLS = [Path(pictured.__file__), Path(__file__)]  # a kept result depends on what ran it, too


def run(site: Site, program: Path, folder: Path, *words: str, allowed: Iterable[int] = (0,)) -> str:
    """What a program on the reference package prints, run in the folder; its pictures are told about (pictured.py)."""
    command = [sys.executable, "-P", pictured.__file__, str(program), *words]
    environment = {**os.environ, "PYTHONPATH": str(site.reference), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in allowed:
        raise RuntimeError(f"{program.name} ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def pictures(folder: Path) -> dict[str, dict[str, Any]]:
    """By name, each picture in the folder: its PNG in base64, its size, and the titles in it."""
    return {path.stem: _picture(path) for path in sorted(folder.glob("*.png"))}


def _picture(path: Path) -> dict[str, Any]:
    from PIL import Image

    with Image.open(path) as drawn:
        small = BytesIO()
        drawn.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
        size = drawn.size
    titles = path.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    return {"png": base64.b64encode(small.getvalue()).decode(), "size": size, "titles": titles}


def img(site: Site, name: str, made: dict[str, Any], up: str = "", *, lazy: bool = True) -> str:
    """Write a picture that `run` made into the tree; its `img`."""
    site.tree.write(f"extra/{PICTURES}/{name}.png", base64.b64decode(made["png"]))
    width, height = made["size"]
    later = ' loading="lazy"' if lazy else ""
    alt = escape(". ".join(made["titles"]))
    return f'<img src="{up}{PICTURES}/{name}.png" width="{width}" height="{height}"{later} alt="{alt}">'
