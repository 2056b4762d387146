"""Builds the whole site in order: `python site/build.py` into build/site, with `--class` into build/site-class.

What takes long is kept in build/site-cache and made again only when what it depends on changes. Begin at `main`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from base64 import b64decode, b64encode
from functools import partial
from pathlib import Path

import vendor
from pages import defined_in, framework, lesson, lite, milestones, reference, text
from pages.results import Results, key
from pages.site import Site
from pages.tree import Tree

from tito.course import Course, Lesson
from tito.dev import export
from tito.errors import UserError
from tito.inpage import needs

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent
BUILD = ROOT / "build"
PAGES = (text, lesson, milestones, reference, framework)


def main() -> int:
    """Build one edition; 0 when Sphinx had nothing to complain about."""
    chosen = _parser().parse_args()
    began = time.perf_counter()
    site = _site(chosen.class_edition)
    target = BUILD / ("site-class" if chosen.class_edition else "site")
    for page in PAGES:
        page.write(site)
    _write_needs(site)
    site.tree.finish()
    code = _sphinx(site, target)
    if code == 0:
        _static(site, target)
        lite.build(site, target)
        print(f"Wrote {target.relative_to(ROOT)} in {time.perf_counter() - began:.0f} s.  Read it:  make serve")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--class", dest="class_edition", action="store_true", help="without any solution")
    return parser


def _site(class_edition: bool) -> Site:
    """The edition, its reference built."""
    solved = Course.load(ROOT)
    wheel = _wheel(solved, class_edition)
    name = "site-class" if class_edition else "site"
    shown = Course.load(_unpacked(wheel) / "tito" / "_course") if class_edition else solved
    tree = Tree(BUILD / f"{name}-source")
    tree.copy(f"extra/_static/run/{wheel.name}", wheel)
    return Site(shown, solved, export.reference(solved), tree, Results(BUILD / "site-cache"), class_edition)


def _wheel(course: Course, class_edition: bool) -> Path:
    """The wheel of this edition, which students install and the browser unpacks."""
    sources = [ROOT / name for name in ("tito", "modules", "milestones", "course.toml", "pyproject.toml")]
    folder = BUILD / "site-cache" / f"wheel-{'class' if class_edition else 'whole'}-{key(sources)}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=_made(BUILD / "site-cache")) as place:
            made = _class_wheel(course, Path(place)) if class_edition else _whole_wheel(Path(place))
            made.parent.rename(folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _whole_wheel(place: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "out")]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1580601600"}  # the same bytes whenever it is built
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return next((place / "out").glob("*.whl"))


def _class_wheel(course: Course, place: Path) -> Path:
    from tito.teach.assignments import wheel
    from tito.teach.folder import Folder

    return wheel.build(course, Folder(place))


def _unpacked(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    if not folder.is_dir():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def _sphinx(site: Site, target: Path) -> int:
    """Build the pages; a warning is an error."""
    cache = target.with_name(target.name + "-doctrees")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", str(SITE)]
    command += ["-d", str(cache), str(site.tree.folder), str(target)]
    edition = {"TINYTORCH_EDITION": "class" if site.class_edition else "self-study"}
    folders = {"TINYTORCH_REFERENCE": str(defined_in.importable(site)), "TINYTORCH_SOURCE": str(site.tree.folder)}
    environment = {**os.environ, **edition, **folders}
    return subprocess.run(command, env=environment, check=False).returncode


def _write_needs(site: Site) -> None:
    """What each lesson builds on, solved, for readers who have no answers of their own; not in the class edition."""
    for one in () if site.class_edition else (*site.course.everything, None):
        sources = [ROOT / "tito", ROOT / "modules", ROOT / "course.toml"]
        kept = site.results.of(f"needs-{needs.name(one)}", sources, partial(_needs, site, one))
        site.tree.write(f"extra/_static/run/needs/{needs.name(one)}", b64decode(kept))


def _needs(site: Site, lesson: Lesson | None) -> str:
    return b64encode(needs.archive(site.solved, lesson)).decode()


def _static(site: Site, target: Path) -> None:
    """What pages load beside themselves: bundles, Pyodide, MathJax, and the addresses of all that."""
    static = target / "_static"
    shutil.copytree(vendor.bundles(BUILD / "site-js"), static / "run", dirs_exist_ok=True)
    vendor.mathjax(static / "mathjax")
    (wheel,) = (static / "run").glob("*.whl")
    told = {"pyodide": vendor.pyodide(static / "pyodide"), "wheel": wheel.name, "needs": not site.class_edition}
    (static / "run" / "config.js").write_text(f"window.TINYTORCH_RUN = {json.dumps(told)};\n", encoding="utf-8")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (UserError, RuntimeError) as error:  # one sentence says what is missing or does not run
        sys.exit(f"make site: {error}")
