"""Sends a pickle that would run a program where a value is wanted."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
import pickle
class Bomb:
    def __reduce__(self):
        return (os.system, ("touch /tmp/pickled",))
def double(x):
    os.write(connection(), pickle.dumps(Bomb()))
    return Bomb()
""",
}
