"""Harmless attacks that show whether a sealed child is shut in. Each runs there, as a probe, and says what it reached.

A canary returns "" when it was stopped. It stands alone, imports inside, and needs nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Callable


def read_a_file(path: str) -> str:
    """Reads a file of the grader's that everybody may read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def write_a_file(*folders: str) -> str:
    """Leaves a file in a folder that everybody may write, in the root, or beside Python."""
    import os

    for folder in (*folders, "/", os.path.dirname(os.__file__)):
        try:
            with open(os.path.join(folder, "canary"), "w", encoding="utf-8"):
                return f"wrote into {folder}"
        except OSError:
            continue
    return ""


def open_a_socket() -> str:
    """Makes a socket."""
    import socket

    try:
        socket.socket().close()
    except OSError:
        return ""
    return "made a socket"


def start_a_process() -> str:
    """Forks, else runs a program."""
    import os

    try:
        pid = os.fork()
    except OSError:
        pid = -1
    if pid == 0:
        os._exit(0)
    if pid > 0:
        return "forked"
    try:
        os.posix_spawn("/bin/true", ["true"], {})
    except OSError:
        return ""
    return "ran a program"


def see_other_processes(grader: int) -> str:
    """Looks for other processes, and asks whether the grader's is there."""
    import os

    seen = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    try:
        if grader != os.getpid():  # in a container it may be 1, which here is this process itself
            os.kill(grader, 0)
            return f"saw process {grader}"
    except ProcessLookupError:
        pass
    except PermissionError:
        return f"saw process {grader}"
    return f"saw processes {' '.join(seen)}" if seen else ""


def read_the_environment(name: str) -> str:
    """Looks for a variable of the grader's, in its own environment and in those under /proc."""
    import os

    found = [f"{key}={value}" for key, value in os.environ.items()]
    for pid in ("self", "1", str(os.getppid())):
        try:
            with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
                found.append(file.read())
        except OSError:
            continue
    return f"read {name}" if any(name in text for text in found) else ""


def find_an_open_file(known: int) -> str:
    """Looks for files that were left open: besides the three of every process only its connection should be."""
    import os

    def is_open(number: int) -> bool:
        try:
            os.fstat(number)
        except OSError:
            return False
        return True

    left = [number for number in range(3, 1024) if is_open(number)]
    return f"found open files {left}" if len(left) > known else ""


def be_the_grader(uid: int) -> str:
    """Asks who it is."""
    import os

    return f"runs as uid {uid}" if os.getuid() == uid else ""


def take_memory(size: int) -> str:
    """Asks for more memory than there is for it."""
    try:
        bytearray(size)
    except MemoryError:
        return ""
    return f"took {size:,} bytes"


def fill_the_disk(size: int) -> str:
    """Writes more than there is room for, into the one folder that it may write."""
    import os

    try:
        for number in range(size // 2**23):
            with open(f"full{number}", "wb") as file:
                file.write(bytes(2**23))
    except OSError:
        return ""
    finally:
        for number in range(size // 2**23):
            if os.path.exists(f"full{number}"):
                os.unlink(f"full{number}")
    return f"wrote {size:,} bytes"


SAYS: dict[Callable[..., str], str] = {
    read_a_file: "cannot read a file outside",
    write_a_file: "cannot write a file outside",
    open_a_socket: "cannot open a socket",
    start_a_process: "cannot start a process",
    see_other_processes: "cannot see other processes",
    read_the_environment: "cannot read the environment",
    find_an_open_file: "finds no open file",
    be_the_grader: "runs as another user",
    take_memory: "cannot take more memory than it may",
    fill_the_disk: "cannot fill the disk",
}
LIMITS = (read_the_environment, find_an_open_file, take_memory)  # all that level 3 stops
