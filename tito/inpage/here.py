"""A test run in this very process: what tito/testing.py starts a child for, where no process can be started.

Each run imports the package anew and has a `__main__` of its own, so that neither the cells that a reader ran nor an
earlier check decides what it finds.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import numpy as np

from tito import runner
from tito.testing import KEPT, Child, Event

PACKAGE = "tinytorch"


class Here(Child):
    """Stands in for the child process: collects in memory what that would send."""

    def __init__(self, package: Path) -> None:
        self.package = package
        self.seconds = math.inf
        self.observed: list[Event] = []
        self.plan: Event = {}
        self.pieces: list[str] = []
        self.printed = self  # type: ignore[assignment]  # only its text is asked for

    def send(self, plan: Event) -> None:
        """Take the plan; it is run when its outcomes are asked for."""
        self.plan = plan

    def kill(self) -> None:
        """Nothing was started."""

    def text(self, number: int) -> str:
        """The beginning of what was printed before the event of this number."""
        return self.pieces[number][:KEPT] if number < len(self.pieces) else ""

    def _events_in_time(self) -> Iterator[Event]:
        channel = Memory()
        with alone(self.package), redirect_stdout(channel.printed), redirect_stderr(channel.printed):
            runner.run_plan(self.plan, channel)
        self.pieces = channel.pieces
        yield from channel.sent


class Memory(runner.Channel):
    """A channel that keeps what is sent, and for each event what was printed before it."""

    def __init__(self) -> None:
        self.lesson = None
        self.sent: list[Event] = []
        self.pieces: list[str] = []
        self.printed = StringIO()

    def send(self, event: Event) -> None:
        """Keep one event."""
        self.pieces.append(self.printed.getvalue())
        self.printed.seek(0)
        self.printed.truncate()
        self.sent.append(event)


@contextmanager
def alone(package: Path) -> Iterator[None]:
    """Import the package from this folder, anew; afterwards everything is as it was."""
    modules, main, path = _taken(), sys.modules["__main__"], list(sys.path)
    folder, options, unwritten = Path.cwd(), np.get_printoptions(), sys.dont_write_bytecode
    sys.dont_write_bytecode = False  # or every check would compile the package anew
    sys.path.insert(0, str(package))
    try:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            yield
    finally:
        _taken()
        sys.modules.update(modules)
        sys.modules["__main__"] = main
        sys.path[:], sys.dont_write_bytecode = path, unwritten
        os.chdir(folder)
        np.set_printoptions(**options)


def _taken() -> dict[str, ModuleType]:
    """The package's modules, taken out of what is imported."""
    names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}
