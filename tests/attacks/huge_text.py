"""Raises an exception with a text of 100 MB that is full of control characters and surrogates."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    raise ValueError("text \ud800\x1b[2J\x00\u202e" * 5_000_000)
""",
}
