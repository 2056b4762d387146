"""Plans what is run of a student's file (which `read` reads).

A student's file is theirs: cells may be moved, deleted, added, copied or broken. `plan` finds the course's cells in it
by their ids, so that whatever happened to one exercise, the others are tested.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tito import pycell, release
from tito.course import Lesson
from tito.fold import imports, patches
from tito.fold.names import bound_by
from tito.percent import Cell
from tito.pycell import CellError
from tito.studentfile import StudentCell, StudentFile, read

__all__ = ["Plan", "PlanCell", "StudentCell", "StudentFile", "plan", "read"]


@dataclass(frozen=True)
class PlanCell:
    """A cell to run. `number` is its position in the student's file, 0 when the course's own cell stands in.

    `file` and `line` say where the source begins, for messages; `role` is percent.Cell's, or "added".
    """

    number: int
    id: str
    role: str
    name: str
    file: str
    line: int
    source: str
    error: CellError | None = None


@dataclass(frozen=True)
class Plan:
    """What is run of a student's file: definitions, then visible checks; and what the student should know."""

    lesson: Lesson
    path: Path
    cells: tuple[PlanCell, ...]
    notes: tuple[str, ...]

    @property
    def definitions(self) -> tuple[PlanCell, ...]:
        """Imports, exercises, twins, supplied and added cells, in run order."""
        return tuple(cell for cell in self.cells if cell.role != "check")

    @property
    def checks(self) -> tuple[PlanCell, ...]:
        """The visible checks, in lesson order."""
        return tuple(cell for cell in self.cells if cell.role == "check")


def plan(lesson: Lesson, file: StudentFile) -> Plan:
    """What `tito test` runs of the file. Every cell of the course is there, in course order.

    A cell that the student added comes after the course's cell that it follows in their file, the rest of a cell that
    was split after its beginning, and the course's imports before theirs if those lack something.
    """
    course = release.student_cells(lesson)
    cells, notes = definitions(course, file)
    own = _own_cells(course, file, [])
    checks = [_check(cell, file, own, notes) for cell in course if cell.role == "check" and not cell.hidden]
    if not own:
        notes = [f"none of the lesson's cells is here; put them back with: tito reset {lesson.id}"]
    return Plan(lesson, file.path, (*cells, *checks), tuple(notes))


def definitions(course: Sequence[Cell], file: StudentFile) -> tuple[list[PlanCell], list[str]]:
    """Imports, exercises, twins, supplied and added cells in run order, and notes, by the released cells `course`.

    Of its checks only the ids are looked at.
    """
    notes: list[str] = []
    own = _own_cells(course, file, notes)
    placed = [*_definitions(course, file, own, notes), *_rests(course, file, own), *_added(course, file, own)]
    cells = [cell for _, cell in sorted(placed, key=lambda pair: pair[0])]
    notes += _defined_anew(course, cells)
    return cells, notes


Place = tuple[int, int, int]  # the course's cell, whether it is added behind it, its number in the student's file


def _own_cells(course: Iterable[Cell], file: StudentFile, notes: list[str]) -> dict[str, StudentCell]:
    """The student's cell for each of the course's ids; of two the first counts, unless they are parts of one."""
    known = {cell.id: cell for cell in course}
    own: dict[str, StudentCell] = {}
    for cell in file.cells:
        wanted = known.get(cell.id)
        if wanted is None:
            continue
        if cell.id not in own:
            own[cell.id] = cell
        elif wanted.role not in ("demo", "prose") and not is_rest(cell, own[cell.id]):
            notes.append(f"cells {own[cell.id].number} and {cell.number} are both {_named(wanted)}; the first counts")
    return own


def is_rest(cell: StudentCell, first: StudentCell) -> bool:
    """Whether two cells of one name, as Jupyter leaves them where a cell was split, define different things."""
    names = _names(cell.source)
    return cell.kind == "code" and bool(names) and not names & _names(first.source)


def _rests(course: Iterable[Cell], file: StudentFile, own: dict[str, StudentCell]) -> Iterator[tuple[Place, PlanCell]]:
    """What follows the first of several cells of one name."""
    for index, cell in enumerate(course):
        id = cell.id
        for part in file.cells if cell.exported else ():
            if part.id == id and part is not own[id] and is_rest(part, own[id]):
                yield (index, 0, part.number), _planned(part, file, cell.role, cell.name, id)


def _definitions(
    course: Iterable[Cell], file: StudentFile, own: dict[str, StudentCell], notes: list[str]
) -> Iterator[tuple[Place, PlanCell]]:
    for index, cell in enumerate(course):
        if cell.exported:
            place = (-1 if cell.role == "imports" else index, 0, 0)
            planned = _definition(cell, file, own.get(cell.id), notes)
            yield place, planned
            if cell.role == "imports" and pycell.lacks(planned.source, cell.source):
                notes.append(f"imports (cell {planned.number}) lacks lines; the course's run before it")
                yield (-2, 0, 0), _original(cell)


def _definition(cell: Cell, file: StudentFile, own: StudentCell | None, notes: list[str]) -> PlanCell:
    """The student's text of the course's cell, else the course's."""
    lost = "is missing" if own is None else _lost(own)
    if own is not None and lost is None:
        if cell.role in ("twin", "supplied") and not pycell.same(own.source, cell.source):
            notes.append(f"{_named(cell)} (cell {own.number}) is not the course's text; yours is used")
        return _planned(own, file, cell.role, cell.name, cell.id)
    stand_in = "its stub is used" if cell.role == "exercise" else "the original is used"
    notes.append(f"{_named(cell)} {lost}; {stand_in}")
    return _original(cell)


def _lost(cell: StudentCell) -> str | None:
    """Why there is no code in the student's cell."""
    if cell.kind != "code":
        return f"has become a text cell (cell {cell.number})"
    return f"is empty (cell {cell.number})" if pycell.read(cell.source).is_empty else None


def _added(course: Iterable[Cell], file: StudentFile, own: dict[str, StudentCell]) -> Iterator[tuple[Place, PlanCell]]:
    """The student's own cells that only define something. The course's demos are none, unless rewritten."""
    index = {cell.id: i for i, cell in enumerate(course)}
    taken = {cell.id for cell in course if cell.role not in ("demo", "prose")}
    demos = {cell.source.strip() for cell in course if cell.role == "demo"}
    place = -1
    for cell in file.cells:
        if own.get(cell.id) is cell:
            place = index[cell.id]
        free = cell.kind == "code" and cell.id not in taken and cell.source.strip() not in demos
        if free and pycell.read(cell.source).only_defines:
            yield (place, 1, cell.number), _planned(cell, file, "added", "", cell.id or f"cell-{cell.number}")


def _defined_anew(course: Iterable[Cell], cells: Sequence[PlanCell]) -> Iterator[str]:
    """A note on each name that the student took, although the course or Python has it."""
    given = {cell.id: _names(cell.source, patched=False) for cell in course if cell.exported}
    taken = {*dir(builtins), *_imported(course), *(name for names in given.values() for name in names)}
    for cell in cells:
        new = _names(cell.source, patched=False) - given.get(cell.id, set()) if cell.number else set()
        yield from (
            f"cell {cell.number} defines {name} anew; call yours something else" for name in sorted(new & taken)
        )


def _names(source: str, patched: bool = True) -> set[str]:
    """What a cell's statements define; a patched function is no name of the notebook's."""
    body = pycell.read(source).tree.body
    return {name for node in body if patched or not patches.decorator(node) for name in bound_by(node)}


def _imported(course: Iterable[Cell]) -> set[str]:
    """What the course's import cell brings."""
    nodes = [node for cell in course if cell.role == "imports" for node in pycell.read(cell.source).tree.body]
    return {
        item.bound for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)) for item in imports.read(node)
    }


def _check(cell: Cell, file: StudentFile, own: dict[str, StudentCell], notes: list[str]) -> PlanCell:
    """The course's check, under the number that it has in the student's file."""
    found = own.get(cell.id)
    if found is None:
        notes.append(f"{_named(cell)} is missing; the original is used")
        return _original(cell)
    if found.kind == "code" and found.source == cell.source:
        return _planned(found, file, "check", cell.name, cell.id)
    if found.kind != "code" or not pycell.same(found.source, cell.source):
        notes.append(f"{_named(cell)} (cell {found.number}) was changed; the original is used")
    return _original(cell, found.number)


def _planned(cell: StudentCell, file: StudentFile, role: str, name: str, id: str) -> PlanCell:
    python = pycell.read(cell.source)
    return PlanCell(cell.number, id, role, name, file.label(cell), cell.line, python.source, python.error)


def _original(cell: Cell, number: int = 0) -> PlanCell:
    return PlanCell(number, cell.id, cell.role, cell.name, f"<{cell.id}>", 1, cell.source)


def _named(cell: Cell) -> str:
    return f"{cell.role} {cell.name}".strip()
