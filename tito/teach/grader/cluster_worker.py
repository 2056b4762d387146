"""What runs on a worker of a grading cluster: one work item, from bytes to bytes. Begin at `grade`.

Dask carries what it calls by pickle, so all that it carries is bytes and the name of `grade`: nothing of a submission
is ever an object there. The secret does not travel: each worker reads its own copy from the file named by TITO_SECRET.
All grading of a process happens in one thread, whatever the number of threads that Dask was started with, because a
zygote ends with the thread that started it, and a trusted runner asks one child at a time.
"""

from __future__ import annotations

import base64
import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import tito
from tito.errors import UserError
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.conversation import Limits
from tito.teach.grader.grading import Work
from tito.teach.grader.workers import Worker
from tito.teach.result import canonical

SECRET = "TITO_SECRET"

_thread = ThreadPoolExecutor(1)
_worker: Worker | None = None
_made_for: tuple[bytes, str] | None = None


def hold(bundle: bytes) -> bytes:
    """A task of its own, so that a bundle travels once to a worker and is made anew when its holder dies."""
    return bundle


def grade(work: bytes, settings: bytes, bundle: bytes) -> bytes:
    """A reply (JSON): `result`, the canonical text of one; or `error`, a sentence. Never raises."""
    return _thread.submit(_grade, work, settings, bundle).result()


def close() -> None:
    """End the zygote, in the middle of a submission if need be, and remove its folder."""
    if _worker is not None:
        _worker.starter.close()


def packed(work: Work) -> bytes:
    """A work item as JSON; files in base 64."""
    files = {name: base64.b64encode(content).decode() for name, content in work.files.items()}
    return canonical({**vars(work), "files": files}).encode()


def unpacked(data: bytes) -> Work:
    """What `packed` gave."""
    table = json.loads(data)
    files = {name: base64.b64decode(text, validate=True) for name, text in table.pop("files").items()}
    return Work(files=files, **table)


def _grade(work: bytes, settings: bytes, bundle: bytes) -> bytes:
    try:
        item = unpacked(work)
        reply = {"result": _worker_for(settings, item.mode, bundle).grade(item).to_json()}
    except UserError as error:
        reply = {"error": error.message}
    except Exception as error:  # a zygote that is gone: the next one gets a fresh one
        _forget()
        reply = {"error": f"{type(error).__name__}: {error}"}
    return canonical({**reply, "tito": tito.__version__}).encode()


def _worker_for(settings: bytes, mode: str, bundle: bytes) -> Worker:
    """This process's worker, a new one when something of it is different."""
    global _worker, _made_for
    if _worker is None or _made_for != (settings, mode):
        _forget()
        _worker, _made_for = _start(json.loads(settings), mode, bundle), (settings, mode)
    return _worker


def _start(settings: dict[str, Any], mode: str, data: bytes) -> Worker:
    bundle = Bundle.from_bytes(data)
    if bundle.hash != settings["bundle"]:
        raise UserError("the bundle that came is not the one that was named; grade again")
    if settings["level"] not in (1, 2):
        raise UserError("a cluster's machines grade at level 1 or 2 alone, whoever asks; give --level 1, or 2")
    return Worker(bundle, _secret(), settings["level"], mode, _slot(), Limits(**settings["limits"]))


def _forget() -> None:
    global _worker, _made_for
    close()
    _worker, _made_for = None, None


def _secret() -> bytes:
    try:
        return Path(os.environ[SECRET]).read_bytes()
    except (KeyError, OSError):
        raise UserError(f"a worker has no secret; start it with: tito teach cluster-worker (or set {SECRET})") from None


@cache
def _slot() -> int:
    """The first slot that no other worker of this machine has; it is free again when this process ends."""
    for slot in count():
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0tito-slot-{slot}")
        except OSError:
            lock.close()
            continue
        _locks.append(lock)
        return slot
    raise AssertionError("counting has no end")


_locks: list[socket.socket] = []
