"""No hidden check can be answered by heart: right answers, recorded at one draw, fail at another."""

from __future__ import annotations

import importlib
import math
from collections import deque
from typing import Any

import numpy as np
import pytest

from tito.checks import CheckFailed, check, draw, engine, probe, raises
from tito.checks.bench import Answer, Question
from tito.course import Course
from tito.dev.export import reference

COURSE = Course.find()
NAMES = ["tinytorch", *(f"tinytorch.{lesson.name}" for lesson in COURSE.everything)]
HIDDEN = {f"{lesson.stem}: {c.name}": c for lesson in COURSE.everything for c in lesson.cells() if c.hidden}


class Tape:
    """A bench that keeps what the cell's own names answer, and then gives it again."""

    def __init__(self) -> None:
        self.recording, self.answers = True, deque[Answer]()

    def opened(self, names: dict[str, Any]) -> Tape:
        self.inner = engine.open_local(names)
        return self

    def evaluate(self, question: Question) -> Answer:
        if not self.recording:
            return self.answers.popleft()
        self.answers.append(self.inner.evaluate(question))
        return self.answers[-1]

    def locate(self, question: Question, value: object) -> None:
        """No line: nobody wrote the answer."""


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the cells of all lessons see, from the reference."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(reference(COURSE))
        files = [importlib.import_module(name) for name in NAMES]
    found = {name: value for file in files for name, value in vars(file).items() if not name.startswith("__")}
    tools = {"np": np, "math": math, "check": check, "raises": raises, "probe": probe, "draw": draw}
    return found | tools | {"__name__": "__main__"}


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy's, over answers to something else
def test_a_recording_answers_no_hidden_check(name: str, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tape, program = Tape(), compile(HIDDEN[name].source, f"<{name}>", "exec")
    monkeypatch.setattr(engine, "open_bench", tape.opened)
    draw.reset("one student")
    exec(program, dict(names))
    tape.recording = False
    draw.reset("another student")
    with pytest.raises(CheckFailed):
        exec(program, dict(names))
