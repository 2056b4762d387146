"""`tito diff NN`: the learner's exported answers beside the course's, once they have passed."""

from __future__ import annotations

import difflib
import re
from argparse import Namespace
from collections.abc import Iterator

from tito.commands.common import enter, require
from tito.commands.lessons import stored_cells
from tito.course import Course
from tito.errors import UserError
from tito.release import has_solutions


def run(args: Namespace, course: Course) -> int:
    """Print a unified diff for each exercise whose text differs."""
    workspace, lesson = enter(), course.lesson(args.lesson)
    require(workspace, (lesson,), "the diff")
    if not has_solutions(lesson):
        raise UserError("this is the class edition, which has no solutions; ask your instructor, or go on with: tito")
    ours = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    yours: dict[str, str] = {}
    for cell in stored_cells(workspace, lesson):
        if cell.role == "exercise":  # in parts, where its cell was split
            yours[cell.name] = "\n\n\n".join(filter(None, (yours.get(cell.name), cell.source)))
    differing = [name for name in ours if _lines(ours[name]) != _lines(yours.get(name, ""))]
    for name in differing:
        print("\n".join(_diff(name, yours.get(name, ""), ours[name])))
    print(f"{len(differing)} of {len(ours)} exercises differ from ours; a different answer that passes is as good.")
    return 0


def _diff(name: str, yours: str, ours: str) -> Iterator[str]:
    return difflib.unified_diff(_lines(yours), _lines(ours), f"yours {name}", f"ours {name}", lineterm="")


def _lines(source: str) -> list[str]:
    """The lines without the marks around the solution."""
    lines = [line.rstrip() for line in source.strip().splitlines()]
    return [line for line in lines if not re.match(r"\s*### (BEGIN|END) SOLUTION", line)]
