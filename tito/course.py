"""The course: which lessons and milestones there are, in which order, and where their files lie.

`Course.lessons` and `Course.milestones` are the course. Electives stand beside it: they are offered, work like any
other when they are named, and belong to no `--all`, count or progress.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from tito import percent, questions
from tito.errors import UserError


@dataclass(frozen=True)
class Lesson:
    """One lesson: a folder with its source, its supplied files, hints and known mistakes."""

    id: str
    name: str
    title: str
    minutes: int
    needs: tuple[str, ...]
    folder: Path
    question_points: int = 0  # what an answer to a question for reflection is worth; 0: its answer is folded text
    difficulty: int = 2  # 1 to 3
    elective: bool = False

    @property
    def stem(self) -> str:
        """The name of its notebook, without an ending: `01_tensor`."""
        return f"{self.id}_{self.name}"

    @property
    def source(self) -> Path:
        """The percent file that holds lesson, solutions and checks."""
        return self.folder / f"{self.name}.py"

    @property
    def supplied(self) -> tuple[Path, ...]:
        """The finished modules that are exported as they are."""
        others = self.folder.glob("*.py")
        return tuple(sorted(path for path in others if path.stem not in (self.name, "mistakes")))

    @property
    def figures(self) -> tuple[Path, ...]:
        """The drawn figures that its text shows."""
        return tuple(sorted((self.folder / "figures").glob("*.svg")))

    def cells(self) -> tuple[percent.Cell, ...]:
        """The cells of its source, read once; two of one name are refused."""
        cells = _cells(self.source, self.source.stat().st_mtime_ns)
        return questions.graded(cells, self.question_points) if self.question_points else cells


@dataclass(frozen=True)
class Milestone:
    """A program from history that runs on the student's package."""

    id: str
    year: int
    title: str
    file: str
    needs: tuple[str, ...]
    elective: bool = False


Item = TypeVar("Item", Lesson, Milestone)


@dataclass(frozen=True)
class Course:
    """All lessons and milestones, in course order, and the folder that holds them."""

    root: Path
    title: str
    lessons: tuple[Lesson, ...]
    milestones: tuple[Milestone, ...]
    site: str = ""  # where its pages are, https://...; see tito/links.py
    electives: tuple[Lesson, ...] = ()
    elective_milestones: tuple[Milestone, ...] = ()

    @property
    def everything(self) -> tuple[Lesson, ...]:
        """All lessons, in the order in which a package is built of them: electives last, as no lesson needs one."""
        return (*self.lessons, *self.electives)

    @property
    def every_milestone(self) -> tuple[Milestone, ...]:
        """All milestones, electives last."""
        return (*self.milestones, *self.elective_milestones)

    @classmethod
    def find(cls) -> Course:
        """The course of an installed copy, else of the checkout that this file lies in."""
        here = Path(__file__).resolve().parent
        for root in (here / "_course", here.parent):
            if (root / "course.toml").is_file():
                return cls.load(root)
        raise UserError("the lessons are missing beside tito; install it again: pip install tinytorch-course")

    @classmethod
    def load(cls, root: Path) -> Course:
        """The course that `root/course.toml` describes."""
        table = _read_toml(root / "course.toml")
        lessons, electives = _parted(_lesson(entry, root) for entry in table["lesson"])
        milestones, more = _parted(_milestone(entry) for entry in table.get("milestone", ()))
        _refuse_needed(electives, (*lessons, *milestones))
        return cls(root, table["title"], lessons, milestones, str(table.get("site", "")), electives, more)

    def lesson(self, key: str) -> Lesson:
        """The lesson called `1`, `01`, `tensor` or `01_tensor`."""
        for lesson in self.everything:
            if key.lower() in (lesson.id, lesson.id.lstrip("0"), lesson.name, lesson.stem):
                return lesson
        names = ", ".join(f"{lesson.id} {lesson.name}" for lesson in self.everything)
        raise UserError(f"there is no lesson {key!r}, only {names}; see them with: tito status")

    def milestone(self, key: str) -> Milestone:
        """The milestone called `m1`, `1958`, `perceptron` or by its file's name."""
        for milestone in self.every_milestone:
            names = (milestone.id, str(milestone.year), milestone.title.lower(), milestone.file, milestone.file[:-3])
            if key.lower() in names:
                return milestone
        names_of_all = ", ".join(f"{milestone.id} {milestone.title}" for milestone in self.every_milestone)
        raise UserError(f"there is no milestone {key!r}, only {names_of_all}; see them with: tito milestone")

    def needs_of(self, item: Lesson | Milestone) -> tuple[Lesson, ...]:
        """All lessons that a lesson or milestone builds on, in course order."""
        wanted = set(item.needs)
        for lesson in reversed(self.everything):
            if lesson.id in wanted:
                wanted.update(lesson.needs)
        return tuple(lesson for lesson in self.everything if lesson.id in wanted)


def _lesson(entry: dict[str, Any], root: Path) -> Lesson:
    folder = root / "modules" / f"{entry['id']}_{entry['name']}"
    told = {key: entry[key] for key in ("question_points", "difficulty", "elective") if key in entry}
    return Lesson(entry["id"], entry["name"], entry["title"], entry["minutes"], tuple(entry["needs"]), folder, **told)


def _milestone(entry: dict[str, Any]) -> Milestone:
    needs, elective = tuple(entry["needs"]), entry.get("elective", False)
    return Milestone(entry["id"], entry["year"], entry["title"], entry["file"], needs, elective)


def _parted(items: Iterable[Item]) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The course's own, and the electives."""
    found = tuple(items)
    return tuple(one for one in found if not one.elective), tuple(one for one in found if one.elective)


def _refuse_needed(electives: Sequence[Lesson], core: Iterable[Lesson | Milestone]) -> None:
    """What everybody takes cannot build on what some leave out."""
    ids = {lesson.id for lesson in electives}
    for one in core:
        for id in ids.intersection(one.needs):
            raise UserError(f"course.toml: {one.id} needs {id}, an elective; make {one.id} one too, then: tito status")


def _read_toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=32)
def _cells(source: Path, changed: int) -> tuple[percent.Cell, ...]:
    cells = tuple(percent.read(source.read_text(encoding="utf-8")))
    _refuse_twice(source, (cell.id for cell in cells))
    return cells


def _refuse_twice(source: Path, ids: Iterable[str]) -> None:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            raise UserError(f"{source} has two cells called {id}; give one of them another name")
        seen.add(id)
