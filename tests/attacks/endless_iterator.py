"""Returns iterators, generators and views without end."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import itertools
def double(x):
    return itertools.count()
""",
}
