"""The child process of `tito test` and `tito export`: runs the cells of a plan and reports what happened.

Begin at `main`. It reads two lines of JSON from stdin (`tito/testing.py` writes them): the first says what to import,
so that a process may wait ready, the second is the plan. It runs each lesson's definitions and then its checks, and
sends events as lines of JSON on a private copy of stdout, each behind a mark that tells it from whatever else comes
down that pipe. What the learner's code prints goes to another pipe, in which the same mark between two events says
where one ends and the next begins.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module, invalidate_caches
from types import CodeType, FrameType, ModuleType
from typing import Any

Event = dict[str, Any]
Cell = dict[str, Any]

MEMORY_LIMIT = 4 * 2**30
LONGEST_TEXT = 500
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> None:
    """Run the plan that stands on stdin, and end without waiting for threads that were left behind."""
    _prepare(_next_line())
    plan = _next_line()
    invalidate_caches()  # the package may have been built while this process waited
    run_plan(plan, Channel(plan["mark"]))
    os._exit(0)


def run_plan(plan: Event, channel: Channel) -> None:
    """Run the plan's lessons, and send what happens."""
    runs = []
    for lesson in plan["lessons"]:
        runs.append(LessonRun(lesson, channel, plan["keep_going"]))
        if not runs[-1].run():
            break
    for run in runs:
        run.observe()
    channel.send({"event": "done"})


def _next_line() -> Event:
    """What the parent says next; without a parent this process ends."""
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(1)
    return dict(json.loads(line))


def _prepare(place: Event) -> None:
    """Put the package on the path, and import what is named: that takes longer than most runs."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"), TINYTORCH_PACKAGE=place["package"])
    sys.path[:] = [place["package"], *sys.path, *(path for path in place["path"] if path not in sys.path)]
    sys.dont_write_bytecode = True
    _limit_memory()
    for name in place["imports"]:
        with suppress(BaseException):  # what fails here fails again in the cell that needs it, and is told there
            import_module(name)


class Channel:
    """Speaks with the parent on private copies of stdin and stdout; 0, 1 and 2 are the learner's from now on."""

    def __init__(self, mark: str) -> None:
        self.mark = mark.encode()
        self.process = os.getpid()
        self.parent, self.events = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        os.close(nothing)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
        self.lesson: LessonRun | None = None
        threading.Thread(target=self._listen, args=(threading.get_ident(),), daemon=True).start()

    def send(self, event: Event) -> None:
        """Send one event, and a mark behind all that was printed before it; a fork of the learner's ends here."""
        if os.getpid() != self.process:
            os._exit(0)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # the learner closed or replaced the stream
                stream.flush()
        os.write(1, self.mark)
        self._write(event)

    def _write(self, event: Event) -> None:
        line = self.mark + json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(self.events, line) :]

    def _listen(self, main_thread: int) -> None:
        """Say where the learner's code is when the parent asks; end this process when the parent is gone."""
        while os.read(self.parent, 1):
            frame = sys._current_frames()[main_thread]
            where = self.lesson.where_in(list(traceback.walk_stack(frame))[::-1]) if self.lesson else None
            self._write({"event": "where", "where": where})
        os._exit(1)


class LessonRun:
    """One lesson's cells in a namespace of their own."""

    def __init__(self, lesson: Event, channel: Channel, keep_going: bool) -> None:
        self.lesson = lesson
        self.cells: list[Cell] = lesson["cells"]
        self.checks = [cell for cell in self.cells if cell["role"] == "check"]
        self.channel = channel
        self.keep_going = keep_going
        self.broken: dict[str, Event] = {}
        self.failing: Cell | None = None  # the first exercise of which a check failed
        self.module = ModuleType("__main__")
        sys.modules["__main__"] = self.module  # dataclasses and annotations look names up there

    def run(self) -> bool:
        """Run definitions, then checks; whether the next lesson should run."""
        self.channel.lesson = self
        _register_lines(self.cells)
        definitions = [cell for cell in self.cells if cell["role"] != "check"]
        steps = (self._every(self._define, definitions), self._take_exported, self._every(self._check, self.checks))
        return all(step() for step in steps)

    def observe(self) -> None:
        """Run all checks of the first exercise that failed once more, each to its end, and send what came out.

        What failed after it may have failed because of it. An exercise that the job names is taken whatever it did.
        """
        asked = (cell for cell in self.cells if cell["role"] == "exercise" and cell["name"] == self.lesson["observed"])
        owner = next(asked, self.failing)
        if owner is None or owner["name"] in self.broken or owner["role"] != "exercise":
            return
        self.channel.send({"event": "observing"})
        sys.modules["__main__"] = self.module
        seen = [entry for check in self.checks if _owns(owner, check) for entry in self._seen(check, owner)]
        about = {"lesson": self.lesson["id"], "exercise": owner["name"]}
        self.channel.send({"event": "observed", **about, "seen": seen})

    def _seen(self, check: Cell, owner: Cell) -> list[list[Any]]:
        from tito.checks.observe import observe

        _prepare_engine(check, owner, vars(self.module))
        code = _compiled(check)
        return [[check["name"], *entry] for entry in observe(lambda: exec(code, vars(self.module)))]

    def where_in(self, frames: Sequence[tuple[FrameType, int]], owner: Cell | None = None) -> list[Any] | None:
        """File, line and text of the learner's own line: the deepest in the owner's cell, else in any other."""
        places = [(frame.f_code.co_filename, line) for frame, line in frames]
        cells = [(place, self._cell_at(place)) for place in places]
        learners = [(place, cell) for place, cell in cells if cell is not None and cell["role"] != "check"]
        own = [(place, cell) for place, cell in learners if cell is owner]
        if not learners:
            return None
        file, line = (own or learners)[-1][0]
        return [file, line, linecache.getline(file, line).strip()]

    def _every(self, step: Callable[[Cell], bool], cells: Sequence[Cell]) -> Callable[[], bool]:
        return lambda: all(step(cell) or self.keep_going for cell in cells)

    def _take_exported(self) -> bool:
        """Give the checks the names of the exported module, if the plan names one, private names too."""
        if not self.lesson["module"]:
            return True
        package = {"number": 0, "id": self.lesson["module"], "name": "", "role": "package", "file": "", "source": ""}
        error = self._attempt(package, package, lambda: vars(self.module).update(_names_of(package["id"])))
        if error is not None:
            self._send_result(package, package, self._judge(error, package))
        return error is None

    def _define(self, cell: Cell) -> bool:
        error = self._execute(cell, cell)
        if error is None:
            return True
        if cell["role"] in ("exercise", "twin"):
            self.broken.setdefault(cell["name"], self._judge(error, cell))
        elif not self.broken:  # else it may fail only because the exercise before it did
            self._send_result(cell, cell, self._judge(error, cell))
            return False
        return True

    def _check(self, check: Cell) -> bool:
        owner = next((cell for cell in self.cells if _owns(cell, check)), check)
        verdict = self.broken.get(owner["name"])
        if verdict is None:
            _prepare_engine(check, owner, vars(self.module))
            error = self._execute(check, owner)
            verdict = {"status": "ok"} if error is None else self._judge(error, owner)
        if verdict["status"] == "FAIL" and self.failing is None:
            self.failing = owner
        self._send_result(check, owner, verdict)
        return bool(verdict["status"] != "FAIL")

    def _send_result(self, cell: Cell, owner: Cell, verdict: Event) -> None:
        self.channel.send({"event": "result", **self._about(cell, owner), **verdict})

    def _about(self, cell: Cell, owner: Cell) -> Event:
        names = {"check": cell["name"] or cell["id"], "exercise": owner["name"].partition(" ")[0]}
        return {"lesson": self.lesson["id"], **names, "cell": owner["number"]}

    def _execute(self, cell: Cell, owner: Cell) -> BaseException | None:
        return self._attempt(cell, owner, lambda: exec(_compiled(cell), vars(self.module)))

    def _attempt(self, cell: Cell, owner: Cell, action: Callable[[], None]) -> BaseException | None:
        self.channel.send({"event": "start", **self._about(cell, owner)})
        try:
            action()
        except BaseException as error:  # sys.exit and a KeyboardInterrupt of the learner's are failures like any other
            return error
        return None

    def _judge(self, error: BaseException, owner: Cell) -> Event:
        """What the error means for the exercise: todo, waits for another exercise, or FAIL with its details."""
        origin = _origin(error)
        raised_in = self._cell_at(_raised_at(origin))
        if isinstance(origin, NotImplementedError) and raised_in and raised_in["role"] == "exercise":
            if raised_in["name"] == owner["name"]:  # of a cell that was split, too
                return {"status": "todo"}
            return {"status": "waits", "waits_for": raised_in["name"]}
        return {"status": "FAIL", **self._details(error, owner)}

    def _details(self, error: BaseException, owner: Cell) -> Event:
        from tito.checks import CheckFailed
        from tito.checks.locate import raised_inside

        if isinstance(error, CheckFailed):
            names = ("kind", "expression", "want", "got", "says", "error", "where", "inside")
            return {name: getattr(error, name) for name in names}
        told = [type(error).__name__, _text(error)]
        return {"kind": "error", "error": told, "where": self._where(error, owner), "inside": raised_inside(error)}

    def _where(self, error: BaseException, owner: Cell) -> list[Any] | None:
        if isinstance(error, SyntaxError) and error.filename == owner["file"]:
            return [owner["file"], error.lineno, linecache.getline(owner["file"], error.lineno or 1).strip()]
        return self.where_in(list(traceback.walk_tb(error.__traceback__)), owner)

    def _cell_at(self, place: tuple[str, int]) -> Cell | None:
        file, line = place
        inside = (cell for cell in self.cells if cell["file"] == file and 0 <= line - cell["line"] < _height(cell))
        return next(inside, None)


def _compiled(cell: Cell) -> CodeType:
    if cell.get("error"):
        line, text, message = cell["error"]
        raise SyntaxError(message, (cell["file"], cell["line"] - 1 + line, 1, text))
    return compile("\n" * (cell["line"] - 1) + cell["source"], cell["file"], "exec", dont_inherit=True)


def _owns(cell: Cell, check: Cell) -> bool:
    return cell["role"] in ("exercise", "twin") and cell["name"] == check["name"].split()[0]


def _height(cell: Cell) -> int:
    return len(cell["source"].split("\n"))


def _names_of(module: str) -> dict[str, Any]:
    return {name: value for name, value in vars(import_module(module)).items() if not name.startswith("__")}


def _prepare_engine(check: Cell, owner: Cell, names: dict[str, Any]) -> None:
    """Tell the checks which cell they look at, start their numbers anew, and give them the names that they use.

    A learner's own function may be called `check`.
    """
    from tito import notebook
    from tito.checks import draw, engine

    names.update({name: getattr(notebook, name) for name in notebook.__all__})
    engine.focus = (owner["file"], owner["line"], owner["line"] + _height(owner) - 1)
    draw.reset(check["name"])


def _register_lines(cells: Sequence[Cell]) -> None:
    """Let tracebacks show the cells' lines, at the numbers that they have in the learner's file."""
    files: dict[str, list[str]] = {}
    for cell in cells:
        lines = files.setdefault(cell["file"], [])
        source = [line + "\n" for line in cell["source"].split("\n")]
        first = cell["line"] - 1
        lines.extend(["\n"] * (first - len(lines)))
        lines[first : first + len(source)] = source
    for file, lines in files.items():
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)


def _origin(error: BaseException) -> BaseException:
    """The first NotImplementedError of those that were raised one out of another; else the error itself."""
    for _ in range(100):  # a chain made by hand may be a ring
        before = error.__cause__ or error.__context__
        if not isinstance(error, NotImplementedError) or not isinstance(before, NotImplementedError):
            break
        error = before
    return error


def _raised_at(error: BaseException) -> tuple[str, int]:
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    return frame.f_code.co_filename, line


def _text(error: BaseException) -> str:
    if isinstance(error, MemoryError) and not error.args:
        return f"the process may use {MEMORY_LIMIT // 2**30} GB"
    try:
        return (error.msg if isinstance(error, SyntaxError) else str(error))[:LONGEST_TEXT]
    except BaseException:  # the learner's class may define a __str__ that fails in any way
        return "(its text cannot be shown)"


def _limit_memory() -> None:
    """Turn a runaway allocation into a MemoryError, where the system can, before it takes the whole machine."""
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MEMORY_LIMIT if hard == resource.RLIM_INFINITY else min(MEMORY_LIMIT, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
