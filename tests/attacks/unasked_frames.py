"""Sends well-formed answers that nobody asked for, ahead of time."""

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

from tito.teach.sealed import frames
for number in range(1000):
    os.write(connection(), frames.pack(number, {"value": np.float32([2, 6]), "seconds": 0.0}))
def double(x):
    return x
""",
}
