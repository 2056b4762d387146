"""Lesson 01: Shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tinytorch.switch import is_on

__all__ = ["UNIT", "SIDES", "corners", "edges", "Shape", "Square", "Circle", "total"]

UNIT = 1.0
SIDES = {"square": 4}  # by name

#: Corners that were counted.
corners, edges = 0, 0


class Shape:
    """A thing with an area.

    Made by its name.
    """

    sides = 3
    color: str | None = None
    dashed = True

    def __init__(self, name: str) -> None:
        self.name = name

    # Replaced: now it depends on the switch.
    def area(self) -> float:
        return 1.0 if is_on() else 0.0

    # --- words ---

    def __repr__(self) -> str:
        return f"{self.name} of {self.area()}"
        # the end

    # A fact, and
    # a comment of two lines.
    @property
    def label(self) -> str:
        text = """Shape:
  kept as it is
        # no comment
    """
        text += f"""{self.name}
 {self.sides}
    """
        return text.replace(
            "kept",
            "left",
        )

    @classmethod
    def make(cls, *names: str) -> list[Shape]:
        """One each."""
        return [cls(name) for name in names]


class Square(Shape):
    # The side comes second.
    def __init__(self, name: str, side: float = -1.0) -> None:
        """Keep both.

        Also the side.
        """
        self.name = name
        self.side = side

    def area(self) -> float:
        def power(base: float, exponent: int) -> float:
            """Base times itself.

            Slowly.
            """
            return math.prod(base for _ in range(exponent))

        return power(self.side, 2)

    @contextmanager
    def sum(self, /, *, start: int = 0) -> Iterator[float]:
        # sum is a built-in here
        yield start + sum(range(3))


class Circle(Shape):
    def __init__(self, radius: float) -> None:
        self.name, self.radius = "Kreis", radius

    def area(self, *_größe: Any) -> float:  # größe is not used
        return round(self.radius * self.radius * 3.0, len(SIDES))

    def describe(self) -> Iterable[Any]:
        return [self.name, self.sides]


def total(shapes: list[Shape]) -> float:
    """Areas added up, twice the small ones."""
    return sum(doubled(shape.area()) for shape in shapes)


def doubled(area):
    return 2 * area if area < LIMIT else area


LIMIT = 5
