"""What a student is told about one submission: a page that opens anywhere, offline. Begin at `page`.

A visible check shows what it asked, what it wanted, what came and what that looks like. A hidden one shows its name,
its points and the exercise's hint, whatever else its result holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tito.course import Course, Lesson, Milestone, _read_toml
from tito.teach.folder import Folder
from tito.teach.intake import intake, openat
from tito.teach.marks.late import Mark
from tito.teach.pages import pages
from tito.teach.result import CheckResult, Result

WORDS = {"ok": "ok", "FAIL": "FAIL", "todo": "to do", "waits": "waits", "not run": "not run"}
MARKS = {"ok": "good", "FAIL": "bad"}  # classes of the style sheet; the rest is "open"
NO_ISOLATION = "This was graded without a sealed process: the code could have touched what graded it."


@dataclass(frozen=True)
class Exercise:
    """An exercise with its checks in order, and the hints that still help: none when all its points are earned."""

    name: str
    checks: tuple[CheckResult, ...]
    hints: tuple[str, ...]

    @property
    def earned(self) -> float:
        """Points."""
        return sum(check.earned for check in self.checks)

    @property
    def points(self) -> float:
        """The most that could be earned."""
        return sum(check.points for check in self.checks)

    @property
    def share(self) -> float:
        """Of its points, 0 to 1."""
        return self.earned / self.points if self.points else 0.0


def page(result: Result, course: Course, rules: str = "") -> str:
    """The HTML of the page; `rules` is a sentence on what the course's rules make of the points."""
    item = found(course, result.key.assignment)
    return pages.render(
        "feedback",
        title=title(item, result.key.assignment),
        student=result.key.student,
        refused=result.status == "refused",
        reason=result.reason,
        notes=result.notes,
        facts=_facts(result.extra),
        exercises=_exercises(result.checks, hints(item)),
        earned=result.earned,
        points=result.points,
        rules=rules,
        banner=NO_ISOLATION if result.isolation == 3 else "",
        digest=result.key.submission[:12],
        hidden=any(check.hidden for check in result.checks),
        words=WORDS,
        marks=MARKS,
        place=place,
    )


def found(course: Course, assignment: str) -> Lesson | Milestone | None:
    """The lesson or milestone whose assignment it is; None when the course has it no more."""
    items: Sequence[Lesson | Milestone] = (*course.everything, *course.every_milestone)
    return next((item for item in items if assignment in (item.id, getattr(item, "stem", ""))), None)


def title(item: Lesson | Milestone | None, assignment: str) -> str:
    """`03 Layers`, `Milestone m2: XOR (1969)`"""
    if isinstance(item, Milestone):
        return f"Milestone {item.id}: {item.title} ({item.year})"
    return f"{item.id} {item.title}" if item else assignment


def hints(item: Lesson | Milestone | None) -> Mapping[str, tuple[str, ...]]:
    """The hints of each exercise, from the question to nearly the line."""
    return _hints(item.folder / "hints.toml") if isinstance(item, Lesson) else {}


@cache
def _hints(path: Path) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(texts) for name, texts in _read_toml(path).items()} if path.is_file() else {}


def _exercises(checks: Sequence[CheckResult], known: Mapping[str, tuple[str, ...]]) -> list[Exercise]:
    names = dict.fromkeys(check.exercise for check in checks)
    return [_exercise(name, tuple(c for c in checks if c.exercise == name), known.get(name, ())) for name in names]


def _exercise(name: str, checks: tuple[CheckResult, ...], known: tuple[str, ...]) -> Exercise:
    done = all(check.earned >= check.points for check in checks)
    return Exercise(name, checks, () if done else known)


def _facts(extra: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The plain figures of a milestone, as text."""
    plain = [(name, value) for name, value in sorted(extra.items()) if isinstance(value, (str, int, float))]
    return [
        (name.replace("_", " "), f"{v:.4g}" if isinstance(v, float) else pages.cut(str(v), 200)) for name, v in plain
    ]


def place(where: tuple[str, int, str]) -> str:
    """`cell 9, line 3`"""
    return f"{where[0].strip('<>')}, line {where[1]}"


def counted(mark: Mark) -> str:
    """What the course's rules make of the points, where they change them."""
    if mark.score == mark.result.earned and mark.points == mark.result.points:
        return ""
    late = (
        f"{pages.count(mark.days_late, 'day')} late, which costs {pages.number(mark.penalty)}: "
        if mark.days_late
        else ""
    )
    return f"{late}{pages.number(mark.score)} of {pages.number(mark.points)} points count."


def write(folder: Folder, page: str, student: str, assignment: str) -> None:
    """Put the page where nbgrader's release_feedback takes it from, and in out/feedback/ASSIGNMENT/STUDENT.html.

    What names the page in the exchange came with the submission; work that came another way has none.
    """
    place = folder.root / "feedback" / student / assignment
    pages.write(place / f"{assignment}.html", page)
    pages.write(folder.out / "feedback" / assignment / f"{student}.html", page)
    for name in (intake.SECRET, intake.TIME):
        note = _note(folder.submitted / student / assignment / name)
        if note:
            pages.write(place / name, note)


def _note(path: Path) -> str:
    """The one line of a note of nbgrader's; a student filled its folder, so it may be anything."""
    try:
        with openat.file(path) as file:
            text = file.read(200).decode("ascii", "replace").strip()
    except (intake.Refused, OSError):
        return ""
    return text if text.isprintable() else ""
