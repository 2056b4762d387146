"""Begins a frame of 60 MB, and never sends the rest."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
def double(x):
    os.write(connection(), struct.pack("<IcQ", 0, b"l", 60 * 2**20))
    while True:
        pass
""",
}
