"""What the pages load and others made: Pyodide with its wheels, MathJax, and the bundles that esbuild makes of ours.

npm brings Pyodide's core, whose lock file says the SHA-256 of every wheel. The wheels come from a folder
(../shared/pyodide beside the checkout, or the one that PYODIDE_WHEELS names), else from Pyodide's CDN, and each must
have its hash. Where neither is there, the pages load Pyodide from the CDN. Begin at `bundles`, `pyodide`, `mathjax`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "site" / "run"
MODULES = RUN / "node_modules"
KEPT = ROOT / "build" / "site-cache" / "pyodide"  # wheels that were fetched once

OWN = "own"
BESIDE = "../pyodide/"  # where own Pyodide lies, seen from _static/run/
VERSION = "0.27.7"
CDN = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
CORE = ("pyodide.js", "pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
# What a lesson's page loads, and what JupyterLite's kernel does not start without.
WANTED = ("numpy", "matplotlib", "ssl", "sqlite3", "micropip", "ipython", "jedi")
SECONDS = 20.0


class VendorError(RuntimeError):
    """One sentence: what is missing or wrong, and what to do."""


def bundles(target: Path) -> Path:
    """Bundle the scripts into `target`; the folder. Installs what npm brings, where it is not installed."""
    install()
    target.mkdir(parents=True, exist_ok=True)
    _run(["node", "build.mjs", str(target.resolve())])
    return target


def pyodide(target: Path, choice: str = "") -> str:
    """Put Pyodide into `target`; its address for _static/run/config.js.

    `choice` (else the variable PYODIDE) is "own" or the address of a copy of this version elsewhere. Raises VendorError
    when a wheel is not in the folder of wheels, or not what the lock says.
    """
    choice = choice or os.environ.get("PYODIDE") or OWN
    if choice != OWN:
        return choice if choice.endswith("/") else f"{choice}/"
    install()
    lock = json.loads((MODULES / "pyodide" / LOCK).read_text(encoding="utf-8"))
    chosen = {name: lock["packages"][name] for name in needed(lock["packages"], WANTED)}
    try:
        wheels = [_wheel(package["file_name"], package["sha256"]) for package in chosen.values()]
    except urllib.error.URLError:
        return CDN
    target.mkdir(parents=True, exist_ok=True)
    for path in (*(MODULES / "pyodide" / name for name in CORE), *wheels):
        _copy(path, target / path.name)
    (target / LOCK).write_text(json.dumps({**lock, "packages": chosen}), encoding="utf-8")
    return BESIDE


def mathjax(target: Path) -> None:
    """Put what pages with formulas load into `target`: one script and its fonts, without the other 22 MB."""
    install()
    source = MODULES / "mathjax" / "es5"
    target.mkdir(parents=True, exist_ok=True)
    _copy(source / "tex-chtml.js", target / "tex-chtml.js")
    fonts = Path("output") / "chtml" / "fonts"
    shutil.copytree(source / fonts, target / fonts, dirs_exist_ok=True)


def install() -> None:
    """Install what package-lock.json names, unless that was done."""
    stamp, wanted = MODULES / ".installed", hashlib.sha256((RUN / "package-lock.json").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    _run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"])
    stamp.write_text(wanted, encoding="utf-8")


def needed(packages: dict[str, Any], wanted: Iterable[str]) -> list[str]:
    """These packages of the lock and all that they need, by its names for them, sorted."""
    names = {_plain(name): name for name in packages}
    found: set[str] = set()
    waiting = list(wanted)
    while waiting:
        name = names[_plain(waiting.pop())]
        if name not in found:
            found.add(name)
            waiting += packages[name]["depends"]
    return sorted(found)


def _plain(name: str) -> str:
    """The lock writes a package's name in several ways."""
    return name.lower().replace("_", "-")


def _wheel(name: str, sha256: str) -> Path:
    """The verified file: from the folder of wheels if there is one, else fetched and kept. Raises URLError offline."""
    folder = Path(os.environ.get("PYODIDE_WHEELS") or ROOT.parent / "shared" / "pyodide")
    path = folder / name if folder.is_dir() else _fetched(name)
    if not path.is_file():
        raise VendorError(f"{path} is missing; fetch it from {CDN}{name}, or name no folder by PYODIDE_WHEELS")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise VendorError(f"{path} has SHA-256 {found[:12]}..., Pyodide's lock says {sha256[:12]}...; delete the file")
    return path


def _fetched(name: str) -> Path:
    path = KEPT / name
    if not path.is_file():
        with urllib.request.urlopen(CDN + name, timeout=SECONDS) as answer:
            data = answer.read()
        KEPT.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return path


def _copy(source: Path, target: Path) -> None:
    """Copy a file unless it is there, as large and not older."""
    if target.is_file():
        here, there = source.stat(), target.stat()
        if here.st_size == there.st_size and there.st_mtime >= here.st_mtime:
            return
    shutil.copyfile(source, target)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, cwd=RUN, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise VendorError(f"the site needs {command[0]}, which is not installed; install Node.js 20 or newer") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise VendorError(f"{' '.join(command[:2])} failed in site/run: {said[-1]}; run it there to see more")
