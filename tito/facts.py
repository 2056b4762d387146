"""What a bug report should say about the place where tito runs, without the user's name and home folder."""

from __future__ import annotations

import locale
import os
import platform
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path, PurePath

from tito import __version__
from tito.commands.status import lessons_in_short
from tito.course import Course
from tito.errors import UserError
from tito.workspace import Workspace, read_json

FENCE = "```"
PARTS = ("numpy", "jupytext", "filelock", "matplotlib", "jupyterlab", "notebook", "ipykernel", "nbgrader", "pytest")
VARIABLES = (
    "TERM",
    "TERM_PROGRAM",
    "NO_COLOR",
    "PYTHONUTF8",
    "PYTHONIOENCODING",
    "TITO_SECONDS",
    "TITO_SITE",
    "TINYTORCH_PACKAGE",
)
NAMES = ("USER", "USERNAME", "LOGNAME")


def block(course: Course, findings: Iterable[str]) -> list[str]:
    """Lines to paste into a bug report."""
    lines = [*_versions(course), *_terminal(), *_workspace(course), *findings]
    return [FENCE, *(anonymous(line, Path.home(), map(os.environ.get, NAMES)) for line in lines), FENCE]


def anonymous(text: str, home: PurePath, users: Iterable[str | None] = ()) -> str:
    """The text with `~` for the home folder however it is written, and USER for the user's name."""
    forms = {form for path in (home, _resolved(home)) for form in (str(path), path.as_posix(), repr(str(path))[1:-1])}
    for form in sorted(forms, key=len, reverse=True):
        if len(form) > 1:  # a home folder / says nothing
            text = re.sub(rf"{re.escape(form)}(?![\w-])", "~", text, flags=re.IGNORECASE)
    for name in {name for name in (home.name, *users) if name and len(name) > 1}:
        text = re.sub(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", "USER", text, flags=re.IGNORECASE)
    return text


def _resolved(home: PurePath) -> PurePath:
    return home.resolve() if isinstance(home, Path) else home


def _versions(course: Course) -> list[str]:
    kind = "installed" if course.root.name == "_course" else "a checkout"
    bits = 64 if sys.maxsize > 2**32 else 32
    return [
        f"tito {__version__} with the course {course.title} ({kind})",
        f"{platform.python_implementation()} {platform.python_version()}, {bits} bit, {platform.platform()}",
        ", ".join(f"{name} {version}" for name in PARTS if (version := _version(name))),
    ]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _terminal() -> list[str]:
    encodings = f"stdout {sys.stdout.encoding}, files {locale.getpreferredencoding(False)}"
    where = "a terminal" if sys.stdout.isatty() else "no terminal"
    known = [f"{name}={os.environ[name]}" for name in VARIABLES if name in os.environ]
    return [f"{where}: {encodings}, names {sys.getfilesystemencoding()}", f"set: {', '.join(known) or 'nothing'}"]


def _workspace(course: Course) -> list[str]:
    try:
        workspace = Workspace.find()
    except UserError:
        return ["in no workspace"]
    build = str(read_json(workspace.private / "package.json").get("build", "none"))[:12]
    form = "percent files" if workspace.percent else "notebooks"
    return [f"workspace {workspace.root} with {form}, build {build}", lessons_in_short(course, workspace)]
