"""From a lesson's source to the student's file: solutions and hidden checks cleared, nbgrader's metadata filled in.

What `notebook` returns is what `nbgrader generate_assignment` makes of `notebook(..., solutions=True)`, cell by cell;
a test compares the two. So an instructor may release with either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tito import percent
from tito.course import Lesson
from tito.errors import UserError
from tito.percent import Cell

STUB = "raise NotImplementedError"
ANSWER = "YOUR ANSWER HERE"


def student_cells(lesson: Lesson) -> tuple[Cell, ...]:
    """The lesson's cells as a student gets them."""
    return tuple(replace(cell, source=_student_source(cell, lesson)) for cell in lesson.cells())


def has_solutions(lesson: Lesson) -> bool:
    """Whether an exercise says more than what a student starts from; the class edition's do not."""
    pairs = zip(lesson.cells(), student_cells(lesson))
    return any(_bare(ours.source) != _bare(given.source) for ours, given in pairs if ours.role == "exercise")


def _bare(source: str) -> list[str]:
    lines = [line.rstrip() for line in source.splitlines()]
    return [line for line in lines if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION")]


def percent_text(lesson: Lesson, solutions: bool = False) -> str:
    """The lesson as a percent file, for a workspace made with --py; its marks carry the ids."""
    return percent.write(lesson.cells() if solutions else student_cells(lesson))


def notebook_text(lesson: Lesson, solutions: bool = False) -> str:
    """The text of the lesson's .ipynb file, laid out as Jupyter does it."""
    return json.dumps(notebook(lesson, solutions), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def notebook(lesson: Lesson, solutions: bool = False) -> dict[str, Any]:
    """The lesson as nbformat 4.5: the student's, or with the solutions in the source that nbgrader starts from."""
    return notebook_of(lesson.cells() if solutions else student_cells(lesson), solutions)


def notebook_of(cells: Iterable[Cell], solutions: bool) -> dict[str, Any]:
    """These cells as nbformat 4.5, with the marks of a source or of what is released."""
    return {
        "cells": [_notebook_cell(cell, released=not solutions) for cell in cells],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _notebook_cell(cell: Cell, released: bool) -> dict[str, Any]:
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if cell.kind == "code" else {}
    metadata = {key: cell.marks[key] for key in ("tags",) if key in cell.marks}
    if cell.role not in ("demo", "prose"):
        metadata.update(_grading(cell), **(_locks(cell) if released else {}))
        if released:
            metadata["nbgrader"]["cell_type"] = cell.kind
    source = cell.source.splitlines(keepends=True)
    return {"cell_type": cell.kind, "id": cell.id, "metadata": metadata, "source": source, **code}


def _grading(cell: Cell) -> dict[str, Any]:
    """What nbgrader wants to know: an exercise is written, a check graded, an answer both, all else is read only."""
    written, graded = cell.written, cell.role in ("check", "answer")
    table = {
        "grade": graded,
        "grade_id": cell.id,
        "locked": not written,
        "schema_version": 3,
        "solution": written,
        "task": False,
    }
    return {"nbgrader": {**table, "points": cell.points} if graded else table}


def _locks(cell: Cell) -> dict[str, bool]:
    """What nbgrader's LockCells adds: nothing is deleted, and only what the student writes is edited."""
    return {"deletable": False} if cell.written else {"deletable": False, "editable": False}


def _student_source(cell: Cell, lesson: Lesson) -> str:
    """The cell's source as nbgrader's ClearSolutions and ClearHiddenTests leave it."""
    where = f"{lesson.source.name}, line {cell.line}"
    stub = STUB if cell.kind == "code" else ANSWER
    source = _replace_region(cell.source, "SOLUTION", stub, where)
    if cell.written and source == cell.source:
        return stub
    if not cell.written and source != cell.source:
        raise UserError(f"{where}: a solution outside an exercise; mark the cell exercise=...")
    shown = _replace_region(source, "HIDDEN TESTS", None, where)
    if cell.role != "check" and shown != source:
        raise UserError(f"{where}: hidden tests outside a check; mark the cell check=...")
    return shown


def _replace_region(source: str, region: str, stub: str | None, where: str) -> str:
    """The source with the stub, or nothing, for what stands between BEGIN and END of the region."""
    lines, inside = [], False
    for line in source.split("\n"):
        if f"BEGIN {region}" in line:
            if inside:
                raise UserError(f"{where}: BEGIN {region} stands inside another one; end the first before it")
            inside = True
            lines += [line[: len(line) - len(line.lstrip())] + stub] if stub else []
        elif f"END {region}" in line:
            if not inside:
                raise UserError(f"{where}: END {region} has no BEGIN {region}; add the line ### BEGIN {region}")
            inside = False
        elif not inside:
            lines.append(line)
    if inside:
        raise UserError(f"{where}: BEGIN {region} has no END {region}; add the line ### END {region}")
    return "\n".join(lines)
