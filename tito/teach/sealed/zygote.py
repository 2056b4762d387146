"""The zygote: a warm process that forks a sealed child for each phase of a submission, and ends it when told.

Its own executable, started by grader/zygotes.py as `python -I -S zygote.py SETTINGS` with one socket as stdin. Over
that come three words: `start`, with the child's connection and the end of a pipe for what it prints; `stop`; and
`gone`, when the child hung up by itself. None carries anything else: no check, no submission. Begin at `main`.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

Settings = dict[str, Any]


def main() -> None:
    """Settings (JSON in argv): home, level, root, visible, covered, uid, folder of tito, folder of NumPy."""
    settings = json.loads(sys.argv[1])
    sys.path += settings["path"]
    sys.dont_write_bytecode = True
    link = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    try:
        start = _ready(settings)
    except Exception as error:
        link.send(f"failed {type(error).__name__}: {error}".encode()[:2000])
        return
    link.send(b"ready")
    _serve(link, start)


def _ready(settings: Settings) -> Callable[[int, int], int]:
    """Shut the zygote in, import what children need -> how a child is started."""
    from tito.teach.sealed import isolate, system

    if settings["level"] == 1:
        isolate.enter(isolate.Place(**settings["place"]))
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
    from tito.teach.sealed import child

    home = child.Home(settings["home"])
    home.warm_up()
    ids = isolate.own_ids()
    gc.freeze()  # what is here now is shared by all children, so none need look through it

    def shut_in(talk: int) -> None:
        system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)
        system.prctl(system.PR_SET_PDEATHSIG, signal.SIGKILL)  # else it outlives a zygote that is killed
        isolate.seal([talk], ids) if settings["level"] == 1 else isolate.limit([talk])

    def start(talk: int, printed: int) -> int:
        pid = system.clone(isolate.CHILD) if settings["level"] == 1 else os.fork()
        if pid == 0:
            _live(talk, printed, shut_in, home.serve)
        return pid

    return start


def _serve(link: socket.socket, start: Callable[[int, int], int]) -> None:
    """One child at a time, until the trusted side is gone."""
    pid = 0
    while True:
        word, files, _, _ = socket.recv_fds(link, 16, 2)
        if word == b"start":
            pid = start(*files)
            for file in files:
                os.close(file)
            link.send(b"%d" % pid)
        elif word in (b"stop", b"gone"):
            link.send(str(_end(pid, 20 if word == b"gone" else 0)).encode())
        else:
            return


def _live(talk: int, printed: int, shut_in: Callable[[int], None], serve: Callable[[int], None]) -> None:
    """The child's whole life; it never returns."""
    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(printed, stream)
        shut_in(talk)
        serve(talk)
        os._exit(0)
    except BaseException as error:  # whatever happened, the child must not run on in the zygote's code
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace")[:2000])
        os._exit(70)


def _end(pid: int, tries: int) -> int | None:
    """Kill the child and all that it left -> how it had ended by itself: its exit code, or minus a signal's number."""
    status = _await(pid, tries)
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    if status is None:
        os.waitpid(pid, 0)
    return None if status is None else os.waitstatus_to_exitcode(status)


def _await(pid: int, tries: int) -> int | None:
    """Its status if it ends by itself now."""
    for _ in range(tries):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    return None


if __name__ == "__main__":
    main()
