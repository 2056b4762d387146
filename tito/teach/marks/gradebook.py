"""Marks into nbgrader's gradebook, by its own API, in batches that may be cut off anywhere and repeated.

The database is whatever nbgrader_config.py names in `db_url`: SQLite, or PostgreSQL for a large or shared course. For
each student the store keeps a fingerprint of what went in, written when the gradebook has committed: a run that was
killed does again what it had not noted, and ends in the same state. What people entered (scores, comments) is never
touched.
Begin at `push`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito.errors import UserError
from tito.teach import nbgrader_api
from tito.teach.folder import Folder
from tito.teach.marks import policy
from tito.teach.marks.late import ByHand, Mark, cell_id, marks
from tito.teach.marks.policy import Policy, utc
from tito.teach.marks.store import Store
from tito.teach.result import canonical

if TYPE_CHECKING:
    from nbgrader.api import Grade, Gradebook, Notebook, SubmittedAssignment  # type: ignore[import-untyped]

BATCH = 100  # students for each commit


class NotGenerated(UserError):
    """nbgrader has not generated the assignment."""


@dataclass(frozen=True)
class Book:
    """One assignment in an open gradebook."""

    gradebook: Gradebook
    name: str  # of the gradebook: a fingerprint of its URL and course
    assignment: str

    @property
    def notebooks(self) -> list[Notebook]:
        """The assignment's notebooks as they were generated."""
        return list(self.gradebook.find_assignment(self.assignment).notebooks)

    @cached_property
    def auto(self) -> frozenset[str]:
        """The cells that checks grade: nobody but the course writes in them."""
        graded = {cell.name for notebook in self.notebooks for cell in notebook.grade_cells}
        return frozenset(graded - {cell.name for notebook in self.notebooks for cell in notebook.solution_cells})


@contextmanager
def opened(folder: Folder, assignment: str) -> Iterator[Book]:
    """The assignment in the course's gradebook. Raises UserError when nbgrader has not generated it."""
    from nbgrader.api import MissingEntry

    api = nbgrader_api.open_course(folder)
    with api.gradebook as gradebook:
        try:
            gradebook.find_assignment(assignment)
        except MissingEntry:
            number = assignment.split("_")[0]
            raise NotGenerated(f"the gradebook has no {assignment}; release it: tito teach release {number}") from None
        gradebook.db().expire_on_commit = False  # nbgrader commits each submission; all would be read again after it
        url = f"{api.coursedir.db_url} {gradebook.course_id}"  # may hold a password, so that only its hash is kept
        yield Book(gradebook, hashlib.sha256(url.encode()).hexdigest()[:16], assignment)


def final(folder: Folder, store: Store, assignment: str, rules: Policy | None = None) -> Iterator[Mark]:
    """The marks as they count in the end: by the course's policy, with what people entered in the gradebook."""
    return marks(store, assignment, rules or policy.load(folder, assignment), *entered(folder, assignment))


def entered(folder: Folder, assignment: str) -> tuple[dict[str, ByHand], float]:
    """What `by_hand` says; nothing where there is no gradebook yet, or none that knows the assignment."""
    if not folder.config.exists():
        return {}, 0.0
    url = nbgrader_api.open_course(folder).coursedir.db_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return {}, 0.0
    try:
        with opened(folder, assignment) as book:
            return by_hand(book)
    except NotGenerated:
        return {}, 0.0


def push(book: Book, store: Store, rules: Policy, found: Iterable[Mark], again: bool = False) -> Iterator[int]:
    """Bring the gradebook up to these marks; yields after each commit how many students it was about.

    What went in before is left out unless `again`, or the mark has a penalty, which depends on scores given by hand.
    """
    before = {} if again else store.marked(book.name, book.assignment)
    _set_due(book, rules)
    wanted = _wanted(book, rules, before, found)
    while batch := list(islice(wanted, BATCH)):
        for mark in batch:
            _enter(book, rules, mark, before.get(mark.student, ""))
        book.gradebook.db.commit()
        store.mark(book.name, book.assignment, [(mark.student, fingerprint(mark, rules)) for mark in batch])
        book.gradebook.db.expunge_all()
        yield len(batch)


def missing(book: Book, store: Store, rules: Policy, found: Iterable[Mark]) -> int:
    """How many students `push` would be about."""
    return sum(1 for _ in _wanted(book, rules, store.marked(book.name, book.assignment), found))


def lacking(book: Book, store: Store, rules: Policy, found: Iterable[Mark]) -> int:
    """How many results the gradebook does not know, or knows as they were before."""
    there, marked = _students(book), store.marked(book.name, book.assignment)
    marks = ((mark.student, fingerprint(mark, rules)) for mark in found)
    return sum(student not in there or marked.get(student, now) != now for student, now in marks)


def fingerprint(mark: Mark, rules: Policy) -> str:
    """What went in; first of all which submission it was about."""
    times = [str(moment and utc(moment)) for moment in (mark.submitted, mark.due)]
    parts = [mark.result.to_json(), mark.penalty, times, sorted(rules.drop)]
    return f"{mark.result.key.submission} {hashlib.sha256(canonical(parts).encode()).hexdigest()}"


def by_hand(book: Book) -> tuple[dict[str, ByHand], float]:
    """What people entered, by student, and what the answers that no check grades are worth together."""
    from nbgrader.api import Grade

    written = _written(book)
    found: dict[str, ByHand] = {}
    columns = (Grade.manual_score, Grade.extra_credit, Grade.needs_manual_grade)
    for student, cell, manual, extra, waits in book.gradebook.db.execute(_select(book, *columns)):
        old = found.get(student, ByHand())
        if cell in written:
            waiting = old.open + (waits or manual is None)
            new = replace(old, written=old.written + (manual or 0.0), open=waiting)
        else:
            new = replace(old, checks={**old.checks, cell: manual}) if manual is not None else old
        found[student] = replace(new, extra=new.extra + (extra or 0.0))
    return found, sum(written.values())


def _enter(book: Book, rules: Policy, mark: Mark, before: str) -> None:
    """One student's scores, times and penalty, without a commit of its own for a submission that is known."""
    submission = _submission(book, mark)
    submission.timestamp = _naive(mark.submitted)
    submission.extension = _extension(mark.due, rules.due)
    another = bool(before) and before.split()[0] != mark.result.key.submission
    scores = {cell_id(check.name): check for check in mark.result.checks}
    for i, notebook in enumerate(submission.notebooks):
        notebook.late_submission_penalty = mark.penalty if i == 0 else 0.0
        for grade in notebook.grades:
            if grade.cell.name in scores:
                check = scores[grade.cell.name]
                _score(grade, check.earned, check.points, check.name in rules.drop)
            elif grade.cell.name in book.auto and mark.result.status == "refused":
                _score(grade, 0.0, grade.cell.max_score, False)
            elif another and grade.manual_score is not None:
                grade.needs_manual_grade = True  # as nbgrader does: the score stands, somebody looks at it again


def _score(grade: Grade, earned: float, points: float, dropped: bool) -> None:
    """What the grader found. A score that was given by hand stays what counts, and is looked at again."""
    most, auto = (0.0, 0.0) if dropped else (points, earned)
    if grade.cell.max_score != most:
        grade.cell.max_score = most
    if grade.manual_score is None or grade.auto_score != auto:
        grade.needs_manual_grade = grade.manual_score is not None
    grade.auto_score = auto


def _submission(book: Book, mark: Mark) -> SubmittedAssignment:
    from nbgrader.api import MissingEntry

    gradebook = book.gradebook
    try:
        return gradebook.find_submission(book.assignment, mark.student)
    except MissingEntry:
        gradebook.update_or_create_student(mark.student)
        return gradebook.add_submission(book.assignment, mark.student)


def _set_due(book: Book, rules: Policy) -> None:
    if rules.due is not None:
        book.gradebook.find_assignment(book.assignment).duedate = _naive(rules.due)
        book.gradebook.db.commit()


def _wanted(book: Book, rules: Policy, before: Mapping[str, str], found: Iterable[Mark]) -> Iterator[Mark]:
    known = _students(book)
    for mark in found:
        if mark.penalty or mark.student not in known or before.get(mark.student) != fingerprint(mark, rules):
            yield mark


def _extension(due: datetime | None, common: datetime | None) -> timedelta | None:
    return (utc(due) - utc(common) or None) if due and common else None


def _naive(moment: datetime | None) -> datetime | None:
    """As nbgrader keeps times: UTC, without saying so."""
    return utc(moment).replace(tzinfo=None) if moment else None


def _students(book: Book) -> set[str]:
    """Who has a submission in the gradebook: one that was made anew after the last run has none."""
    return {row[0] for row in book.gradebook.db.execute(_select(book))}


def _written(book: Book) -> dict[str, float]:
    """What is graded by hand, and its points: a graded cell that is the student's own to write, or a task."""
    cells = [cell for notebook in book.notebooks for cell in (*notebook.grade_cells, *notebook.task_cells)]
    return {cell.name: cell.max_score for cell in cells if cell.name not in book.auto}


def _select(book: Book, *columns: Any) -> Any:
    """Student, cell and these columns of all grades of the assignment."""
    from nbgrader.api import Assignment, BaseCell, Grade, SubmittedAssignment, SubmittedNotebook
    from sqlalchemy import select

    joined = select(SubmittedAssignment.student_id, BaseCell.name, *columns).select_from(Grade)
    joined = joined.join(BaseCell, BaseCell.id == Grade.cell_id)
    joined = joined.join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
    joined = joined.join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
    joined = joined.join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
    return joined.where(Assignment.name == book.assignment)
