"""Answers a question twice: once by hand under its right number, once by returning."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
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
