"""The bench of the sealed grader: tito.checks asks, a sealed child answers. Of the student's only values are here.

What comes back is looked at field by field; a reply of another form is a lie, which ends the submission.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CodeType
from typing import Any

import numpy as np

from tito.checks.bench import Answer, Expression, ProbeCall, Question, Raised
from tito.checks.failure import Where
from tito.checks.values import Plain
from tito.teach.grader.conversation import Conversation

TEXT = 2000  # characters of an exception's text
LOCATED = 2**20  # bytes of an array, up to which the line that gave it is looked for


class Unwritten(NotImplementedError):
    """The student's code raised NotImplementedError in this exercise's cell, or elsewhere ("")."""

    def __init__(self, exercise: str, text: str) -> None:
        super().__init__(text)
        self.exercise, self.text = exercise, text


class SealedBench:
    """Asks about one exercise's code; `talk` is the conversation with the child that holds it."""

    def __init__(self, talk: Conversation, exercise: str) -> None:
        self.talk, self.exercise = talk, exercise

    def evaluate(self, question: Question) -> Answer:
        """The child's answer. Raises Ended, or Unwritten."""
        reply = self._ask("evaluate", question)
        if "unwritten" in reply:
            raise Unwritten(self._text(reply["unwritten"]), self._text(reply.get("text", "")))
        if "raised" in reply:
            return Answer(raised=self._raised(reply["raised"]))
        if "refused" in reply:
            return Answer(refused=self._text(reply["refused"]))
        if "value" not in reply or type(reply.get("seconds")) is not float:
            raise self.talk.lie("it sent an answer of an unknown form")
        return Answer(reply["value"], seconds=reply["seconds"])

    def locate(self, question: Question, got: Plain) -> Where | None:
        """The student's line that gave this value; None where that would take long, or ends the child."""
        if not self.talk.alive or (isinstance(got, np.ndarray) and got.nbytes > LOCATED):
            return None
        return self._where(self._ask("locate", question, got=got).get("where"))

    def _ask(self, what: str, question: Question, **more: Plain) -> Mapping[str, Any]:
        about = {"ask": what, "exercise": self.exercise, "names": dict(question.names)}
        reply = self.talk.ask({**about, **_written(question), **more})
        if type(reply) is not dict:
            raise self.talk.lie("it sent an answer of an unknown form")
        return reply

    def _raised(self, told: Plain) -> Raised:
        bases = told.get("bases") if type(told) is dict else None
        if type(bases) is not list or not bases or not all(type(base) is str for base in bases):
            raise self.talk.lie("it sent an exception of an unknown form")
        name = bases[0].rpartition(".")[2][:100]
        places = (self._where(told.get(part)) for part in ("where", "inside"))
        return Raised(name, self._text(told.get("text")), tuple(bases), *places)

    def _text(self, told: Plain) -> str:
        if type(told) is not str:
            raise self.talk.lie("it sent no text where a text is wanted")
        return told[:TEXT]

    def _where(self, told: Plain) -> Where | None:
        if told is None:
            return None
        if type(told) is not list or [type(part) for part in told] != [str, int, str]:
            raise self.talk.lie("it sent a place of an unknown form")
        return Where(told[0][:200], told[1], told[2][:500])


def _written(question: Question) -> dict[str, Plain]:
    """The question as text and plain values."""
    if isinstance(question, Expression):
        return {"source": question.text, "probe": ""}
    return {"source": _source(question), "probe": question.function.__name__, "args": list(question.args)}


_sources: dict[CodeType, str] = {}  # a namespace is made anew for each submission, a check's code is compiled once


def _source(probe: ProbeCall) -> str:
    code = probe.function.__code__
    if code not in _sources:
        _sources[code] = probe.source
    return _sources[code]
