"""Where the student's code runs: a question goes in as source text and plain values, plain data comes out.

Local answers in this process. A sealed grader is another Bench, which sends the source to a process of the student's;
nothing else in the engine touches an object of the student's.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tito.checks import text
from tito.checks.failure import Where
from tito.checks.locate import Focus, Ground, codes, given_at, raised_at, raised_inside
from tito.checks.values import NotPlain, Plain, plain

LONGEST = 500  # characters of an exception's text
BUILTINS = tuple(one for one in vars(builtins).values() if isinstance(one, type))


@dataclass(frozen=True)
class Expression:
    """An expression's text, and values for the names in it that are not the student's."""

    source: str
    names: dict[str, Plain] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return textwrap.dedent(self.source).strip()


@dataclass(frozen=True)
class ProbeCall:
    """A probe and its plain arguments; `source` is its definition without decorators, to be run elsewhere."""

    function: Callable[..., Any]
    args: tuple[Plain, ...] = ()
    names: dict[str, Plain] = field(default_factory=dict)

    @property
    def source(self) -> str:
        lines = textwrap.dedent(inspect.getsource(self.function))
        definition = ast.parse(lines).body[0]
        return "\n".join(lines.splitlines()[definition.lineno - 1 :]) + "\n"

    @property
    def text(self) -> str:
        given = [text.brief(value) for value in self.args]
        given += [f"{name}={text.brief(value)}" for name, value in self.names.items()]
        return f"{self.function.__name__}({', '.join(given)})"


Question = Expression | ProbeCall


@dataclass(frozen=True)
class Raised:
    """An exception as plain data; `bases` are the full names of its classes, its own first."""

    type: str
    text: str
    bases: tuple[str, ...]
    where: Where | None = None
    inside: Where | None = None  # the line of the exported package that raised, if it was one


@dataclass(frozen=True)
class Answer:
    """A plain value, or why it is none ("a Linear, which is no plain value"), or what was raised."""

    value: Plain = None
    refused: str = ""
    raised: Raised | None = None
    seconds: float = 0.0


class Bench(Protocol):
    def evaluate(self, question: Question) -> Answer:
        """Runs the question beside the student's code. NotImplementedError and KeyboardInterrupt pass through."""

    def locate(self, question: Question, got: Plain) -> Where | None:
        """Runs it once more -> the student's line that gave the value `got`."""


class Local:
    """Answers in this process, in the namespace that the check was called from."""

    def __init__(self, namespace: dict[str, Any], focus: Focus | None = None) -> None:
        self.namespace, self.focus = namespace, focus

    def evaluate(self, question: Question) -> Answer:
        run, began = self._ready(question), time.perf_counter()
        try:
            return Answer(plain(run()), seconds=time.perf_counter() - began)
        except (NotImplementedError, KeyboardInterrupt):
            raise
        except NotPlain as refusal:
            return Answer(refused=str(refusal), seconds=time.perf_counter() - began)
        except BaseException as error:  # whatever the student's code raises, sys.exit included, is the answer
            return Answer(raised=_raised(error, raised_at(error, self._ground(question))))

    def locate(self, question: Question, got: Plain) -> Where | None:
        return given_at(self._ready(question), got, self._ground(question))

    def _ready(self, question: Question) -> Callable[[], object]:
        """A call without arguments. An expression that does not compile is its author's error and raises here."""
        names = plain(question.names, tensors=False)
        if isinstance(question, ProbeCall):
            args = plain(question.args, tensors=False)
            return lambda: question.function(*args, **names)
        code = compile(question.text, "<check>", "eval")
        return lambda: eval(code, {**self.namespace, **names})

    def _ground(self, question: Question) -> Ground:
        own = codes(question.function.__code__) if isinstance(question, ProbeCall) else ()
        return Ground(self.namespace, self.focus, frozenset(map(id, own)))


def _raised(error: BaseException, where: Where | None) -> Raised:
    words = "your code called sys.exit" if isinstance(error, SystemExit) else _words(error)
    bases = tuple(map(_full_name, type.mro(type(error))))
    return Raised(type(error).__name__, words, bases, where, raised_inside(error))


def _full_name(kind: type) -> str:
    """`builtins.ValueError`, which is said of the real one only."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name if name.partition(".")[0] != "builtins" or _is_builtin(kind) else f"another {name}"


def _is_builtin(kind: type) -> bool:
    return any(kind is one for one in BUILTINS)


def _words(error: BaseException) -> str:
    try:
        words = str(error)
    except BaseException:  # a __str__ of the student's that fails in any way
        return "its text cannot be shown"
    return text.cut(words.encode("utf-8", "backslashreplace").decode("utf-8"), LONGEST)
