"""The trusted end of a conversation, against children that answer wrongly, late, twice, without end or not at all."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tito.checks.bench import Expression
from tito.teach.grader.conversation import Conversation, Ended, Limits
from tito.teach.grader.sealed_bench import SealedBench, Unwritten
from tito.teach.sealed import frames

LIMITS = Limits(check_seconds=0.5, messages=100, size=2**20, submission_seconds=30)
Answer = Callable[[socket.socket, int, Any, int], None]


class Scripted:
    """A starter whose child is a thread that reads requests and does as it is told."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.threads = answer, list[threading.Thread]()

    def start(self, talk: int, printed: int) -> None:
        connection, pipe = socket.socket(fileno=os.dup(talk)), os.dup(printed)
        thread = threading.Thread(target=self._run, args=(connection, pipe), daemon=True)
        thread.start()
        self.threads.append(thread)

    def _run(self, connection: socket.socket, pipe: int) -> None:
        with connection, suppress(OSError):
            while head := connection.recv(frames.FRAME_HEAD.size, socket.MSG_WAITALL):
                number, length = frames.read_head(head)
                request = frames.decode(head[frames.NUMBER.size :] + connection.recv(length, socket.MSG_WAITALL))
                self.answer(connection, number, request, pipe)
        os.close(pipe)

    def stop(self, is_gone: bool) -> int | None:
        return 3 if is_gone else None

    def close(self) -> None:
        for thread in self.threads:
            thread.join(5)


def honest(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    connection.sendall(frames.pack(number, {"value": request["names"].get("x"), "seconds": 0.0}))


def talk_with(answer: Answer) -> tuple[Conversation, Scripted]:
    starter = Scripted(answer)
    return Conversation(starter, LIMITS, time.monotonic() + 30), starter


@pytest.fixture
def open_talk() -> Iterator[Callable[[Answer], Conversation]]:
    opened: list[tuple[Conversation, Scripted]] = []

    def start(answer: Answer) -> Conversation:
        opened.append(talk_with(answer))
        return opened[-1][0]

    yield start
    for talk, starter in opened:
        talk.close()
        starter.close()


def other_number(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    honest(connection, (number + 1) % 2**32, request, pipe)


def twice(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    frame = frames.pack(number, {"value": 1, "seconds": 0.0})
    connection.sendall(frame + frame)


def garbage(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    connection.sendall(frames.NUMBER.pack(number) + frames.HEAD.pack(b"?", 3) + b"abc")


def too_large(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    connection.sendall(frames.FRAME_HEAD.pack(number, b"a", frames.SIZE + 1))


def never(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    time.sleep(1.5)


def drips(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    """One byte at a time: each is in time, the whole is not."""
    for byte in frames.pack(number, {"value": "x" * 1000, "seconds": 0.0}):
        connection.sendall(bytes([byte]))
        time.sleep(0.01)


def hangs_up(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
    connection.close()


ENDINGS = {  # what the child does: what is said of it, whether the submission is over
    "other number": (other_number, "an answer to no question", True),
    "twice": (twice, "more than one answer", True),
    "garbage": (garbage, "it sent what no answer is: no value", True),
    "too large": (too_large, "the most is", True),
    "never": (never, "it took longer than 0.5 s", False),
    "drips": (drips, "it took longer than 0.5 s", False),
    "hangs up": (hangs_up, r"its process ended \(exit code 3\)", False),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_how_it_ends(name: str, open_talk: Callable[[Answer], Conversation]) -> None:
    answer, says, lied = ENDINGS[name]
    talk = open_talk(answer)
    with pytest.raises(Ended, match=says) as ended:
        talk.ask({"names": {}})
    assert (ended.value.lied, bool(talk.lied), talk.alive) == (lied, lied, False)
    with pytest.raises(Ended):  # nothing more is asked
        talk.ask({"names": {}})


def test_a_late_answer_is_an_answer_to_no_question(open_talk: Callable[[Answer], Conversation]) -> None:
    def ahead(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
        honest(connection, number, request, pipe)
        threading.Timer(0.1, lambda: honest(connection, number, request, pipe)).start()

    talk = open_talk(ahead)
    talk.ask({"names": {}})
    time.sleep(0.3)
    with pytest.raises(Ended, match="an answer to no question") as ended:
        talk.finish()
    assert ended.value.lied


def test_messages_and_bytes_are_counted_for_each_check(open_talk: Callable[[Answer], Conversation]) -> None:
    talk = open_talk(honest)
    for _ in range(2):
        talk.begin(5)
        for _ in range(LIMITS.messages // 2):
            talk.ask({"names": {}})
    with pytest.raises(Ended, match="more than 100 messages"):
        talk.ask({"names": {}})
    talk = open_talk(honest)
    with pytest.raises(Ended, match="more than 1,048,576 bytes"):
        for _ in range(5):
            talk.ask({"names": {"x": np.zeros(2**17, np.int8).repeat(4)}})


def test_a_flood_of_output_holds_nothing_up(open_talk: Callable[[Answer], Conversation]) -> None:
    def prints(connection: socket.socket, number: int, request: Any, pipe: int) -> None:
        for _ in range(100):
            os.write(pipe, b"first\x1b " + b"x" * 2**16)
        honest(connection, number, request, pipe)

    talk = open_talk(prints)
    talk.begin(20)
    talk.ask({"names": {}})
    assert talk.output().startswith("first x") and len(talk.output()) <= 2048
    talk.begin(1)
    assert talk.output() == ""


REPLIES = {
    "no dict": [1],
    "no field": {},
    "no time": {"value": 1},
    "a time that is no float": {"value": 1, "seconds": 1},
    "an exception without classes": {"raised": {"bases": [], "text": "", "where": None, "inside": None}},
    "an exception with numbers for classes": {"raised": {"bases": [1], "text": "", "where": None, "inside": None}},
    "a text that is none": {"refused": 1},
    "a place that is none": {"raised": {"bases": ["builtins.ValueError"], "text": "", "where": [1, 2], "inside": None}},
    "an exercise that is none": {"unwritten": 3, "text": ""},
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_of_another_form_is_a_lie(name: str, open_talk: Callable[[Answer], Conversation]) -> None:
    talk = open_talk(lambda connection, number, *rest: connection.sendall(frames.pack(number, REPLIES[name])))
    with pytest.raises(Ended) as ended:
        SealedBench(talk, "").evaluate(Expression("1"))
    assert ended.value.lied and talk.lied


def test_long_texts_are_cut(open_talk: Callable[[Answer], Conversation]) -> None:
    told = {"bases": ["builtins.ValueError"], "text": "x" * 9000, "where": ["f" * 900, 1, "y" * 900], "inside": None}
    talk = open_talk(lambda connection, number, *rest: connection.sendall(frames.pack(number, {"raised": told})))
    raised = SealedBench(talk, "").evaluate(Expression("1")).raised
    assert raised is not None and raised.where is not None
    assert (len(raised.text), len(raised.where.filename), len(raised.where.text)) == (2000, 200, 500)


def test_what_is_not_written_says_whose_it_is(open_talk: Callable[[Answer], Conversation]) -> None:
    told = {"unwritten": "relu", "text": "later"}
    talk = open_talk(lambda connection, number, *rest: connection.sendall(frames.pack(number, told)))
    with pytest.raises(Unwritten) as unwritten:
        SealedBench(talk, "").evaluate(Expression("1"))
    assert (unwritten.value.exercise, str(unwritten.value)) == ("relu", "later")
