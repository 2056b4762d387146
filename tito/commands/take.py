"""`tito open [NN] --from FILE`: carries on with what was written in a notebook of the site, or in another copy.

FILE comes from elsewhere: it is read whole and checked before anything here is changed, of its cells only text comes
over, and it is never changed itself. tito/carry.py decides what comes; here the files are read and written.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tito import given, granted, percent, release, report, studentfile
from tito.carry import Carried, Step, carry
from tito.commands.common import enter, require
from tito.commands.open import can_launch, first_state, launch, make_file
from tito.commands.update import LOAD, refuse_broken, with_ids
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.percent import NAMED_ROLES, Cell
from tito.revise import COURSES
from tito.studentfile import StudentCell
from tito.teach.intake import capped
from tito.teach.intake.refusal import Refused, shown
from tito.workspace import Workspace, write_text

LARGEST_TEXT = 10**6  # bytes of a percent file; a whole lesson has a twentieth
KINDS = ("code", "markdown", "raw")
FREE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def run(args: Namespace, course: Course) -> int:
    """Take what is written in FILE, say what came, and open the lesson where that is possible."""
    workspace, source = enter(), Path(args.source)
    asked = course.lesson(args.lesson) if args.lesson else None
    again = shlex.join(["tito", "open", *([asked.id] if asked else []), "--from", args.source])
    copy = read(source, again)
    lesson = lesson_of(course, copy, asked, source)
    require(workspace, course.needs_of(lesson), f"lesson {lesson.id} {lesson.name}")
    with workspace.locked():
        for line in _take(course, workspace, lesson, copy, source):
            print(line)
    path = workspace.file_of(lesson)
    if can_launch(args, path):
        return launch(workspace, path)
    print(f"Next:  tito test {lesson.id}")
    return 0


def read(path: Path, again: str) -> tuple[StudentCell, ...]:
    """The cells of a notebook or percent file from elsewhere. `again` is the command that its errors end with."""
    if not path.is_file():
        raise UserError(f"there is no file {path}; look where the browser put it, then repeat: {again}")
    with path.open("rb") as file:
        data = file.read(capped.LARGEST + 1)
    notebook = path.suffix.lower() == ".ipynb" or data.removeprefix(capped.BOM).lstrip()[:1] == b"{"
    try:
        cells = capped.cells(data) if notebook else _percent_cells(path, data)
        for cell in cells:
            if cell.kind not in KINDS:
                raise Refused(f"has in cell {cell.number} a {cell.kind[:20]!r}, which is no kind of cell")
    except Refused as error:
        way_out = "" if ";" in error.reason else "; take a whole copy"
        raise UserError(f"{path} {error.reason}{way_out}, then repeat: {again}") from None
    return cells


def _percent_cells(path: Path, data: bytes) -> tuple[StudentCell, ...]:
    """The cells of a percent file; Refused with a reason about `it`."""
    if len(data) > LARGEST_TEXT:
        raise Refused(f"has more than {LARGEST_TEXT // 10**6} MB, which no lesson has")
    try:
        text = data.decode("utf-8-sig")
        cells = tuple(islice(studentfile.percent_cells(text), capped.MOST_CELLS + 1))
        date = granted.date_of(percent.read(text))
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 at byte {error.start}") from None
    except UserError as error:
        raise Refused(f"cannot be read, {error.message}") from None
    if date is not None:
        raise UserError(f"{path} is a reference that was given; take it with: tito unlock {shlex.quote(str(path))}")
    if len(cells) > capped.MOST_CELLS:
        raise Refused(f"has over {capped.MOST_CELLS} cells, which no lesson has")
    return cells


def lesson_of(course: Course, copy: Iterable[StudentCell], asked: Lesson | None, path: Path) -> Lesson:
    """The lesson that most of the named cells are of. Raises UserError where it is none, or not the one asked for."""
    ids = {cell.id for cell in copy}
    counts = {lesson: len(ids & _named_ids(lesson)) for lesson in course.everything}
    best = [lesson for lesson, count in counts.items() if count == max(counts.values()) > 0]
    if not best:
        raise UserError(
            f"{path} holds no cell of a lesson; begin one with: tito open {(asked or course.lessons[0]).id}"
        )
    way_out = f"tito open {best[0].id} --from {shlex.quote(str(path))}"
    if asked is not None and asked not in best:
        of, not_of = (f"{each.id} {each.name}" for each in (best[0], asked))
        raise UserError(f"{path} is of lesson {of}, not of {not_of}; take it with: {way_out}")
    if asked is None and len(best) > 1:
        names = " or ".join(f"{lesson.id} {lesson.name}" for lesson in best)
        raise UserError(f"{path} may be of {names}; name one, as in: {way_out}")
    return asked or best[0]


def _named_ids(lesson: Lesson) -> set[str]:
    return {cell.id for cell in lesson.cells() if cell.role in NAMED_ROLES}


def _take(course: Course, workspace: Workspace, lesson: Lesson, copy: Sequence[StudentCell], source: Path) -> list[str]:
    """Write the file with what comes over; what is to be said of it."""
    was_there = workspace.file_of(lesson).exists()
    path = make_file(workspace, lesson)
    own = studentfile.read(path).cells
    others = {cell.id for each in course.everything if each != lesson for cell in each.cells() if cell.written}
    foreign = frozenset(others - _named_ids(lesson))
    carried = carry(release.student_cells(lesson), own, copy, given.recall(workspace, lesson), foreign)
    if not carried.changes:
        return [*_told(workspace, lesson, path, source, carried)]
    text = _notebook(path, lesson, carried) if path.suffix == ".ipynb" else _percent(path, lesson, carried, source)
    untouched = path.read_text(encoding="utf-8-sig") == first_state(lesson, path)
    backup = None if untouched else workspace.backup(path)
    write_text(path, text)
    kept = [f"As it was:  {workspace.shown(backup)}"] if backup else []
    return [*_told(workspace, lesson, path, source, carried), *kept, *([LOAD] if was_there else [])]


def _notebook(path: Path, lesson: Lesson, carried: Carried) -> str:
    notebook = json.loads(path.read_text(encoding="utf-8-sig"))
    own, course = notebook["cells"], release.notebook(lesson)["cells"]
    notebook["cells"] = with_ids([_notebook_cell(step, own, course) for step in carried.steps])
    notebook.update(nbformat=4, nbformat_minor=5)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _notebook_cell(step: Step, own: list[dict[str, Any]], course: list[dict[str, Any]]) -> dict[str, Any]:
    """The cell as it is here, with the text that it gets; of a new one only kind, text and id come from elsewhere."""
    if step.source is None or step.copy is None:
        assert step.own is not None  # only a new cell has no place here
        return own[step.own]
    kind = step.copy.kind
    here = own[step.own] if step.own is not None else course[step.course] if step.course is not None else {}
    kept = {key: value for key, value in here.items() if key not in ("outputs", "execution_count")}
    code: dict[str, Any] = {"outputs": [], "execution_count": None} if kind == "code" else {}
    id = here.get("id") or _free_id(step.copy.id)
    text = {"cell_type": kind, "source": step.source.splitlines(keepends=True)}
    return {"metadata": {}, **kept, **text, **code, "id": id}


def _free_id(id: str) -> str:
    """The id of a cell of the learner's own; "" for one that a notebook may not have, or that only a course gives."""
    return id if FREE_ID.fullmatch(id) and not COURSES.fullmatch(id) else ""


def _percent(path: Path, lesson: Lesson, carried: Carried, source: Path) -> str:
    text = path.read_text(encoding="utf-8-sig")
    own, course = percent.read(text), release.student_cells(lesson)
    refuse_broken(path, lesson, own, studentfile.read(path).cells)
    cells = [_percent_cell(step, own, course) for step in carried.steps]
    text = percent.header(text) + percent.write(cells)
    found = [(cell.kind, cell.source) for cell in percent.read(text)]
    for step, cell, one in zip(carried.steps, cells, [*found, *[("", "")] * len(cells)]):
        if one != (cell.kind, cell.source) and step.copy is not None:
            cause = (
                f"cell {step.copy.number} of {source} has an open string, or a line that begins a cell of a .py file"
            )
            raise UserError(f"{cause}; change it, then repeat: tito open {lesson.id} --from {shlex.quote(str(source))}")
    return text


def _percent_cell(step: Step, own: list[Cell], course: Sequence[Cell]) -> Cell:
    here = own[step.own] if step.own is not None else course[step.course] if step.course is not None else Cell("code")
    if step.source is None or step.copy is None:
        return here
    return replace(here, kind=step.copy.kind, source=step.source.strip("\n"))


def _told(workspace: Workspace, lesson: Lesson, path: Path, source: Path, carried: Carried) -> list[str]:
    """What came, what did not, a label each."""
    here, there = workspace.shown(path), shown(source.name, 40)
    cells = "cell" if carried.added == 1 else "cells"
    named = {
        "taken": ", ".join(carried.taken),
        "added": f"{carried.added} {cells} of your own" if carried.added else "",
        "same": ", ".join(carried.same),
        "kept": f"yours, as nothing is done there: {', '.join(carried.kept)}" if carried.kept else "",
        "to do": ", ".join(carried.open),
        "left": f"in {there}: {', '.join(map(shown, carried.left))}" if carried.left else "",
    }
    said = f"{here} has what you wrote in {there}." if carried.changes else f"nothing in {there} that {here} lacks."
    head = f"{lesson.id} {lesson.name}   {said}"
    return [report.cut(head), *(line for label, text in named.items() for line in _labelled(label, text))]


def _labelled(label: str, text: str) -> list[str]:
    """The text behind its label, in two lines at most."""
    first = f"  {label:<9}"
    lines = textwrap.wrap(text, report.WIDTH, initial_indent=first, subsequent_indent=" " * len(first), max_lines=2)
    return lines if text else []
