"""`tito reset NN [EXERCISE]`: the first state of a lesson or of one exercise; the learner's file is kept."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from pathlib import Path

from tito import given, release, studentfile
from tito.commands.common import enter
from tito.commands.open import first_state
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.studentfile import StudentCell
from tito.workspace import write_text


def run(args: Namespace, course: Course) -> int:
    """Back the file up, then write it anew or in part."""
    workspace, lesson = enter(), course.lesson(args.lesson)
    path = workspace.opened(lesson)
    text = _with_stub(path, lesson, args.exercise) if args.exercise else first_state(lesson, path)
    with workspace.locked():
        backup = workspace.backup(path)
        write_text(path, text)
        if not args.exercise:
            given.remember(workspace, lesson, given.of(lesson))
    what = f", {args.exercise}" if args.exercise else ""
    print(f"{lesson.id} {lesson.name}{what} is as it was at first in {workspace.shown(path)}.")
    print(f"Yours is kept:  {workspace.shown(backup)}")
    print("Where the file is open, load it anew before you save it.")
    return 0


def _with_stub(path: Path, lesson: Lesson, exercise: str) -> str:
    """The file's text with the first state of one exercise, or of another cell of the lesson, in its cell."""
    cells = [cell for cell in release.student_cells(lesson) if cell.exported]
    stubs = {cell.name or cell.id: cell for cell in cells}
    if exercise not in stubs:
        names = [cell.name for cell in cells if cell.role == "exercise"]
        way_out = f"try: tito reset {lesson.id} {names[0]}"
        raise UserError(f"lesson {lesson.id} has no exercise {exercise!r} but {', '.join(names)}; {way_out}")
    stub = stubs[exercise]
    found = [cell for cell in studentfile.read(path).cells if cell.id == stub.id]
    if not found:
        raise UserError(f"{path} has no cell for {exercise}; put the whole lesson back with: tito reset {lesson.id}")
    replace = _in_notebook if path.suffix == ".ipynb" else _in_text
    return replace(path.read_text(encoding="utf-8-sig"), found[0], stub.source)


def _in_notebook(text: str, cell: StudentCell, source: str) -> str:
    notebook = json.loads(text)
    notebook["cells"][cell.number - 1].update(cell_type="code", source=source.splitlines(keepends=True))
    notebook["cells"][cell.number - 1].update(outputs=[], execution_count=None)
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _in_text(text: str, cell: StudentCell, source: str) -> str:
    lines = re.split("\r\n|\r|\n", text)
    first, height = cell.line - 1, len(cell.source.split("\n"))
    return "\n".join([*lines[:first], *source.split("\n"), *lines[first + height :]])
