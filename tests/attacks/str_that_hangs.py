"""Raises an exception whose text never comes."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
class Slow(ValueError):
    def __str__(self):
        while True:
            pass
def double(x):
    raise Slow()
""",
}
