"""JupyterLite below /lite/: every lesson as a notebook that runs in the reader's browser, stubs and no answers.

Begin at `build`. It shares the site's Pyodide in _static/pyodide and the course's wheel in _static/run: both are looked
up from where they are needed, so the order in which the site's parts are copied does not matter.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from pages.results import key
from pages.site import ROOT, Site
from tito import release
from tito.course import Lesson

SETTINGS = ROOT / "site" / "lite"
APPS = ("lab", "notebooks", "tree", "edit")
KERNEL = "@jupyterlite/pyodide-kernel-extension"
PACKAGES = ("jupyterlite-core", "jupyterlite-pyodide-kernel", "comm")  # what the built folder is made of
# From the kernel's worker in lite/extensions/@jupyterlite/pyodide-kernel-extension/static to the site.
FROM_WORKER = "../" * 5
BESIDE = "../pyodide/"  # the site's own copy, as vendor.py names it
STAMP = "made-from.txt"
ICONS = ("favicon-notebook.ico", "favicon-busy-1.ico", "favicon-file.ico")
HTML_HEAD = '<html lang="en">\n  <head>\n    <link rel="icon" type="image/x-icon" href="./favicon.ico" />'
DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is made

HEAD = """**This copy runs in your browser**, in JupyterLite. What you change is kept in this browser only: save a copy
with *File, Download*. Run the next cell first: it makes the package that this lesson builds on{whose}."""
OURS = ", of your own answers in the notebooks beside this one, and of ours where you have not written them"
YOURS = ", of your own answers in the notebooks beside this one. Write those first: this edition holds no answers"


def build(site: Site, target: Path, pyodide: str = BESIDE) -> None:
    """Write `target/lite`, unless it holds just this. `target` is the folder that is served.

    `pyodide` is what vendor.pyodide gives: the site's own copy, or the address of one elsewhere. Raises
    RuntimeError with the end of what JupyterLite said when it fails.
    """
    folder, made_from = target.resolve() / "lite", key([pyodide, *_depends_on(site)])
    if (folder / STAMP).is_file() and (folder / STAMP).read_text(encoding="utf-8") == made_from:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        _run(_source(site, Path(place), folder, pyodide))
    _add_icons(folder)
    (folder / STAMP).write_text(made_from, encoding="utf-8")


def notebook(site: Site, lesson: Lesson) -> dict[str, Any]:
    """The student's notebook, with a word and a cell on top that it needs here; elsewhere that cell does nothing."""
    made = release.notebook(lesson)
    start = f'from tito.inpage import lite\n\nlite.start("{lesson.id}")'
    title, *cells = made["cells"]
    made["cells"] = [title, _cell("markdown", _head(site, lesson)), _cell("code", start), *cells]
    made["metadata"]["kernelspec"] = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    return made


def _head(site: Site, lesson: Lesson) -> str:
    whose = YOURS if site.class_edition else OURS
    return HEAD.format(whose=whose if lesson.needs else "")


def _cell(kind: str, source: str) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"lite-{kind}", "metadata": {}, "source": source, **code}


def _depends_on(site: Site) -> Iterator[Path | str]:
    """All that the folder is made of."""
    yield from (SETTINGS, Path(__file__))
    yield from (f"{name} {metadata.version(name)}" for name in PACKAGES)
    yield _wheel(site)
    for lesson in site.course.everything:
        yield json.dumps(notebook(site, lesson), sort_keys=True)
        yield from lesson.figures


def _wheel(site: Site) -> str:
    """The name of this edition's wheel, which build.py has put beside the pages."""
    (wheel,) = (site.tree.folder / "extra" / "_static" / "run").glob("*.whl")
    return wheel.name


def _source(site: Site, place: Path, output: Path, pyodide: str) -> Path:
    """Lay out the folder that JupyterLite builds from."""
    shutil.copy(SETTINGS / "overrides.json", place)
    _write(place / "jupyter-lite.json", _settings(site, pyodide))
    _write(place / "jupyter_lite_config.json", {"LiteBuildConfig": _config(output)})
    _pack("comm", place / "pypi")
    for lesson in site.course.everything:
        _write(place / "files" / f"{lesson.stem}.ipynb", notebook(site, lesson))
        for figure in lesson.figures:
            (place / "files" / "figures").mkdir(exist_ok=True)
            shutil.copy(figure, place / "files" / "figures")
    return place


def _settings(site: Site, pyodide: str) -> dict[str, Any]:
    """Where a kernel finds Pyodide and, on top of it, the course."""
    settings: dict[str, Any] = json.loads((SETTINGS / "jupyter-lite.json").read_text(encoding="utf-8"))
    kernel = settings["jupyter-config-data"]["litePluginSettings"][f"{KERNEL}:kernel"]
    if pyodide != BESIDE:
        kernel["pyodideUrl"] = f"{pyodide}pyodide.js"
    kernel["loadPyodideOptions"]["packages"].append(f"{FROM_WORKER}_static/run/{_wheel(site)}")
    return settings


def _config(output: Path) -> dict[str, Any]:
    """How to build: with the one extension that is needed. Others of this environment (notebook 7's) break the page."""
    extension = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / KERNEL
    chosen = {"apps": APPS, "contents": ["files"], "output_dir": str(output)}
    smaller = {"no_sourcemaps": True, "no_unused_shared_packages": True}
    return {**chosen, **smaller, "ignore_sys_prefix": True, "federated_extensions": [str(extension)]}


def _pack(name: str, folder: Path) -> None:
    """An installed package of pure Python as a wheel again: the kernel imports it, and Pyodide has it not."""
    files = [file for file in metadata.files(name) or () if file.suffix != ".pyc" and ".." not in file.parts]
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{name}-{metadata.version(name)}-py3-none-any.whl", "w") as wheel:
        for file in sorted(files):
            if file.name not in ("INSTALLER", "REQUESTED", "direct_url.json"):
                wheel.writestr(zipfile.ZipInfo(file.as_posix(), DATE), file.read_binary(), zipfile.ZIP_DEFLATED)


def _run(place: Path) -> None:
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise RuntimeError(f"JupyterLite did not build:\n{last}")


def _add_icons(folder: Path) -> None:
    """Icons that its pages ask for and do not bring; and a browser asks the host for one where a page names none."""
    for page in folder.glob("*/index.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<html>\n  <head>", HTML_HEAD, 1), encoding="utf-8")
    icons = folder / "static" / "favicons"
    icons.mkdir(parents=True)
    for name in ICONS:
        shutil.copy(folder / "lab" / "favicon.ico", icons / name)


def _write(path: Path, table: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
