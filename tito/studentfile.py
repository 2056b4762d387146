"""Reads a student's notebook or percent file into cells, and says in one sentence what is wrong with a broken one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tito import percent, pycell
from tito.errors import UserError

LARGEST = 50 * 10**6
OLDEST, NEWEST = (4, 0), (4, 5)  # of the notebook format


@dataclass(frozen=True)
class StudentCell:
    """A cell of a student's file. `number` is its position from 1, `id` is empty where none was given.

    `line` is where its source begins in a percent file, and 1 in a notebook.
    """

    number: int
    kind: str
    source: str
    id: str = ""
    line: int = 1


@dataclass(frozen=True)
class StudentFile:
    """A student's notebook or percent file."""

    path: Path
    cells: tuple[StudentCell, ...]

    def label(self, cell: StudentCell) -> str:
        """What stands for a file name in messages about the cell: `<cell 9>`, or the percent file."""
        return f"<cell {cell.number}>" if _is_notebook(self.path) else f"{self.path.parent.name}/{self.path.name}"


class BrokenNotebook(Exception):
    """Says what is wrong with a notebook that only an earlier copy can mend."""


def read(path: Path) -> StudentFile:
    """The cells of a student's file; a file that cannot be read is a UserError that says what to do."""
    return parse(path, _read_text(path))


def parse(path: Path, text: str) -> StudentFile:
    """The cells of a student's file by its text; `path` says what kind of file it is, and names it in messages."""
    try:
        return StudentFile(path, tuple(notebook_cells(text) if _is_notebook(path) else percent_cells(text)))
    except BrokenNotebook as error:
        way_out = f"put an earlier copy back, or start anew with: tito reset {_lesson_id(path)}"
        raise UserError(f"{path} is broken, {error}; {way_out}") from None
    except UserError as error:
        raise UserError(f"{path}: {error.message}, then repeat: tito test {_lesson_id(path)}", error.code) from None


def _is_notebook(path: Path) -> bool:
    return path.suffix.lower() == ".ipynb"


def _lesson_id(path: Path) -> str:
    return path.stem.split("_")[0]


def _read_text(path: Path) -> str:
    try:
        size = path.stat().st_size / 10**6
        if size > LARGEST / 10**6:
            most = LARGEST // 10**6
            way_out = f"clear its outputs in Jupyter and save it, then repeat: tito test {_lesson_id(path)}"
            raise UserError(f"{path} has {size:.0f} MB, the most is {most}; {way_out}")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"there is no {path}; make it with: tito open {_lesson_id(path)}") from None
    except UnicodeDecodeError as error:
        way_out = f"save it as UTF-8, then repeat: tito test {_lesson_id(path)}"
        raise UserError(f"{path} is not UTF-8 at byte {error.start}; {way_out}") from None
    except OSError as error:
        why = error.strerror or error
        raise UserError(f"{path} cannot be read: {why}; look for the cause with: tito doctor") from None


def notebook_cells(text: str) -> Iterator[StudentCell]:
    """The cells of a notebook's JSON; BrokenNotebook or UserError says what is wrong. Parses no cell."""
    notebook = _parse_json(text)
    if not isinstance(notebook, dict) or "nbformat" not in notebook:
        raise BrokenNotebook("it holds JSON but no notebook")
    _check_version(notebook["nbformat"], notebook.get("nbformat_minor", 0))
    if not isinstance(notebook.get("cells"), list):
        raise BrokenNotebook("it has no list of cells")
    for number, cell in enumerate(notebook["cells"], 1):
        yield _notebook_cell(cell, number)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BrokenNotebook(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise BrokenNotebook("it is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise BrokenNotebook(str(error)) from None


def _check_version(major: Any, minor: Any) -> None:
    if type(major) is not int or type(minor) is not int:
        raise BrokenNotebook("its nbformat is no number")
    if (major, minor) < OLDEST:
        raise UserError(f"its format {major}.{minor} is too old; save it anew in Jupyter")
    if (major, minor) > NEWEST:
        raise UserError(f"its format {major}.{minor} is newer than 4.5; upgrade with pip install -U tinytorch-course")


def _notebook_cell(cell: Any, number: int) -> StudentCell:
    kind, source = (cell.get("cell_type"), cell.get("source")) if isinstance(cell, dict) else (None, None)
    lines = [source] if isinstance(source, str) else source
    if not isinstance(kind, str) or not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise BrokenNotebook(f"cell {number} has no type or no source")
    return StudentCell(number, kind, _newlines("".join(lines)), _id_of(cell))


def _id_of(cell: dict[str, Any]) -> str:
    """nbgrader's name for the cell, else Jupyter's."""
    metadata = cell.get("metadata")
    grading = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    id = grading.get("grade_id") if isinstance(grading, dict) else None
    return str(id or cell.get("id") or "")


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def percent_cells(text: str) -> Iterator[StudentCell]:
    """The cells of a percent file.

    A string that is never closed swallows the marks behind it, and so the cells. That must not cost the student more
    than the one cell: a cell that is no Python ends at the first mark inside it, and reading goes on from there.
    """
    lines, start, number = _newlines(text).split("\n"), 0, 0
    while start < len(lines):
        begun, start = start, len(lines)
        for cell in percent.read("\n".join(lines[begun:])):
            number += 1
            line, end = begun + cell.line, _swallowed(cell)
            source = "\n".join(cell.source.split("\n")[:end]).rstrip("\n") if end else cell.source
            named = cell.role in (*percent.NAMED_ROLES, "imports")
            yield StudentCell(number, cell.kind, source, cell.id if named else "", line)
            if end:
                start = line - 1 + end
                break


def _swallowed(cell: percent.Cell) -> int | None:
    """Which line of a broken cell is another cell's mark."""
    lines = cell.source.split("\n") if cell.kind == "code" else []
    marks = (i for i, line in enumerate(lines) if i and percent.is_mark(line))
    first = next(marks, None)
    return first if first and pycell.read(cell.source).error else None
