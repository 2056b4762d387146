"""What a learner's code gave where checks failed, as JSON by which two runs can be compared: see tito/diagnosis.py.

What differs between versions of NumPy and Python, between machines and between learners' names is left out: of an
error its type and the numbers in its text stay (shapes, mostly), of a number six digits, of an array a sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tito.checks import engine
from tito.checks.bench import Answer, Bench, Question
from tito.checks.failure import CheckFailed, Where
from tito.checks.locate import PACKAGE
from tito.checks.values import Plain
from tito.checks.vary import WAYS, varied

SAMPLE = 48  # numbers of an array, evenly spread
ITEMS = 40  # of a list
TEXT = 200
NUMBERS = 12  # of an error's text
TODO = {"todo": True}

Json = Any
Entry = list[Json]  # [step, what came out]; steps are questions and comparisons, in the order of the cell


def observe(run: Callable[[], object]) -> list[Entry]:
    """Run a check cell to its end, whatever its checks find -> what came out, step by step.

    A comparison's is None where it holds. A question's steps are the answers to it with other numbers.
    """
    notes = _Notes()
    engine.observer = notes
    try:
        run()
    except CheckFailed as failed:  # a probe's, which gave nothing to go on with
        notes.settled(failed)
    except NotImplementedError:
        notes.add(TODO)
    except BaseException as error:  # whatever the learner's code raises is what there is to see
        notes.add(_raised(type(error).__name__, _text(error)))
    finally:
        engine.observer = None
    return notes.entries


class _Notes:
    """What was seen so far."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, outcome: Json) -> None:
        self.entries.append([len(self.entries), outcome])

    def asked(self, question: Question, bench: Bench) -> None:
        for way in WAYS:
            try:
                answer = bench.evaluate(varied(question, way))
            except NotImplementedError:
                self.add(TODO)
            else:  # what is said of a question without sense is everybody's own
                self.add({"raised": True} if answer.raised else _answer(answer))

    def settled(self, failed: CheckFailed | None) -> None:
        if failed is None:
            self.add(None)
        elif failed.error:
            self.add(_raised(*failed.error, failed.where))
        else:
            self.add(_answer(failed.seen) if isinstance(failed.seen, Answer) else {})


def _answer(answer: Answer) -> Json:
    return {"refused": _cleaned(answer.refused)} if answer.refused else {"got": _value(answer.value)}


def _raised(name: str, text: str, where: Where | None = None) -> Json:
    """The type, and the numbers in the text that stand in no quotation; none of a text that is the learner's own."""
    if where and where.text.startswith("raise") and Path(where.filename).parent.name != PACKAGE:
        return {"raised": name}
    unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text)
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", _cleaned(unquoted))
    return {"raised": name, "numbers": [_number(float(one)) for one in numbers[:NUMBERS]]}


def _value(value: Plain) -> Json:
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": list(value.shape), "numbers": _sample(value)}
    if isinstance(value, np.generic):
        return {"dtype": str(value.dtype), "numbers": [_number(value.item())]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_value(item) for item in value[:ITEMS]], "length": len(value)}
    if isinstance(value, dict):
        return {"dict": [[str(key), _value(item)] for key, item in list(value.items())[:ITEMS]], "length": len(value)}
    if isinstance(value, (str, bytes)):
        return {"text": _cleaned(str(value))}
    return value if value is None else {type(value).__name__: _number(value)}


def _sample(array: np.ndarray) -> Json:
    flat = array.reshape(-1)
    chosen = flat if flat.size <= SAMPLE else flat[np.linspace(0, flat.size - 1, SAMPLE).astype(int)]
    return [_number(one) for one in chosen.tolist()]


def _number(value: Any) -> Json:
    """Six digits; what JSON has no word for as text."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else str(value)
    return int(value) if abs(value) < 2**63 else str(value)[:TEXT]


def _cleaned(text: str) -> str:
    """Without addresses, and not too long."""
    return re.sub(r"0x[0-9a-fA-F]+", "0x", text)[:TEXT]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # a __str__ of the learner's that fails in any way
        return ""
