"""What an instructor is told about a class: one offline page whose size has a limit. Begin at `page`.

Each plot's title is what it says. Each number can be followed to submissions by links; of many the first few are shown,
and how many more there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tito.course import Course
from tito.teach.pages import pages, plots
from tito.teach.pages.feedback import found, title
from tito.teach.pages.pages import count, number, percent
from tito.teach.pages.similarity import Pair
from tito.teach.pages.tally import Exercise, Tally, tally
from tito.teach.result import Result

LINKS = 6  # shown behind a number
ROWS = 20  # of a table of reasons or notes
MISTAKES = 4  # of an exercise
PAIRS = 50
LOWEST = 100  # rows of the table of submissions
SHADES = 5
UP = ("..", "..")  # from out/report/ to the course folder


@dataclass(frozen=True)
class Links:
    """The first few submissions behind a number: (student, address); and how many more there are."""

    first: tuple[tuple[str, str], ...]
    more: int


@dataclass(frozen=True)
class Cell:
    """A square of the heat map."""

    says: str
    many: int
    shade: int  # 1 to SHADES
    links: Links


def page(
    results: Iterable[Result],
    course: Course,
    assignment: str,
    pairs: Sequence[Pair] | None = None,
    unread: Sequence[str] = (),
) -> str:
    """The HTML of the report. `pairs` are similar submissions, None when none were compared; `unread` could not be."""
    total = tally(results)
    link = _linker(assignment)
    shown = sorted(total.rows, key=lambda row: (row.share, row.student))[:LOWEST]
    return pages.render(
        "report",
        title=title(found(course, assignment), assignment),
        total=total,
        banner=_banner(total),
        scores=(scores_title(total), _scores(total)),
        exercises=(exercises_title(total), _exercises(total)),
        mistakes=(mistakes_title(total), _heat(total, link)),
        ended=(ended_title(total), _ended(total, link)),
        notes=(notes_title(total), _groups(total.notes, link)),
        refused=(refused_title(total), _groups(total.refused, link)),
        pairs=(pairs_title(pairs), [(pair, link([pair.one, pair.other])) for pair in (pairs or ())[:PAIRS]]),
        more_pairs=max(len(pairs or ()) - PAIRS, 0),
        unread=link(unread) if unread else None,
        rows=[(row, link([row.student])) for row in shown],
        bin_names=[plots.bin_name(i) for i in range(len(total.bins))],
    )


def scores_title(total: Tally) -> str:
    """What the distribution says."""
    if not total.rows:
        return "Nothing is graded yet"
    full = total.bins[-1]
    if 2 * full > len(total.rows):
        return f"{_part(full, len(total.rows))} earned all {number(total.points)} points"
    return f"Half the class has at least {number(total.median)} of {number(total.points)} points"


def exercises_title(total: Tally) -> str:
    """Which exercise is the hardest."""
    ranked = total.by_difficulty
    if not ranked or ranked[0].mean == ranked[-1].mean:
        return (
            f"Every exercise earns {percent(ranked[0].mean)} of its points" if ranked else "No exercise is graded yet"
        )
    hardest = ranked[0]
    return f"{hardest.name} is the hardest: the class earns {percent(hardest.mean)} of its points"


def mistakes_title(total: Tally) -> str:
    """The mistake that most students made."""
    every = [(len(who), says, e.name) for e in total.exercises.values() for says, who in e.mistakes.items()]
    if not every:
        return "No known mistake was recognised"
    many, says, exercise = max(every)
    return f"{exercise}: '{says}' is the most common mistake, in {_part(many, len(total.rows))}"


def ended_title(total: Tally) -> str:
    """How many submissions did not run to their end."""
    many = sum(len(who) for places in total.ended.values() for who in places.values())
    return f"{_part(many, len(total.rows))} ended early" if many else "Every submission ran to its end"


def notes_title(total: Tally) -> str:
    """How many files deviate."""
    many = sum(row.notes > 0 for row in total.rows)
    what = "a check edited or missing, or a cell that failed"
    return (
        f"{_part(many, len(total.rows))} {'has' if many == 1 else 'have'} {what}"
        if many
        else f"No submission has {what}"
    )


def refused_title(total: Tally) -> str:
    """How many could not be graded."""
    many = sum(map(len, total.refused.values()))
    return f"{count(many, 'submission')} could not be read" if many else "Every submission could be read"


def pairs_title(pairs: Sequence[Pair] | None) -> str:
    """How many are alike."""
    if pairs is None:
        return "Submissions were not compared"
    if not pairs:
        return "No two submissions share unusual passages"
    return f"{count(len(pairs), 'pair')} of submissions {'share' if len(pairs) > 1 else 'shares'} unusual passages"


def _part(many: int, of: int) -> str:
    return f"{many:,} of {count(of, 'submission')}"


def _banner(total: Tally) -> str:
    return (
        f"{count(total.open, 'submission')} graded without a sealed process: trust no mark among them."
        if total.open
        else ""
    )


def _scores(total: Tally) -> str:
    about = (
        f"Submissions by share of the points; the median is {number(total.median)} of {number(total.points)} points."
    )
    share = total.median / total.points if total.points else 0.0
    return plots.columns("scores", scores_title(total), about, total.bins, share, f"median {number(total.median)}")


def _exercises(total: Tally) -> str:
    about = "Exercises from the hardest to the easiest, by the share of their points that the class earned."
    rows = [(exercise.name, exercise.mean) for exercise in total.by_difficulty]
    return plots.bars("exercises", exercises_title(total), about, rows)


Linker = Callable[[Sequence[str]], Links]


def _linker(assignment: str) -> Linker:
    """Turns students into links to what they handed in, relative to where the report lies."""

    def link(students: Sequence[str]) -> Links:
        first = tuple((who, pages.address(*UP, "submitted", who, assignment)) for who in students[:LINKS])
        return Links(first, max(len(students) - LINKS, 0))

    return link


def _heat(total: Tally, link: Linker) -> list[tuple[Exercise, list[Cell]]]:
    """A row for each exercise with known mistakes: its most frequent ones, shaded by how many made them."""
    most = max((len(who) for e in total.exercises.values() for who in e.mistakes.values()), default=1)
    rows = [(e, e.common[:MISTAKES]) for e in total.exercises.values() if e.mistakes]
    return [
        (e, [Cell(says, len(who), -(-SHADES * len(who) // most), link(who)) for says, who in row]) for e, row in rows
    ]


def _ended(total: Tally, link: Linker) -> list[tuple[str, int, Links]]:
    places = ((reason, at, who) for reason, found in total.ended.items() for at, who in found.items())
    return _groups({f"{reason}{f', first in {at}' if at else ''}": who for reason, at, who in places}, link)


def _groups(groups: dict[str, list[str]], link: Linker) -> list[tuple[str, int, Links]]:
    ranked = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [(text, len(who), link(who)) for text, who in ranked[:ROWS]]
