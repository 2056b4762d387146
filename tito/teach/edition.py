"""Which edition of the course this is: the class edition comes without solutions."""

from __future__ import annotations

from tito.course import Course, Lesson
from tito.errors import UserError
from tito.release import student_cells


def has_solutions(lesson: Lesson) -> bool:
    """Whether an exercise says more than what a student starts from."""
    pairs = zip(lesson.cells(), student_cells(lesson), strict=True)
    return any(_bare(ours.source) != _bare(given.source) for ours, given in pairs if ours.role == "exercise")


def require_solutions(course: Course, command: str) -> None:
    """Raise UserError in a class edition."""
    if not any(map(has_solutions, course.lessons)):
        way_out = "install the instructor's: pip install --force-reinstall 'tinytorch-course[instructor]'"
        raise UserError(f"{command} needs solutions, and this is the class edition, which has none; {way_out}")


def _bare(source: str) -> list[str]:
    lines = [line.rstrip() for line in source.splitlines()]
    return [line for line in lines if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION")]
