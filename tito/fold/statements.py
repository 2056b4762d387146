"""Cells -> statements: IPython's own lines go, each statement keeps its text and the comments that belong to it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tito import pycell
from tito.errors import UserError
from tito.fold import text
from tito.percent import Cell
from tito.pycell import CellError, PythonCell


class FoldError(UserError):
    """A text that cannot become part of the package: which lesson, cell, line and name, and what to do."""

    def __init__(self, lesson: str, cell: int, line: int, name: str, why: str) -> None:
        super().__init__(f"{lesson}, cell {cell}, line {line}: {why}")
        self.lesson, self.cell, self.line, self.name = lesson, cell, line, name


@dataclass(frozen=True)
class Statement:
    """One statement of a cell. `lines` is its text, `node` the tree of that text, `line` how many lines come before.

    `added` says that the student added the cell; `apart` that a blank line stands before the statement; `above` is how
    many lines of a percent file come before the cell.
    """

    lesson: str
    cell: int
    added: bool
    apart: bool
    line: int
    lines: tuple[str, ...]
    node: ast.stmt
    above: int = 0

    def refuse(self, name: str, why: str, line: int | None = None) -> FoldError:
        """The error that names this statement's cell, and `line` of its text (else its first line of code)."""
        return FoldError(self.lesson, self.cell, self.line + (line or self.node.lineno), name, why)


def read(cell: Cell, lesson: str) -> list[Statement]:
    """The statements of one cell, in order; none of a text cell. Raises FoldError where code is no Python."""
    if cell.kind != "code":
        return []
    number, above = cell.marks.get("cell", cell.number), cell.marks.get("line", 1) - 1
    return list(_statements(cell.source.replace("\r\n", "\n"), lesson, number, not cell.exported, above))


@lru_cache(maxsize=1024)  # an export of all lessons builds the package as often as there are lessons
def _statements(source: str, lesson: str, number: int, added: bool, above: int) -> tuple[Statement, ...]:
    python = pycell.read(source)
    error = python.error or _late_error(python)
    if error:
        why = f"{error.text} is no Python ({error.message}); mend the cell first"
        raise FoldError(lesson, number, error.line, error.text, why)
    lines = [_kept(*pair) for pair in zip(source.split("\n"), python.source.split("\n"), strict=True)]
    kept = "\n".join(lines)
    chunks = text.split(lines, (python.tree if kept == python.source else ast.parse(kept)).body)
    made = (Statement(lesson, number, added, c.apart, c.line, tuple(c.text), _parse(c.text), above) for c in chunks)
    return tuple(made)


def _late_error(python: PythonCell) -> CellError | None:
    """What the parser lets through and the compiler refuses, as `return` outside a function."""
    try:
        compile(python.source, "cell", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or 1
        return CellError(line, python.source.split("\n")[line - 1].strip(), error.msg)
    return None


def _kept(line: str, python: str) -> str:
    """The line as it is; where IPython's command was taken out, nothing, or the `pass` that fills its block."""
    return line if line == python else python.partition("#")[0].rstrip()


def _parse(lines: Sequence[str]) -> ast.stmt:
    return ast.parse("\n".join(lines)).body[0]
