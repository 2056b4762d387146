"""Writes a frame that is nested a million deep."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
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
