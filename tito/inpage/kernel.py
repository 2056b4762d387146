"""Runs cells one by one in a namespace, as a notebook's kernel does: value, figures, and a traceback of the cells only.

Begin at `Kernel.run`. A cell's code carries the cell's label as its file's name: `exercise matmul`, `cell 12`.
"""

from __future__ import annotations

import ast
import linecache
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from tito import pycell
from tito.checks import CheckFailed
from tito.inpage import figures
from tito.inpage.printed import Printed, Write

LONGEST_VALUE = 20_000  # characters
FRAMES = 12  # of a traceback that are told: half of them the first, half the last
PACKAGE = "tinytorch"
PRESENT = ("NumPy", "Matplotlib", "Python's standard library")


@dataclass
class Ran:
    """What running a cell gave. status is "ok", "todo" or "error".

    `todo` is the label of an exercise that is still to be written, or an earlier lesson where one is. `missing` is a
    name that nothing has defined yet.
    """

    status: str = "ok"
    value: str = ""
    html: str = ""
    figures: list[figures.Figure] = field(default_factory=list)
    error: str = ""
    todo: str = ""
    missing: str = ""
    seconds: float = 0.0


class Kernel:
    """A namespace in which cells run. `stubs` are files of the package that hold stubs, and what to say of them."""

    def __init__(self, stubs: Mapping[str, str]) -> None:
        self.stubs = stubs
        self.module = ModuleType("__main__")
        vars(self.module)["input"] = _input
        self.labels: set[str] = set()
        figures.prepare()
        warnings.formatwarning = _format_warning

    def run(self, label: str, source: str, write: Write) -> Ran:
        """Run a cell; what it prints goes to `write(kind, text)` as it comes, kind being "out" or "err"."""
        python = pycell.read(source)
        if python.error:
            line, text, message = python.error.line, python.error.text, python.error.message
            return Ran("error", error=f"{label}, line {line}\n    {text}\nSyntaxError: {message}")
        self._register(label, python.source)
        began, out, err = time.perf_counter(), Printed("out", write), Printed("err", write)
        with redirect_stdout(out), redirect_stderr(err):
            ran = self._attempt(label, python.source)
        out.close()
        err.close()
        ran.seconds = time.perf_counter() - began
        return ran

    def _register(self, label: str, source: str) -> None:
        """Let tracebacks show the cell's lines."""
        lines = [line + "\n" for line in source.split("\n")]
        linecache.cache[label] = (len(source), None, lines, label)
        self.labels.add(label)

    def _attempt(self, label: str, source: str) -> Ran:
        sys.modules["__main__"] = self.module
        try:
            value = self._execute(label, source)
            drawn = figures.drawn(value)
            text, html = _views(value, bool(drawn))
            return Ran(value=text, html=html, figures=drawn)
        except BaseException as error:  # sys.exit and a KeyboardInterrupt end a cell like any other error
            return self._failed(error)

    def _execute(self, label: str, source: str) -> Any:
        """Run the statements; the value of the last when it is an expression that no semicolon ends."""
        tree = ast.parse(source, label)
        shown = bool(tree.body) and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
        last = tree.body.pop() if shown else None
        exec(compile(tree, label, "exec", dont_inherit=True), vars(self.module))
        if not isinstance(last, ast.Expr):
            return None
        return eval(compile(ast.Expression(last.value), label, "eval", dont_inherit=True), vars(self.module))

    def _failed(self, error: BaseException) -> Ran:
        drawn = figures.drawn(None)
        todo = self._todo(_deepest(error)) if isinstance(error, NotImplementedError) else ""
        if todo:
            return Ran("todo", todo=todo, figures=drawn)
        missing = str(getattr(error, "name", None) or "") if isinstance(error, (NameError, AttributeError)) else ""
        return Ran("error", error=self._told(error), missing=missing, figures=drawn)

    def _todo(self, place: str) -> str:
        """The exercise or lesson to write, when its stub raised."""
        path = Path(place)
        if path.parent.name == PACKAGE:
            return self.stubs.get(path.name, "")
        return place if place.startswith("exercise ") else ""

    def _told(self, error: BaseException) -> str:
        if isinstance(error, CheckFailed):
            return str(error)
        if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] != PACKAGE:
            more = f"\nThe page has {', '.join(PRESENT[:-1])} and {PRESENT[-1]}."
        else:
            more = ""
        because = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        cause = f"\nbecause of {_words(because)}" if because is not None and because is not error else ""
        return "\n".join([*self._frames(error), _words(error)]) + cause + more

    def _frames(self, error: BaseException) -> Iterator[str]:
        """Each frame of the reader's cells and of the package: where, and the line."""
        frames = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        told = [
            (_shown(frame.f_code.co_filename), line, frame.f_code.co_name, frame.f_code.co_filename)
            for frame, line in frames
            if frame.f_code.co_filename in self.labels or Path(frame.f_code.co_filename).parent.name == PACKAGE
        ]
        for number, (place, line, name, file) in enumerate(told):
            if number == FRAMES // 2 and len(told) > FRAMES:
                yield f"    ... {len(told) - FRAMES} more"
            if number < FRAMES // 2 or number >= len(told) - FRAMES // 2:
                yield f"{place}, line {line}" + ("" if name == "<module>" else f", in {name}")
                yield f"    {linecache.getline(file, line).strip()}"


def wanted(source: str) -> list[str]:
    """Which packages, beside NumPy, the page has to load before a cell runs."""
    names = {"matplotlib"} if "matplotlib" in source else set()
    return sorted(names - set(sys.modules))


def _views(value: Any, drawn: bool) -> tuple[str, str]:
    """The value as text, and as HTML where it says how."""
    if value is None or (drawn and figures.is_part(value)):
        return "", ""
    draw: Callable[[], object] | None = getattr(value, "_repr_html_", None)
    html = draw() if callable(draw) and not isinstance(value, type) else None
    return _cut(repr(value)), html if isinstance(html, str) else ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} ... ({len(text)} characters)"


def _deepest(error: BaseException) -> str:
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    return frame.f_code.co_filename


def _shown(file: str) -> str:
    """`exercise matmul`, or `tinytorch/tensor.py`."""
    path = Path(file)
    return f"{PACKAGE}/{path.name}" if path.parent.name == PACKAGE else file


def _words(error: BaseException) -> str:
    try:
        text = _cut(str(error))
    except BaseException:  # the reader's class may define a __str__ that fails in any way
        text = "(its text cannot be shown)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return f"{_shown(filename)}, line {lineno}: {category.__name__}: {message}\n"


def _input(prompt: object = "") -> NoReturn:
    raise RuntimeError("input() has nobody to ask in the page; write the value into the cell.")
