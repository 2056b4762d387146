"""`tito update [NN] [--undo]`: brings a lesson's present text into the learner's file, and keeps what is theirs.

tito/revise.py decides what becomes of each cell; here the file is read, backed up and written.
"""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from tito import given, percent, release, report, studentfile
from tito.commands.common import chosen, enter
from tito.commands.open import companions
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.revise import Revision, Step, revise
from tito.studentfile import StudentCell
from tito.workspace import Workspace, write_text

LOAD = "Where the file is open, load it anew before you save it."


def run(args: Namespace, course: Course) -> int:
    """Update one lesson, or take its last update back."""
    workspace = enter()
    lesson = chosen(args.lesson, course, workspace)
    path = workspace.opened(lesson)
    with workspace.locked():
        for line in _undo(workspace, lesson, path) if args.undo else _update(workspace, lesson, path):
            print(line)
    return 0


def _update(workspace: Workspace, lesson: Lesson, path: Path) -> list[str]:
    before, now = given.recall(workspace, lesson), given.of(lesson)
    beside = _refresh(workspace, lesson)
    revision = revise(release.student_cells(lesson), studentfile.read(path).cells, before)
    if before == now or not _differs(revision):
        if before != now:
            given.remember(workspace, lesson, now)
        more = f"  New beside it: {', '.join(beside)}." if beside else ""
        return [report.cut(f"{lesson.id} {lesson.name}: nothing to do, the text is the course's present one.{more}")]
    text = _notebook(path, lesson, revision) if path.suffix == ".ipynb" else _percent(path, lesson, revision)
    backup = workspace.backup(path)
    write_text(path, text)
    given.remember(workspace, lesson, now, {"backup": backup.name, "cells": [list(cell) for cell in before]})
    return [*_told(workspace, lesson, path, revision, beside), *_ways_back(workspace, lesson, backup)]


def _differs(revision: Revision) -> bool:
    return bool(revision.new or revision.changed or revision.gone or revision.texts or revision.texts_gone)


def _told(workspace: Workspace, lesson: Lesson, path: Path, revision: Revision, beside: list[str]) -> list[str]:
    """What changed, in a line for each kind of it."""
    texts = [f"{revision.texts} new or changed"] * bool(revision.texts)
    texts += [f"{revision.texts_gone} gone"] * bool(revision.texts_gone)
    named = {
        "new": ", ".join(revision.new),
        "changed": ", ".join(revision.changed),
        "gone": ", ".join(revision.gone),
        "text": ", ".join([*texts, *beside]),
        "kept": f"{_count(revision.answers, 'answer')}, {_count(revision.added, 'cell')} of your own",
        "task": f"changed of {', '.join(revision.tasks)}; your answer is kept" if revision.tasks else "",
        "yours": f"changed too, now in the backup: {', '.join(revision.lost)}" if revision.lost else "",
    }
    lines = [report.cut(f"  {label:<9}{what}") for label, what in named.items() if what]
    head = f"{lesson.id} {lesson.name}   {workspace.shown(path)} has the course's present text."
    return [report.cut(head), *lines, *report.notes(revision.notes, 1)]


def _ways_back(workspace: Workspace, lesson: Lesson, backup: Path) -> list[str]:
    return [f"As it was:     {workspace.shown(backup)}", f"Take it back:  tito update {lesson.id} --undo", LOAD]


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _refresh(workspace: Workspace, lesson: Lesson) -> list[str]:
    """Bring figures and, before the first export, supplied modules up to date; their names. What was there is kept."""
    changed = []
    for source, target in companions(workspace, lesson):
        ours = target.parent == workspace.package and workspace.exported(lesson)
        if ours or (target.exists() and target.read_bytes() == source.read_bytes()):
            continue
        if target.exists():
            workspace.backup(target)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(source.read_bytes())
        changed.append(target.name)
    return changed


def _notebook(path: Path, lesson: Lesson, revision: Revision) -> str:
    notebook = json.loads(path.read_text(encoding="utf-8-sig"))
    own, course = notebook["cells"], release.notebook(lesson)["cells"]
    notebook["cells"] = with_ids([_notebook_cell(step, course, own) for step in revision.steps])
    notebook.update(nbformat=4, nbformat_minor=5)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _notebook_cell(step: Step, course: list[dict[str, Any]], own: list[dict[str, Any]]) -> dict[str, Any]:
    """The learner's cell, with the metadata that the course's has now, or the course's."""
    if step.own is None or not step.keep:
        assert step.course is not None  # a cell comes from one side at least
        return course[step.course]
    mine = own[step.own]
    if step.course is None:
        return mine
    theirs = course[step.course]
    return {**mine, "id": theirs["id"], "metadata": {**mine.get("metadata", {}), **theirs["metadata"]}}


def with_ids(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each cell with an id of its own, as the format asks for; the first of two keeps it."""
    taken = [cell.get("id") for cell in cells]
    for number, cell in enumerate(cells, 1):
        if not cell.get("id") or cell["id"] in taken[: number - 1]:
            free = (f"yours-{i}" for i in count(number))
            taken[number - 1] = next(id for id in free if id not in taken)
    return [{**cell, "id": id} for cell, id in zip(cells, taken)]


def _percent(path: Path, lesson: Lesson, revision: Revision) -> str:
    text = path.read_text(encoding="utf-8-sig")
    own, course = percent.read(text), release.student_cells(lesson)
    refuse_broken(path, lesson, own, studentfile.read(path).cells)
    cells = []
    for step in revision.steps:
        theirs = course[step.course] if step.course is not None else None
        mine = own[step.own] if step.own is not None and step.keep else None
        cells.append(replace(theirs, source=mine.source, kind=mine.kind) if mine and theirs else mine or theirs)
    return percent.header(text) + percent.write([cell for cell in cells if cell is not None])


def refuse_broken(path: Path, lesson: Lesson, cells: list[percent.Cell], found: tuple[StudentCell, ...]) -> None:
    """A string that is never closed swallows the cells behind it."""
    if len(cells) != len(found):
        broken = next(one.number for one, cell in zip(found, cells) if one.source != cell.source)
        raise UserError(f"cell {broken} of {path} is no Python, and hides the next; mend it: tito test {lesson.id}")


def _undo(workspace: Workspace, lesson: Lesson, path: Path) -> list[str]:
    found = given.before(workspace, lesson)
    if found is None:
        raise UserError(f"lesson {lesson.id} has no update to take back; make one with: tito update {lesson.id}")
    name, cells = found
    backup = workspace.private / "backups" / name
    if Path(name).name != name or not backup.is_file():
        gone = f"the backup {workspace.shown(backup)} is gone, so the update stays"
        raise UserError(f"{gone}; go on with: tito test {lesson.id}")
    present = workspace.backup(path)
    write_text(path, backup.read_text(encoding="utf-8"))
    given.remember(workspace, lesson, cells)
    said = f"{lesson.id} {lesson.name} is as it was before the update in {workspace.shown(path)}."
    return [said, f"As it was just now:  {workspace.shown(present)}", LOAD]
