"""What every page is made from: the course that is shown, the course that is run, and where pages and results go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pages.results import Results
from pages.tree import Tree
from tito.course import Course, Lesson

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = ROOT / "site" / "text"


@dataclass(frozen=True)
class Site:
    """One edition of the site.

    `course` is what readers see: in the class edition it holds no solution, hidden check or known mistake. `solved` is
    the whole course, which is run and never shown there. `reference` is the folder that holds the solved package.
    """

    course: Course
    solved: Course
    reference: Path
    tree: Tree
    results: Results
    class_edition: bool

    def whole(self, lesson: Lesson) -> Lesson:
        """The lesson with its solutions, to be run."""
        return self.solved.lesson(lesson.id)
