"""A student's definitions, run as `tito test` runs them, each cell with a time limit. In the sealed child only."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tito import runner
from tito.checks.locate import Focus

TEXT = 1000  # characters of each text that is told


class Definitions(runner.LessonRun):
    """The cells of a plan in a namespace of their own, as `tito test` runs them, each with a time limit."""

    def __init__(self, lesson: str, cells: list[dict[str, Any]], seconds: float) -> None:
        self.faults: list[runner.Event] = []
        self.seconds = seconds
        about = {"id": lesson, "cells": cells, "module": "", "observed": ""}
        super().__init__(about, self, keep_going=True)  # type: ignore[arg-type]

    def send(self, event: runner.Event) -> None:
        """What LessonRun tells of a cell that is no exercise's."""
        if event["event"] == "result":
            self.faults.append(event)

    def define(self) -> dict[str, Any]:
        """Run all; exercises that are broken by name, and faults of other cells."""
        runner._register_lines(self.cells)
        for cell in self.cells:
            self._define(cell)
        told = _short({"broken": self.broken, "faults": self.faults[:20]})
        return dict(told)

    def unwritten(self, error: BaseException) -> str:
        """The exercise whose cell raised this NotImplementedError, "" when it was no exercise's."""
        cell = self._cell_at(runner._raised_at(runner._origin(error)))
        return str(cell["name"]) if cell and cell["role"] == "exercise" else ""

    def focus(self, exercise: str) -> Focus | None:
        """The lines of the exercise's cell."""
        found = (cell for cell in self.cells if cell["role"] in ("exercise", "twin") and cell["name"] == exercise)
        for cell in found:
            return Focus(cell["file"], cell["line"], cell["line"] + len(cell["source"].split("\n")) - 1)
        return None

    def _attempt(self, cell: runner.Cell, owner: runner.Cell, action: Callable[[], None]) -> BaseException | None:
        with _time_limit(self.seconds):
            return super()._attempt(cell, owner, action)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes too long. Code that defeats this is ended by the trusted side."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the cell ran longer than {seconds:g} s")

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _short(told: Any) -> Any:
    """The same with every text cut, so that it fits into a frame."""
    if isinstance(told, dict):
        return {name: _short(each) for name, each in told.items()}
    if isinstance(told, (list, tuple)):
        return [_short(each) for each in told]
    return told[:TEXT] if isinstance(told, str) else told
