"""What moved between two results of a benchmark: `results.json`, `loop.json` or any other that this folder holds.

    git show HEAD~1:benchmarks/loop.json > old.json
    python benchmarks/compare.py old.json benchmarks/loop.json [--fail-over PERCENT]

A figure is an object with median, low and high, a list of these three, or a number by itself, which has no spread; what
stands at the top of a file is about the machine. Less is better. `*` stands where low to high of the two do not touch.
With --fail-over the exit code is 1 when such a figure grew by more than PERCENT.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

WIDTH = 78
NUMBERS = 11, 11, 8, 2  # columns: old, new, ratio, and the mark


class Figure(NamedTuple):
    """A measured value and its quartiles."""

    median: float
    low: float
    high: float


class Move(NamedTuple):
    """A figure that both have."""

    name: str
    old: Figure
    new: Figure

    @property
    def ratio(self) -> float:
        return self.new.median / self.old.median if self.old.median else float("inf")

    @property
    def beyond(self) -> bool:
        """Whether it moved by more than its spread."""
        return self.new.low > self.old.high or self.new.high < self.old.low


def figures(value: Any, name: str = "") -> Iterator[tuple[str, Figure]]:
    """All figures below a value that was read from JSON, each with the way to it."""
    figure = figure_of(value)
    if figure and " " in name:
        yield name.strip(), figure
    elif isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from figures(item, f"{name} {key}" if name else str(key))


def figure_of(value: Any) -> Figure | None:
    if isinstance(value, dict) and set(Figure._fields) <= set(value):
        return Figure(value["median"], value["low"], value["high"])
    numbers = value if isinstance(value, list) and len(value) == 3 else [value] * 3
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        return None
    figure = Figure(*numbers)
    return figure if figure.low <= figure.median <= figure.high else None


def moves(old: Any, new: Any) -> tuple[list[Move], list[str]]:
    """The figures that both have, in the order of the new one, and the names that only one has."""
    before, after = dict(figures(old)), dict(figures(new))
    both = [Move(name, before[name], figure) for name, figure in after.items() if name in before]
    return both, [name for name in {**after, **before} if (name in before) != (name in after)]


def table(both: list[Move]) -> Iterator[str]:
    """One row a figure, the widest 78 columns wide."""
    room = WIDTH - sum(NUMBERS)
    yield f"{'':<{room}}{'old':>11}{'new':>11}{'ratio':>8}"
    for move in both:
        name = move.name if len(move.name) < room else f"{move.name[: room - 4]}..."
        mark = " *" * move.beyond
        yield f"{name:<{room}}{move.old.median:>11.4g}{move.new.median:>11.4g}{move.ratio:>8.2f}{mark}"


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("old", type=Path)
    options.add_argument("new", type=Path)
    options.add_argument("--fail-over", type=float, metavar="PERCENT")
    chosen = options.parse_args()
    both, alone = moves(*(json.loads(path.read_text(encoding="utf-8")) for path in (chosen.old, chosen.new)))
    print("\n".join(table(both)))
    for name in alone:
        print(f"only in one: {name}"[:WIDTH])
    if chosen.fail_over is None:
        return 0
    return int(any(move.beyond and move.ratio > 1 + chosen.fail_over / 100 for move in both))


if __name__ == "__main__":
    sys.exit(main())
