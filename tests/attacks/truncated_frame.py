"""Begins a frame of 60 MB, and never sends the rest."""

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

def double(x):
    os.write(connection(), struct.pack("<IcQ", 0, b"l", 60 * 2**20))
    while True:
        pass
""",
}
