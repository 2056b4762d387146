"""A source of 50,000 nested unary operators, calls and lists."""

from __future__ import annotations

HONEST = 0

EXERCISES = {}


EXERCISES["double"] = (
    "x = " + "-" * 50_000 + "1\ny = " + "[" * 90 + "f(" * 50 + ")" * 50 + "]" * 90 + "\nz = " + "+".join("1" * 50_000)
)
