"""From snapshots and plans to what the package is built of and tested with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from functools import lru_cache
from typing import Any

from tito import granted, package, percent, release
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.fold import FoldInput
from tito.percent import Cell
from tito.student import Plan, PlanCell
from tito.testing import Job
from tito.workspace import Workspace


def stored_input(workspace: Workspace, lesson: Lesson) -> FoldInput:
    """What an exported lesson gives to the package."""
    return fold_input(workspace, lesson, stored_cells(workspace, lesson))


def stored_cells(workspace: Workspace, lesson: Lesson) -> list[Cell]:
    """The cells of an exported lesson, as they were then."""
    path = workspace.snapshot(lesson)
    try:
        return list(_read(path.read_text(encoding="utf-8")))
    except (UnicodeDecodeError, UserError):
        raise UserError(f"{path} is damaged; write it anew with: tito export {lesson.id}") from None


@lru_cache(maxsize=32)
def _read(text: str) -> tuple[Cell, ...]:
    return tuple(percent.read(text))


def present_input(workspace: Workspace, plan: Plan) -> FoldInput:
    """What the learner's present file would give."""
    return fold_input(workspace, plan.lesson, exported_cells(plan))


def fold_input(workspace: Workspace, lesson: Lesson, cells: Sequence[Cell]) -> FoldInput:
    """These cells, the learner's or given, and the lesson's supplied modules."""
    date = granted.date_of(cells)
    file = granted.origin(date) if date else workspace.shown(workspace.file_of(lesson))
    return package.fold_input(lesson, cells, file)


def exported_cells(plan: Plan) -> list[Cell]:
    """The plan's definitions, each with its number in the learner's file as the mark `cell`.

    In a percent file a cell has a first line, too: the mark `line`.
    """
    return [Cell("code", _marks(cell), cell.source) for cell in plan.definitions]


def _marks(cell: PlanCell) -> dict[str, Any]:
    role, name = cell.role, cell.name
    named: dict[str, Any] = {"title": "imports"} if role == "imports" else {role: name} if name else {}
    return {**named, "cell": cell.number, **({"line": cell.line} if cell.line > 1 else {})}


def job_of(plan: Plan) -> Job:
    """The learner's own cells, as the runner wants them."""
    cells = [{**vars(cell), "error": cell.error and astuple(cell.error)} for cell in plan.cells]
    return Job(plan.lesson.id, cells)


def package_jobs(course: Course, lessons: Sequence[Lesson]) -> list[Job]:
    """The visible checks of lessons, to be run on the package as it was built."""
    return [Job(lesson.id, _package_cells(lesson), f"tinytorch.{lesson.name}") for lesson in lessons]


def _package_cells(lesson: Lesson) -> list[dict[str, Any]]:
    cells = [cell for cell in release.student_cells(lesson) if cell.role in ("imports", "check") and not cell.hidden]
    return [
        {"number": 0, "id": c.id, "role": c.role, "name": c.name, "file": f"<{c.id}>", "line": 1, "source": c.source}
        for c in cells
    ]
