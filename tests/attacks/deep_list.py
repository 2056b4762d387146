"""Returns a list nested a million deep."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    deep = []
    for _ in range(10**6):
        deep = [deep]
    return deep
""",
}
