"""The process in which students' texts are tokenised, from outside: texts in, fingerprints or what became of it out.

What comes back is numbers in bytes (see tokens.py), checked for length and taken for nothing else. Begin at `Reader`.
"""

from __future__ import annotations

import json
import os
import selectors
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from tito.teach import tokens

SECONDS = 5.0  # for one submission
LARGEST = 4 * 2**20  # bytes of one answer


class Unreadable(Exception):
    """What became of the process that read a submission."""


class Reader:
    """A process that turns texts into fingerprints; it is started anew when a submission kills or delays it."""

    def __init__(self, released: Sequence[str]) -> None:
        self._released = released
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def read(self, cells: Mapping[str, str]) -> dict[str, list[int]]:
        """The fingerprints of each cell. Raises Unreadable."""
        try:
            child = self._started()
            found = tokens.unpacked(_ask(child, list(cells.values())))
        except (OSError, struct.error, Unreadable) as error:
            self._stop()
            raise Unreadable(str(error)) from None
        if len(found) != len(cells):
            self._stop()
            raise Unreadable(f"{len(found)} answers to {len(cells)} cells")
        return dict(zip(cells, found))

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            command = [sys.executable, "-I", "-B", tokens.__file__]
            pipe = subprocess.PIPE
            self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env={}, cwd="/")
            _ask(self._child, self._released)
        return self._child

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child:
            child.kill()
            child.communicate()


def _ask(child: subprocess.Popen[bytes], texts: Sequence[str]) -> bytes:
    """The child's answer, or Unreadable when it ends, is late or says too much."""
    assert child.stdin and child.stdout
    deadline = time.monotonic() + SECONDS
    child.stdin.write(json.dumps(texts).encode() + b"\n")
    child.stdin.flush()
    (length,) = struct.unpack("<I", _bytes(child.stdout.fileno(), 4, deadline))
    if length > LARGEST:
        raise Unreadable(f"an answer of {length:,} bytes")
    return _bytes(child.stdout.fileno(), length, deadline)


def _bytes(pipe: int, length: int, deadline: float) -> bytes:
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(data) < length:
            if not selector.select(max(deadline - time.monotonic(), 0)):
                raise Unreadable(f"no answer within {SECONDS:g} s")
            part = os.read(pipe, length - len(data))
            if not part:
                raise Unreadable("its process ended")
            data += part
    return data
