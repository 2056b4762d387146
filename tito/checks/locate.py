"""Finds the learner's own line: where an exception was raised, or which return gave a wrong value."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from tito.checks.failure import Where
from tito.checks.values import NotPlain, Plain, plain

PACKAGE = "tinytorch"
NOBODYS, PACKAGES, NOTEBOOKS, FOCUSED = range(4)


class Focus(NamedTuple):
    """The cell of the exercise: a file, and the lines of it where one file holds all cells."""

    filename: str
    first: int = 1
    last: float = math.inf

    def holds(self, code: CodeType) -> bool:
        return code.co_filename == self.filename and self.first <= code.co_firstlineno <= self.last


@dataclass(frozen=True)
class Ground:
    """Which code is the learner's: the notebook's namespace, above all the cell in focus; else the exported package."""

    namespace: dict[str, Any]
    focus: Focus | None = None
    hidden: frozenset[int] = frozenset()  # ids of code objects that are the probe's own

    def rank(self, frame: FrameType) -> int:
        if frame.f_globals is self.namespace:
            if id(frame.f_code) in self.hidden:
                return NOBODYS
            return FOCUSED if self.focus and self.focus.holds(frame.f_code) else NOTEBOOKS
        return PACKAGES if str(frame.f_globals.get("__name__")).split(".")[0] == PACKAGE else NOBODYS


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that are defined inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def raised_at(error: BaseException, ground: Ground) -> Where | None:
    """The deepest line of the learner's in the traceback; one in the focused cell before any other."""
    best, found, step = NOBODYS, None, error.__traceback__
    while step is not None:
        rank = ground.rank(step.tb_frame)
        if rank >= best and rank > NOBODYS:
            best, found = rank, where(step.tb_frame.f_code.co_filename, step.tb_lineno)
        step = step.tb_next
    return found


def raised_inside(error: BaseException) -> Where | None:
    """The line of the exported package that raised, or called what raised; None where it called the notebook's code."""
    found: tuple[str, int] | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__")).split(".")[0]
        found = (frame.f_code.co_filename, line) if module == PACKAGE else None if module == "__main__" else found
    return found and where(*found)


def given_at(run: Callable[[], object], got: Plain, ground: Ground) -> Where | None:
    """Runs once more under a trace -> the line that gave `got`. What is printed or raised meanwhile is dropped."""
    tracer, before = _Tracer(ground, got), sys.gettrace()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sys.settrace(tracer.enter)
        try:
            run()
        except KeyboardInterrupt:
            raise
        except BaseException:  # the student's code may raise anything, and only its path matters here
            pass
        finally:
            sys.settrace(before)
    return tracer.answer()


def where(filename: str, line: int) -> Where:
    return Where(filename, line, linecache.getline(filename, line).strip())


@dataclass
class _Seen:
    """What one rank of code did: the first return of the very value, the last return begun, the last plain line."""

    match: tuple[str, int] | None = None
    last: tuple[str, int] | None = None
    begun: int = -1
    line: tuple[str, int] | None = None


@dataclass
class _Tracer:
    ground: Ground
    got: Plain
    tick: int = 0
    seen: dict[int, _Seen] = field(default_factory=dict)
    files: dict[str, dict[int, tuple[int, bool]]] = field(default_factory=dict)

    def enter(self, frame: FrameType, event: str, value: Any) -> Any:
        """Every call comes here; only the learner's frames are followed line by line."""
        rank = self.ground.rank(frame)
        return None if rank == NOBODYS else _Follower(self, self.seen.setdefault(rank, _Seen()), frame).step

    def statement(self, filename: str, line: int) -> tuple[int, bool]:
        if filename not in self.files:
            self.files[filename] = _statements(filename)
        return self.files[filename].get(line, (0, False))

    def answer(self) -> Where | None:
        for rank in sorted(self.seen, reverse=True):
            place = self.seen[rank].match or self.seen[rank].last or self.seen[rank].line
            if place:
                return where(*place)
        return None


class _Follower:
    """Follows one frame, from its call or resumption on: notes when statements begin, and what a return or yield gives.

    A return that calls others begins before theirs, so the last one begun is the innermost.
    """

    def __init__(self, tracer: _Tracer, seen: _Seen, frame: FrameType) -> None:
        self.tracer, self.seen, self.filename = tracer, seen, frame.f_code.co_filename
        self.begun: dict[int, int] = {}

    def step(self, frame: FrameType, event: str, value: Any) -> Any:
        start, gives = self.tracer.statement(self.filename, frame.f_lineno)
        if start and event == "line":
            self._begin(start, gives)
        elif start and gives and event == "return":
            self._give(start, value)
        return self.step

    def _begin(self, start: int, gives: bool) -> None:
        self.tracer.tick += 1
        self.begun.setdefault(start, self.tracer.tick)
        if not gives:
            self.seen.line = self.filename, start

    def _give(self, start: int, value: Any) -> None:
        begun = self.begun.get(start, self.tracer.tick)
        if begun > self.seen.begun:
            self.seen.begun, self.seen.last = begun, (self.filename, start)
        if self.seen.match is None and _same(value, self.tracer.got):
            self.seen.match = self.filename, start


def _same(value: object, got: Plain) -> bool:
    """Whether a returned value is the array that came out wrong. Single values say nothing: they recur by chance."""
    if type(got) is not np.ndarray or got.size < 2:
        return False
    try:
        array = plain(value)
    except (NotPlain, AttributeError, RuntimeError, TypeError, ValueError):  # `.data` may be code of the student's
        return False
    return type(array) is np.ndarray and array.dtype == got.dtype and np.array_equal(array, got, equal_nan=True)


def _statements(filename: str) -> dict[int, tuple[int, bool]]:
    """line -> (first line of its simple statement, whether that is a return or a yield)."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except SyntaxError:  # a file that has changed since it ran
        return {}
    simple = (ast.Return, ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)
    return {
        line: (node.lineno, _gives(node))
        for node in ast.walk(tree)
        if isinstance(node, simple)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _gives(node: ast.stmt) -> bool:
    return isinstance(node, ast.Return) or any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in ast.walk(node))
