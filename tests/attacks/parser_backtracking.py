"""Lines at which a careless pattern for magics would take for ever."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {}


RIGHT = """def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
"""
EXERCISES["double"] = "# " * 30_000 + "%\n" + "#" * 30_000 + "!\n" + RIGHT
