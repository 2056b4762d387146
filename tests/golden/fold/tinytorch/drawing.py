"""Lesson 02: Drawing."""

from __future__ import annotations

import math as m

from tinytorch.shapes import Shape, Square
from tinytorch.switch import is_on, state

__all__ = ["state", "is_on", "Pen"]


class Pen:
    width = 2

    def draw(self, shape: Shape) -> str:
        return "-" * int(shape.area() * self.width)

    async def later(self, square: Square) -> str:
        return self.draw(square) + str(m.floor(1.5))
