"""A source of 200,000 parentheses, at which parsers fall over."""

from __future__ import annotations

HONEST = 0

EXERCISES = {}


EXERCISES["double"] = "x = " + "(" * 200_000 + ")" * 200_000
