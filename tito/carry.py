"""A copy of a lesson's file and the workspace's file of it -> the file with what was written in the copy.

From the copy come exercises and answers that are written there, and the cells that its writer added, each behind the
cell that it followed. All else stays as it is in the workspace. A stub never takes the place of work. Begin at `carry`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tito import pycell
from tito.given import Given, digest
from tito.percent import Cell
from tito.release import STUB
from tito.revise import COURSES, identified
from tito.student import is_rest
from tito.studentfile import StudentCell

WRITTEN = re.compile(r"(exercise|answer)-.+")
NOT_OWN = re.compile(rf"{COURSES.pattern}|lite-.+")  # a second part of the course's cell; what JupyterLite needs
GAP = "\n\n\n"  # between the parts of an exercise whose cell was split


@dataclass(eq=False)
class Step:
    """One cell of the file as it will be: the workspace's by index, the course's by index, or a new one.

    `source` is the text that it gets; None where it stays as it is. `copy` is the copy's cell that the text is of.
    """

    own: int | None = None
    course: int | None = None
    source: str | None = None
    copy: StudentCell | None = None


@dataclass
class Carried:
    """The file as it will be, and by name what became of the exercises and answers."""

    steps: list[Step]
    taken: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # written here, and a stub or only begun in the copy
    open: list[str] = field(default_factory=list)  # to do on both sides
    added: int = 0
    left: list[str] = field(default_factory=list)  # what is in the copy and does not come

    @property
    def changes(self) -> bool:
        """Whether the file will be another than it is."""
        return bool(self.taken or self.added)


def carry(
    course: Sequence[Cell],
    own: Sequence[StudentCell],
    copy: Sequence[StudentCell],
    given: Sequence[Given],
    foreign: frozenset[str] = frozenset(),
) -> Carried:
    """The workspace's cells with what was written in the copy.

    `course` are the cells as they are released now, `given` those that the workspace got ([] where nobody knows), and
    `foreign` the ids of what is written in other lessons.
    """
    carrying = _Carrying(course, _Side(own, given, course), {cell.id: cell.digest for cell in given})
    carrying.written(_Side(copy, given, course))
    carrying.added(_Side(copy, given, course), foreign)
    return carrying.carried


class _Side:
    """One of the two files: which of its cells are the course's, or parts of those, and which are its writer's."""

    def __init__(self, cells: Sequence[StudentCell], given: Sequence[Given], course: Sequence[Cell]) -> None:
        self.cells = cells
        self.ids = identified(cells, given, course)
        self.parts: dict[str, list[StudentCell]] = {}
        self.again: set[int] = set()  # the numbers of second cells of one name, which do not count
        self.free: dict[int, StudentCell] = {}
        for cell, id in zip(cells, self.ids):
            known = self.parts.get(cell.id) if WRITTEN.fullmatch(cell.id) else None
            if id:
                self.parts[id] = [cell]
            elif known is None:
                self.free[cell.number] = cell
            elif is_rest(cell, known[0]):
                known.append(cell)
            else:
                self.again.add(cell.number)

    def text(self, wanted: Cell) -> str:
        """What is written in a cell of the course's, its parts joined; "" where it is missing, or of another kind."""
        return GAP.join(cell.source for cell in self.parts.get(wanted.id, ()) if cell.kind == wanted.kind)


class _Carrying:
    """The workspace's file on its way."""

    def __init__(self, course: Sequence[Cell], own: _Side, given: dict[str, str]) -> None:
        self.course, self.own, self.given = course, own, given
        self.carried = Carried([Step(own=i) for i in range(len(own.cells))])
        self.rows = {cell.number: step for cell, step in zip(own.cells, self.carried.steps)}
        self.places = {id: self.rows[parts[0].number] for id, parts in own.parts.items()}

    def written(self, copy: _Side) -> None:
        """Take the exercises and answers that are to be taken, in the course's order."""
        for j, cell in enumerate(self.course):
            if cell.written:
                verdict = self._verdict(cell, self.own.text(cell), copy.text(cell))
                verdict.append(cell.name)
                if verdict is self.carried.taken:
                    self._take(j, copy)

    def _verdict(self, cell: Cell, mine: str, theirs: str) -> list[str]:
        """Which list of what is carried the exercise belongs to."""
        todo = self._is_stub(mine, cell)
        if self._is_stub(theirs, cell):
            return self.carried.open if todo else self.carried.kept
        if _lines(mine) == _lines(theirs):
            return self.carried.same
        return self.carried.kept if _is_begun(theirs, cell) and not todo else self.carried.taken

    def _is_stub(self, text: str, cell: Cell) -> bool:
        """Whether nothing is written: the text is the course's, now or as it was given, or there is none."""
        if digest(text) in (digest(""), digest(cell.source), self.given.get(cell.id)):
            return True
        return cell.kind == "code" and (pycell.read(text).is_empty or pycell.same(text, cell.source))

    def _take(self, j: int, copy: _Side) -> None:
        """Put the text into its cell, which may be missing here; the parts of the old text go."""
        id = self.course[j].id
        for part in self.own.parts.get(id, ())[1:]:
            self.carried.steps.remove(self.rows[part.number])
        if id not in self.places:
            before = (self.places[cell.id] for cell in reversed(self.course[:j]) if cell.id in self.places)
            self.places[id] = self._insert(Step(course=j), next(before, None))
        step = self.places[id]
        step.course, step.source, step.copy = j, copy.text(self.course[j]), copy.parts[id][0]

    def added(self, copy: _Side, foreign: frozenset[str]) -> None:
        """Take the cells of the writer's own; note what stays behind."""
        by_id = {cell.id: cell for cell in self.course}
        mine, here = _Found(self.own.free.values()), None
        for cell, id in zip(copy.cells, copy.ids):
            here, wanted = self.places.get(id, here), by_id.get(id)
            if cell.number in copy.again or id in foreign or (wanted and self._stays_behind(cell, wanted)):
                self.carried.left.append(f"{(id or cell.id).replace('-', ' ', 1)} (cell {cell.number})")
            elif self._is_own(cell, id, wanted, copy):
                here = self._add(cell, mine.take(cell), here)

    def _stays_behind(self, cell: StudentCell, wanted: Cell) -> bool:
        """Whether it is an answer in a cell of another kind, or was changed although the course gives it."""
        if wanted.written:
            return cell.kind != wanted.kind
        return wanted.exported and self._is_changed(cell, wanted) and not pycell.same(cell.source, wanted.source)

    def _is_changed(self, cell: StudentCell, wanted: Cell) -> bool:
        return digest(cell.source) not in (digest(wanted.source), self.given.get(wanted.id))

    def _is_own(self, cell: StudentCell, id: str, wanted: Cell | None, copy: _Side) -> bool:
        """Whether the writer added it, made a demo to what answers may use, or answered what the lesson has no more."""
        if wanted is not None:
            return wanted.role == "demo" and self._is_changed(cell, wanted) and _defines(cell)
        if id:
            return bool(WRITTEN.fullmatch(id)) and STUB not in cell.source
        return cell.number in copy.free and bool(cell.source.strip()) and not NOT_OWN.fullmatch(cell.id)

    def _add(self, cell: StudentCell, mine: StudentCell | None, here: Step | None) -> Step:
        """The step of a cell that is here already, perhaps with another text, else of a new one behind `here`."""
        if mine is None:
            self.carried.added += 1
            return self._insert(Step(source=cell.source, copy=cell), here)
        step = self.rows[mine.number]
        if _key(mine) != _key(cell):
            self.carried.added += 1
            step.source, step.copy = cell.source, cell
        return step

    def _insert(self, step: Step, behind: Step | None) -> Step:
        steps = self.carried.steps
        steps.insert(steps.index(behind) + 1 if behind else 0, step)
        return step


class _Found:
    """The workspace's cells of the learner's own, each to be found once: by its text, else by its id."""

    def __init__(self, cells: Iterable[StudentCell]) -> None:
        self.by_text: dict[str, list[StudentCell]] = {}
        for cell in cells:
            self.by_text.setdefault(_key(cell), []).append(cell)
        self.by_id = {f"{cell.kind} {cell.id}": cell for same in self.by_text.values() for cell in same if cell.id}

    def take(self, cell: StudentCell) -> StudentCell | None:
        """The cell that this one is here, if any."""
        alike = self.by_text.get(_key(cell))
        found = alike[0] if alike else self.by_id.get(f"{cell.kind} {cell.id}")
        if found is not None:
            self.by_text[_key(found)].remove(found)
            self.by_id.pop(f"{found.kind} {found.id}", None)
        return found


def _key(cell: StudentCell) -> str:
    return "\n".join([cell.kind, *_lines(cell.source)])


def _defines(cell: StudentCell) -> bool:
    return cell.kind == "code" and pycell.read(cell.source).only_defines


def _is_begun(text: str, cell: Cell) -> bool:
    """Whether as much is still to do in it as in the stub."""
    return 0 < cell.source.count(STUB) <= text.count(STUB)


def _lines(text: str) -> list[str]:
    """The lines that say something."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]
