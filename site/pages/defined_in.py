"""Where each public name of the package stands: in which file, and which cell of which lesson it came from.

Everything is read from the package's source and from the map that an export leaves beside it; nothing is imported. Of
the class edition the package is made of stubs, so no page made from it can show a solution. Begin at `Package`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from pages import facts
from pages.site import Site
from tito import package
from tito.course import Course, Lesson
from tito.dev import export
from tito.percent import Cell
from tito.whence import SOURCEMAP

Definition = ast.ClassDef | ast.FunctionDef


@dataclass(frozen=True)
class Member:
    """A method or property with a docstring, and the file in which it stands: a base's where it is inherited."""

    name: str
    file: str
    node: ast.FunctionDef


@dataclass(frozen=True)
class Name:
    """A public name: the lesson that offers it, the file (`tensor`) in which it stands, and what stands there."""

    name: str
    lesson: Lesson
    file: str
    node: Definition

    @property
    def supplied(self) -> bool:
        """Whether it came with a finished file."""
        return self.file != self.lesson.name

    @property
    def contract(self) -> str:
        """The first paragraph of its docstring, in one line."""
        return " ".join((ast.get_docstring(self.node) or "").partition("\n\n")[0].split())


class Package:
    """The exported package in `folder/tinytorch`, with `folder/sourcemap.json` beside it."""

    def __init__(self, folder: Path, course: Course) -> None:
        self.folder, self.course = folder, course
        self._trees: dict[str, ast.Module] = {}

    def tree(self, file: str) -> ast.Module:
        """The syntax tree of a file, parsed once."""
        if file not in self._trees:
            path = self.folder / package.PACKAGE / f"{file}.py"
            self._trees[file] = ast.parse(path.read_text(encoding="utf-8"))
        return self._trees[file]

    def names(self, lesson: Lesson) -> list[Name]:
        """What the lesson adds to the package, in the order of the package's `__all__`."""
        files = {lesson.name, *(path.stem for path in lesson.supplied)}
        return [self._name(name, lesson) for name, file in self._offered if file in files]

    @cached_property
    def _offered(self) -> list[tuple[str, str]]:
        """Every public name, and the file that the package has it from."""
        imports = [node for node in self.tree("__init__").body if isinstance(node, ast.ImportFrom)]
        sources = {alias.name: (node.module or "").partition(".")[2] for node in imports for alias in node.names}
        return [(name, sources[name]) for name in facts.public(self.folder)]

    def _name(self, name: str, lesson: Lesson) -> Name:
        found = self._find(name, "__init__")
        if found is None:
            raise RuntimeError(f"tinytorch offers {name}, and no class or function of it has that name")
        return Name(name, lesson, *found)

    def _find(self, name: str, file: str) -> tuple[str, Definition] | None:
        """The file and the definition that a name of a file means; None for what is no part of the package."""
        for node in self.tree(file).body:
            if isinstance(node, Definition) and node.name == name:
                return file, node
            if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
                module = node.module or ""
                ours = module.startswith(f"{package.PACKAGE}.")
                return self._find(name, module.partition(".")[2]) if ours else None
        return None

    @cached_property
    def public(self) -> set[str]:
        """All public names."""
        return {name for name, _ in self._offered}

    def members(self, name: Name) -> list[Member]:
        """What of a class has a docstring: its own, then what it has of bases that are not offered themselves."""
        return list(self._members(name.file, name.node).values())

    def _members(self, file: str, node: Definition) -> dict[str, Member]:
        if not isinstance(node, ast.ClassDef):
            return {}
        found = {each.name: Member(each.name, file, each) for each in methods(node) if _shown(each)}
        for base in node.bases:
            place = self._find(base.id, file) if isinstance(base, ast.Name) and base.id not in self.public else None
            found = {**(self._members(*place) if place else {}), **found}
        return found

    @cached_property
    def _spans(self) -> dict[str, list[tuple[int, int, str, int]]]:
        table = json.loads((self.folder / SOURCEMAP).read_text(encoding="utf-8"))
        return {
            file: [(first, last, Path(notebook).stem, cell) for first, last, notebook, cell, _ in spans]
            for file, spans in table.items()
        }

    def cell(self, file: str, node: Definition) -> tuple[Lesson, Cell] | None:
        """The lesson and the cell that a definition came from; None in a file that is supplied."""
        for first, last, stem, number in self._spans.get(f"{file}.py", ()):
            if first <= node.lineno <= last:
                lesson = self.course.lesson(stem)
                return lesson, lesson.cells()[number - 1]
        return None


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    return (each for each in node.body if isinstance(each, ast.FunctionDef))


def _shown(node: ast.FunctionDef) -> bool:
    private = node.name.startswith("_") and not node.name.endswith("__")
    return not private and ast.get_docstring(node) is not None


@lru_cache
def built(folder: Path, course: Course) -> Package:
    """The package that the cells of this course give, kept below the folder."""
    return Package(package.cached(folder, [export.fold_input(lesson) for lesson in course.everything]), course)


def importable(site: Site) -> Path:
    """The folder from which Sphinx imports what it documents: in the class edition the one of stubs."""
    return of(site).folder if site.class_edition else site.reference


def of(site: Site) -> Package:
    """The package that is documented: of what this edition shows."""
    return built(site.results.folder / "package", site.course)
