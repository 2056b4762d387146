"""The parent's side of a test run: starts the runner, keeps it to its time, and collects what it reports.

Begin at `run`. Two threads read the runner's two pipes, so that nothing here waits on a pipe that nobody empties; this
works alike on every system. NumPy is never imported here.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from tito import whence
from tito.errors import UserError

SECONDS = 10.0  # for one cell or check
OBSERVING_SECONDS = 1.0  # for running the checks of a failed exercise once more
START_SECONDS = 60.0  # until the first cell begins: a cold disk may take long to import NumPy
KEPT = 2048  # bytes of printed text that are kept for each check
BOOT = "import sys; sys.path.append(sys.argv[1]); from tito import runner; runner.main()"

Event = dict[str, Any]
Where = tuple[str, int, str]


@dataclass(frozen=True)
class Job:
    """One lesson to run: its cells in order, and the exported module whose names its checks see, if any.

    A cell is a dict with number, id, role, name, file, line and source. `observed` is an exercise of which it is told
    what all its checks gave, even when none fails.
    """

    lesson: str
    cells: Sequence[dict[str, Any]]
    module: str = ""
    observed: str = ""

    @property
    def checks(self) -> list[dict[str, Any]]:
        """The cells that are checks."""
        return [cell for cell in self.cells if cell["role"] == "check"]


@dataclass(frozen=True)
class Outcome:
    """What became of one check, or of a cell that all checks need: that one belongs to no exercise.

    status is "ok", "FAIL", "todo", "waits" or "not run"; the other fields are those of tito.checks.CheckFailed. `seen`
    is what all checks of the exercise gave, and `looks_like` the known mistake that gives the same: see diagnosis.py.
    `more` is the link to where the site explains it: see links.py.
    """

    lesson: str
    check: str
    exercise: str
    status: str
    cell: int = 0
    waits_for: str = ""
    expression: str | None = None
    want: str | None = None
    got: str | None = None
    says: str | None = None
    error: tuple[str, str] | None = None
    where: Where | None = None
    output: str = ""
    seen: Sequence[Any] = ()
    looks_like: str = ""
    inside: Where | None = None
    more: str = ""


def time_limit() -> float:
    """Seconds that one cell or check may take; TITO_SECONDS overrides the usual 10."""
    text = os.environ.get("TITO_SECONDS", str(SECONDS))
    try:
        return float(text)
    except ValueError:
        raise UserError(f"TITO_SECONDS is {text!r} but must be a number of seconds: export TITO_SECONDS=10") from None


def start(package: Path, imports: Sequence[str] = ()) -> Child:
    """A child process for one run on the package that lies in folder `package`; it imports these modules meanwhile."""
    child = Child(time_limit())
    child.prepare({"package": str(package), "path": _path(), "imports": list(imports)})
    return child


def run(jobs: Sequence[Job], package: Path, *, keep_going: bool = False, child: Child | None = None) -> list[Outcome]:
    """Run the jobs on the package, in the child that was started for it or a new one: one outcome a check, in order."""
    child = child or start(package)
    try:
        child.send({"keep_going": keep_going, "lessons": _lessons(jobs)})
        outcomes = list(child.outcomes())
    finally:
        child.kill()
    told = [_told(outcome, child.printed.text(number), package) for number, outcome in outcomes]
    return _with_rest(jobs, [_with_seen(outcome, child.observed) for outcome in told])


def _lessons(jobs: Sequence[Job]) -> list[Event]:
    return [{"id": j.lesson, "cells": list(j.cells), "module": j.module, "observed": j.observed} for j in jobs]


def _told(outcome: Outcome, printed: str, package: Path) -> Outcome:
    """The outcome with what was printed, and with places in the package as those of the cells that they came from."""
    where, inside = (_before_export(place, package) for place in (outcome.where, outcome.inside))
    return replace(outcome, output=printed, where=where, inside=None if inside == where else inside)


def _before_export(place: Where | None, package: Path) -> Where | None:
    """A line of the package by its notebook, else as `tinytorch/grad_mode.py`; any other line as it is."""
    if place is None or not Path(place[0]).is_relative_to(package):
        return place
    file, (_, line, text) = Path(place[0]), place
    name = whence.file_of_package(file)
    found = whence.origin(package / whence.SOURCEMAP, whence.workspace_of(package), name, line, text)
    return (found.label, found.line, text) if found else (file.relative_to(package).as_posix(), line, text)


def _with_seen(outcome: Outcome, observed: Iterable[Event]) -> Outcome:
    """The outcome with what its exercise gave, where that was observed."""
    about = {"lesson": outcome.lesson, "exercise": outcome.exercise}
    seen = next((event["seen"] for event in observed if about.items() <= event.items()), ())
    return replace(outcome, seen=seen)


def _path() -> list[str]:
    """Where this process finds its modules, but for the folder that it was started in."""
    return [path for path in sys.path if path and Path(path) != Path.cwd()]


def _with_rest(jobs: Sequence[Job], outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes, and behind each lesson's the checks that did not run. What is no check belongs to no exercise."""
    checks = [(job.lesson, check["name"]) for job in jobs for check in job.checks]
    done = {(outcome.lesson, outcome.check) for outcome in outcomes}
    outcomes = [one if (one.lesson, one.check) in checks else replace(one, exercise="") for one in outcomes]
    outcomes += [Outcome(*check, check[1].split()[0], "not run") for check in checks if check not in done]
    order = [job.lesson for job in jobs]
    return sorted(outcomes, key=lambda outcome: order.index(outcome.lesson))


class Child:
    """A running child process."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.observed: list[Event] = []
        self.mark = f"\0{os.urandom(8).hex()}\0"
        root = Path(__file__).resolve().parent.parent
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", BOOT, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **threads},
            start_new_session=True,
        )
        self.events: queue.Queue[Event | None] = queue.Queue()
        self.printed = Printed(_pipe(self.process.stderr), self.mark.encode())
        self.reader = threading.Thread(target=self._read_events, daemon=True)
        self.reader.start()

    def prepare(self, place: Event) -> None:
        """Say where the package lies and what to import."""
        self._write(json.dumps(place).encode() + b"\n")

    def send(self, plan: Event) -> None:
        """Send the plan; stdin stays open, as the child ends when it closes."""
        self._write(json.dumps({**plan, "mark": self.mark}).encode() + b"\n")

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Outcomes as they come, each with the number of its piece of printed text; ends when the child does."""
        running: Event = {}
        number = 0
        for event in self._events_in_time():
            if event["event"] == "done":
                return
            if event["event"] == "observed":
                self.observed.append(event)
            elif event["event"] == "result":
                yield number, _outcome(event)
            else:
                running = event
            number += 1
        if running.get("event") != "observing":  # all has been told then, and the rest is for a better report only
            yield number, self._broken_off(running)

    def kill(self) -> None:
        """End the child and all that it started, and wait until both pipes are read."""
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(self.process.pid)], capture_output=True, check=False)
        else:
            _kill_group(self.process.pid)
        self.process.wait()
        self.printed.reader.join(1)  # a process that left the group may hold the pipe open
        self.reader.join(1)
        with suppress(OSError):  # what could not be written is dropped
            _pipe(self.process.stdin).close()

    def _read_events(self) -> None:
        with _pipe(self.process.stdout) as pipe:
            for line in pipe:
                _, ours, event = line.rpartition(self.mark.encode())
                if ours:  # else the learner's code wrote to all files that it found open
                    self.events.put(json.loads(event))
        self.events.put(None)

    def _events_in_time(self) -> Iterator[Event]:
        """Events until the child ends or takes too long for one."""
        seconds = START_SECONDS
        while (event := self._next(seconds)) is not None:
            yield event
            seconds = min(self.seconds, OBSERVING_SECONDS) if event["event"] == "observing" else self.seconds

    def _next(self, seconds: float) -> Event | None:
        try:
            return self.events.get(timeout=seconds)
        except queue.Empty:
            return None

    def _write(self, data: bytes) -> None:
        with suppress(OSError):  # the child has ended already; its outcomes say so
            _pipe(self.process.stdin).write(data)
            _pipe(self.process.stdin).flush()

    def _broken_off(self, running: Event) -> Outcome:
        """The outcome of what ran when the child ended by itself or took too long."""
        if not running:
            why = self._last_words()
            raise UserError(f"the test process did not start: {why}; look for the cause with: tito doctor")
        code = self._exit_code()
        what = f"cell {running['cell']}" if running["cell"] else running["check"]
        if code is None:
            says, where = f"{what} ran longer than {self.seconds:g} s", self._where_now()
        else:
            says, where = f"the process ended in {what} ({_ending(code)})", None
        about = Outcome(running["lesson"], running["check"], running["exercise"], "FAIL", running["cell"])
        return replace(about, says=says, where=where)

    def _exit_code(self) -> int | None:
        try:
            return self.process.wait(0.2)
        except subprocess.TimeoutExpired:
            return None

    def _where_now(self) -> Where | None:
        """The learner's line that runs at this moment, if the child still answers."""
        self._write(b"?")
        end = time.monotonic() + 1
        while (event := self._next(max(0.0, end - time.monotonic()))) is not None:
            if event["event"] == "where":
                return _where(event["where"])
        return None

    def _last_words(self) -> str:
        self.kill()
        return " ".join(self.printed.text(0).split("\n")[-2:]).strip() or "no reason given"


class Printed:
    """Reads what the learner's code prints, keeps the beginning of each piece between two marks, and drops the rest."""

    def __init__(self, pipe: IO[bytes], mark: bytes) -> None:
        self.pipe, self.mark = pipe, mark
        self.pieces = [bytearray()]
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def text(self, number: int) -> str:
        """The beginning of what was printed before the event of this number."""
        return self.pieces[number].decode("utf-8", "replace") if number < len(self.pieces) else ""

    def _read(self) -> None:
        rest = b""
        with self.pipe:
            while data := os.read(self.pipe.fileno(), 1 << 16):
                rest = self._take(rest + data)
        self._keep(rest)

    def _take(self, data: bytes) -> bytes:
        """Put the data into pieces, but for the end, which may be the beginning of a mark."""
        *done, rest = data.split(self.mark)
        for piece in done:
            self._keep(piece)
            self.pieces.append(bytearray())
        settled = max(0, len(rest) - len(self.mark))
        self._keep(rest[:settled])
        return rest[settled:]

    def _keep(self, data: bytes) -> None:
        self.pieces[-1] += data[: max(0, KEPT - len(self.pieces[-1]))]


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # all three were asked for
    return pipe


def _outcome(event: Event) -> Outcome:
    names = {"lesson", "check", "exercise", "status", "cell", "waits_for", "expression", "want", "got", "says"}
    error = tuple(event["error"]) if event.get("error") else None
    fields = {name: value for name, value in event.items() if name in names}
    return Outcome(**fields, error=error, where=_where(event.get("where")), inside=_where(event.get("inside")))


def _where(place: Iterable[Any] | None) -> Where | None:
    if place is None:
        return None
    file, line, text = place
    return str(file), int(line), str(text)


def _ending(code: int) -> str:
    """`exit code 3`, or the name of the signal."""
    if code >= 0:
        return f"exit code {code}"
    return f"signal {signal.Signals(-code).name}"


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all of them have ended; macOS says it with the second
        os.killpg(group, signal.SIGKILL)
