"""Known wrong answers: each a small change to a solution, with one sentence that names it."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tito.errors import UserError

if TYPE_CHECKING:
    from tito.course import Lesson


@dataclass(frozen=True)
class Mistake:
    """In the cell of `exercise`, `old` stands exactly once and becomes `new`; then the check named `check` fails.

    `says` completes "looks like: ...", as in "subtracts instead of adds".
    """

    exercise: str
    old: str
    new: str
    says: str
    check: str

    def apply(self, source: str) -> str:
        """The exercise's cell with the mistake in it. Raises UserError when the change does not fit exactly once."""
        count = source.count(self.old)
        if count != 1:
            raise UserError(
                f"the mistake {self.says!r} of {self.exercise}: {self.old!r} occurs {count} times, not once"
            )
        return source.replace(self.old, self.new)


def mistakes_of(lesson: Lesson) -> list[Mistake]:
    """The entries of the lesson's mistakes.py; none without the file."""
    path = lesson.folder / "mistakes.py"
    return list(runpy.run_path(str(path))["MISTAKES"]) if path.exists() else []
