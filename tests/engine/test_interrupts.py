"""Interrupts: a run ends between two steps, whatever signal comes when. Every test is a process, and really signalled.

Each child first gives Ctrl-C its default: these tests may run in a shell's background job, where it is ignored.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tinytorch import interrupts

FOLDER = str(Path(interrupts.__file__).parent)  # the file needs nothing else of the package: a child starts sooner
HEAD = """
import ctypes, os, signal, sys, threading, time
sys.path.append(sys.argv[1])
from interrupts import Interrupts

def say(*words):
    print(*words, flush=True)

def send(number):
    os.kill(os.getpid(), number)

INT, TERM = signal.SIGINT, signal.SIGTERM
signal.alarm(20)  # what waits for a signal that does not come ends, and its test fails
"""
DEFAULT = "signal.signal(INT, signal.default_int_handler)\n"
Process = subprocess.Popen[str]


@contextmanager
def child(body: str) -> Iterator[Process]:
    """A process that runs `body` and has said its first word, "ready"; killed at the end if it still runs."""
    command = [sys.executable, "-c", HEAD + body, FOLDER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            assert said(process) == "ready"
            yield process
        finally:
            process.kill()


def said(process: Process) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def ended(process: Process) -> tuple[list[str], int]:
    """The lines that it still prints, and its exit code."""
    assert process.stdout is not None
    return process.stdout.read().splitlines(), process.wait()


def lines(body: str) -> list[str]:
    """What a process prints that is not signalled from outside and ends well."""
    with child("say('ready')\n" + DEFAULT + body) as process:
        out, code = ended(process)
    assert code == 0
    return out


STEPS = """
told, begun, made = [], 0, 0
with Interrupts(told.append) as interrupts:
    say("ready")
    while True:
        begun += 1
        time.sleep(0.2)
        made += 1
        if interrupts.requested:
            time.sleep(0.2)  # the checkpoint
            say(begun == made, interrupts.requested.name, [number.name for number in told])
        interrupts.raise_requested()
"""


@pytest.mark.parametrize("number, code", [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)])
def test_a_run_ends_at_the_next_step_boundary(number: signal.Signals, code: int) -> None:
    with child(DEFAULT + STEPS) as process:
        process.send_signal(number)
        assert ended(process) == ([f"True {number.name} ['{number.name}']"], code)


def test_many_sigterms_at_once_are_one() -> None:
    with child(DEFAULT + STEPS) as process:
        for _ in range(100):
            process.send_signal(signal.SIGTERM)
            time.sleep(0.001)
        assert ended(process) == (["True SIGTERM ['SIGTERM']"], 143)


def test_a_second_ctrl_c_raises_at_once() -> None:
    body = """
try:
    with Interrupts() as interrupts:
        say("ready")
        while not interrupts.requested:
            time.sleep(0.01)
        say("one")
        time.sleep(100)
        say("not reached")
except KeyboardInterrupt:
    say("two", interrupts.requested.name, signal.getsignal(INT) is signal.default_int_handler)
"""
    with child(DEFAULT + body) as process:
        process.send_signal(signal.SIGINT)
        assert said(process) == "one"
        process.send_signal(signal.SIGINT)
        assert ended(process) == (["two SIGINT True"], 0)


@pytest.mark.parametrize("pair", ["TERM, INT", "INT, TERM"])
def test_with_a_sigterm_between_it_takes_two_ctrl_c_too(pair: str) -> None:
    body = f"""
with Interrupts() as interrupts:
    for number in ({pair}):
        send(number)
    say(interrupts.requested.name)
    try:
        send(INT)
    except KeyboardInterrupt:
        say("raised")
"""
    assert lines(body) == [f"SIG{pair.split(',')[0]}", "raised"]


def test_a_storm_of_ctrl_c_leaves_the_earlier_handlers() -> None:
    body = """
came = []
def earlier(number, frame):
    came.append(number)
signal.signal(INT, earlier)
say("ready")
raised = 0
deadline = time.monotonic() + 1.0
while time.monotonic() < deadline:
    try:
        with Interrupts() as interrupts:
            for step in range(3):
                interrupts.raise_requested()
    except KeyboardInterrupt:
        raised += 1
    if signal.getsignal(INT) is not earlier or signal.getsignal(TERM) != signal.SIG_DFL:
        say("left behind")
say(raised > 0)
os._exit(0)  # at its end Python itself gives Ctrl-C its default
"""
    with child(body) as process:
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.0005)  # faster, and handlers that interrupt handlers fill Python's stack
        assert ended(process) == (["True"], 0)


def test_a_signal_during_a_long_numpy_call_comes_after_it() -> None:
    body = """
import numpy as np
a = np.ones((1500, 1500))
with Interrupts() as interrupts:
    begun = time.monotonic()
    say("ready")
    product = a @ a
    ended = time.monotonic()
    say(begun, ended, interrupts.requested.name, bool((product == 1500).all()))
"""
    with child(DEFAULT + body) as process:
        time.sleep(0.02)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        (line,), code = ended(process)
    begun, done, *rest = line.split()
    assert float(begun) < sent < float(done)
    assert (rest, code) == (["SIGINT", "True"], 0)


def test_a_thread_is_never_told() -> None:
    body = """
def run():
    with Interrupts() as interrupts:
        begun.set()
        over.wait()
        interrupts.raise_requested()
        say("thread", interrupts.requested)

begun, over = threading.Event(), threading.Event()
thread = threading.Thread(target=run)
thread.start()
begun.wait()
try:
    say("ready")
    time.sleep(100)
except KeyboardInterrupt:
    say("main")
over.set()
thread.join()
"""
    with child(DEFAULT + body) as process:
        process.send_signal(signal.SIGINT)
        assert ended(process) == (["main", "thread None"], 0)


def test_the_earlier_handlers_come_back() -> None:
    body = """
def custom(number, frame):
    pass

for handler in (custom, signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler):
    for error in (None, OSError):
        signal.signal(INT, handler), signal.signal(TERM, handler)
        try:
            with Interrupts():
                inside = [signal.getsignal(number) for number in (INT, TERM)]
                if error:
                    raise error
        except OSError:
            pass
        after = [signal.getsignal(number) for number in (INT, TERM)]
        say([found == handler for found in inside + after])
"""
    changed, ignored = str([False, False, True, True]), str([True] * 4)
    assert lines(body) == [changed] * 4 + [ignored] * 2 + [changed] * 2


def test_a_handler_of_c_code_stays() -> None:
    body = """
came = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: say("C code", number))
ctypes.CDLL(None).signal(int(TERM), came)
del sys.modules["_signal"]
import _signal  # looks at the process's handlers anew, as when Python starts inside another program
say(signal.getsignal(TERM))
with Interrupts() as interrupts:
    send(TERM)
    say(interrupts.requested)
send(TERM)
"""
    assert lines(body) == ["None", "C code 15", "None", "C code 15"]


def test_ctrl_c_stays_ignored_in_a_background_job() -> None:
    body = """
with Interrupts() as interrupts:
    say("ready")
    say(os.getpid())
    sys.stdin.readline()
    say(interrupts.requested)
    deadline = time.monotonic() + 10
    while not interrupts.requested and time.monotonic() < deadline:
        time.sleep(0.01)
    say(interrupts.requested.name)
"""
    shell = ["sh", "-c", 'exec 3<&0; "$@" <&3 & wait', "sh"]  # a shell without job control ignores Ctrl-C for it
    command, pipe = [*shell, sys.executable, "-c", HEAD + body, FOLDER], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
        assert process.stdin is not None
        assert said(process) == "ready"
        job = int(said(process))
        os.kill(job, signal.SIGINT)
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert said(process) == "None"
        os.kill(job, signal.SIGTERM)
        assert said(process) == "SIGTERM"


def test_of_two_blocks_the_inner_one_acts_and_the_outer_one_is_told() -> None:
    body = """
told = []
with Interrupts(lambda number: told.append("outer")) as outer:
    try:
        with Interrupts(lambda number: told.append("inner")) as inner:
            send(INT)
            say(inner.requested.name, outer.requested.name, sorted(told))
            inner.raise_requested()
    except KeyboardInterrupt:
        say("inner ended")
    try:
        send(INT)
    except KeyboardInterrupt:
        say("the second for the outer one", sorted(told))
"""
    told = "['inner', 'outer']"
    assert lines(body) == [f"SIGINT SIGINT {told}", "inner ended", f"the second for the outer one {told}"]


def test_a_forked_process_is_signalled_as_if_there_were_no_block() -> None:
    body = """
def forked(number):
    child = os.fork()
    if child == 0:
        try:
            time.sleep(5)
        except KeyboardInterrupt:
            os._exit(3)
        os._exit(4)
    time.sleep(0.1)
    os.kill(child, number)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

with Interrupts():
    with Interrupts() as interrupts:
        say(forked(TERM), forked(INT), interrupts.requested)
"""
    assert lines(body) == ["-15 3 None"]


def test_a_block_may_be_entered_again() -> None:
    body = """
interrupts = Interrupts()
for _ in range(2):
    with interrupts:
        interrupts.raise_requested()
        send(TERM)
        try:
            interrupts.raise_requested()
        except SystemExit as error:
            say(error.code)
"""
    assert lines(body) == ["143", "143"]
