"""Where each line of the package came from: a cell and a line of it. Text is moved whole, so lines are found again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple


class Place(NamedTuple):
    """A line of a lesson's cell; cell 0 is the course's own, where the student's file has none."""

    lesson: str
    cell: int
    line: int


class Row(NamedTuple):
    """A line of a file, and where it came from; nowhere for a blank line between two parts."""

    text: str
    place: Place | None = None


Span = tuple[int, int, str, int, int]  # first and last line of the file, lesson, cell, line of the cell


def found(lines: Iterable[str], source: Sequence[str], start: int) -> list[int]:
    """For each line the index in `source`, looked for in order from `start` on.

    A line that was changed on its way is taken to stand where the next one is looked for.
    """
    keys = _keys(tuple(source))
    indexes: list[int] = []
    here = start
    for line in lines:
        index = next((i for i in range(here, len(keys)) if keys[i] == _key(line)), None)
        indexes.append(min(here, len(keys) - 1) if index is None else index)
        here = here if index is None else index + 1
    return indexes


@lru_cache(maxsize=4096)
def _keys(lines: tuple[str, ...]) -> list[str]:
    return [_key(line) for line in lines]


def _key(line: str) -> str:
    """What stays of a line when it moves: all but its indent, and the name of a function of its head."""
    code = line.strip()
    return code.partition("(")[0] if code.startswith(("def ", "async def ")) else code


def spans(rows: Sequence[Row]) -> list[Span]:
    """The rows of a file as runs of lines that follow each other in one cell."""
    result: list[Span] = []
    for number, row in enumerate(rows, 1):
        if row.place is None or not row.place.cell:
            continue
        lesson, cell, line = row.place
        if result and result[-1][1] == number - 1 and result[-1][2:4] == (lesson, cell):
            first, last, *_, begun = result[-1]
            if begun + number - first == line:
                result[-1] = (first, number, lesson, cell, begun)
                continue
        result.append((number, number, lesson, cell, line))
    return result
