"""Runs many variants of one lesson fast: a process that has imported the package forks a child for each.

Where the system cannot fork, every variant gets a process of its own through tito/testing.py.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from tito.runner import Channel, LessonRun
from tito.testing import Job, run, time_limit

OBSERVING_SECONDS = 0.1  # for each cell: what takes long in a learner's run is not observed either

Event = dict[str, Any]
Verdicts = dict[str, Event]  # check name -> its result
Seen = list[Any]  # see tito/diagnosis.py
Action = Callable[[Job, Path], None]


def run_all(jobs: Sequence[Job], package: Path) -> list[Verdicts]:
    """Verdicts of every check of every job, on the package that lies in folder `package`."""
    if not hasattr(os, "fork"):
        return [{o.check: asdict(o) for o in run([job], package, keep_going=True)} for job in jobs]
    return [_verdicts(events, job) for events, job in zip(_tried(jobs, package, _try), jobs)]


def observe_all(jobs: Sequence[Job], package: Path) -> list[Seen]:
    """What the first exercise that fails gave in each job, as `tito test` observes it; nothing where none fails."""
    if not hasattr(os, "fork"):
        return [next((list(o.seen) for o in run([job], package) if o.seen), []) for job in jobs]
    tried = _tried(jobs, package, _observe, OBSERVING_SECONDS)
    return [next((event["seen"] for event in events if event["event"] == "observed"), []) for events in tried]


def _tried(jobs: Sequence[Job], package: Path, action: Action, seconds: float = 0.0) -> list[list[Event]]:
    """The events of every job, each in a process of its own; `seconds` for each cell, else what a learner has."""
    each = seconds or time_limit() / 10
    with tempfile.TemporaryDirectory() as folder:
        _in_child(lambda: _fork_each(jobs, package, Path(folder), action, each), seconds=0)
        return [_read(Path(folder) / str(i)) for i in range(len(jobs))]


def _fork_each(jobs: Sequence[Job], package: Path, folder: Path, action: Action, seconds: float) -> None:
    """In a process of its own, since it imports the package: two children at a time."""
    _import_package(package)
    running: set[int] = set()
    for i, job in enumerate(jobs):
        if len(running) == (os.cpu_count() or 1):
            running.discard(os.wait()[0])
        running.add(_start(lambda i=i, job=job: action(job, folder / str(i)), len(job.cells) * seconds))
    for _ in running:
        os.wait()


def _import_package(package: Path) -> None:
    os.environ.update(TINYTORCH_PACKAGE=str(package), OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    sys.path.insert(0, str(package))
    sys.dont_write_bytecode = True
    import numpy  # noqa: F401  (imported once, before the forks)

    import tito.notebook  # noqa: F401

    for name in [name for name in sys.modules if name.partition(".")[0] == "tinytorch"]:
        del sys.modules[name]  # the parent's may be another package
    import_module("tinytorch")


def _try(job: Job, target: Path) -> None:
    _run_of(job, target, keep_going=True).run()


def _observe(job: Job, target: Path) -> None:
    warnings.simplefilter("default")  # as in a learner's run, whatever the author's process makes of warnings
    run = _run_of(job, target, keep_going=False)
    run.run()
    run.observe()


def _run_of(job: Job, target: Path, keep_going: bool) -> LessonRun:
    lesson = {"id": job.lesson, "cells": list(job.cells), "module": job.module, "observed": job.observed}
    return LessonRun(lesson, Recorder(target), keep_going)


class Recorder(Channel):
    """Stands where the runner's channel stands, and writes results to a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def send(self, event: Event) -> None:
        """Keep a result and what was observed; forget the rest."""
        if event["event"] in ("result", "observed"):
            with self.target.open("a", encoding="utf-8") as file:
                file.write(json.dumps(event) + "\n")


def _read(path: Path) -> list[Event]:
    """What a child wrote."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _verdicts(events: Sequence[Event], job: Job) -> Verdicts:
    """By check; checks that were not reached have FAILed, as they do for a student."""
    found = {event["check"]: event for event in events}
    lost = {"status": "FAIL", "kind": "ended"}
    return {**{cell["name"]: lost for cell in job.checks}, **found}


def _in_child(action: Any, seconds: float) -> None:
    _, status = os.waitpid(_start(action, seconds), 0)
    if status:
        raise RuntimeError(f"the trial process ended with status {status}")


def _start(action: Any, seconds: float) -> int:
    """Fork; the child does the action in silence, for at most so many seconds (0: any), and ends."""
    process = os.fork()
    if process:
        return process
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2) if seconds else (0,):
            os.dup2(nothing, stream)
        signal.alarm(round(seconds))
        action()
        os._exit(0)
    except BaseException:  # whatever happened, the child must not run on in the parent's code
        if not seconds:
            sys.excepthook(*sys.exc_info())
        os._exit(1)
