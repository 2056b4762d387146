"""`tito unlock FILE`: takes a lesson's reference that the instructor gave, so that the next lesson can be opened.

The package and its provenance say of these files that they were given; an own export takes their place again.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tito import granted, package, percent
from tito.commands.common import enter, require
from tito.commands.lessons import fold_input, stored_input
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.fold import FoldError
from tito.percent import Cell
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Build the package with the reference in it."""
    workspace = enter()
    lesson, text, date = _read(Path(args.file), course)
    require(workspace, course.needs_of(lesson), f"lesson {lesson.id} {lesson.name}")
    if workspace.exported(lesson) and granted.date_of(_stored(workspace, lesson)) is None:
        raise UserError(f"you have exported {lesson.id} {lesson.name} yourself and need no reference; go on with: tito")
    with workspace.locked():
        package.recover(workspace)
        _put(course, workspace, lesson, text)
    print(f"{lesson.id} {lesson.name}: reference, given on {date}.  Wrote tinytorch/{lesson.name}.py.")
    print(f"Your own takes its place when you have it:  tito export {lesson.id}")
    after = next((each.id for each in course.lessons if not workspace.exported(each)), None)
    print(f"Next:  tito open {after}" if after else "Next:  tito milestone")
    return 0


def _read(path: Path, course: Course) -> tuple[Lesson, str, str]:
    """The lesson that a file is the reference of, its text, the day on which it was given."""
    stem = path.name.removesuffix(".given.py")
    lesson = next((each for each in course.everything if each.stem == stem), None)
    if lesson is None:
        raise UserError(f"{path} is no lesson's reference, such as 01_tensor.given.py; see yours with: ls *.given.py")
    try:
        text = path.read_text(encoding="utf-8")
        date = granted.date_of(percent.read(text))
    except UnicodeDecodeError:
        date = None
    if date is None:
        raise UserError(f"{path} is damaged; ask your instructor for it once more, then repeat: tito unlock {path}")
    return lesson, text, date


def _stored(workspace: Workspace, lesson: Lesson) -> list[Cell]:
    return percent.read(workspace.snapshot(lesson).read_text(encoding="utf-8"))


def _put(course: Course, workspace: Workspace, lesson: Lesson, text: str) -> None:
    inputs = [
        fold_input(workspace, each, percent.read(text)) if each == lesson else stored_input(workspace, each)
        for each in course.everything
        if each == lesson or workspace.exported(each)
    ]
    with package.staging(workspace) as folder:
        try:
            package.build(folder, inputs)
        except FoldError as error:
            raise UserError(f"with the reference, {error.message}; update tito, then repeat: tito unlock") from None
        package.commit(workspace, folder, {workspace.snapshot(lesson).name: text})
