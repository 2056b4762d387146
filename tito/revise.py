"""New text of a lesson and a learner's file -> the file with the new text, in which all that is theirs is kept.

Three texts meet: what the course gave them, what they made of it, and what the course gives now. A cell changed by one
side only is taken from that side. Changed by both, an answer stays the learner's, and everything else is the course's.
Cells of the course stand in the course's order, and each cell of the learner's own behind the one that it followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

from tito import pycell
from tito.given import Given, digest
from tito.percent import Cell
from tito.studentfile import StudentCell

COURSES = re.compile(r"imports|(cell|exercise|twin|supplied|check)-.+")  # the ids that only a course gives


class Step(NamedTuple):
    """One cell of the file as it will be: the course's cell and the learner's, where there are, by index."""

    course: int | None
    own: int | None
    keep: bool  # the learner's text


@dataclass
class Revision:
    """The file as it will be, and what is different."""

    steps: list[Step] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)  # exercises of which the task has changed and the answer is kept
    lost: list[str] = field(default_factory=list)  # cells that both sides changed: the learner's is not in the file
    notes: list[str] = field(default_factory=list)
    texts: int = 0  # texts and demos that are new or changed
    texts_gone: int = 0
    answers: int = 0
    added: int = 0


def revise(course: Sequence[Cell], own: Sequence[StudentCell], given: Sequence[Given]) -> Revision:
    """The learner's cells with the course's present text. `given` is [] where it is not known."""
    merge = _Merge(course, own, given)
    behind: dict[int, list[Step]] = {}
    here = -1
    for i in range(len(own)):
        here = merge.place.get(i, here)
        if merge.is_learners(i):
            behind.setdefault(here, []).append(Step(None, i, True))
    merge.result.added = sum(map(len, behind.values()))
    merge.result.steps = behind.get(-1, [])
    for j in range(len(course)):
        merge.result.steps += [merge.step(j), *behind.get(j, [])]
    return merge.result


class _Merge:
    """Which cells belong together, and what becomes of each."""

    def __init__(self, course: Sequence[Cell], own: Sequence[StudentCell], given: Sequence[Given]) -> None:
        self.course, self.own = course, own
        self.given = {cell.id: cell.digest for cell in given}
        self.result = Revision()
        self.ids = identified(own, given, course)
        self.pairs, self.place = self._aligned()

    def _aligned(self) -> tuple[dict[int, int], dict[int, int]]:
        """Course's index -> learner's, where they belong together; learner's index -> course's place, near at least."""
        theirs = [i for i, id in enumerate(self.ids) if id]
        keys = [self._key(self.ids[i], self.own[i].source) for i in theirs]
        new = [_named_key(cell) or digest(cell.source) for cell in self.course]
        pairs: dict[int, int] = {}
        place: dict[int, int] = {}
        for what, i, i_end, j, j_end in SequenceMatcher(None, keys, new, autojunk=False).get_opcodes():
            for k in range(i, i_end):
                place[theirs[k]] = min(j + k - i, j_end - 1)
            if what == "equal":
                pairs.update({j + k: theirs[i + k] for k in range(i_end - i)})
        named = {key: j for j, key in enumerate(new) if key.startswith("id ")}
        moved = {named[key]: i for i, key in zip(theirs, keys) if key in named}
        return {**pairs, **moved}, {**place, **{i: j for j, i in moved.items()}}

    def _key(self, id: str, source: str) -> str:
        """A named cell by its name, another one by the text that the course gave."""
        return self.given.get(id, digest(source)) if _is_text(id) else f"id {id}"

    def is_learners(self, i: int) -> bool:
        """Whether a cell is the learner's own, or an answer or definition that would be lost else."""
        id, cell = self.ids[i], self.own[i]
        if not id:
            return True
        if i in self.pairs.values():
            return False
        if id.startswith(("exercise-", "answer-")) and self.touched(i) is not False:
            self.result.notes.append(
                f"{id.partition('-')[2]} (cell {cell.number}) is no exercise any more; yours stays"
            )
            return True
        if _is_text(id) and self.touched(i) is not False and _defines(cell):
            return True
        self._drop(i)
        return False

    def touched(self, i: int) -> bool | None:
        """Whether the learner changed a cell of the course's; None where nobody knows."""
        known = self.given.get(self.ids[i])
        return None if known is None else known != digest(self.own[i].source)

    def step(self, j: int) -> Step:
        """What becomes of the course's cell."""
        cell, i = self.course[j], self.pairs.get(j)
        if i is None:
            self._note_new(cell)
            return Step(j, None, False)
        mine, now, before = self.own[i], digest(cell.source), self.given.get(self.ids[i])
        if digest(mine.source) == now and mine.kind == cell.kind:
            return Step(j, i, True)
        if cell.written and self.touched(i) is not False:
            self.result.answers += 1
            if before not in (None, now):
                self.result.tasks.append(cell.name)
            return Step(j, i, True)
        if before == now and cell.role != "check":
            return Step(j, i, True)
        self._note_changed(cell, i)
        return Step(j, i, False)

    def _note_new(self, cell: Cell) -> None:
        if _is_text(cell.id):
            self.result.texts += 1
        else:
            self.result.new.append(f"{cell.role} {cell.name}".strip())

    def _note_changed(self, cell: Cell, i: int) -> None:
        if _is_text(cell.id):
            self.result.texts += 1
        else:
            self.result.changed.append(f"{cell.role} {cell.name}".strip())
        self._note_lost(i)

    def _drop(self, i: int) -> None:
        if _is_text(self.ids[i]):
            self.result.texts_gone += 1
        else:
            self.result.gone.append(self.ids[i].replace("-", " ", 1))
        self._note_lost(i)

    def _note_lost(self, i: int) -> None:
        if self.touched(i):
            number, id = self.own[i].number, self.ids[i]
            self.result.lost.append(f"cell {number}" if _is_text(id) else f"{id.replace('-', ' ', 1)} (cell {number})")


def identified(own: Sequence[StudentCell], given: Sequence[Given], course: Sequence[Cell]) -> list[str]:
    """The course's id of each of the learner's cells, the first of two alike; "" of those that are their own."""
    known = {cell.id for cell in course} | {cell.id for cell in given}
    ids: list[str] = []
    for cell in own:
        courses = cell.id in known or COURSES.fullmatch(cell.id)
        ids.append(cell.id if courses and cell.id not in ids else "")
    for i, id in _texts_of_percent(own, ids, given, course).items():
        ids[i] = id
    return ids


def _texts_of_percent(
    own: Sequence[StudentCell], ids: Sequence[str], given: Sequence[Given], course: Sequence[Cell]
) -> dict[int, str]:
    """Texts and demos have no ids in a percent file: they are known by what they say and where they stand."""
    if any(_is_text(id) for id in ids if id):
        return {}
    before = given or [Given(cell.id, cell.kind, digest(cell.source)) for cell in course]
    mine = [f"id {id}" if id else cell.kind + digest(cell.source) for id, cell in zip(ids, own)]
    theirs = [cell.kind + cell.digest if _is_text(cell.id) else f"id {cell.id}" for cell in before]
    found: dict[int, str] = {}
    for what, i, i_end, j, j_end in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if what == "equal" or (what == "replace" and i_end - i == j_end - j):
            pairs = [(i + k, before[j + k]) for k in range(i_end - i)]
            found.update(
                {k: cell.id for k, cell in pairs if not ids[k] and _is_text(cell.id) and own[k].kind == cell.kind}
            )
    return found


def _defines(cell: StudentCell) -> bool:
    """Whether a demo was rewritten to something that answers may use."""
    return cell.kind == "code" and pycell.read(cell.source).only_defines


def _named_key(cell: Cell) -> str:
    return "" if _is_text(cell.id) else f"id {cell.id}"


def _is_text(id: str) -> bool:
    """Whether it is the id of a text or demo, which counts cells and so says nothing across versions."""
    return re.fullmatch(r"cell-\d+", id) is not None
