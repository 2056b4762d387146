"""CheckFailed: what a check found, as plain fields and as the block of text that a learner reads."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tito.checks.text import LINES, VALUE, WIDTH, cut

if TYPE_CHECKING:
    from tito.checks.compare import Pair


def unknown(filename: str, line: int) -> str:
    """Nobody knows where a line of the package came from."""
    return ""


place_of: Callable[[str, int], str] = unknown  # tito.notebook puts tito/whence.py here


class Where(NamedTuple):
    """A line of the learner's own code."""

    filename: str
    line: int
    text: str


class CheckFailed(AssertionError):
    """A check that did not hold.

    kind is "value", "shape", "dtype", "type", "error", "no error" or "message"; want and got are short text;
    error is (type's name, text) of what the student's code raised; where is the learner's own line, or None; seen is
    the Answer that was compared; inside is the line of the exported package that raised, if it was one.
    """

    def __init__(
        self,
        kind: str,
        expression: str,
        *,
        want: str,
        got: str,
        says: str | None = None,
        error: tuple[str, str] | None = None,
        where: Where | None = None,
        inside: Where | None = None,
        seen: object = None,
    ) -> None:
        super().__init__(kind, expression)
        self.kind, self.expression, self.want, self.got = kind, expression, want, got
        self.says, self.error, self.where, self.seen = says, error, where, seen
        self.inside = inside
        self.pair: Pair | None = None  # the arrays, to be drawn
        self.rendered: list[str] = []

    def __str__(self) -> str:
        yours = self.where.text if self.where else ""
        lines = _wrapped(self.expression, WIDTH, 3)
        lines += _labelled("want ", self.want) + _labelled("got  ", self.got)
        lines += [f"in    {self.origin}"] if self.origin else []
        lines += [f"yours {cut(yours, VALUE)}"] if yours else []
        lines += ["", *_wrapped(self.says, WIDTH, 2)] if self.says else []
        return "\n".join(lines)

    @property
    def origin(self) -> str:
        """`modules/01_tensor.ipynb, cell 31, line 6`: what raised, where that is a line of the exported package."""
        return place_of(self.inside.filename, self.inside.line) if self.inside else ""

    def _render_traceback_(self) -> list[str]:
        """IPython shows this in place of a traceback, which would lead into the engine; a notebook draws it above."""
        from tito.checks import rich

        self.rendered = self.rendered or rich.shown(self) or str(self).splitlines()  # a kernel asks twice
        return self.rendered


def _labelled(label: str, text: str) -> list[str]:
    first, *rest = _wrapped(text, VALUE, LINES) or [""]
    return [f"{label} {first}".rstrip(), *(" " * (len(label) + 1) + line for line in rest)]


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """Lines that fit stay as they are; longer ones are wrapped; what is over `most` lines ends in dots."""
    lines = [part for line in text.splitlines() for part in _pieces(line, width)]
    return lines if len(lines) <= most else [*lines[: most - 1], cut(lines[most - 1], width - 4) + " ..."]


def _pieces(line: str, width: int) -> list[str]:
    return [line] if len(line) <= width else textwrap.wrap(line, width, break_on_hyphens=False)
