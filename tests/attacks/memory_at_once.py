"""Takes all memory while the cell is run."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
hoard = []
while True:
    hoard.append(bytearray(2**26))
""",
}
