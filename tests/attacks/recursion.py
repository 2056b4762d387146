"""Recurses until the stack of C is gone."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import sys
sys.setrecursionlimit(10**9)
def double(x):
    return double([x])
""",
}
