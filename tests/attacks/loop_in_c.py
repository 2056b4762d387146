"""Hangs inside one call of C, where no Python signal handler runs."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    return sum(range(10**15))
""",
}
