"""Turns the outcomes of a test run into the text that a learner reads, or into JSON.

The text keeps to a screen: a passed lesson takes at most 12 lines and a failure at most 15, of 78 columns at most.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from tito.testing import Outcome, Where

WIDTH = 78
FAILURE_LINES = 15
NAME_LINES = 2
NOTE_LINES = 3
PRINTED_LINES = 3
SAYS_LINES = 2
COLOURS = {"ok": "32", "FAIL": "31", "todo": "33"}
INDENT = " " * 8
CONTROLS = {
    i: f"\\x{i:02x}" for i in (*range(32), *range(127, 160)) if chr(i) not in "\t\n\r"
}  # would reach the terminal


@dataclass(frozen=True)
class Result:
    """A lesson's test run: what was tested, its outcomes, what tito noticed in the file, and how long it took.

    `intro` is a sentence that stands above the report.
    """

    id: str
    name: str
    file: str
    outcomes: Sequence[Outcome]
    notes: Sequence[str] = ()
    seconds: float = 0.0
    intro: str = ""

    @property
    def passed(self) -> int:
        """How many checks are ok."""
        return sum(outcome.status == "ok" for outcome in self.outcomes)

    @property
    def checks(self) -> int:
        """How many there are; a cell that failed before them is none."""
        return sum(bool(outcome.exercise) for outcome in self.outcomes)

    @property
    def ok(self) -> bool:
        """Whether all outcomes are ok."""
        return self.passed == len(self.outcomes)

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes that are FAIL."""
        return [outcome for outcome in self.outcomes if outcome.status == "FAIL"]


def text(result: Result, colour: bool = False) -> str:
    """The report on one lesson, without its last line."""
    noted = notes(result.notes, 1 if result.failures else NOTE_LINES)
    joined = _joined(result.outcomes, colour, (3 if result.failures else 9) - len(noted))
    intro = [cut(result.intro)] if result.intro else []
    lines = [*intro, f"{result.id} {result.name}   {result.file}", *noted, *joined]
    room = FAILURE_LINES - len(lines) - 2  # a blank line and the last line follow
    for failure in result.failures:
        lines += _failure(failure, room, colour)
    return "\n".join(lines)


def count(result: Result) -> str:
    """`1 of 6, 4 not run`"""
    words = {"todo": "to do", "waits": "waiting", "not run": "not run"}
    numbers = {status: sum(outcome.status == status for outcome in result.outcomes) for status in words}
    rest = [f"{numbers[status]} {word}" for status, word in words.items() if numbers[status]]
    return ", ".join([f"{result.passed} of {result.checks}", *rest])


def as_json(results: Iterable[Result]) -> dict[str, Any]:
    """The shape that `tito test --json` prints; see tito/commands/test.py."""
    return {"lessons": [_lesson_json(result) for result in results]}


def wants_colour(stream: TextIO) -> bool:
    """Whether the stream is a terminal that shows colours and nobody asked for none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    old_console = sys.platform == "win32" and "WT_SESSION" not in os.environ
    return stream.isatty() and not plain and not old_console


def label(status: str, colour: bool) -> str:
    """`  ok    `: the status in its column, in its colour."""
    word = f"{status:<6}"
    if not colour or status not in COLOURS:
        return f"  {word}"
    return f"  \033[{COLOURS[status]}m{status}\033[0m{word[len(status) :]}"


def cut(line: str, width: int = WIDTH) -> str:
    """The line, or its beginning and dots."""
    return line if len(line) <= width else line[: width - 4] + " ..."


def notes(said: Sequence[str], most: int = NOTE_LINES) -> list[str]:
    """A line for each note; where there are more, the last line says how many."""
    lines = [cut(f"  note  {note}") for note in said]
    more = len(said) - most
    return lines if more <= 0 else [*lines[: most - 1], cut(f"  note  {said[most - 1]}", 60) + f" (and {more} more)"]


def _joined(outcomes: Sequence[Outcome], colour: bool, room: int) -> list[str]:
    """A line or two for all that are ok, for all that are to do, and for all that wait for the same exercise."""
    for most in range(NAME_LINES, 0, -1):
        lines = _grouped(outcomes, colour, most)
        if len(lines) <= room:
            return lines
    return [*lines[: room - 1], f"{INDENT}and more that wait"]


def _grouped(outcomes: Sequence[Outcome], colour: bool, most: int) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {("ok", ""): [], ("todo", ""): []}
    for outcome in outcomes:
        if outcome.status not in ("FAIL", "not run"):
            groups.setdefault((outcome.status, outcome.waits_for), []).append(outcome.check)
    lines = []
    for (status, waits_for), names in groups.items():
        text = (f"for {waits_for}: " if waits_for else "") + ", ".join(names)
        wrapped = _wrap(text, WIDTH - 8, most) if names else []
        lines += [(INDENT if i else label(status, colour)) + line for i, line in enumerate(wrapped)]
    return lines


def _failure(failure: Outcome, room: int, colour: bool) -> list[str]:
    head = f"{label('FAIL', colour)}{failure.check:<10} {place(failure)}".rstrip()
    return [head if colour else cut(head), "", *(f"{INDENT}{line}".rstrip() for line in _block(failure, room - 2))]


def place(outcome: Outcome) -> str:
    """`cell 9, line 3` of a notebook, `modules/01_tensor.py, line 57` of a file."""
    if outcome.where is None:
        return f"cell {outcome.cell}" if outcome.cell else ""
    return _line(outcome.where)


def _block(failure: Outcome, room: int) -> list[str]:
    """Expression, want, got, the learner's line, what was printed, what it means, looks like, and where more is said.

    In `room` lines; the link is never cut or wrapped, as half a link leads nowhere.
    """
    width = WIDTH - len(INDENT)
    parts = [
        _wrap(failure.expression, width, 3),
        _labelled("want", failure.want),
        _labelled("got", _got(failure)),
        _labelled("yours", cut(_visible(failure.where[2]), width - 6) if failure.where else None),
        _labelled("printed", "\n".join(_printed(failure.output)[:PRINTED_LINES])),
    ]
    says = _wrap(failure.says, width, SAYS_LINES)
    named = _wrap(f"looks like: {failure.looks_like}" if failure.looks_like else None, width, SAYS_LINES)
    more = [f"{'more':<5} {failure.more}"] if failure.more else []
    _shorten([*parts, says, named], room - 1 - len(more), [parts[-1], says if named else []])
    lines = [line for part in parts for line in part]
    below = [*says, *named, *more]
    gap = [""] if lines and below and len(lines) + len(below) < room else []
    return [*lines, *gap, *below]


def _shorten(parts: list[list[str]], room: int, spare: Iterable[list[str]]) -> None:
    """Take lines from the longest parts until all fit; where each has one line left, drop those that can be spared."""
    while sum(map(len, parts)) > room:
        longest = max(reversed(parts), key=len)
        if len(longest) >= 2:
            longest.pop()
            longest[-1] = cut(longest[-1], WIDTH - len(INDENT) - 4).removesuffix(" ...") + " ..."
        elif dropped := next(filter(None, spare), None):
            dropped.clear()
        else:
            return


def _got(failure: Outcome) -> str | None:
    """What came, or the error; and the line of another lesson that raised it."""
    error = ": ".join(filter(None, failure.error)) if failure.error else None
    got = failure.got if failure.got is not None else error
    return f"{got}\nin {_line(failure.inside)}" if failure.inside else got


def _line(where: Where) -> str:
    return f"{where[0].strip('<>')}, line {where[1]}"


def _labelled(name: str, text: str | None) -> list[str]:
    start = f"{name:<5} "
    lines = _wrap(text, WIDTH - len(INDENT) - len(start), 4)
    return [(start if i == 0 else " " * len(start)) + line for i, line in enumerate(lines)]


def _wrap(text: str | None, width: int, most: int) -> list[str]:
    """Lines that fit stay as they are and longer ones are wrapped; what is over `most` lines ends in dots."""
    lines = [piece for line in _visible(text or "").splitlines() for piece in _pieces(line, width)]
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: width - 4] + " ..."]


def _visible(text: str) -> str:
    """The text with tabs as spaces, and with control characters as they are written in Python."""
    return text.expandtabs(4).translate(CONTROLS)


def _printed(output: str) -> list[str]:
    """The lines that are not blank."""
    return [line for line in _visible(output).splitlines() if line.strip()]


def _pieces(line: str, width: int) -> list[str]:
    return [line] if len(line) <= width else textwrap.wrap(line, width, break_on_hyphens=False)


def _lesson_json(result: Result) -> dict[str, Any]:
    about = {"id": result.id, "name": result.name, "file": result.file, "ok": result.ok}
    numbers = {"passed": result.passed, "of": result.checks, "seconds": round(result.seconds, 3)}
    checks = [_outcome_json(outcome) for outcome in result.outcomes]
    return {**about, **numbers, "notes": list(result.notes), "checks": checks}


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    file, line, yours = outcome.where or (None, None, None)
    return {
        "check": outcome.check,
        "exercise": outcome.exercise,
        "status": outcome.status,
        "cell": outcome.cell or None,
        "file": file,
        "line": line,
        "yours": yours,
        "inside": _line(outcome.inside) if outcome.inside else None,
        "expression": outcome.expression,
        "want": outcome.want,
        "got": outcome.got,
        "says": outcome.says,
        "looks_like": outcome.looks_like or None,
        "more": outcome.more or None,
        "error": list(outcome.error) if outcome.error else None,
        "waits_for": outcome.waits_for or None,
        "output": outcome.output,
    }
