"""Tries to look into other processes, and to leave its own confinement, by system calls."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
peeking, mounting, running = (101, 310, 311, 438, 434, 304), (155, 161, 165, 166, 442), (425, 319, 322, 323)
for number in (*peeking, *mounting, *running, 272, 308, 321, 298, 250, 135, 105, 117, 126):
    call(number, 0, 0, 0, 0, 0, 0)
libc = ctypes.CDLL(None)
libc.prctl(4, 1)
libc.unshare(0x10000000)
libc.chroot(b"/")
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}
