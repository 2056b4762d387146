"""`tito hint [NN] [EXERCISE]`: the next of an exercise's three hints."""

from __future__ import annotations

import textwrap
from argparse import Namespace

from tito.commands.common import chosen, enter, last_result
from tito.course import Course, Lesson, _read_toml
from tito.errors import NOT_YET, UserError
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Print one hint, and remember that it was given."""
    workspace = enter()
    lesson, exercise = _asked(args.words, course, workspace)
    hints = _hints(lesson, exercise)
    key = f"{lesson.id} {exercise}"
    given = min((workspace.recall("hints", key, int) or 0) + 1, len(hints))
    workspace.remember("hints", key, given)
    print(f"{lesson.id} {lesson.name}, {exercise}: hint {given} of {len(hints)}\n")
    print(textwrap.fill(hints[given - 1], 78, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
    last = f"That is the last one.  Try it:  tito test {lesson.id}"
    print(f"\n{last if given == len(hints) else f'More:  tito hint {lesson.id} {exercise}'}")
    return 0


def _asked(words: list[str], course: Course, workspace: Workspace) -> tuple[Lesson, str]:
    """The lesson and exercise that the words name; what they leave open is what the learner is at."""
    if len(words) > 2:
        raise UserError("too many words; name a lesson, an exercise or both, as in: tito hint 01 create")
    if len(words) == 2:
        lesson, exercise = course.lesson(words[0]), words[1]
    elif words and not _is_lesson(words[0], course):
        lesson, exercise = _lesson_of(words[0], course, workspace), words[0]
    else:
        lesson = chosen(words[0] if words else None, course, workspace)
        exercise = _first_open(course, workspace, lesson)
    if exercise not in exercises(lesson):
        raise _why_none(lesson, exercise)
    return lesson, exercise


def _is_lesson(word: str, course: Course) -> bool:
    """Whether a word alone means a lesson: a number, or an elective's id, and no exercise."""
    return word.isdecimal() or any(word.lower() == lesson.id for lesson in course.electives)


def _lesson_of(exercise: str, course: Course, workspace: Workspace) -> Lesson:
    """The lesson that has the exercise: the current one first, then those that are exported, then opened electives."""
    done = [lesson for lesson in course.lessons if workspace.exported(lesson)]
    ahead = [lesson for lesson in course.lessons if lesson not in done]
    beside = [lesson for lesson in course.electives if workspace.file_of(lesson).exists()]
    lessons = [*ahead[:1], *reversed(done), *beside]
    return next((lesson for lesson in lessons if exercise in exercises(lesson)), lessons[0])


def exercises(lesson: Lesson) -> list[str]:
    """The names of a lesson's exercises."""
    return [cell.name for cell in lesson.cells() if cell.role == "exercise"]


def _first_open(course: Course, workspace: Workspace, lesson: Lesson) -> str:
    """The first exercise that is not ok, by the last test if the file is still the same, else by a new one."""
    workspace.opened(lesson)
    last = last_result(workspace, lesson)
    if not last or not last["same"]:
        from tito.commands.checking import check_lesson

        check_lesson(course, workspace, lesson)
        last = last_result(workspace, lesson)
    if not last["next"]:
        raise UserError(f"all checks of lesson {lesson.id} are ok; go on with: tito export {lesson.id}", NOT_YET)
    return str(last["next"])


def _why_none(lesson: Lesson, name: str) -> UserError:
    """Why there is no hint for what is no exercise of the lesson."""
    if any(name in (cell.name, cell.id) for cell in lesson.cells()):
        way_out = f"put the original back with: tito reset {lesson.id} {name}"
        return UserError(f"{name} was given complete and fails since it was changed; {way_out}", NOT_YET)
    names = exercises(lesson)
    way_out = f"try: tito hint {lesson.id} {names[0]}"
    return UserError(f"lesson {lesson.id} has no exercise {name!r} but {', '.join(names)}; {way_out}")


def _hints(lesson: Lesson, exercise: str) -> list[str]:
    path = lesson.folder / "hints.toml"
    hints = _read_toml(path).get(exercise, []) if path.is_file() else []
    if not hints:
        raise UserError(f"{exercise} has no hints; read what its check says: tito test {lesson.id}", NOT_YET)
    return list(hints)
