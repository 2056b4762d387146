"""Floods the connection with bytes."""

from __future__ import annotations

from connection import CONNECTION

HONEST = 0

EXERCISES = {
    "double": CONNECTION
    + r"""
def double(x):
    talk = connection()
    while True:
        os.write(talk, b"\xff" * 2**16)
""",
}
