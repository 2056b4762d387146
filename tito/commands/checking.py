"""Tests one lesson of a workspace: reads the learner's file, builds the package that it needs, runs both."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tito import diagnosis, links, package, report, student, testing
from tito.commands.common import digest_of, require
from tito.commands.lessons import fold_input, job_of, stored_input
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.fold import FoldError
from tito.report import Result
from tito.student import Plan
from tito.testing import Outcome
from tito.workspace import Workspace

Run = Callable[..., list[Outcome]]  # testing.run, or another that keeps a process ready


def check_lesson(
    course: Course, workspace: Workspace, lesson: Lesson, *, keep_going: bool = False, run: Run = testing.run
) -> tuple[Result, Plan]:
    """Run the lesson's own cells on the package of the lessons that it needs."""
    require(workspace, course.needs_of(lesson), f"lesson {lesson.id} {lesson.name}")
    path = workspace.opened(lesson)
    plan, digest = student.plan(lesson, student.read(path)), digest_of(path)
    folder = package_for(course, workspace, lesson)
    began = time.perf_counter()
    outcomes = [explained(course, lesson, one) for one in run([job_of(plan)], folder, keep_going=keep_going)]
    seconds = time.perf_counter() - began
    result = Result(lesson.id, lesson.name, workspace.shown(path), outcomes, plan.notes, seconds)
    _remember(workspace, result, digest)
    return result, plan


def package_for(course: Course, workspace: Workspace, lesson: Lesson) -> Path:
    """The build that a lesson is tested on: the stored exports of what it needs, and its own supplied modules."""
    own = fold_input(workspace, lesson, ())  # none of its earlier export
    build = [*(stored_input(workspace, need) for need in course.needs_of(lesson)), own]
    try:
        return package.cached(workspace.private / "cache", build)
    except FoldError as error:  # they were whole once, so the course is another now, or .tito was touched
        lesson = course.lesson(error.lesson)
        raise UserError(f"as exported, {error.message}; export that lesson anew: tito export {lesson.id}") from None


def failed(course: Course, workspace: Workspace, result: Result, more: str = "") -> str:
    """The report on a lesson that is not ok, and where help is."""
    current = next((lesson.id for lesson in course.lessons if not workspace.exported(lesson)), None)
    hint = "tito hint" if result.id == current else f"tito hint {result.id}"
    text = report.text(result, report.wants_colour(sys.stdout))
    return f"{text}\n\n{report.count(result)}.{more}  Stuck?  {hint}"


def explained(course: Course, lesson: Lesson, outcome: Outcome) -> Outcome:
    """A failure with the known mistake that it looks like, and the link to what the site says of it."""
    if outcome.status != "FAIL":
        return outcome
    if outcome.seen:
        outcome = replace(outcome, looks_like=diagnosis.looks_like(lesson, outcome.exercise, outcome.seen))
    return replace(outcome, more=links.address(course, lesson, outcome))


def _remember(workspace: Workspace, result: Result, digest: str) -> None:
    found = {"passed": result.passed, "of": result.checks, "next": _first_open(result), "digest": digest}
    workspace.remember("tests", result.id, found)


def _first_open(result: Result) -> str:
    """The exercise to work at: the first that fails or is to do, else what is waited for; "" when all are ok."""
    ranks = {"FAIL": 0, "todo": 0, "waits": 1, "not run": 1}
    left = sorted((outcome for outcome in result.outcomes if outcome.status != "ok"), key=lambda one: ranks[one.status])
    return left[0].waits_for or left[0].exercise or left[0].check if left else ""
