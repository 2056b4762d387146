"""What a milestone's program takes from the package: names, the files that define them, a line that uses each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pages.site import Site
from tito.course import Lesson, Milestone


class Use(NamedTuple):
    """A name that a milestone imports from the package, the file that holds it, and a line that uses it."""

    name: str
    file: str
    line: str


def uses(site: Site, milestone: Milestone) -> list[Use]:
    """The names that the program and the files beside it import from the package, in the order of its files."""
    folder = site.solved.root / "milestones"
    files = [folder / milestone.file]
    for path in files:  # grows while it is read: the program's own modules, and theirs
        near = (folder / f"{node.module}.py" for node in _imports(path) if "." not in (node.module or "."))
        files += [one for one in near if one.is_file() and one not in files]
    found: dict[str, Use] = {}
    for path in files:
        for use in _uses(site, path):
            found.setdefault(use.name, use)
    order = [name for lesson in site.course.everything for name in files_of(lesson)]
    return sorted(found.values(), key=lambda use: (order.index(use.file), use.name))


def _uses(site: Site, path: Path) -> Iterator[Use]:
    for node in _imports(path):
        package, _, module = (node.module or "").partition(".")
        if package == "tinytorch":
            names = (alias.name for alias in node.names)
            yield from (Use(name, _file_of(site, name, module), _line_with(path, name)) for name in names)


def _imports(path: Path) -> list[ast.ImportFrom]:
    """The imports on top of a program; those that only serve types are none of its own."""
    return [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ImportFrom)]


def _file_of(site: Site, name: str, module: str) -> str:
    """The file of the reference package that defines the name: the module's own, else the one it got it from."""
    files = sorted((site.reference / "tinytorch").glob("*.py"), key=lambda path: path.stem != module)
    return next(path.name for path in files if name in defined(path.read_text(encoding="utf-8")))


def defined(source: str) -> set[str]:
    body = ast.parse(source).body
    return {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def _line_with(path: Path, name: str) -> str:
    """The first line that calls the name."""
    source = path.read_text(encoding="utf-8")
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    used = [node.lineno for node in calls if isinstance(node.func, ast.Name) and node.func.id == name]
    return source.splitlines()[min(used) - 1].strip() if used else ""


def files_of(lesson: Lesson) -> list[str]:
    """The files of the package that come from the lesson."""
    return [f"{lesson.name}.py", *(path.name for path in lesson.supplied)]


def cell_of(lesson: Lesson, name: str) -> str:
    """The id of the lesson's cell that defines the name, "" for a supplied file's."""
    cells = (cell for cell in lesson.cells() if cell.kind == "code" and cell.name and not cell.hidden)
    return next((cell.id for cell in cells if name in defined(cell.source)), "")
