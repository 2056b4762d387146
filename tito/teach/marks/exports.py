"""Marks and feedback for others: CSV as Canvas, Moodle or a spreadsheet wants it, and zips under the LMS's file names.

What stands in a name may be a formula to the program that opens the file, so every text is guarded. Begin at `table`.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tito.teach.folder import Folder
from tito.teach.intake import collected, lms
from tito.teach.intake.roster import Student
from tito.teach.marks.late import Mark

Row = list[str | float | int]

# The first columns of Canvas's own export ("Import grades in the Gradebook": Student, ID, SIS User ID, SIS Login ID,
# Section, then assignments; the row "Points Possible" below the header). Whom a row is about is decided by ID, SIS User
# ID, SIS Login ID, in this order (lib/gradebook_importer.rb).
CANVAS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
# Moodle's grading worksheet ("Offline grading worksheet", assignfeedback_offline): Identifier, Grade and Last modified
# (grade) must be there, and the identifier is "Participant" and the number in the names of the submissions' zip.
MOODLE = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade", "Grade can be changed"]
MOODLE += ["Last modified (submission)", "Last modified (grade)", "Feedback comments"]
OURS = ["id", "last_name", "first_name", "email", "assignment", "status", "submitted", "due", "days_late", "attempts"]
OURS += ["earned", "penalty", "score", "points", "waits_for_a_grader", "reason"]

# A cell that begins so is a formula (OWASP, "CSV injection"), also where a program takes ; or a tab for the separator.
FORMULA = re.compile(r"(^|[;,\t\r\n\"])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r])")


@dataclass(frozen=True)
class Line:
    """A student with the mark, and the participant's number in Moodle's assignment.

    The mark is None for nothing that could be graded; `refused` says why the last thing handed in was not taken.
    """

    student: Student
    mark: Mark | None
    participant: str = ""
    refused: str = ""


def lines(folder: Folder, assignment: str, students: Mapping[str, Student], marks: Iterable[Mark]) -> list[Line]:
    """All of the roster in its order, then who handed in without standing there."""
    found = {mark.student: _slim(mark) for mark in marks}
    numbers, refused = participants(folder, assignment), collected.refusals(collected.read(folder, assignment))
    everyone = {**students, **{id: Student(id) for id in found if id not in students}}
    return [Line(student, found.get(id), numbers.get(id, ""), refused.get(id, "")) for id, student in everyone.items()]


def anonymous(lines: Iterable[Line], secret: bytes) -> list[Line]:
    """The lines without who, when and why, in an order that says nothing. The same student has always the same name."""
    hidden = [Line(Student(pseudonym(line.student.id, secret)), _nameless(line.mark)) for line in lines]
    return sorted(hidden, key=lambda line: line.student.id)


def pseudonym(student: str, secret: bytes) -> str:
    """12 hex digits of an HMAC: who lacks the secret can't try names until one fits."""
    return "anon-" + hmac.new(secret, b"pseudonym:" + student.encode(), hashlib.sha256).hexdigest()[:12]


def table(kind: str, assignment: str, lines: list[Line], column: str = "") -> Iterator[Row]:
    """Header and rows for "canvas", "moodle" or "csv"; `column` is the assignment's title in Canvas."""
    most = max((line.mark.points for line in lines if line.mark), default=0.0)
    if kind == "canvas":
        yield [*CANVAS, column or assignment]
        yield ["    Points Possible", "", "", "", "", most]
    else:
        yield list(MOODLE if kind == "moodle" else OURS)
    for line in lines:
        yield ROWS[kind](line, assignment, most)


def guarded(text: str) -> str:
    """The text with ' wherever a spreadsheet would otherwise see a formula begin."""
    return FORMULA.sub(r"\1'", text)


def write(path: Path, rows: Iterable[Row]) -> None:
    """A CSV file, UTF-8, there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with open(new, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([_cell(value) for value in row] for row in rows)
    os.replace(new, path)


def feedback(folder: Folder, assignment: str, kind: str) -> Iterator[tuple[str, Path]]:
    """The pages that `tito teach feedback` wrote, each with its name in the zip: the LMS's, else the student's id."""
    history = collected.read(folder, assignment)
    for path in sorted((folder.out / "feedback" / assignment).glob("*.html")):
        one = collected.standing(history.get(path.stem, ()))
        name = one.feedback_name if one and one.kind == kind else ""
        if name or kind == "csv":
            yield name or path.name, path


def zipped(path: Path, files: Iterable[tuple[str, Path]]) -> int:
    """A zip of these, there as a whole or not at all; how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new, count = path.with_name(f".{path.name}.{os.getpid()}"), 0
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files:
            archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
            count += 1
    os.replace(new, path)
    return count


def participants(folder: Folder, assignment: str) -> dict[str, str]:
    """Student to the participant's number in Moodle, from the names of the zip that was collected."""
    found: dict[str, str] = {}
    for student, history in collected.read(folder, assignment).items():
        for one in history:
            file = lms.parse(one.name, "moodle") if one.kind == "moodle" else None
            found |= {student: file.number} if file else {}
    return found


def _canvas(line: Line, assignment: str, most: float) -> Row:
    student, more = line.student, line.student.more
    name = ", ".join(part for part in (student.last_name, student.first_name) if part) or student.id
    number = more.get("canvas_id") or more.get("lms_user_id", "")
    ids = (number, more.get("sis_user_id", ""), more.get("sis_login_id", "") or student.id, more.get("section", ""))
    return [name, *ids, _points(line.mark)]


def _moodle(line: Line, assignment: str, most: float) -> Row:
    student = line.student
    name = f"{student.first_name} {student.last_name}".strip() or student.id
    who = [f"Participant {line.participant}" if line.participant else "", name]
    status = "Submitted for grading" if line.mark else "No submission"
    grade: Row = [status, _points(line.mark), most, "Yes", "", "", _remark(line.mark)]
    return [*who, student.email, *grade]


def _ours(line: Line, assignment: str, most: float) -> Row:
    student, mark = line.student, line.mark
    who: Row = [student.id, student.last_name, student.first_name, student.email, assignment]
    if mark is None:
        return [*who, "refused" if line.refused else "missing", "", "", "", 0, "", "", "", most, "", line.refused]
    times = [moment.isoformat(timespec="seconds") if moment else "" for moment in (mark.submitted, mark.due)]
    points = [_round(value) for value in (mark.earned, mark.penalty, mark.score, mark.points)]
    return [*who, mark.result.status, *times, mark.days_late, mark.attempts, *points, mark.open, mark.result.reason]


ROWS: dict[str, Callable[[Line, str, float], Row]] = {"canvas": _canvas, "moodle": _moodle, "csv": _ours}


def _points(mark: Mark | None) -> float | str:
    return _round(mark.score) if mark else ""  # an empty cell changes nothing there


def _remark(mark: Mark | None) -> str:
    if not mark or not mark.days_late:
        return ""
    days = "1 day" if mark.days_late == 1 else f"{mark.days_late} days"
    return f"{days} late: {_round(mark.penalty):g} points less"


def _round(value: float) -> float:
    return round(value, 2)  # as Canvas shows them


def _cell(value: str | float | int) -> str:
    return guarded(value) if isinstance(value, str) else f"{value:.10g}"


def _slim(mark: Mark) -> Mark:
    """Without what it takes memory to keep for a class of thousands."""
    return replace(mark, result=replace(mark.result, checks=(), notes=(), extra={}))


def _nameless(mark: Mark | None) -> Mark | None:
    if mark is None:
        return None
    return replace(mark, result=replace(mark.result, reason=""), submitted=None, due=None)
