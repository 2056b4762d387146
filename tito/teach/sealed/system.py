"""System calls that Python has no function for, by ctypes. Linux on x86-64 and 64-bit ARM."""

from __future__ import annotations

import ctypes
import os
import platform

MACHINE = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
CLONE, PIVOT_ROOT, MOUNT_SETATTR, CAPSET = (56, 220), (155, 41), (442, 442), (126, 91)
NEW_MOUNTS, NEW_HOSTNAME, NEW_IPC, NEW_USER = 0x20000, 0x4000000, 0x8000000, 0x10000000
NEW_PIDS, NEW_NETWORK = 0x20000000, 0x40000000
SIGCHLD = 17
BIND, RECURSIVE, PRIVATE, DETACH = 0x1000, 0x4000, 1 << 18, 2
NO_SUID, NO_DEV, NO_EXEC = 2, 4, 8

_libc = ctypes.PyDLL(None, use_errno=True)  # holds the GIL: `clone` must return in a child that has it


def call(number: tuple[int, int], *arguments: int | bytes | None) -> int:
    """A system call by its numbers on both machines. Raises OSError."""
    if MACHINE is None:
        raise OSError(f"no system call numbers for {platform.machine()}")
    typed = [ctypes.c_long(one) if isinstance(one, int) else ctypes.c_char_p(one) for one in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number[MACHINE]), *typed), "system call")


def prctl(option: int, value: int = 0) -> None:
    """Raises OSError."""
    zeros = [ctypes.c_ulong(0)] * 3
    _checked(_libc.prctl(option, ctypes.c_ulong(value), *zeros), "prctl")


def unshare(flags: int) -> None:
    """Raises OSError."""
    _checked(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Raises OSError."""
    texts = [text.encode() or None for text in (source, target, kind)]
    _checked(_libc.mount(*texts, ctypes.c_ulong(flags), options.encode() or None), f"mount {target}")


def unmount(target: str) -> None:
    """Let go of what is mounted there, whoever uses it. Raises OSError."""
    _checked(_libc.umount2(target.encode(), DETACH), f"umount {target}")


def clone(flags: int) -> int:
    """Fork into new namespaces -> the child's pid, and 0 in the child. One thread only. Raises OSError."""
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _libc.syscall(ctypes.c_long(CLONE[MACHINE or 0]), ctypes.c_ulong(flags | SIGCHLD), None, None, None, None)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    return _checked(pid, "clone")


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return int(result)
