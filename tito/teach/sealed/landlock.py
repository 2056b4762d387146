"""Landlock: this process, and what it may start, can read everything that is mounted, write below one folder only.

Needs no privilege. Source of the interface: Linux, Documentation/userspace-api/landlock.rst.
"""

from __future__ import annotations

import ctypes
import os
import struct

from tito.teach.sealed import system

CREATE, ADD, RESTRICT = (444, 444), (445, 445), (446, 446)
VERSION = 1  # flag of CREATE: say which version the kernel has
PATH_BENEATH = 1
WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # version -> how many rights on files it knows
TCP = 0b11  # bind, connect
SCOPES = 0b11  # abstract sockets, signals


def version() -> int:
    """The kernel's version of Landlock, 0 where there is none."""
    try:
        return system.call(CREATE, None, 0, VERSION)
    except OSError:
        return 0


def restrict(writable: str) -> None:
    """Shut this process in. Call it after PR_SET_NO_NEW_PRIVS. Raises OSError."""
    rights = (1 << RIGHTS.get(version(), 16)) - 1
    ruleset = system.call(CREATE, *_buffer(_attributes(rights)), 0)
    _allow(ruleset, "/", READ_FILE | READ_DIR)
    _allow(ruleset, writable, rights & ~1)  # all but executing
    _allow(ruleset, "/dev/null", READ_FILE | (WRITE_FILE | TRUNCATE) & rights)
    system.call(RESTRICT, ruleset, 0)
    os.close(ruleset)


def _attributes(rights: int) -> bytes:
    """struct landlock_ruleset_attr, as long as this kernel's version knows it."""
    fields = [rights, *([TCP] if version() >= 4 else []), *([SCOPES] if version() >= 6 else [])]
    return struct.pack(f"<{len(fields)}Q", *fields)


def _allow(ruleset: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    address, _ = _buffer(struct.pack("<Qi", rights, place))
    system.call(ADD, ruleset, PATH_BENEATH, address, 0)
    os.close(place)


_kept: list[ctypes.Array[ctypes.c_char]] = []  # buffers must outlive the call that reads them


def _buffer(data: bytes) -> tuple[int, int]:
    buffer = ctypes.create_string_buffer(data, len(data))
    _kept.append(buffer)
    return ctypes.addressof(buffer), len(data)
