"""The package that a lesson builds on: of the reader's saved answers, and of ours where those are not whole.

`store` puts each earlier lesson into the workspace as if it had been exported, so that tito's own machinery builds the
package of it. In a class edition, which holds no answers, what a reader has not written stays a stub.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tito import percent, release, student, studentfile
from tito.commands.lessons import exported_cells
from tito.course import Lesson
from tito.inpage.saved import Saved, done, notebook, solutions
from tito.workspace import Workspace, write_text

EMPTY = Saved()


@dataclass(frozen=True)
class Whose:
    """Whose answers of an earlier lesson are used: "yours", "ours", "both", or "unwritten" where stubs are left."""

    lesson: Lesson
    whose: str
    done: int
    of: int


def whose(lesson: Lesson, saved: Saved) -> Whose:
    """By what the reader saved of the lesson."""
    finished = done(lesson, saved)
    count = sum(finished.values())
    if count == len(finished):
        return Whose(lesson, "yours", count, count)
    if not release.has_solutions(lesson):
        return Whose(lesson, "unwritten", count, len(finished))
    return Whose(lesson, "both" if count else "ours", count, len(finished))


def store(workspace: Workspace, lessons: Sequence[Whose], saved: Mapping[str, Saved]) -> None:
    """Store each lesson's cells as its export; one that is ours and is stored already stays."""
    for each in lessons:
        if each.whose != "ours" or not workspace.exported(each.lesson):
            path = workspace.snapshot(each.lesson)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, snapshot(workspace, each.lesson, _sources(each, saved.get(each.lesson.id, EMPTY))))


def snapshot(workspace: Workspace, lesson: Lesson, sources: Mapping[str, str]) -> str:
    """What an export would store of the lesson's notebook with these sources."""
    path = workspace.modules / f"{lesson.stem}.ipynb"
    plan = student.plan(lesson, studentfile.parse(path, notebook(release.student_cells(lesson), sources)))
    return percent.write(exported_cells(plan))


def _sources(each: Whose, saved: Saved) -> dict[str, str]:
    """The reader's cells; of a lesson that is not whole the exercises that are done, and ours for the rest."""
    if each.whose in ("yours", "unwritten"):
        return dict(saved.cells)
    finished = {cell.id for cell in each.lesson.cells() if done(each.lesson, saved).get(cell.name) and cell.written}
    return {**solutions(each.lesson), **{id: text for id, text in saved.cells.items() if id in finished}}


def unwritten(lessons: Iterable[Whose]) -> list[Lesson]:
    """Those whose exercises are not all done, and which nothing of ours stands in for."""
    return [each.lesson for each in lessons if each.whose == "unwritten"]


def sentence(lessons: Sequence[Whose]) -> str:
    """One line that says which lessons are the reader's, which are ours, and which to write first."""
    said = (("Yours", "yours"), ("Ours", "ours"), ("Yours in part, ours for the rest", "both"))
    parts = [f"{words}: {_names(lessons, kind)}." for words, kind in said if _names(lessons, kind)]
    for first in unwritten(lessons)[:1]:
        parts.append(f"Write lesson {first.id} {first.title} first: its exercises are not all done here.")
    return " ".join(parts)


def _names(lessons: Iterable[Whose], kind: str) -> str:
    counted = kind == "both"
    return ", ".join(
        f"{each.lesson.id} {each.lesson.title}" + (f" ({each.done} of {each.of})" if counted else "")
        for each in lessons
        if each.whose == kind
    )
