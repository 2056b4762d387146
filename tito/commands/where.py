"""Bare `tito`: where the learner is, and the one next thing to type."""

from __future__ import annotations

from argparse import Namespace

from tito import report
from tito.commands.common import enter, last_result, next_step
from tito.course import Course, Lesson, Milestone
from tito.errors import UserError
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Print where and what next."""
    try:
        Workspace.find()
    except UserError:
        print("You are in no workspace.\nNext:  tito init my-tinytorch")
        return 0
    workspace = enter()
    done = [lesson for lesson in course.lessons if workspace.exported(lesson)]
    print(f"{workspace.root.name}: {len(done)} of {len(course.lessons)} lessons exported.")
    for line in [*_next(course, workspace), *_offers(course, workspace)]:
        print(line)
    return 0


def _offers(course: Course, workspace: Workspace) -> list[str]:
    """A line for each elective that could be taken now and is not done: an offer, never the one next thing."""
    lessons = [each for each in course.electives if not workspace.exported(each) and _open(course, workspace, each)]
    milestones = [each for each in course.elective_milestones if _waits(course, workspace, each)]
    offers = [f"{next_step(workspace, each)}  ({each.title}, an elective)" for each in lessons]
    offers += [f"tito milestone {each.id}  ({each.title} {each.year}, an elective)" for each in milestones]
    return [report.cut(f"Or:    {offer}") for offer in offers]


def _next(course: Course, workspace: Workspace) -> list[str]:
    """What lies ahead, and the command for it."""
    milestone = next((each for each in course.milestones if _waits(course, workspace, each)), None)
    if milestone:
        about = f"{milestone.title} ({milestone.year}) can run on your package."
        return [about, f"Next:  tito milestone {milestone.id}"]
    lesson = next((each for each in course.lessons if not workspace.exported(each)), None)
    if lesson is None:
        return ["All of it is yours.", "Next:  tito status"]
    return _next_in(workspace, lesson)


def _waits(course: Course, workspace: Workspace, milestone: Milestone) -> bool:
    """Whether the milestone could run and never did."""
    ran = workspace.recall("milestones", milestone.id, bool) is not None
    return not ran and _open(course, workspace, milestone)


def _open(course: Course, workspace: Workspace, item: Lesson | Milestone) -> bool:
    """Whether all that it needs is exported."""
    return all(workspace.exported(lesson) for lesson in course.needs_of(item))


def _next_in(workspace: Workspace, lesson: Lesson) -> list[str]:
    head = f"{lesson.id} {lesson.title}"
    if not workspace.file_of(lesson).exists():
        return [f"{head} is next, about {lesson.minutes} minutes.", f"Next:  tito open {lesson.id}"]
    last = last_result(workspace, lesson)
    if not last:
        return [f"{head} is open, not tested yet.", f"Next:  tito test {lesson.id}"]
    since = "" if last["same"] else ", changed since"
    told = f"{head}: {last['passed']} of {last['of']} checks ok at the last test{since}."
    if not last["same"]:
        return [told, f"Next:  tito test {lesson.id}"]
    return [told, f"Next:  tito {'hint' if last['next'] else 'export ' + lesson.id}"]
