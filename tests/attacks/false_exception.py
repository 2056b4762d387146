"""Raises an exception that only calls itself builtins.ValueError; numbers are right."""

from __future__ import annotations

HONEST = 3
FLOOR = 3

EXERCISES = {
    "double": r"""
class ValueError(Exception):
    pass
ValueError.__module__ = "builtins"
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
