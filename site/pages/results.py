"""What was run for the site is kept, under a key of all that it depends on, and run again when one of them changes."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


class Results:
    """JSON values in a folder, by name and key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: set[Path] = set()

    def of(self, name: str, depends_on: Iterable[Path | str], make: Callable[[], Any]) -> Any:
        """The kept result, else what `make()` returns.

        A path stands for the content of the file or of all files below the folder, a string for itself.
        """
        path = self.folder / f"{name}-{key(depends_on)}.json"
        self.used.add(path)
        if not path.is_file():
            made = json.dumps(make(), ensure_ascii=False)
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")  # a build that is killed leaves no half result behind
            part.write_text(made, encoding="utf-8")
            part.replace(path)
        return json.loads(path.read_text(encoding="utf-8"))


def key(depends_on: Iterable[Path | str]) -> str:
    """A short digest of files, folders and strings, and of the Python that runs them."""
    digest = hashlib.sha256(sys.version.encode())
    for one in depends_on:
        for part in [one] if isinstance(one, str) else _files(one):
            data = part.encode() if isinstance(part, str) else part.read_bytes()
            name = "" if isinstance(part, str) else part.name
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
