"""Runs the shell by commands in the cell of a right answer."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
!touch /tmp/ran
%run /etc/passwd
secret = !cat /etc/shadow
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
