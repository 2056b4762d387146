"""Reads regular files below a folder that someone else fills, and follows no link on the way. Begin at `walk`.

Each folder is opened by its name within the one above (openat), with O_NOFOLLOW, so that nothing that changes meanwhile
leads outside. Needs a system that has openat: Linux or macOS.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tito.teach.intake import safenames
from tito.teach.intake.refusal import Refused, shown

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
FOLDER = FLAGS | getattr(os, "O_DIRECTORY", 0)
KINDS = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}

Files = Iterator[tuple[str, Callable[[int], bytes]]]


@contextmanager
def walk(folder: Path, most: int, deepest: int) -> Iterator[Files]:
    """All files below a folder, by their path with `/`, each with what reads at most so many of its bytes.

    Hidden files and folders are passed over. Refused: links, devices, pipes, sockets, hard links, and more than `most`
    entries in one folder.
    """
    above = _open(folder.parent, FOLDER)
    try:
        top = _open(folder.name, FOLDER, above)
    finally:
        os.close(above)
    try:
        yield _below(top, "", most, deepest)
    finally:
        os.close(top)


@contextmanager
def file(path: Path) -> Iterator[BinaryIO]:
    """One regular file, open; the last part of its path may be no link."""
    with os.fdopen(_open_regular(path, str(path.name)), "rb") as opened:
        yield opened


def _below(folder: int, prefix: str, most: int, deepest: int) -> Files:
    for name in _names(folder, prefix, most):
        path = prefix + name
        if not stat.S_ISDIR(_stat(folder, name, path).st_mode):
            yield path, lambda size, name=name, path=path: _read(folder, name, path, size)  # type: ignore[misc]
            continue
        if path.count("/") + 1 >= deepest:
            raise Refused(f"{shown(path)} lies more than {deepest} folders deep")
        below = _open(name, FOLDER, folder)
        try:
            yield from _below(below, f"{path}/", most, deepest)
        finally:
            os.close(below)


def _names(folder: int, prefix: str, most: int) -> list[str]:
    names: list[str] = []
    with os.scandir(folder) as found:
        for entry in found:
            if not safenames.hidden([entry.name]):
                names.append(entry.name)
            if len(names) > most:
                raise Refused(f"{shown(prefix) or 'it'} has more than {most} files")
    return sorted(names)


def _stat(folder: int, name: str, path: str) -> os.stat_result:
    """What a name stands for, without opening it: to open a device may do something."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise Refused(f"{shown(path)} cannot be read: {os.strerror(error.errno or 0)}") from None
    kind = stat.S_IFMT(found.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise Refused(f"{shown(path)} is {KINDS.get(kind, 'a device')}, and only regular files are taken")
    return found


def _read(folder: int, name: str, path: str, size: int) -> bytes:
    with os.fdopen(_open_regular(name, path, folder), "rb") as opened:
        return opened.read(size)


def _open_regular(name: str | Path, path: str, folder: int | None = None) -> int:
    opened = _open(name, FLAGS, folder)
    found = os.fstat(opened)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        return opened
    os.close(opened)
    kind = "a hard link to a file that lies elsewhere too" if stat.S_ISREG(found.st_mode) else "no regular file"
    raise Refused(f"{shown(path)} is {kind}")


def _open(name: str | Path, flags: int, folder: int | None = None) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except (OSError, ValueError) as error:
        raise Refused(f"{shown(Path(name).name)} {_why(error)}") from None


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "is a link or no folder"
    return f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"
