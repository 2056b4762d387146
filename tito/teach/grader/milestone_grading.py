"""Milestones: check cells like a lesson's (milestone_checks/), run on the student's own package.

The sealed side gets the milestone's program without its data, trains on what a check sends it, and returns weights or
predictions; labels of what is held out never leave the trusted side, which scores.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tito import percent
from tito.course import Course
from tito.teach.grader.checks import Check

FOLDER = Path(__file__).parent / "milestone_checks"
SECONDS = 60.0  # for one check: it trains several times


def is_graded(milestone: str) -> bool:
    """Whether there are checks for the milestone of this id; an elective one may have none."""
    return (FOLDER / f"{milestone}.py").is_file()


def checks(milestone: str) -> Iterator[Check]:
    """The checks of the milestone of this id."""
    for cell in percent.read((FOLDER / f"{milestone}.py").read_text(encoding="utf-8")):
        if cell.role == "check":
            id = f"{milestone}-{cell.id}"
            yield Check(cell.name, cell.name, cell.points, cell.hidden, id, cell.source, "", SECONDS)


def programs(course: Course) -> dict[str, str]:
    """The texts of all programs, and of what they import beside themselves, for the sealed home."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((course.root / "milestones").glob("*.py"))}


@lru_cache(maxsize=1)
def digits() -> Any:
    """Pixels and labels, as the milestones load them."""
    path = Course.find().root / "milestones" / "digits.py"
    spec = importlib.util.spec_from_file_location("_digits", path)
    assert spec is not None and spec.loader is not None  # the course has that file
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load_digits()
