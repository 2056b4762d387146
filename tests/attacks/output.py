"""Prints 20 MB, and is right."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import os, sys
line = "x" * 2**20
for _ in range(10):
    print(line)
    os.write(2, line.encode())
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
