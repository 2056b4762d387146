"""`tito test [NN] [--all] [--keep-going] [--json]`: checks the learner's answers and changes none of their files.

With --json, stdout is one object:

    {"lessons": [{"id": "01", "name": "tensor", "file": "modules/01_tensor.ipynb", "ok": false, "passed": 1, "of": 6,
                  "seconds": 0.31, "notes": ["..."],
                  "checks": [{"check": "add", "exercise": "add", "status": "FAIL", "cell": 9, "file": "<cell 9>",
                              "line": 3, "yours": "return a - b", "expression": "...", "want": "...", "got": "...",
                              "says": null, "error": ["TypeError", "..."], "waits_for": null, "output": ""}, ...]}]}

A status is "ok", "FAIL", "todo", "waits" or "not run"; what does not apply is null.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator

from tito import report
from tito.commands.checking import check_lesson
from tito.commands.common import chosen, enter, print_json
from tito.course import Course, Lesson
from tito.report import Result
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Test one lesson, or all; 0 when every check is ok."""
    workspace = enter()
    lessons = course.lessons if args.all else (chosen(args.lesson, course, workspace),)
    results = []
    for result in _tested(course, workspace, lessons, args):
        results.append(result)
        if not args.json:
            print(_summary(result) if args.all else _report(workspace, course.lesson(result.id), result), flush=True)
    if args.json:
        print_json(report.as_json(results))
    return 0 if len(results) == len(lessons) and all(result.ok for result in results) else 1


def _tested(course: Course, workspace: Workspace, lessons: tuple[Lesson, ...], args: Namespace) -> Iterator[Result]:
    """Each lesson's result; with --all up to the first that fails or has no file yet."""
    for lesson in lessons:
        if args.all and not workspace.file_of(lesson).exists():
            print(f"{lesson.id} {lesson.name} is not opened yet; go on with: tito open {lesson.id}", file=sys.stderr)
            return
        result, _ = check_lesson(course, workspace, lesson, keep_going=args.keep_going)
        yield result
        if not result.ok and not args.keep_going:
            return


def _report(workspace: Workspace, lesson: Lesson, result: Result) -> str:
    text = report.text(result, report.wants_colour(sys.stdout))
    return f"{text}\n{_last_line(workspace, lesson, result)}"


def _summary(result: Result) -> str:
    """One line for a lesson that passed, the whole report for another."""
    if result.ok:
        return f"{result.id} {result.name:<12}{report.count(result)} in {result.seconds:.1f} s"
    return f"{report.text(result, report.wants_colour(sys.stdout))}\n\n{report.count(result)}.  Stuck?  tito hint"


def _last_line(workspace: Workspace, lesson: Lesson, result: Result) -> str:
    if not result.ok:
        return f"\n{report.count(result)}.  Stuck?  tito hint"
    time = f"{report.count(result)} in {result.seconds:.1f} s."
    return f"{time}  Next:  tito export {lesson.id}"
