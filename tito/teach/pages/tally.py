"""What a class's results add up to: one walk over them, and numbers by exercise, mistake, reason, note. No HTML.

Begin at `tally`. Students stand in lists, in the order of the results, so that each number can be followed to its
submissions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from tito.teach.result import CheckResult, Result

BINS = 10  # of the distribution of shares, and one more for what earned everything
LONGEST = 300  # characters of a sentence that is counted


@dataclass
class Exercise:
    """How the class did at one exercise; `shares` holds each student's part of its points, 0 to 1."""

    name: str
    points: float = 0.0
    shares: list[float] = field(default_factory=list)
    todo: int = 0  # students who have not begun it
    mistakes: dict[str, list[str]] = field(default_factory=dict)  # what it looks like: students

    @property
    def mean(self) -> float:
        """The class's part of the points, 0 to 1."""
        return sum(self.shares) / len(self.shares) if self.shares else 0.0

    @property
    def full(self) -> int:
        """Students who earned all of it."""
        return sum(share >= 1 for share in self.shares)

    @property
    def common(self) -> list[tuple[str, list[str]]]:
        """Its mistakes with their students, the most frequent first."""
        return sorted(self.mistakes.items(), key=lambda item: (-len(item[1]), item[0]))


@dataclass(frozen=True)
class Row:
    """One submission: points, how many of its checks did not run, how many notes there are."""

    student: str
    earned: float
    points: float
    not_run: int
    notes: int

    @property
    def share(self) -> float:
        """Of the points, 0 to 1."""
        return self.earned / self.points if self.points else 0.0


@dataclass
class Tally:
    """A class's results, added up."""

    rows: list[Row] = field(default_factory=list)
    exercises: dict[str, Exercise] = field(default_factory=dict)
    ended: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # reason: exercise where it began: students
    notes: dict[str, list[str]] = field(default_factory=dict)  # a note without its numbers: students
    refused: dict[str, list[str]] = field(default_factory=dict)  # reason: students
    open: int = 0  # submissions graded without isolation

    @property
    def points(self) -> float:
        """The most that could be earned."""
        return max((row.points for row in self.rows), default=0.0)

    @property
    def median(self) -> float:
        """Points that half the class has at least."""
        return median([row.earned for row in self.rows]) if self.rows else 0.0

    @property
    def bins(self) -> list[int]:
        """Submissions with 0 to under 10 % of the points, 10 to under 20, ..., and all of them."""
        counts = [0] * (BINS + 1)
        for row in self.rows:
            counts[min(int(row.share * BINS + 1e-9), BINS)] += 1
        return counts

    @property
    def by_difficulty(self) -> list[Exercise]:
        """The exercises that have points, the hardest first."""
        return sorted((e for e in self.exercises.values() if e.points), key=lambda exercise: exercise.mean)


def tally(results: Iterable[Result]) -> Tally:
    """The sums over the results."""
    total = Tally()
    for result in results:
        _add(total, result)
    return total


def _add(total: Tally, result: Result) -> None:
    student = result.key.student
    total.open += result.isolation == 3
    if result.status == "refused":
        total.refused.setdefault(_general(result.reason), []).append(student)
        return
    not_run = sum(check.status == "not run" for check in result.checks)
    total.rows.append(Row(student, result.earned, result.points, not_run, len(result.notes)))
    for note in dict.fromkeys(map(_general, result.notes)):
        total.notes.setdefault(note, []).append(student)
    _add_end(total, result)
    for name in dict.fromkeys(check.exercise for check in result.checks):
        exercise = total.exercises.setdefault(name, Exercise(name))
        _add_exercise(exercise, [check for check in result.checks if check.exercise == name], student)


def _add_exercise(exercise: Exercise, checks: list[CheckResult], student: str) -> None:
    exercise.points = sum(check.points for check in checks)
    if exercise.points:
        exercise.shares.append(sum(check.earned for check in checks) / exercise.points)
    exercise.todo += any(check.status == "todo" for check in checks)
    said = (check.looks_like[:LONGEST] for check in checks if check.looks_like and not check.hidden)
    for mistake in dict.fromkeys(said):
        exercise.mistakes.setdefault(mistake, []).append(student)


def _add_end(total: Tally, result: Result) -> None:
    """What ended the submission early, counted once, at the first check that it cost."""
    check = next((check for check in result.checks if check.reason), None)
    reason = check.reason if check else result.reason
    if reason:
        places = total.ended.setdefault(_general(reason), {})
        places.setdefault(check.exercise if check else "", []).append(result.key.student)


def _general(text: str) -> str:
    """The text with `N` for the number of a cell or line, so that equal causes are counted together."""
    return re.sub(r"(?i)\b(cell|line)s? \d+", r"\1 N", text)[:LONGEST]
