"""The sealed child: plans a student's file, runs its definitions, and answers questions about what they made.

A request and an answer are one frame each (frames.py). Everything here shares a process with the student's code, so
nothing that it says is more than an answer: verdicts are the trusted side's. Begin at `Home.serve`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tito import runner
from tito.checks.bench import Answer, Expression, Local, ProbeCall, Question, Raised
from tito.teach.sealed import frames, planning, pristine, tokens
from tito.teach.sealed.definitions import Definitions

ROUNDS = 10  # after so many Python knows what a piece of code does mostly

Request = dict[str, Any]
Reply = dict[str, Any]


class Home:
    """What lies in the sealed home: the released lessons, and the package of the earlier ones if there is one."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.lessons = planning.read_lessons(self.folder / "released.json")
        package = self.folder / "package"
        os.environ[runner.THREAD_VARIABLES[0]] = "1"
        os.environ["TINYTORCH_PACKAGE"] = str(package)
        sys.path.insert(0, str(package))
        import_module("tito.notebook")  # looks for the package's folder once, now
        for name in sorted(path.stem for path in (package / "tinytorch").glob("*.py")):
            with suppress(ImportError):  # one that needs the lesson itself is imported by the cells that use it
                import_module(f"tinytorch.{name}" if name != "__init__" else "tinytorch")

    def warm_up(self) -> None:
        """Plan, define and ask some harmless things, so that children find all that takes imported and quickened."""
        main, tiny = sys.modules["__main__"], {"number": 1, "id": "", "role": "added", "name": "", "file": "<warm>"}
        tiny |= {"line": 1, "source": "def same(x):\n    return x\n"}
        plan = planning.as_bytes({"lesson": "", "cells": [tiny], "package": {}})
        probe = "def twice(x):\n    return [same(x), np.allclose(x, x)]\n"
        asked = {"exercise": "", "names": {}, "args": [1.0]}
        for _ in range(ROUNDS):
            student = Student(self)
            for stem, lesson in list(self.lessons.items())[-1:]:
                student.answer({"ask": "plan", "lesson": stem, "own": False, "files": planning.unwritten(lesson)})
            student.answer({"ask": "define", "plan": plan, "seconds": 60.0})
            for source, name in (("same([1, 2.5])", ""), (probe, "twice")):
                reply = student.answer({"ask": "evaluate", "source": source, "probe": name, **asked})
                frames.decode(frames.encode(reply))
        sys.modules["__main__"] = main

    def serve(self, talk: int) -> None:
        """Answer every request that comes, until the trusted side hangs up."""
        student = Student(self)
        while (head := _read(talk, frames.FRAME_HEAD.size)) is not None:
            number, length = frames.read_head(head)
            request = frames.decode(head[frames.NUMBER.size :] + (_read(talk, length) or b""))
            reply = student.answer(request)
            for stream in (sys.stdout, sys.stderr):
                with suppress(BaseException):  # the student closed or replaced it
                    stream.flush()
            _write(talk, _packed(number, reply))


class Student:
    """A student's file, planned, defined and questioned."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.run: Definitions | None = None
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def answer(self, request: Request) -> Reply:
        """The reply to one request."""
        asked: dict[str, Callable[[Request], Reply]] = {
            "plan": self.plan,
            "define": self.define,
            "evaluate": self.evaluate,
            "locate": self.locate,
            "fingerprints": tokens.answer,
        }
        return asked[request["ask"]](request)

    def plan(self, request: Request) -> Reply:
        """Reads the files, before any code of theirs runs: what will be run, what deviates."""
        return planning.plan(self.home.lessons, request)

    def define(self, request: Request) -> Reply:
        """Runs the definitions of a plan: which exercises are broken, and how; what else failed."""
        plan = json.loads(bytes(request["plan"]))
        if plan["package"]:
            planning.install(plan["package"], Path.cwd() / "package")
        self.run = Definitions(plan["lesson"], plan["cells"], request["seconds"])
        self.names = vars(self.run.module)
        return self.run.define()

    def evaluate(self, request: Request) -> Reply:
        """The answer to an expression or a probe."""
        try:
            question = self._question(request)
            return _told(self._bench(request).evaluate(question))
        except NotImplementedError as error:
            return {"unwritten": self.run.unwritten(error) if self.run else "", "text": _text(error)}

    def locate(self, request: Request) -> Reply:
        """The student's line that gave the value."""
        return {"where": _place(self._bench(request).locate(self._question(request), request["got"]))}

    def _bench(self, request: Request) -> Bench:
        return Bench(self.names, self.run.focus(request["exercise"]) if self.run else None)

    def _question(self, request: Request) -> Question:
        pristine.restore()
        if not request["probe"]:
            return Expression(request["source"], request["names"])
        scope = {**self.names, **pristine.NAMES}
        exec(compile(request["source"], "<probe>", "exec", dont_inherit=True), scope)
        return ProbeCall(scope[request["probe"]], tuple(request["args"]), request["names"])


class Bench(Local):
    """As Local, but `np`, `math` and the built-ins in an expression are the real ones."""

    def _ready(self, question: Question) -> Callable[[], object]:
        if isinstance(question, ProbeCall):
            return super()._ready(question)
        code = compile(question.text, "<check>", "eval")
        return lambda: eval(code, {**self.namespace, **pristine.NAMES, **question.names})


def _told(answer: Answer) -> Reply:
    if answer.raised:
        return {"raised": _as_plain(answer.raised)}
    if answer.refused:
        return {"refused": answer.refused}
    return {"value": answer.value, "seconds": answer.seconds}


def _as_plain(raised: Raised) -> Reply:
    places = {"where": _place(raised.where), "inside": _place(raised.inside)}
    return {"text": raised.text, "bases": list(raised.bases)[:20], **places}


def _place(where: Any) -> list[Any] | None:
    return where and [str(where[0]), int(where[1]), str(where[2])[:500]]


def _text(error: BaseException) -> str:
    return runner._text(error)


def _packed(number: int, reply: Reply) -> bytes:
    """The frame; a value that fits into none is refused in words."""
    try:
        return frames.pack(number, reply)
    except frames.FrameError as error:
        return frames.pack(number, {"refused": f"a value that cannot be compared: {error}"})


def _read(file: int, size: int) -> bytes | None:
    """So many bytes; None when the other side has hung up."""
    data = bytearray()
    while len(data) < size:
        part = os.read(file, min(size - len(data), 2**20))
        if not part:
            return None
        data += part
    return bytes(data)


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def main() -> None:
    """Level 2: a fresh interpreter inside bubblewrap. Arguments: home, the connection, folders for sys.path."""
    from tito.teach.sealed import isolate, seccomp

    talk = int(sys.argv[2])
    isolate.limit([talk])
    seccomp.restrict()
    Home(sys.argv[1]).serve(talk)
    os._exit(0)
