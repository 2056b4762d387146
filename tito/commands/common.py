"""What several commands need: the workspace they work in, and which lesson they are about."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tito.course import Course, Lesson
from tito.errors import NOT_YET, UserError
from tito.transaction import JOURNAL
from tito.workspace import Workspace


def enter() -> Workspace:
    """The workspace of the current folder, after finishing an exchange of packages that was interrupted."""
    workspace = Workspace.find()
    if (workspace.private / JOURNAL).exists():
        from tito import package

        with workspace.locked():
            package.recover(workspace)
    return workspace


def current(course: Course, workspace: Workspace) -> Lesson:
    """The lesson that the learner is at: the first that is not exported; an elective has to be named."""
    for lesson in course.lessons:
        if not workspace.exported(lesson):
            return lesson
    last = course.lessons[-1].id
    raise UserError(f"all lessons are exported; name one, as in: tito test {last}", NOT_YET)


def chosen(key: str | None, course: Course, workspace: Workspace) -> Lesson:
    """The lesson that was named, else the current one."""
    return course.lesson(key) if key else current(course, workspace)


def every(course: Course, named: str | None) -> tuple[Lesson, ...]:
    """What --all means: the course's lessons, and an elective where it is named beside it."""
    lesson = course.lesson(named) if named else None
    return (*course.lessons, lesson) if lesson and lesson.elective else course.lessons


def require(workspace: Workspace, lessons: tuple[Lesson, ...], what: str) -> None:
    """Raise UserError (not yet) unless these lessons are exported."""
    missing = [lesson for lesson in lessons if not workspace.exported(lesson)]
    if missing:
        names = ", ".join(f"{lesson.id} {lesson.name}" for lesson in missing)
        them = "which is" if len(missing) == 1 else "which are"
        step = next_step(workspace, missing[0])
        raise UserError(f"{what} needs {names}, {them} not exported yet; go on with: {step}", NOT_YET)


def next_step(workspace: Workspace, lesson: Lesson) -> str:
    """The command that brings a lesson forward."""
    return f"tito {'test' if workspace.file_of(lesson).exists() else 'open'} {lesson.id}"


def last_result(workspace: Workspace, lesson: Lesson) -> dict[str, Any]:
    """What the last test found: passed, of, next, and whether the file is the same; {} when never tested."""
    found: dict[str, Any] = workspace.recall("tests", lesson.id, dict) or {}
    path = workspace.file_of(lesson)
    return {**found, "same": path.exists() and digest_of(path) == found.get("digest")} if found else {}


def digest_of(path: Path) -> str:
    """A fingerprint of the file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def print_json(table: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    print(json.dumps(table, indent=1))
