"""After the due date: the reference of a lesson for those who can't go on, marked as such. Begin at `unlock`.

A lesson's export needs its visible checks, all ok; who has not got so far could not open the next one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from tito import percent
from tito.course import Course, Lesson
from tito.errors import NOT_YET, UserError
from tito.granted import GIVEN
from tito.percent import Cell
from tito.teach.folder import Folder
from tito.teach.intake import roster
from tito.teach.marks import policy
from tito.workspace import write_text

if TYPE_CHECKING:
    from nbgrader.api import Gradebook  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Unlocked:
    """Where the file is, who gets it, and why: by student."""

    file: Path
    students: dict[str, str]
    waiting: tuple[str, ...]  # whose own due date is not over


def unlock(folder: Folder, course: Course, gradebook: Gradebook, lesson: Lesson, now: bool) -> Unlocked:
    """Write out/unlock_NN: the file and the list of students. Raises UserError before the due date unless `now`."""
    moment = datetime.now(timezone.utc)
    rules = policy.load(folder, lesson.stem)
    if not now and (rules.due is None or rules.due > moment):
        when = f"is due at {rules.due}" if rules.due else "has no due date in course.toml"
        raise UserError(
            f"{lesson.stem} {when}; unlock it all the same with: tito teach unlock {lesson.id} --now", NOT_YET
        )
    failed = _failed(gradebook, lesson, roster.read(folder.roster))
    due = {student: rules.due_of(student) for student in failed}
    waiting = [] if now else [student for student, date in due.items() if date and date > moment]
    students = {student: why for student, why in failed.items() if student not in waiting}
    place = folder.out / f"unlock_{lesson.id}"
    place.mkdir(parents=True, exist_ok=True)
    _write_list(place / "students.csv", students)
    file = place / f"{lesson.stem}.given.py"
    write_text(file, given_text(lesson, moment.date().isoformat()))
    return Unlocked(file, students, tuple(waiting))


def given_text(lesson: Lesson, date: str) -> str:
    """The lesson's reference as a percent file, every cell marked with the day on which it was given."""
    cells = (cell for cell in lesson.cells() if cell.exported)
    return percent.write(
        replace(cell, marks={**cell.marks, "cell": cell.number, GIVEN: date}) for cell in map(_bare, cells)
    )


def _bare(cell: Cell) -> Cell:
    lines = [line for line in cell.source.split("\n") if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION")]
    return replace(cell, source="\n".join(lines))


def _failed(gradebook: Gradebook, lesson: Lesson, students: Iterable[str]) -> dict[str, str]:
    """Who has a visible check that is not ok, and which is the first; or handed nothing in."""
    from nbgrader.api import MissingEntry

    needed = [cell for cell in lesson.cells() if cell.role == "check" and not cell.hidden]
    found: dict[str, str] = {}
    for student in students:
        try:
            submission = gradebook.find_submission_notebook(lesson.stem, lesson.stem, student)
        except MissingEntry:
            found[student] = "nothing handed in"
            continue
        scores = {grade.name: (grade.auto_score or 0, grade.max_score) for grade in submission.grades}
        short = (cell.name for cell in needed if cell.id in scores and scores[cell.id][0] < scores[cell.id][1])
        name = next(short, None)
        found |= {student: f"check {name} is not ok"} if name else {}
    return found


def _write_list(path: Path, students: dict[str, str]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "reason"))
        writer.writerows(students.items())
