"""Warns, prints to stderr, and is right."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import sys, warnings
def double(x):
    warnings.warn("overflow", RuntimeWarning)
    print("Traceback (most recent call last): AssertionError", file=sys.stderr)
    np.float32(1) / np.float32(0)
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
