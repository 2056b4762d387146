"""Answers a question twice: once by hand under its right number, once by returning."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
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

import sys
from tito.teach.sealed import frames
def double(x):
    frame = sys._getframe()
    while "number" not in frame.f_locals:
        frame = frame.f_back
    os.write(connection(), frames.pack(frame.f_locals["number"], {"value": 2 * x, "seconds": 0.0}))
    return x
""",
}
