"""A lesson's reference that an instructor gave, so that a learner can go on: a percent file with the mark `given`."""

from __future__ import annotations

from collections.abc import Iterable

from tito.percent import Cell

GIVEN = "given"  # the day, on every cell


def date_of(cells: Iterable[Cell]) -> str | None:
    """The day on which these cells were given; None when they are the learner's."""
    return next((str(cell.marks[GIVEN]) for cell in cells if GIVEN in cell.marks), None)


def origin(date: str) -> str:
    """What files and messages say instead of the notebook's name."""
    return f"the course's reference, given on {date}"
