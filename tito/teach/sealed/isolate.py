"""Shuts a process in: level 1 of isolation. Begin at `enter` (the zygote, once), then `seal` (each child).

The zygote moves into a root of its own that holds Python, NumPy and the sealed home, read-only, and nothing else. A
child is born in namespaces of its own (user, pid, net, ipc, mount), gets a fresh /proc and a fresh scratch folder, and
then gives up, for good: other files, memory, processes, programs, sockets.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tito.teach.sealed import landlock, seccomp, system

SCRATCH = "/scratch"
CHILD = system.NEW_USER | system.NEW_PIDS | system.NEW_NETWORK | system.NEW_IPC | system.NEW_MOUNTS
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
MEMORY, SCRATCH_SIZE, FILE_SIZE = 2**30, 64 * 2**20, 16 * 2**20
SECONDS, FILES, PROCESSES = 120, 64, 32
AT_CWD, ALL_BELOW, READ_ONLY = -100, 0x8000, 1 | 2 | 4  # and no set-uid programs, no devices
CAPABILITIES = 64


@dataclass(frozen=True)
class Place:
    """What a zygote may see, and as whom. `covered` are folders in it that are shown empty, but for `uncovered`."""

    root: str  # an empty folder
    visible: Sequence[str]
    covered: Sequence[str]
    uncovered: Sequence[str]
    uid: int


def enter(place: Place) -> None:
    """Move this process into its own root, and become the slot's uid where this process is root. Raises OSError."""
    is_root, ids = os.geteuid() == 0, own_ids()
    system.unshare(system.NEW_MOUNTS | system.NEW_NETWORK | system.NEW_IPC | (0 if is_root else system.NEW_USER))
    if not is_root:
        _keep(ids)
    system.mount("", "/", flags=system.PRIVATE | system.RECURSIVE)
    _build(place)
    os.chdir(place.root)
    system.call(system.PIVOT_ROOT, b".", b".")
    system.unmount(".")
    os.chdir("/")
    _make_read_only("/", 0)
    if is_root:
        _become(place.uid)


def own_ids() -> tuple[int, int]:
    """User and group. A process that is new in a user namespace has none until they are kept: ask before."""
    return os.geteuid(), os.getegid()


def seal(keep: Iterable[int], ids: tuple[int, int]) -> None:
    """Shut this child in, once it is born by `system.clone(CHILD)`; the files `keep` stay open. Raises OSError.

    `ids` are its parent's `own_ids`.
    """
    _keep(ids)
    _fresh_folders()
    limit(keep)
    os.chdir(SCRATCH)
    os.environ.clear()
    os.environ.update(HOME=SCRATCH, TMPDIR=SCRATCH)
    _give_up_capabilities()
    landlock.restrict(SCRATCH)
    system.prctl(system.PR_SET_DUMPABLE, 0)
    seccomp.restrict()


def limit(keep: Iterable[int]) -> None:
    """Close other files; limit memory, time, files and processes. All that level 3 does."""
    kept = sorted({2, *keep})
    for low, high in zip(kept, [*kept[1:], 2**16]):
        if low + 1 < high:  # of an empty range Python would close all
            os.closerange(low + 1, high)
    values = {"AS": MEMORY, "CPU": SECONDS, "FSIZE": FILE_SIZE, "NOFILE": FILES, "NPROC": PROCESSES, "CORE": 0}
    for name, most in values.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))


def _build(place: Place) -> None:
    """Mount the new root: what is visible at the paths that it has, read-only."""
    system.mount("tmpfs", place.root, "tmpfs", system.NO_SUID | system.NO_DEV, "size=1m,mode=755")
    for folder in (SCRATCH, "/proc", "/dev"):
        os.makedirs(place.root + folder)
    system.mount("/proc", f"{place.root}/proc", flags=system.BIND | system.RECURSIVE)  # else none may be mounted anew
    for path in place.visible:
        _show(path, place.root + path)
    for path in DEVICES:
        _touch(place.root + path)
        system.mount(path, place.root + path, flags=system.BIND)
    covers = [place.root + path for path in place.covered if os.path.isdir(place.root + path)]
    for cover in covers:
        system.mount("tmpfs", cover, "tmpfs", system.NO_SUID | system.NO_DEV, "size=4k,mode=755")
    for path in place.uncovered:
        _show(path, place.root + path)
    for cover in covers:
        _make_read_only(cover, 0)


def _show(path: str, target: str) -> None:
    if os.path.islink(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.readlink(path), target)
        return
    os.makedirs(target, exist_ok=True) if os.path.isdir(path) else _touch(target)
    system.mount(path, target, flags=system.BIND | system.RECURSIVE)
    _make_read_only(target, ALL_BELOW)


def _touch(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC, 0o644))


def _make_read_only(path: str, below: int) -> None:
    attributes = ctypes.create_string_buffer(struct.pack("<QQQQ", READ_ONLY, 0, 0, 0))
    system.call(system.MOUNT_SETATTR, AT_CWD, path.encode(), below, ctypes.addressof(attributes), 32)


def _become(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    system.prctl(system.PR_SET_DUMPABLE, 1)  # a change of uid clears it, and then /proc/self is root's


def _keep(ids: tuple[int, int]) -> None:
    """In a new user namespace: the same uid and gid as before, and no others."""
    uid, gid = ids
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def _fresh_folders() -> None:
    system.mount("", "/", flags=system.PRIVATE | system.RECURSIVE)
    options = f"size={SCRATCH_SIZE},nr_inodes=4096,mode=700"
    system.mount("tmpfs", SCRATCH, "tmpfs", system.NO_SUID | system.NO_DEV | system.NO_EXEC, options)
    try:
        system.mount("proc", "/proc", "proc", system.NO_SUID | system.NO_DEV | system.NO_EXEC)
    except OSError:  # inside a container that hides parts of its own: then there is none
        system.mount("tmpfs", "/proc", "tmpfs", 1, "size=4k")


def _give_up_capabilities() -> None:
    for number in range(CAPABILITIES):
        try:
            system.prctl(system.PR_CAPBSET_DROP, number)
        except OSError:  # the kernel knows no more
            break
    header, none = struct.pack("<Ii", 0x20080522, 0), bytes(24)
    buffers = [ctypes.create_string_buffer(data, len(data)) for data in (header, none)]
    system.call(system.CAPSET, *map(ctypes.addressof, buffers))
    system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
