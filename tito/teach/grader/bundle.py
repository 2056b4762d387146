"""A grader bundle: all that grading one assignment needs but the secret, as bytes with a hash. Trusted side only.

Begin at `make`. `sealed` is the part that the sealed side may see.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import tomllib

from tito import diagnosis, package, release
from tito.course import Course, Lesson, Milestone
from tito.percent import Cell
from tito.teach.grader import milestone_grading
from tito.teach.grader.checks import Check
from tito.teach.result import canonical
from tito.teach.sealed.planning import digest


class Variant(Protocol):
    """What a bundle wants to know of a variant."""

    def points_of(self, lesson: Lesson, check: Cell) -> float | None:
        """What the check is worth; None where its exercise is not graded."""


@dataclass(frozen=True)
class Bundle:
    """`released` are the lessons needed and the assignment's own, as students get them, checks without their text.

    `package` is the reference of the lessons needed, file by file; `hints` and `fingerprints` are by exercise;
    `programs` are a milestone's, without data.
    """

    assignment: str
    checks: tuple[Check, ...]
    released: tuple[Mapping[str, Any], ...]
    package: Mapping[str, str]
    hints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fingerprints: Mapping[str, Any] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all of it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @property
    def sealed(self) -> dict[str, str]:
        """Files of the sealed home: the released lessons and the reference package."""
        files = {f"package/tinytorch/{name}": text for name, text in self.package.items()}
        return {"released.json": canonical([dict(each) for each in self.released]), **files}

    @property
    def sealed_without_package(self) -> dict[str, str]:
        """The same for mode "own": the package is made of the student's files."""
        programs = {f"package/{name}": text for name, text in self.programs.items()}
        return {"released.json": self.sealed["released.json"], **programs}

    @property
    def lessons(self) -> list[str]:
        """Stems of the lessons whose files a student's own package is made of, and of the assignment's."""
        return [each["stem"] for each in self.released]

    def to_bytes(self) -> bytes:
        """Canonical JSON."""
        return canonical(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Bundle:
        """What `to_bytes` gave."""
        table = json.loads(data)
        checks = tuple(Check(**check) for check in table.pop("checks"))
        return cls(checks=checks, released=tuple(table.pop("released")), **table)


def make(course: Course, item: Lesson | Milestone, variant: Variant | None = None) -> Bundle:
    """The bundle of a lesson, its checks as the variant grades them; or of a milestone."""
    return make_milestone(course, item.id) if isinstance(item, Milestone) else _of_lesson(course, item, variant)


def _of_lesson(course: Course, lesson: Lesson, variant: Variant | None) -> Bundle:
    needs = course.needs_of(lesson)
    fingerprints = diagnosis.load(lesson)
    fresh = {name: known for name, known in fingerprints.items() if known["checks"] == _made_for(lesson, name)}
    checks = tuple(_checks(lesson, variant))
    released = tuple(map(_released, (*needs, lesson)))
    return Bundle(lesson.stem, checks, released, _reference(needs, lesson), _hints(lesson), fresh)


def make_milestone(course: Course, key: str) -> Bundle:
    """What a student's own package is made of. Its checks stand in milestone_grading.py."""
    milestone = course.milestone(key)
    checks = tuple(milestone_grading.checks(milestone.id))
    needs = tuple(map(_released, course.needs_of(milestone)))
    return Bundle(milestone.id, checks, needs, {}, programs=milestone_grading.programs(course))


def _made_for(lesson: Lesson, exercise: str) -> str:
    return diagnosis.digest(lesson.cells(), exercise)


def _checks(lesson: Lesson, variant: Variant | None) -> Iterable[Check]:
    shown = {cell.id: cell for cell in release.student_cells(lesson)}
    for cell in lesson.cells():
        points = cell.points if variant is None else variant.points_of(lesson, cell)
        if cell.role == "check" and points is not None:
            program = digest(shown[cell.id].source)
            yield Check(cell.name, cell.name.split()[0], points, cell.hidden, cell.id, cell.source, program)


def _released(lesson: Lesson) -> dict[str, Any]:
    cells = [_blank(cell) if cell.role == "check" else cell for cell in release.student_cells(lesson)]
    supplied = {path.stem: path.read_text(encoding="utf-8") for path in lesson.supplied}
    title = f"Lesson {lesson.id}: {lesson.title}."
    about = {"id": lesson.id, "name": lesson.name, "stem": lesson.stem, "title": title}
    return {**about, "cells": [asdict(cell) for cell in cells], "supplied": supplied}


def _blank(cell: Cell) -> Cell:
    """A check whose text nobody reads: its id alone."""
    return Cell(cell.kind, {"check": cell.name}, "", cell.line, cell.number)


def _reference(needs: Iterable[Lesson], lesson: Lesson) -> dict[str, str]:
    """The package that the lesson runs on: the lessons needed, solved, and its own supplied modules."""
    solved = [package.fold_input(each, package.exported(each), f"{each.stem}.ipynb") for each in needs]
    own = package.fold_input(lesson, (), f"{lesson.stem}.ipynb")
    with tempfile.TemporaryDirectory() as folder:
        package.build(Path(folder), [*solved, own])
        files = sorted((Path(folder) / package.PACKAGE).iterdir())
        return {path.name: path.read_text(encoding="utf-8") for path in files}


def _hints(lesson: Lesson) -> dict[str, list[str]]:
    path = lesson.folder / "hints.toml"
    return dict(tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}
