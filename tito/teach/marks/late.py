"""The mark of a student: which attempt counts, what was dropped, what was given by hand, what lateness costs.

Nothing of it is kept: a mark is worked out anew from results, policy and gradebook each time it is wanted, so a penalty
never outlives its reason. Begin at `marks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from tito.errors import UserError
from tito.percent import Cell
from tito.teach.marks.policy import Policy, later, utc
from tito.teach.marks.store import Attempt, Store
from tito.teach.result import Result


@dataclass(frozen=True)
class ByHand:
    """What people entered for a student in the gradebook: points for checks, and for what no check grades."""

    checks: Mapping[str, float] = field(default_factory=dict)  # cell of a check: points in place of what it earned
    written: float = 0.0  # earned by written answers
    extra: float = 0.0
    open: int = 0  # written answers that wait for a grader


@dataclass(frozen=True)
class Mark:
    """What one student has for one assignment, in points."""

    result: Result
    earned: float  # before the penalty
    points: float
    days_late: int = 0
    penalty: float = 0.0
    due: datetime | None = None
    submitted: datetime | None = None
    attempts: int = 1
    open: int = 0

    @property
    def student(self) -> str:
        """Whose it is."""
        return self.result.key.student

    @property
    def score(self) -> float:
        """What counts."""
        return self.earned - self.penalty


def marks(
    store: Store, assignment: str, policy: Policy, hands: Mapping[str, ByHand] | None = None, written: float = 0.0
) -> Iterator[Mark]:
    """The marks of all who handed in, by student; `written` is what written answers are worth.

    Raises UserError when the policy drops a check that no result has.
    """
    unseen = set(policy.drop)
    for student, attempts in store.attempts(assignment):
        mark = apply(policy, attempts, (hands or {}).get(student, ByHand()), written)
        unseen -= {check.name for check in mark.result.checks}
        if unseen and mark.result.checks:
            name = min(unseen)
            raise UserError(f"{assignment} has no check {name!r} to drop; see its checks with: tito teach results")
        yield mark


def apply(policy: Policy, attempts: Sequence[Attempt], hand: ByHand | None = None, written: float = 0.0) -> Mark:
    """The mark for a student's attempts, earliest first.

    An attempt that could not be graded counts only where there is no other. Without a time of handing in, an attempt is
    on time.
    """
    graded = [attempt for attempt in attempts if attempt.result.status == "graded"] or attempts
    found = [_mark(policy, attempt, hand or ByHand(), written, len(attempts)) for attempt in graded]
    return found[-1] if policy.attempt == "last" else max(reversed(found), key=lambda mark: mark.score)


def cell_id(check: str) -> str:
    """The name of a check's cell in nbgrader."""
    return Cell("code", {"check": check}, "", 0, 0).id


def days_late(policy: Policy, due: datetime | None, submitted: datetime | None) -> int:
    """Days that have begun since it was due; 0 within the grace. A day ends at the due date's time of day."""
    if due is None or submitted is None or utc(submitted) <= utc(due) + policy.grace:
        return 0
    days = ceil((utc(submitted) - utc(due)).total_seconds() / 86400)
    return next(day for day in (days - 1, days, days + 1) if utc(later(due, day)) >= utc(submitted))


def penalty(policy: Policy, days: int, earned: float, points: float) -> float:
    """Points that lateness costs, at most what was earned; percents are of the assignment's points, as in Canvas."""
    if not days or policy.late == "none":
        return 0.0
    if policy.late == "zero":
        return earned
    return min(earned, points * min(policy.cap, policy.percent * days) / 100)


def _mark(policy: Policy, attempt: Attempt, hand: ByHand, written: float, attempts: int) -> Mark:
    kept = [check for check in attempt.result.checks if check.name not in policy.drop]
    earned = sum(hand.checks.get(cell_id(check.name), check.earned) for check in kept) + hand.written + hand.extra
    points = sum(check.points for check in kept) + written
    due = policy.due_of(attempt.result.key.student)
    days = days_late(policy, due, attempt.first)
    cost = penalty(policy, days, earned, points)
    return Mark(attempt.result, earned, points, days, cost, due, attempt.first, attempts, hand.open)
