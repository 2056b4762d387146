"""A conversation with one sealed child: each question has one answer, in time and within bounds. Trusted side.

Whatever else comes ends it. Begin at `Conversation.ask`.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tito.teach.grader.zygotes import Starter
from tito.teach.sealed import frames

PIECE = 2**18
KEPT = 2048  # bytes of printed text that are kept


@dataclass(frozen=True)
class Limits:
    """Of one check: seconds, messages and bytes. Of one submission: seconds. Of one process: bytes of memory."""

    check_seconds: float = 10.0
    messages: int = 10_000
    size: int = frames.SIZE
    submission_seconds: float = 120.0
    memory: int = 2**30


class Ended(Exception):
    """The child is gone or is ended now; `lied` says that it broke the rules, which ends the whole submission."""

    def __init__(self, reason: str, lied: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.lied = reason, lied


class Conversation:
    """A child, alive until it is closed or `Ended` is raised; `deadline` is a time of time.monotonic."""

    def __init__(self, starter: Starter, limits: Limits, deadline: float) -> None:
        self.starter, self.limits, self.last = starter, limits, deadline
        self.talk, theirs = socket.socketpair()
        self.pipe, printed = os.pipe()
        self.talk.setblocking(False)
        os.set_blocking(self.pipe, False)
        self.printed = bytearray()
        self.alive, self.lied = False, ""
        try:
            starter.start(theirs.fileno(), printed)
            self.alive = True
        finally:
            theirs.close()
            os.close(printed)
            if not self.alive:
                self.talk.close()
                os.close(self.pipe)
        self.begin(limits.check_seconds)

    def begin(self, seconds: float) -> None:
        """A new check, with fresh limits; what was printed until now is forgotten."""
        self.seconds = seconds
        self.deadline = min(time.monotonic() + seconds, self.last)
        self.messages, self.bytes = 0, 0
        self._drain()
        self.printed.clear()

    def ask(self, request: Mapping[str, Any]) -> dict[Any, frames.Plain]:
        """The answer to one question. Raises Ended, and FrameError when the request itself fits no frame."""
        if not self.alive:
            raise Ended(self.lied or "its process has ended", bool(self.lied))
        number = secrets.randbits(32)
        frame = frames.pack(number, dict(request))
        self._count(len(frame))
        try:
            self._send(frame)
            answer = self._receive(number)
            if type(answer) is not dict:
                raise frames.FrameError(f"a {type(answer).__name__}")
            return answer
        except frames.FrameError as error:
            raise self.lie(f"it sent what no answer is: {error}") from None

    def output(self) -> str:
        """The beginning of what was printed in this check."""
        if self.alive:
            self._drain()
        return frames.clean(self.printed.decode("utf-8", "replace"))

    def close(self, is_gone: bool = False) -> int | None:
        """End the child; how it had ended by itself."""
        if not self.alive:
            return None
        self.alive = False
        try:
            return self.starter.stop(is_gone)
        finally:
            self._drain()
            self.talk.close()
            os.close(self.pipe)

    def finish(self) -> None:
        """End the child when all is asked. Raises Ended when something that nobody asked for is waiting."""
        with suppress(BlockingIOError, ConnectionError):
            if self.talk.recv(1):
                raise self.lie("it sent an answer to no question")
        self.close()

    def lie(self, reason: str) -> Ended:
        """End the child, and with it the submission, for this reason; what to raise."""
        self.close()
        self.lied = reason
        return Ended(reason, lied=True)

    def _count(self, size: int) -> None:
        self.messages, self.bytes = self.messages + 1, self.bytes + size
        if self.messages > self.limits.messages:
            raise self.lie(f"more than {self.limits.messages:,} messages in one check")
        if self.bytes > 2 * self.limits.size:  # so much may be asked, and so much answered
            raise self.lie(f"more than {self.limits.size:,} bytes in one check")

    def _send(self, frame: bytes) -> None:
        view = memoryview(frame)
        while view:
            self._wait(select.POLLOUT)
            try:
                view = view[self.talk.send(view[:PIECE]) :]
            except BlockingIOError:
                continue
            except ConnectionError:
                raise self._gone() from None

    def _receive(self, number: int) -> frames.Plain:
        head = self._read(frames.FRAME_HEAD.size)
        found, length = frames.read_head(head)
        if found != number:
            raise frames.FrameError("an answer to no question")
        self._count(length)
        body = head[frames.NUMBER.size :] + self._read(length)
        with suppress(BlockingIOError):
            if self.talk.recv(1, socket.MSG_PEEK):
                raise frames.FrameError("more than one answer")
        return frames.decode(body)

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(select.POLLIN)
            try:
                part = self.talk.recv(min(size - len(data), PIECE))
            except BlockingIOError:
                continue
            except ConnectionError:
                part = b""
            if not part:
                raise self._gone()
            data += part
        return bytes(data)

    def _wait(self, event: int) -> None:
        """Until the socket is ready; meanwhile what is printed is read, so that no child waits for that."""
        poll = select.poll()
        poll.register(self.talk, event)
        poll.register(self.pipe, select.POLLIN)
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise self._late()
            ready = dict(poll.poll(1000 * left))
            if self.pipe in ready and not self._drain():
                poll.unregister(self.pipe)
            if self.talk.fileno() in ready:
                return

    def _drain(self) -> bool:
        """Read what was printed, keep the beginning; whether more may come."""
        with suppress(BlockingIOError, OSError):
            for _ in range(64):
                data = os.read(self.pipe, PIECE)
                if not data:
                    return False
                self.printed += data[: max(0, KEPT - len(self.printed))]
        return True

    def _late(self) -> Ended:
        self.close()
        if self.deadline < self.last:
            return Ended(f"it took longer than {self.seconds:g} s")
        return Ended(f"the submission took longer than {self.limits.submission_seconds:g} s")

    def _gone(self) -> Ended:
        code = self.close(is_gone=True)
        return Ended("it closed its connection" if code is None else f"its process ended ({_ending(code)})")


def _ending(code: int) -> str:
    """`exit code 3`, or the name of the signal."""
    if code >= 0:
        return f"exit code {code}"
    known = {one.value for one in signal.Signals}
    return f"signal {signal.Signals(-code).name if -code in known else -code}"
