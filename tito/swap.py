"""Exchanges two folders: in one step where the system can, else in three renames that `finish` can complete.

Linux has renameat2 with RENAME_EXCHANGE, macOS renamex_np with RENAME_SWAP: at every moment each path has one of the
two folders. Elsewhere `live` is away for an instant between the first rename and the second.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from pathlib import Path
from typing import Any

AT_FDCWD = -100
RENAME_EXCHANGE = 2  # renameat2(2)
RENAME_SWAP = 2  # renamex_np(2)
SYSCALL = {"x86_64": 316, "aarch64": 276}  # renameat2, for a C library older than the kernel
REFUSALS = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}  # of the call, not of the paths


def exchange(new: Path, live: Path) -> None:
    """Let `new` and `live`, folders of one file system, change places. Raises OSError, and they have not."""
    if not in_one_step(new, live):
        _in_three_renames(new, live)


def finish(new: Path, live: Path) -> None:
    """Complete an exchange that was cut off between its renames; does nothing after any other."""
    away = _away(new)
    if not away.exists():
        return
    if not live.exists():
        os.rename(new, live)
    os.rename(away, new)


def in_one_step(new: Path, live: Path) -> bool:
    """Exchange by one system call; False, with nothing done, where there is none or the file system refuses it."""
    code = _call(os.fsencode(new), os.fsencode(live))
    if code in REFUSALS:
        return False
    if code:
        raise OSError(code, os.strerror(code), str(live))
    return True


def _call(new: bytes, live: bytes) -> int:
    """The system's own exchange; 0 or the error's number."""
    if sys.platform == "darwin":
        return _result(lambda c: c.renamex_np(new, live, RENAME_SWAP))
    if sys.platform != "linux":
        return errno.ENOSYS
    return _result(lambda c: _renameat2(c)(AT_FDCWD, new, AT_FDCWD, live, RENAME_EXCHANGE))


def _result(call: Any) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    try:
        return 0 if call(library) == 0 else ctypes.get_errno()
    except AttributeError:  # this C library has no such function
        return errno.ENOSYS


def _renameat2(library: Any) -> Any:
    if hasattr(library, "renameat2"):
        return library.renameat2
    number = SYSCALL.get(platform.machine())
    if number is None:
        raise AttributeError("renameat2")
    return lambda *arguments: library.syscall(ctypes.c_long(number), *arguments)


def _in_three_renames(new: Path, live: Path) -> None:
    away = _away(new)
    os.rename(live, away)
    try:
        os.rename(new, live)
        os.rename(away, new)
    except OSError:
        if not new.exists():
            os.rename(live, new)
        os.rename(away, live)
        raise


def _away(new: Path) -> Path:
    """Where the old folder waits while the new one takes its place."""
    return new.with_name(f"{new.name}.away")
