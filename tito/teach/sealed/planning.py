"""What is run of a student's files, and the package made of them: parsing, magics, folding. None of their code runs.

`plan` is the only reader of what students write, so whatever a text does to a parser happens in a sealed child.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tito import pycell, student, studentfile
from tito.errors import UserError
from tito.fold import FoldError, FoldInput, fold
from tito.percent import Cell
from tito.student import PlanCell
from tito.studentfile import StudentFile

MOST = 50  # notes
PACKAGE = "tinytorch/"


@dataclass(frozen=True)
class Released:
    """A lesson as students get it, its checks without their text: of these only the ids are known here."""

    id: str
    name: str
    stem: str
    title: str
    cells: tuple[Cell, ...]
    supplied: Mapping[str, str]


def read_lessons(path: Path) -> dict[str, Released]:
    """The released lessons of a sealed home by stem, in course order."""
    table = json.loads(path.read_text(encoding="utf-8"))
    lessons = [Released(**{**each, "cells": tuple(Cell(**cell) for cell in each["cells"])}) for each in table]
    for lesson in lessons:
        for cell in lesson.cells:
            pycell.read(cell.source)  # kept in its cache, for all children
    return {lesson.stem: lesson for lesson in lessons}


def plan(lessons: Mapping[str, Released], request: Mapping[str, Any]) -> dict[str, Any]:
    """The request names files (bytes as arrays) and the lesson; `own` asks for a package of the other files.

    Gives the plan (JSON as an array), notes, and for each check cell the student's number and what program it holds;
    or `refused`, in a sentence.
    """
    files = {name: bytes(data) for name, data in request["files"].items()}
    try:
        package = _package(lessons, files, request["lesson"]) if request["own"] else {}
        if request["lesson"] not in lessons:  # a milestone: the package is all there is
            return {"plan": as_bytes({"lesson": "", "cells": [], "package": package}), "notes": [], "checks": {}}
        lesson, file = lessons[request["lesson"]], _read(files, request["lesson"])
    except UnicodeDecodeError as error:
        return {"refused": f"a file of tinytorch is not UTF-8 at byte {error.start}"}
    except (UserError, FoldError) as error:
        return {"refused": error.message}
    cells, notes = student.definitions(lesson.cells, file)
    made = {"lesson": lesson.id, "cells": [_as_dict(cell) for cell in cells], "package": package}
    return {"plan": as_bytes(made), "notes": [note[:500] for note in notes[:MOST]], "checks": _checks(lesson, file)}


def install(package: Mapping[str, str], folder: Path) -> None:
    """Put the student's own package on the path."""
    (folder / "tinytorch").mkdir(parents=True)
    for name, text in package.items():
        (folder / "tinytorch" / name).write_text(text, encoding="utf-8", newline="\n")
    sys.path.insert(0, str(folder))


def _package(lessons: Mapping[str, Released], files: Mapping[str, bytes], last: str) -> dict[str, str]:
    """The package that was handed in; else of all lessons but the last by the student's files, supplied modules too."""
    handed_in = {name.removeprefix(PACKAGE): data.decode() for name, data in files.items() if _is_module(name)}
    if handed_in:
        return handed_in
    inputs = [_fold_input(each, () if each.stem == last else _exported(each, files)) for each in lessons.values()]
    texts = fold(inputs)
    for each in inputs:
        texts |= {f"{module}.py": text for module, text in each.supplied.items()}
    return texts


def _is_module(name: str) -> bool:
    return name.startswith(PACKAGE) and name.endswith(".py") and "/" not in name.removeprefix(PACKAGE)


def _fold_input(lesson: Released, cells: Sequence[Cell]) -> FoldInput:
    course = [cell for cell in lesson.cells if cell.exported]
    return FoldInput(lesson.name, lesson.title, cells, lesson.supplied, course, f"{lesson.stem}.ipynb")


def _exported(lesson: Released, files: Mapping[str, bytes]) -> list[Cell]:
    """The student's definitions; the stubs where there is no file."""
    if not _names(files, lesson.stem):
        return [cell for cell in lesson.cells if cell.exported]
    cells, _ = student.definitions(lesson.cells, _read(files, lesson.stem))
    return [_exportable(cell) for cell in cells]


def _exportable(cell: PlanCell) -> Cell:
    marks = {"title": "imports"} if cell.role == "imports" else {cell.role: cell.name}
    return Cell("code", {**marks, "cell": cell.number}, cell.source)


def _names(files: Mapping[str, bytes], stem: str) -> list[str]:
    return [f"{stem}{ending}" for ending in (".ipynb", ".py") if f"{stem}{ending}" in files]


def _read(files: Mapping[str, bytes], stem: str) -> StudentFile:
    name = next(iter(_names(files, stem)), None)
    if name is None:
        raise UserError(f"there is no {stem}.ipynb")
    try:
        return studentfile.parse(Path(name), files[name].decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"{name} is not UTF-8 at byte {error.start}") from None


def _checks(lesson: Released, file: StudentFile) -> dict[str, list[Any]]:
    """For each check of the course that is in the file: the cell's number, and a digest of its program."""
    known = {cell.id for cell in lesson.cells if cell.role == "check"}
    found: dict[str, list[Any]] = {}
    for cell in file.cells:
        if cell.id in known:
            found.setdefault(cell.id, [cell.number, digest(cell.source) if cell.kind == "code" else ""])
    return found


def digest(source: str) -> str:
    """The same for sources that are the same program, whatever their layout and comments."""
    cell = pycell.read(source)
    return hashlib.sha256((cell.source if cell.error else ast.dump(cell.tree)).encode("utf-8", "replace")).hexdigest()


def unwritten(lesson: Released) -> dict[str, np.ndarray]:
    """The lesson's file as it is released."""
    cells = [{"cell_type": each.kind, "id": each.id, "source": each.source, "metadata": {}} for each in lesson.cells]
    return {f"{lesson.stem}.ipynb": as_bytes({"cells": cells, "nbformat": 4, "nbformat_minor": 5})}


def _as_dict(cell: PlanCell) -> dict[str, Any]:
    error = cell.error and [cell.error.line, cell.error.text[:500], cell.error.message[:500]]
    return {**asdict(cell), "error": error}


def as_bytes(table: Any) -> np.ndarray:
    """JSON as an array, which a frame holds whatever its length."""
    return np.frombuffer(json.dumps(table).encode(), np.uint8)
