"""Tries to look into other processes, and to leave its own confinement, by system calls."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
for number in (101, 310, 311, 155, 161, 165, 166, 272, 308, 321, 298, 425, 319, 322, 323, 304, 250, 135, 438, 434, 442, 105, 117, 126):
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
