"""`tito watch`: a line a save, the report when a check fails anew, within half a second, and nothing left behind."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tito.commands import watch
from tito.spare import TOOLS, Spare
from tito.testing import Job
from tito.workspace import Workspace

WRONG = "@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return self"
WORSE = "@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return other"
LIMIT = 0.5  # issue 3: from the save to the verdict


class Script:
    """Stands for the keyboard: at each wait one step is done, whose result is the key; then q."""

    on = True

    def __init__(self, *steps: Callable[[], object]) -> None:
        self.steps = list(steps)

    def wait(self, seconds: float) -> str:
        return str((self.steps.pop(0)() if self.steps else "q") or "")


def follow(learner: Any, key: str, *steps: Callable[[], object]) -> Spare:
    """Watch in this process, while the steps are done; the spare process, closed."""
    workspace, lesson = Workspace.find(learner.folder), learner.course.lesson(key)
    spare = Spare()
    try:
        watch.Watch(learner.course, workspace, lesson, spare, Script(*steps)).follow()  # type: ignore[arg-type]
    finally:
        spare.close()
    out, err = learner.capfd.readouterr()
    assert err == ""
    learner.said.append(f"$ tito watch {key}\n{out}")
    return spare


def test_what_it_says(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "clock", lambda: "12:00:00")
    follow(
        learner,
        "01",
        lambda: learner.answer(create="", add=WRONG),
        lambda: "h",
        lambda: learner.answer(add=WORSE),
        lambda: None,
        lambda: learner.answer(add="", norm="def norm("),
        lambda: learner.solve(),
        lambda: learner.file().write_text("{", encoding="utf-8"),
        lambda: "x",
    )
    learner.tito("reset 01")
    follow(learner, "01", lambda: learner.answer(create="", add=WRONG), lambda: "a")
    learner.agrees("watch")


def test_a_file_that_is_being_written_is_waited_for(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    learner.solve()
    text, half = learner.file().read_text(encoding="utf-8"), threading.Event()

    def write() -> None:
        learner.file().write_text(text[: len(text) // 2], encoding="utf-8")
        threading.Timer(0.1, lambda: [learner.file().write_text(text, encoding="utf-8"), half.set()]).start()

    follow(learner, "01", write, lambda: half.wait(5) and None)
    assert [line[10:16].strip() for line in learner.said[-1].splitlines()[1:]] == ["ok", "ok"]


def test_another_lesson_is_exported_meanwhile(learner: Any) -> None:
    learner.solve()
    learner.tito("export 01")
    learner.tito("open 02 --no-launch")
    packages: list[Path | None] = []
    workspace, spare = Workspace.find(learner.folder), Spare()

    def look() -> None:
        packages.append(spare.package)

    other = "@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return Vector(other.data + self.data)"
    steps = (look, lambda: learner.answer(add=other), lambda: learner.tito("export 01") and None, look)
    lesson = learner.course.lesson("02")
    try:
        watch.Watch(learner.course, workspace, lesson, spare, Script(*steps, look)).follow()  # type: ignore[arg-type]
        assert spare.child is not None
    finally:
        spare.close()
    assert packages[0] is not None and packages[-1] not in (None, packages[0])


def test_a_package_may_be_built_while_the_process_waits(tmp_path: Path) -> None:
    place = {"number": 1, "id": "check-late", "role": "check", "name": "late", "file": "<cell 1>", "line": 1}
    job = Job("01", [{**place, "source": "import tinytorch\nassert tinytorch.late == 3"}])
    with closing(Spare()) as spare:
        spare.prepare(tmp_path, TOOLS)
        time.sleep(1)  # it has looked for its tools in the folder, and Python remembers what was there at that time
        before = tmp_path.stat()
        (tmp_path / "tinytorch").mkdir()
        (tmp_path / "tinytorch" / "__init__.py").write_text("late = 3\n", encoding="utf-8")
        os.utime(tmp_path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as on a disk that counts in whole seconds
        assert [outcome.status for outcome in spare.run([job], tmp_path)] == ["ok"]


@contextmanager
def watching(learner: Any, key: str = "01") -> Iterator[tuple[subprocess.Popen[str], Callable[[], tuple[float, str]]]]:
    """A watch of its own, and a function that waits for its next verdict: when it came, and its text."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
    process = subprocess.Popen(
        learner.command("watch", key),
        cwd=learner.folder,
        env=learner.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    signal.signal(signal.SIGINT, before)
    lines: queue.Queue[tuple[float, str]] = queue.Queue()
    assert process.stdout is not None
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()

    def verdict() -> tuple[float, str]:
        while True:
            when, said = lines.get(timeout=60)
            if re.match(r"\d\d:\d\d:\d\d ", said):
                return when, said[8:].strip()

    try:
        yield process, verdict
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()


def _read(stream: Any, lines: queue.Queue[tuple[float, str]]) -> None:
    for text in stream:
        lines.put((time.perf_counter(), text))


def test_the_verdict_comes_within_half_a_second(learner: Any) -> None:
    learner.solve()
    with watching(learner) as (_, verdict):
        assert verdict()[1].startswith("ok")
        seconds = []
        for i in range(20):
            time.sleep(0.4 + 0.01 * i)  # time for the next process to make ready, at any moment between two looks
            began = time.perf_counter()
            learner.answer(add=WRONG if i % 2 else "")
            when, said = verdict()
            seconds.append(when - began)
            assert said.startswith("FAIL  add" if i % 2 else "ok")
    assert statistics.median(seconds) < LIMIT, seconds


def test_ctrl_c_leaves_no_process(learner: Any) -> None:
    with watching(learner) as (process, verdict):
        verdict()
        while not (children := _children(process.pid)):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        _wait_for_the_end_of(children)


def test_the_spare_process_ends_when_the_watch_is_killed(learner: Any) -> None:
    with watching(learner) as (process, verdict):
        verdict()
        while not (children := _children(process.pid)):
            time.sleep(0.02)
        process.kill()
        _wait_for_the_end_of(children)


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def _wait_for_the_end_of(processes: list[str]) -> None:
    end = time.monotonic() + 20
    while any(_runs(Path("/proc", process, "stat")) for process in processes):
        assert time.monotonic() < end
        time.sleep(0.05)


def _runs(stat: Path) -> bool:
    """Whether a process is there, and not only its exit code that nobody has asked for."""
    try:
        return stat.read_text(encoding="utf-8").rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_keys_on_a_terminal(learner: Any) -> None:
    import pty
    import termios

    parent, child = pty.openpty()
    before = termios.tcgetattr(child)
    process = subprocess.Popen(
        learner.command("watch"), cwd=learner.folder, env=learner.environment(NO_COLOR="1"), stdin=child, stdout=child
    )
    said = b""
    for wanted, key in ((b"todo", b"h"), (b"hint 1 of 3", b"a"), (b"waits for", b"q")):
        while wanted not in said:
            said += os.read(parent, 1 << 16)
        os.write(parent, key)
    assert process.wait(20) == 0
    assert termios.tcgetattr(child) == before
    os.close(child)
    os.close(parent)
    assert b"h hint, a all, q quit" in said


def test_the_file_may_go_and_come_back(learner: Any) -> None:
    learner.solve()
    notebook = learner.notebook()
    path: Path = learner.file()
    follow(learner, "01", path.unlink, lambda: path.write_text(json.dumps(notebook), encoding="utf-8") and "")
    told = [line[10:] for line in learner.said[-1].splitlines()[1:]]
    assert told[1] == "there is no modules/01_vector.ipynb yet; make it with: tito open 01"
    assert [told[0][:2], told[2][:2]] == ["ok", "ok"]
