"""What the exported lessons define."""

from tinytorch.drawing import Pen, is_on, state
from tinytorch.shapes import SIDES, UNIT, Circle, Shape, Square, corners, edges, total

__all__ = ["UNIT", "SIDES", "corners", "edges", "Shape", "Square", "Circle", "total", "state", "is_on", "Pen"]
