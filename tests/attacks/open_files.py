"""Opens files until there are none left."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os
kept = []
def double(x):
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
""",
}
