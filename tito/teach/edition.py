"""Which edition of the course this is: an instructor's commands need the one with solutions."""

from __future__ import annotations

from tito.course import Course
from tito.errors import UserError
from tito.release import has_solutions


def require_solutions(course: Course, command: str) -> None:
    """Raise UserError in a class edition."""
    if not any(map(has_solutions, course.lessons)):
        way_out = "install the instructor's: pip install --force-reinstall 'tinytorch-course[instructor]'"
        raise UserError(f"{command} needs solutions, and this is the class edition, which has none; {way_out}")
