"""Text that several attacks begin with: how a sealed child's code finds its connection to the grader."""

from __future__ import annotations

CONNECTION = r"""
import os, struct
def connection():
    for number in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket"):
                return number
        except OSError:
            pass
    for number in range(3, 64):
        try:
            os.fstat(number)
            return number
        except OSError:
            pass
"""
