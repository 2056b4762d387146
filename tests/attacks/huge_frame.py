"""Announces a frame of 2 to the 60 bytes."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
def double(x):
    os.write(connection(), struct.pack("<IcQ", 0, b"l", 2**60))
    return x
""",
}
