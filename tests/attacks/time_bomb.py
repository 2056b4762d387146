"""Does its work later: a thread, atexit and __del__ write and print after the answer."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import atexit, os, threading, time
def later():
    time.sleep(0.3)
    while True:
        try:
            open("/tmp/left-behind", "w").write("late")
        except OSError:
            pass
        print("late")
threading.Thread(target=later).start()
atexit.register(later)
class Last:
    def __del__(self):
        later()
last = Last()
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
