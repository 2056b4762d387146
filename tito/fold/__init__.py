"""Cells of lessons -> the files of the package `tinytorch`, with every patched method in its class.

Begin at `fold`. `statements` takes cells apart, `files` sorts the statements of all lessons into files, with
`patches` and `parts` for what moves into a class; `settle` checks names when everything is in place; `text`, `names`,
`imports` and `places` are the tools. Text is cut and moved, never printed anew, so comments and formatting stay.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from tito.fold import imports
from tito.fold.files import File, FoldInput, Package
from tito.fold.imports import PACKAGE, Import
from tito.fold.parts import Part
from tito.fold.places import Row, Span, spans
from tito.fold.settle import settle
from tito.fold.statements import FoldError

__all__ = ["FoldError", "FoldInput", "fold"]

INIT_TITLE = "What the exported lessons define."


def fold(
    lessons: Sequence[FoldInput],
    notes: dict[str, list[str]] | None = None,
    origins: dict[str, list[Span]] | None = None,
) -> dict[str, str]:
    """Lessons in course order -> file name -> text, `__init__.py` included, supplied files left out.

    `notes`, where given, gets for each lesson a line for every statement that is no import, definition or assignment;
    `origins` gets for each file which of its lines came from which lines of which cell.
    Raises FoldError, which names lesson, cell, line and name, where the package would not work as the notebooks did.
    """
    package = Package({} if notes is None else notes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a doubtful escape in a student's string is shown when the cell runs
        for lesson in lessons:
            package.add(lesson)
    settle(package)
    files = list(package.files.values())
    rows = {f"{file.name}.py": _rows(file) for file in files}
    if origins is not None:
        origins |= {name: spans(of_file) for name, of_file in rows.items()}
    texts = {name: "".join(f"{row.text}\n" for row in of_file) for name, of_file in rows.items()}
    return {"__init__.py": _init_text(files), **texts}


def _rows(file: File) -> list[Row]:
    lines = [f'"""{file.title}"""', "", "from __future__ import annotations"]
    lines += imports.write(file.needed_imports())
    rows = list(map(Row, [*lines, "", *_listed(file.public())]))
    for i, part in enumerate(file.parts):
        rows += [Row("")] * _gap(file.parts[i - 1] if i else None, part)
        rows += part.rows()
    return rows


def _gap(before: Part | None, part: Part) -> int:
    """Blank lines between two parts: two around definitions; values of one cell stay together."""
    if part.kind == "def" or (before and before.kind == "def"):
        return 2
    together = before is not None and before.origin.cell == part.origin.cell
    return 0 if together and not part.apart else 1


def _init_text(files: Sequence[File]) -> str:
    own = [[Import(f"{PACKAGE}.{file.name}", name) for name in file.public()] for file in files]
    above = [file.above if file.parts else [] for file in files]  # while a lesson is tested, its file is not there yet
    chosen = [item for pair in zip(own, above) for items in pair for item in items]
    lines = [f'"""{INIT_TITLE}"""', *imports.write(chosen), "", *_listed([item.bound for item in chosen])]
    return "\n".join(lines) + "\n"


def _listed(names: Sequence[str]) -> list[str]:
    quoted = [f'"{name}"' for name in names]
    return imports.listing("__all__ = ", quoted, "[]") if names else ["__all__: list[str] = []"]
