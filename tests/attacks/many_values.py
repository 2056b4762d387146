"""Returns a million small values, and a dict whose keys collide."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    if len(x) == 2:
        return [1] * 10**6
    return {i * (2**61 - 1): i for i in range(10**4)}
""",
}
