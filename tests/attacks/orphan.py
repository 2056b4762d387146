"""Leaves a process behind that outlives the grading."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import os
try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import time
            time.sleep(1000)
        os._exit(0)
except OSError:
    pass
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
