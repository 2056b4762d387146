"""`tito test [NN] [--all] [--keep-going] [--json]`: checks the learner's answers and changes none of their files.

With --json, stdout is one object:

    {"lessons": [{"id": "01", "name": "tensor", "file": "modules/01_tensor.ipynb", "ok": false, "passed": 1, "of": 6,
                  "seconds": 0.31, "notes": ["..."],
                  "checks": [{"check": "add", "exercise": "add", "status": "FAIL", "cell": 9, "file": "<cell 9>",
                              "line": 3, "yours": "return a - b", "inside": "modules/01_tensor.ipynb, cell 31, line 6",
                              "expression": "...", "want": "...", "got": "...", "says": null,
                              "looks_like": "subtracts instead of adds", "more": "https://...",
                              "error": ["TypeError", "..."], "waits_for": null, "output": ""}, ...]}]}

A status is "ok", "FAIL", "todo", "waits" or "not run"; what does not apply is null. `inside` is the line of an exported
lesson that raised the error, and `more` the page that explains the failure.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator

from tito import report
from tito.commands.checking import check_lesson, failed
from tito.commands.common import chosen, enter, every, print_json
from tito.course import Course, Lesson
from tito.report import Result
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Test one lesson, or all; 0 when every check is ok."""
    workspace = enter()
    lessons = every(course, args.lesson) if args.all else (chosen(args.lesson, course, workspace),)
    results = []
    for result in _tested(course, workspace, lessons, args):
        results.append(result)
        if not args.json:
            print(_report(course, workspace, result, short=args.all), flush=True)
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


def _report(course: Course, workspace: Workspace, result: Result, short: bool) -> str:
    """A passed lesson in one line when it is one of many; else the whole report and what to do next."""
    if not result.ok:
        return failed(course, workspace, result)
    time = f"{report.count(result)} in {result.seconds:.1f} s"
    if short:
        return f"{result.id} {result.name:<12}{time}"
    return f"{report.text(result, report.wants_colour(sys.stdout))}\n{time}.  Next:  tito export {result.id}"
