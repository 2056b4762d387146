"""The lines that the class edition of the site must not hold. Begin at `of`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opened import forms, squeezed

from tito import release
from tito.course import Course, Lesson
from tito.dev.mistakes import mistakes_of
from tito.teach.assignments.leaks import _parted
from tito.teach.assignments.milestone_questions import QUESTIONS

SHORTEST = 20  # characters without blanks; shorter lines are written by chance


@dataclass(frozen=True)
class Secrets:
    """Lines of solutions, of hidden checks, of known mistakes and of answers to questions, without blanks."""

    solutions: frozenset[str]
    hidden: frozenset[str]
    mistakes: frozenset[str]
    answers: frozenset[str]

    def all(self) -> frozenset[str]:
        return self.solutions | self.hidden | self.mistakes | self.answers


def of(course: Course) -> Secrets:
    """What students are shown anywhere, in a stub, twin, text, visible check, supplied file or milestone, is none."""
    public = b"\n".join(squeezed(text) for text in shown(course))

    def telling(texts: Iterable[str]) -> frozenset[str]:
        lines = {squeezed(line) for text in texts for line in text.splitlines()}
        return frozenset(line.decode() for line in lines if len(line) >= SHORTEST and line not in public)

    cells = [cell for lesson in course.everything for cell in lesson.cells()]
    return Secrets(
        telling(_parted(cell.source)[1] for cell in cells if not cell.hidden),
        telling(_parted(cell.source)[1] for cell in cells if cell.hidden),
        telling(line for lesson in course.everything for line in _mistaken(lesson)),
        telling(answer for questions in QUESTIONS.values() for _, answer in questions),
    )


def shown(course: Course) -> Iterator[str]:
    """All that a student of a class is given to read as text or code, but for hints."""
    for lesson in course.everything:
        yield from (cell.source for cell in release.student_cells(lesson))
        yield from (path.read_text(encoding="utf-8") for path in lesson.supplied)
    yield from (path.read_text(encoding="utf-8") for path in sorted((course.root / "milestones").glob("*.py")))


def hints(course: Course) -> bytes:
    """Hints are given one by one, and the last is nearly the line: what stands in hints.toml is no secret there."""
    files = (lesson.folder / "hints.toml" for lesson in course.everything)
    return b"\n".join(form for path in files if path.is_file() for form in forms(path.read_bytes()))


def _mistaken(lesson: Lesson) -> Iterator[str]:
    """The lines that a known mistake changes, as it writes them."""
    sources = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    for mistake in mistakes_of(lesson):
        right = sources[mistake.exercise].splitlines()
        yield from (line for line in mistake.apply(sources[mistake.exercise]).splitlines() if line not in right)
