"""Sleeps for a year."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import time
def double(x):
    time.sleep(3e7)
""",
}
