"""Takes all memory when it is asked, and keeps what it got."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
hoard = []
def double(x):
    while True:
        try:
            hoard.append(bytearray(2**20))
        except MemoryError:
            hoard.append(hoard[-1])
""",
}
