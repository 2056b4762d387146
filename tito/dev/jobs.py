"""Variants of a lesson, ready to run: solved, with one exercise unsolved, with one mistake, or as exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tito import package
from tito.course import Lesson
from tito.percent import Cell
from tito.testing import Job


def solved(lesson: Lesson, changed: Mapping[str, str] | None = None) -> Job:
    """The lesson with its solutions, all its checks, and other text for the exercises named in `changed`."""
    cells = [_as_dict(cell, changed or {}) for cell in package.exported(lesson)]
    return Job(lesson.id, [*cells, *_checks(lesson)])


def exported(lesson: Lesson) -> Job:
    """The lesson's checks alone, on the names of its module in the package."""
    cells = [cell for cell in lesson.cells() if cell.role == "imports"]
    return Job(lesson.id, [*(_as_dict(cell, {}) for cell in cells), *_checks(lesson)], f"tinytorch.{lesson.name}")


def only(job: Job, exercise: str) -> Job:
    """The job with the checks of one exercise only."""
    kept = [cell for cell in job.cells if cell["role"] != "check" or cell["name"].split()[0] == exercise]
    return Job(job.lesson, kept, job.module)


def first(job: Job, exercise: str) -> Job:
    """The job with the checks of one exercise before all others."""
    cells = sorted(job.cells, key=lambda cell: cell["role"] == "check" and 1 + (cell["name"].split()[0] != exercise))
    return Job(job.lesson, cells, job.module)


def _checks(lesson: Lesson) -> Sequence[dict[str, Any]]:
    return [_as_dict(cell, {}) for cell in lesson.cells() if cell.role == "check"]


def _as_dict(cell: Cell, changed: Mapping[str, str]) -> dict[str, Any]:
    source = changed.get(cell.name, cell.source) if cell.role == "exercise" else cell.source
    place = {"number": cell.number, "file": f"<cell {cell.number}>", "line": 1}
    return {"id": cell.id, "role": cell.role, "name": cell.name, "source": source, **place}
