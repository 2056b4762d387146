"""A notebook of JSON that is nested 100,000 deep."""

from __future__ import annotations

HONEST = 0

EXERCISES = {}


def change(text: str) -> str:
    """The file that is handed in."""
    return text[:-2] + ', "deep": ' + "[" * 100_000 + "]" * 100_000 + "}"
