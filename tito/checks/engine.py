"""check, raises and probe: they ask a bench, compare plain values, and raise CheckFailed."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import DTypeLike

from tito.checks import text
from tito.checks.bench import Answer, Bench, Expression, Local, ProbeCall, Question, Raised
from tito.checks.compare import Pair, Rules, difference, shown
from tito.checks.failure import CheckFailed, Where
from tito.checks.locate import Focus
from tito.checks.values import NotPlain, Plain, marked, plain

SLOW = 1.0  # seconds after which a run is not repeated under a trace

# The exercise's cell, whose lines are shown before any other's; the runner sets it: the cell's file name, or
# (file name, first line, last line) where one file holds all cells.
focus: str | tuple[str, int, int] | None = None


class Observer(Protocol):
    """Watches a check cell that is run for the sake of what its questions give, as observe.py does."""

    def asked(self, question: Question, bench: Bench) -> None:
        """A question was put to the bench."""

    def settled(self, failed: CheckFailed | None) -> None:
        """A check failed, or held."""


def open_local(namespace: dict[str, Any]) -> Bench:
    return Local(namespace, Focus(focus) if isinstance(focus, str) else focus and Focus(*focus))


def nothing() -> None:
    """Nothing to say before a check."""


open_bench: Callable[[dict[str, Any]], Bench] = open_local  # a sealed grader puts its own here
before_check: Callable[[], None] = nothing  # tito.notebook says here that a kernel is out of date
observer: Observer | None = None  # is told what every check finds, which then raises nothing


@dataclass(frozen=True)
class Asked:
    """A question, the bench that answered, and its text as a learner reads it."""

    text: str
    answer: Answer
    question: Question | None = None
    bench: Bench | None = None

    def fail(self, kind: str, want: str, got: str, says: str | None, pair: Pair | None = None) -> NoReturn:
        failed = CheckFailed(kind, self.text, want=want, got=got, says=says, where=self.where(), seen=self.answer)
        failed.pair = pair
        raise failed from None

    def fail_raised(self, raised: Raised, want: str, says: str | None, kind: str = "error") -> NoReturn:
        error = raised.type, raised.text
        got = f"{raised.type}: {raised.text}" if raised.text else raised.type
        where, inside = raised.where, raised.inside
        raise CheckFailed(
            kind, self.text, want=want, got=got, says=says, error=error, where=where, inside=inside
        ) from None

    def where(self) -> Where | None:
        if self.bench is None or self.question is None or self.answer.seconds > SLOW or observer is not None:
            return None
        return self.bench.locate(self.question, self.answer.value)


@dataclass(frozen=True)
class Called:
    """A probe's call, kept so that a check of its value can say where that came from."""

    caller: CodeType
    asked: Asked
    result: Plain


_calls: deque[Called] = deque(maxlen=16)


def check(
    what: object,
    /,
    *,
    want: object,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    dtype: DTypeLike | None = None,
    equal_nan: bool = False,
    says: str | None = None,
    **names: object,
) -> None:
    """An expression's text, or a plain value, is what is wanted: kind, shape, dtype, then values.

    The expression is evaluated beside the caller's names and `names`, arrays as copies. Floats are near when
    |got - want| <= atol + rtol |want|; an array of floats is float32 unless dtype says otherwise; NaN equals NaN
    only with equal_nan. Raises CheckFailed, or TypeError when the check itself is ill-formed.
    """
    before_check()
    caller, wanted = sys._getframe(1), _given("want", want)
    asked = _ask(what, names, caller) if type(what) is str else _value(what, names, caller)
    with _settled():
        _compare(asked, wanted, Rules(rtol, atol, None if dtype is None else np.dtype(dtype), equal_nan), says)


def raises(
    expression: str,
    exception: type[BaseException] | tuple[type[BaseException], ...],
    /,
    *,
    match: str | None = None,
    says: str | None = None,
    **names: object,
) -> None:
    """The expression raises `exception` (a tuple: one of them), with a text in which the pattern `match` is found."""
    before_check()
    kinds = exception if isinstance(exception, tuple) else (exception,)
    asked = _ask(expression, names, sys._getframe(1))
    with _settled():
        _compare_raised(asked, kinds, match, says)


def probe(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function runs beside the student's code, takes plain values and gives plain values.

    Strings that it gives count as values in check.
    """

    @functools.wraps(function)
    def call(*args: object, **names: object) -> Plain:
        bench = open_bench(function.__globals__)
        question = ProbeCall(function, _given("an argument", args), _given("an argument", names))
        asked = _put(question, bench)
        if asked.answer.raised:
            asked.fail_raised(asked.answer.raised, "no error", None)
        if asked.answer.refused:
            asked.fail("type", "plain values", asked.answer.refused, None)
        result = marked(asked.answer.value)
        _calls.append(Called(sys._getframe(1).f_code, asked, result))
        return result

    return call


@contextlib.contextmanager
def _settled() -> Iterator[None]:
    """What a check finds is raised, or told to the observer."""
    try:
        yield
    except CheckFailed as failed:
        if observer is None:
            raise
        observer.settled(failed)
    else:
        if observer is not None:
            observer.settled(None)


def _given(what: str, value: object) -> Plain:
    """What a check's author passes must be plain already, so that no object of the student's decides anything."""
    try:
        return plain(value, tensors=False)
    except NotPlain as refusal:
        raise TypeError(f"check: {what} is {refusal}; pass numbers, text, lists, dicts or arrays") from None


def _ask(source: str, names: dict[str, object], caller: FrameType) -> Asked:
    question = Expression(source, _given("a name", names))
    return _put(question, open_bench(caller.f_globals))


def _put(question: Question, bench: Bench) -> Asked:
    asked = Asked(question.text, bench.evaluate(question), question, bench)
    if observer is not None:
        observer.asked(question, bench)
    return asked


def _compare(asked: Asked, wanted: Plain, rules: Rules, says: str | None) -> None:
    if asked.answer.raised:
        asked.fail_raised(asked.answer.raised, shown(wanted), says)
    if asked.answer.refused:
        asked.fail("type", shown(wanted), asked.answer.refused, says)
    found = difference(asked.answer.value, wanted, rules)
    if found:
        asked.fail(found.kind, found.want, found.got, says, found.pair)


def _compare_raised(asked: Asked, kinds: tuple[type[BaseException], ...], match: str | None, says: str | None) -> None:
    raised, want = asked.answer.raised, " or ".join(kind.__name__ for kind in kinds)
    want += f' whose text matches "{match}"' if match else ""
    if raised is None:
        asked.fail("no error", want, f"no error, but {asked.answer.refused or text.brief(asked.answer.value)}", says)
    if not {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds} & set(raised.bases):
        asked.fail_raised(raised, want, says)
    if match and not re.search(match, raised.text):
        asked.fail_raised(raised, want, says, kind="message")


def _value(value: object, names: dict[str, object], caller: FrameType) -> Asked:
    if names:
        raise TypeError(f"check: {', '.join(names)} can be named in an expression only, and this checks a value")
    try:
        answer = Answer(plain(value))
    except NotPlain as refusal:
        answer = Answer(refused=str(refusal))
    called = _origin(value, caller.f_code)
    if called is None:
        return Asked(text.brief(answer.value) if not answer.refused else "", answer)
    answer = Answer(answer.value, answer.refused, seconds=called.asked.answer.seconds)
    return Asked(called.asked.text + _path(called.result, value), answer, called.asked.question, called.asked.bench)


def _origin(value: object, caller: CodeType) -> Called | None:
    """The latest probe call in the same function that holds the very value, else the latest one there."""
    calls = [called for called in reversed(_calls) if called.caller is caller]
    return next((called for called in calls if any(_paths(called.result, value))), next(iter(calls), None))


def _path(result: Plain, value: object) -> str:
    """`["loss"]` when the value stands at one place in the result; "" when it is all of it, or at several places."""
    found = list(_paths(result, value))
    return found[0][1:] if len(found) == 1 else ""


def _paths(result: Plain, value: object, path: str = ".") -> Iterator[str]:
    if result is value:
        yield path
    items = enumerate(result) if isinstance(result, (list, tuple)) else ()
    for key, item in result.items() if isinstance(result, dict) else items:
        yield from _paths(item, value, f"{path}[{key!r}]")
