"""`tito hint [EXERCISE]`: the next of an exercise's three hints."""

from __future__ import annotations

import textwrap
from argparse import Namespace

from tito.commands.checking import check_lesson, last_result
from tito.commands.common import current, enter
from tito.course import Course, Lesson, _read_toml
from tito.errors import NOT_YET, UserError
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Print one hint, and remember that it was given."""
    workspace = enter()
    lesson = _lesson_of(args.exercise, course, workspace)
    exercise = args.exercise or _first_open(course, workspace, lesson)
    hints = _hints(lesson, exercise)
    key = f"{lesson.id} {exercise}"
    given = min(workspace.remembered().get("hints", {}).get(key, 0) + 1, len(hints))
    workspace.remember("hints", key, given)
    print(f"{lesson.id} {lesson.name}, {exercise}: hint {given} of {len(hints)}\n")
    print(textwrap.fill(hints[given - 1], 78, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
    last = f"That is the last one.  Try it:  tito test {lesson.id}"
    print(f"\n{last if given == len(hints) else f'More:  tito hint {exercise}'}")
    return 0


def _lesson_of(exercise: str | None, course: Course, workspace: Workspace) -> Lesson:
    """The current lesson, or the one that has the exercise: the current first, then those that are exported."""
    if exercise is None:
        return current(course, workspace)
    done = [lesson for lesson in course.lessons if workspace.exported(lesson)]
    ahead = [lesson for lesson in course.lessons if lesson not in done]
    for lesson in [*ahead[:1], *reversed(done)]:
        if exercise in exercises(lesson):
            return lesson
    here = ", ".join(exercises((ahead or list(course.lessons))[0]))
    raise UserError(f"there is no exercise {exercise!r} so far; here are {here}: tito hint EXERCISE")


def exercises(lesson: Lesson) -> list[str]:
    """The names of a lesson's exercises."""
    return [cell.name for cell in lesson.cells() if cell.role == "exercise"]


def _first_open(course: Course, workspace: Workspace, lesson: Lesson) -> str:
    """The first exercise that is not ok, by the last test if the file is still the same, else by a new one."""
    workspace.opened(lesson)
    last = last_result(workspace, lesson)
    if not last or not last["same"]:
        check_lesson(course, workspace, lesson)
        last = last_result(workspace, lesson)
    if not last["next"]:
        raise UserError(f"all checks of lesson {lesson.id} are ok; go on with: tito export {lesson.id}", NOT_YET)
    return str(last["next"])


def _hints(lesson: Lesson, exercise: str) -> list[str]:
    path = lesson.folder / "hints.toml"
    hints = _read_toml(path).get(exercise, []) if path.is_file() else []
    if not hints:
        raise UserError(f"{exercise} has no hints; read what its check says: tito test {lesson.id}", NOT_YET)
    return list(hints)
