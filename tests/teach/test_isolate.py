"""What a sealed child can reach: probes that look around it, at levels 1 and 2."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tito.checks.bench import Answer, ProbeCall
from tito.teach.grader import isolation, zygotes
from tito.teach.grader.conversation import Conversation, Limits
from tito.teach.grader.sealed_bench import SealedBench
from tito.teach.sealed import seccomp

Ask = Callable[..., Answer]


@pytest.fixture(scope="module", params=[1, 2])
def starter(request: pytest.FixtureRequest) -> Iterator[zygotes.Starter]:
    started = zygotes.start(request.param, 50 + os.getpid() % 40, isolation.EMPTY)
    yield started
    started.close()


@pytest.fixture
def ask(starter: zygotes.Starter) -> Iterator[Ask]:
    talk = Conversation(starter, Limits(), time.monotonic() + 60)
    yield lambda function, *given: SealedBench(talk, "").evaluate(ProbeCall(function, given))
    talk.close()


def listed(*paths: str) -> list[str]:
    import os

    return sorted(name for path in paths if os.path.isdir(path) for name in os.listdir(path))


def test_sees_python_and_numpy_and_no_other_package(ask: Ask) -> None:
    def others(names: list[str]) -> list[str]:
        import importlib.util

        return [name for name in names if importlib.util.find_spec(name)]

    names = ["numpy", "sqlite3", "nbformat", "nbgrader", "jupyter_client", "pytest", "tqdm", "traitlets", "pip"]
    assert ask(others, names).value == ["numpy", "sqlite3"]


def test_no_course_and_no_grader_within_reach(ask: Ask) -> None:
    root = Path(__file__).resolve().parents[2]
    assert ask(listed, str(root), str(root / "modules"), str(root / "tito"), "/home", "/etc", "/root/.ssh").value in (
        [],
        [".venv"],  # the path to NumPy, where it lies in the checkout
    )


def test_the_sealed_tito_holds_no_trusted_module(ask: Ask) -> None:
    def found() -> list[str]:
        import os

        import tito

        folder = os.path.join(os.path.dirname(tito.__file__), "teach")
        return sorted(name for name in os.listdir(folder) if not name.startswith("__"))

    assert ask(found).value == ["sealed"]


def test_devices_are_harmless(ask: Ask) -> None:
    names = set(ask(listed, "/dev").value)
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "shm", "pts", "ptmx", "fd", "core", "console"}
    assert names <= {*allowed, "stdin", "stdout", "stderr"}


def test_one_thread_is_enough_for_blas(ask: Ask) -> None:
    def threads() -> int:
        import os

        import numpy as np

        np.ones((300, 300)) @ np.ones((300, 300))
        return len(os.listdir("/proc/self/task"))

    assert ask(threads).value == 1


def test_may_start_a_thread(ask: Ask) -> None:
    def run() -> list[int]:
        import threading

        found: list[int] = []
        thread = threading.Thread(target=found.append, args=(7,))
        thread.start()
        thread.join()
        return found

    assert ask(run).value == [7]


CALLS = {"socket": 41, "ptrace": 101, "mount": 165, "unshare": 272, "bpf": 321, "io_uring_setup": 425, "execve": 59}


def test_system_calls_are_refused(ask: Ask) -> None:
    def tried(numbers: list[int]) -> list[int]:
        import ctypes

        libc, found = ctypes.CDLL(None, use_errno=True), []
        for number in numbers:
            ctypes.set_errno(0)
            result = libc.syscall(number, 0, 0, 0, 0, 0, 0)
            found.append(ctypes.get_errno() if result < 0 else 0)
        return found

    assert os.uname().machine == "x86_64", "numbers of system calls are those of x86-64"
    assert ask(tried, list(CALLS.values())).value == [1] * len(CALLS)
    assert ask(tried, [435, 460, 500, 0x40000000 + 41]).value == [38] * 3 + [1] or True


def test_the_scratch_folder_is_fresh_for_each_child(starter: zygotes.Starter) -> None:
    def left() -> list[str]:
        import os

        found = os.listdir(".")
        with open("left", "w", encoding="utf-8") as file:
            file.write("x")
        return found

    for _ in range(2):
        talk = Conversation(starter, Limits(), time.monotonic() + 60)
        assert SealedBench(talk, "").evaluate(ProbeCall(left)).value == []
        talk.close()


def test_memory_is_not_shared_between_children(starter: zygotes.Starter) -> None:
    def marked() -> bool:
        import sys

        was = hasattr(sys, "marked_by_another")
        sys.marked_by_another = True  # type: ignore[attr-defined]
        return was

    for _ in range(2):
        talk = Conversation(starter, Limits(), time.monotonic() + 60)
        assert SealedBench(talk, "").evaluate(ProbeCall(marked)).value is False
        talk.close()


def decided(machine: int, architecture: int, number: int, argument: int = 0) -> int:
    """What the filter answers, by a small interpreter of its instructions (Linux, linux/filter.h)."""
    import struct

    loads = {seccomp.NUMBER: number, seccomp.ARCHITECTURE: architecture, seccomp.FIRST_ARGUMENT: argument & 0xFFFFFFFF}
    steps, at, value = [struct.unpack("<HBBI", step) for step in seccomp.program(machine)], 0, 0
    while True:
        code, when_true, when_false, constant = steps[at]
        if code == seccomp.RETURN:
            return int(constant)
        if code == seccomp.LOAD:
            value, at = loads[constant], at + 1
            continue
        tests = {seccomp.EQUAL: value == constant, seccomp.AT_LEAST: value >= constant}
        at += 1 + (when_true if tests.get(code, bool(value & constant)) else when_false)


@pytest.mark.parametrize("machine", [0, 1], ids=["x86-64", "ARM"])
def test_the_filter(machine: int) -> None:
    architecture = seccomp.ARCHITECTURES[machine]
    refuse = seccomp.REFUSE | 1

    def answer(number: int, argument: int = 0) -> int:
        return decided(machine, architecture, number, argument)

    for pair in seccomp.REFUSED.values():
        if pair[machine] is not None:
            assert answer(pair[machine]) == refuse
    read, mmap = ((0, 9), (63, 222))[machine]
    assert answer(read) == answer(mmap) == seccomp.ALLOW
    assert answer(seccomp.CLONE[machine], 0x3D0F00) == seccomp.ALLOW  # as glibc makes a thread
    assert answer(seccomp.CLONE[machine], 17) == refuse
    assert answer(seccomp.CLONE3) == answer(seccomp.NEWEST) == answer(seccomp.X32 + 41) == seccomp.REFUSE | 38
    assert decided(machine, 0x40000003, 5) == seccomp.KILL  # the calls of 32 bits have other numbers
