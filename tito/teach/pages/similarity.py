"""Which submissions share passages that few others have. Begin at `compare` and `pairs`.

Answers are tokenised in a sealed process. A passage that many have, or that the course's own solution has, is how
the exercise is solved, and says nothing; one that few have says something. Pairs are found by an inverted index,
fingerprint to submissions, so the work grows with the class and not with its square.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from tito import release
from tito.course import Lesson, Milestone
from tito.teach.intake import intake
from tito.teach.intake.intake import Submission
from tito.teach.pages.fingerprinting import Reader, Unreadable

LEAST = 5  # rare passages that two must share
SHARE = 0.2  # of the rare passages of the one that has fewer
MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)  # begins a cell of a percent file
EXERCISE = re.compile(r'exercise="(\w+)"')

Prints = Mapping[str, Sequence[int]]  # the name of a cell: its fingerprints


@dataclass(frozen=True)
class Pair:
    """Two submissions that are alike: how many rare passages they share, and in which cells of the first."""

    one: str
    other: str
    shared: int
    share: float  # of the rare passages of the one that has fewer, 0 to 1
    where: tuple[str, ...]


def compare(
    submitted: Path, item: Lesson | Milestone, assignment: str, students: Iterable[str]
) -> tuple[list[Pair], list[str]]:
    """The pairs that are alike among submitted/STUDENT/ASSIGNMENT, and the students whose files could not be read."""
    prints: dict[str, Prints] = {}
    unread = []
    given = released(item)
    with Reader() as reader:
        known = {mark for marks in reader.read(solutions(item), given).values() for mark in marks}
        for student in students:
            try:
                submission = intake.read_submission(submitted / student / assignment)
                prints[student] = reader.read(cells(submission, item), given)
            except (intake.Refused, Unreadable, OSError):
                unread.append(student)
    return pairs(prints, known), unread


def released(item: Lesson | Milestone) -> list[str]:
    """The code that every student was given."""
    return (
        [cell.source for cell in release.student_cells(item) if cell.kind == "code"] if isinstance(item, Lesson) else []
    )


def solutions(item: Lesson | Milestone) -> dict[str, str]:
    """The course's own answers."""
    return {cell.name: cell.source for cell in item.cells() if cell.written} if isinstance(item, Lesson) else {}


def cells(submission: Submission, item: Lesson | Milestone) -> dict[str, str]:
    """What a submission says in code of its own, by exercise where that is known; nothing of it is parsed."""
    known = {cell.id: cell.name for cell in item.cells()} if isinstance(item, Lesson) else {}
    given = set(released(item))
    found: dict[str, str] = {}
    for cell in submission.cells:
        if cell.kind == "code" and cell.source not in given:
            _put(found, known.get(cell.id, f"cell {cell.number}"), cell.source)
    for name, data in submission.files.items() if not submission.cells else ():
        if name.endswith(".py"):
            _put_parts(found, data.decode("utf-8", "replace"))
    return found


def _put_parts(found: dict[str, str], text: str) -> None:
    """The cells of a percent file: cut at its marks."""
    _, *parts = MARK.split("# %%\n" + text)
    for mark, source in zip(parts[::2], parts[1::2]):
        exercise = EXERCISE.search(mark)
        _put(found, exercise[1] if exercise else "own code", source)


def _put(found: dict[str, str], name: str, source: str) -> None:
    name = name if name not in found else f"{name} ({len(found) + 1})"
    found[name] = source


def pairs(prints: Mapping[str, Prints], known: Iterable[int] = ()) -> list[Pair]:
    """The pairs that share at least LEAST rare passages and SHARE of them, most first; `prints` by student.

    Rare is what at most `rare(class)` have, and what is not `known`: in the course's own solutions.
    """
    holders = _holders(prints, frozenset(known), rare(len(prints)))
    own = Counter(student for who in holders.values() for student in who)
    shared: Counter[tuple[str, str]] = Counter()
    for who in holders.values():
        shared.update(combinations(who, 2))
    alike = {both: n for both, n in shared.items() if n >= max(LEAST, SHARE * min(own[both[0]], own[both[1]]))}
    return [
        Pair(*both, n, n / min(own[both[0]], own[both[1]]), tuple(_where(prints, holders, *both)))
        for both, n in sorted(alike.items(), key=lambda item: (-item[1], item[0]))
    ]


def rare(students: int) -> int:
    """How many may have a passage before it says nothing: a fiftieth of the class, and at least 4."""
    return max(4, students // 50)


def _holders(prints: Mapping[str, Prints], known: frozenset[int], most: int) -> dict[int, list[str]]:
    """Who has each rare passage, by name."""
    holders: dict[int, list[str]] = defaultdict(list)
    for student, marks in sorted(prints.items()):
        for mark in {mark for cell in marks.values() for mark in cell} - known:
            holders[mark].append(student)
    return {mark: who for mark, who in holders.items() if len(who) <= most}


def _where(prints: Mapping[str, Prints], holders: Mapping[int, Sequence[str]], one: str, other: str) -> Iterator[str]:
    """The cells of `one` in which rare passages stand that `other` has too."""
    for name, marks in prints[one].items():
        if any(other in holders.get(mark, ()) for mark in marks):
            yield name
