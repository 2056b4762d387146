"""Sends well-formed answers that nobody asked for, ahead of time."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
from tito.teach.sealed import frames
for number in range(1000):
    os.write(connection(), frames.pack(number, {"value": np.float32([2, 6]), "seconds": 0.0}))
def double(x):
    return x
""",
}
