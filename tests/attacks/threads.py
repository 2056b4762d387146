"""Starts threads until it can no more."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import threading, time
def double(x):
    while True:
        try:
            threading.Thread(target=time.sleep, args=(1000,)).start()
        except RuntimeError:
            return x
""",
}
