"""What a reader's browser keeps of a lesson: cells as edited, and which checks passed on which text of an exercise."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tito import release
from tito.course import Lesson
from tito.dev.demo import answer
from tito.percent import Cell
from tito.workspace import table_of


@dataclass(frozen=True)
class Saved:
    """Sources of edited cells by id, and for each check that passed the digest of its exercise's source then."""

    cells: Mapping[str, str] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, table: Any) -> Saved:
        """From `{"cells": {...}, "passed": {...}}`; what is odd in it is left out."""
        parts = [table_of(table_of(table).get(name)) for name in ("cells", "passed")]
        return cls(*({key: text for key, text in part.items() if isinstance(text, str)} for part in parts))


def digest(source: str) -> str:
    """Eight digits that tell two sources apart, spaces at line ends aside; site/run/src/digest.js gives the same."""
    text = "\n".join(line.rstrip(" \t") for line in source.split("\n")).strip("\n")
    return f"{zlib.crc32(text.encode('utf-8')):08x}"


def owner(cells: Iterable[Cell], check: Cell) -> Cell | None:
    """The exercise or solved model that a check is about."""
    name = check.name.split()[0]
    return next((cell for cell in cells if cell.role in ("exercise", "twin") and cell.name == name), None)


def notebook(cells: Iterable[Cell], sources: Mapping[str, str]) -> str:
    """The student's notebook of these released cells, with these sources in place of the course's, by cell id."""
    own = [replace(cell, source=sources.get(cell.id, cell.source)) for cell in cells]
    return json.dumps(release.notebook_of(own, solutions=False), ensure_ascii=False)


def done(lesson: Lesson, saved: Saved) -> dict[str, bool]:
    """For each exercise whether all its visible checks passed on the text that it has now."""
    cells = release.student_cells(lesson)
    exercises = {cell.name: True for cell in cells if cell.role == "exercise"}
    for check in (cell for cell in cells if cell.role == "check" and not cell.hidden):
        about = owner(cells, check)
        if about is not None and about.name in exercises:
            now = saved.cells.get(about.id, about.source)
            exercises[about.name] &= saved.passed.get(check.name) == digest(now)
    return exercises


def solutions(lesson: Lesson) -> dict[str, str]:
    """The course's answers by cell id; in a class edition these are the stubs."""
    return {cell.id: answer(cell.source) for cell in lesson.cells() if cell.role == "exercise"}
