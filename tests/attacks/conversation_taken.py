"""Takes the connection over and says yes to everything."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
from tito.teach.sealed import frames
from tito.teach.sealed import child
def double(x):
    talk = connection()
    while True:
        head = child._read(talk, frames.FRAME_HEAD.size)
        number, length = frames.read_head(head)
        child._read(talk, length)
        os.write(talk, frames.pack(number, {"value": True, "seconds": 0.0}))
double(0) if False else None
""",
}
