"""Returns a list that holds itself, and raises exceptions chained in a ring."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    ring = []
    ring.append(ring)
    one, other = ValueError("text"), NotImplementedError()
    one.__context__, other.__context__ = other, one
    if isinstance(x, str):
        raise one
    return ring
""",
}
