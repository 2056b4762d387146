"""The text of a lesson when the learner got it, in `.tito/given`: by it an update tells who changed what since."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tito.course import Lesson
from tito.workspace import Workspace, read_json, write_json


class Given(NamedTuple):
    """One cell: its id, its kind and a fingerprint of its source."""

    id: str
    kind: str
    digest: str


def digest(source: str) -> str:
    """A fingerprint of a cell's source."""
    return hashlib.sha256(source.strip().encode("utf-8")).hexdigest()[:16]


def of(lesson: Lesson) -> list[Given]:
    """The cells that a learner gets now."""
    from tito import release

    return [Given(cell.id, cell.kind, digest(cell.source)) for cell in release.student_cells(lesson)]


def path_of(workspace: Workspace, lesson: Lesson) -> Path:
    """Where it is remembered."""
    return workspace.private / "given" / f"{lesson.stem}.json"


def recall(workspace: Workspace, lesson: Lesson) -> list[Given]:
    """The cells that the learner got; [] where nobody knows any more."""
    return _cells(read_json(path_of(workspace, lesson)))


def _cells(table: dict[str, Any]) -> list[Given]:
    rows = table.get("cells")
    rows = rows if isinstance(rows, list) else []
    return [Given(*row) for row in rows if isinstance(row, list) and list(map(type, row)) == [str] * 3]


def remember(
    workspace: Workspace, lesson: Lesson, cells: Sequence[Given], before: dict[str, Any] | None = None
) -> None:
    """Remember these cells; `before` is what an update replaced: cells, backup and digest."""
    path = path_of(workspace, lesson)
    path.parent.mkdir(exist_ok=True)
    write_json(path, {"cells": [list(cell) for cell in cells], **({"before": before} if before else {})})


def before(workspace: Workspace, lesson: Lesson) -> tuple[str, list[Given]] | None:
    """The backup that the last update left, and the cells that were given then; None where there is none."""
    table = read_json(path_of(workspace, lesson)).get("before")
    name = table.get("backup") if isinstance(table, dict) else None
    return (name, _cells(table)) if isinstance(name, str) and isinstance(table, dict) else None
