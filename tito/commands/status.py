"""`tito status [--json]`: all lessons and milestones, a line each.

With --json, stdout is one object:

    {"workspace": "/home/ada/my-tinytorch",
     "lessons": [{"id": "02", "name": "activations", "title": "Activations", "state": "ready", "needs": ["01"],
                  "missing": [], "file": "modules/02_activations.ipynb", "opened": true, "passed": 4, "of": 9,
                  "same": true}, ...],
     "milestones": [{"id": "m1", "year": 1958, "title": "Perceptron", "state": "ready", "missing": [], "passed": null}]}

A lesson's state is "done" (exported), "ready" or "locked"; a milestone's is "done" (passed), "ready" or "locked".
`missing` lists the needed lessons that are not exported. `passed` and `of` are the checks of the last test, null when
there was none; `same` is whether the file is still as it was then.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from tito.commands.common import enter, last_result, print_json
from tito.course import Course, Lesson, Milestone
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Print the table."""
    workspace = enter()
    lessons = [_lesson(course, workspace, lesson) for lesson in course.lessons]
    milestones = [_milestone(course, workspace, milestone) for milestone in course.milestones]
    if args.json:
        print_json({"workspace": str(workspace.root), "lessons": lessons, "milestones": milestones})
        return 0
    print(workspace.root.name)
    for lesson in lessons:
        print(f"  {lesson['id']} {lesson['name']:<22}{lesson['state']:<8}{_about(lesson)}".rstrip())
    _print_milestones(milestones)
    return 0


def list_milestones(course: Course, workspace: Workspace, as_json: bool) -> int:
    """Print the milestones' part of the table, and how to run one."""
    milestones = [_milestone(course, workspace, milestone) for milestone in course.milestones]
    if as_json:
        print_json({"milestones": milestones})
        return 0
    _print_milestones(milestones)
    print("Run one:  tito milestone ID")
    return 0


def lessons_in_short(course: Course, workspace: Workspace) -> str:
    """`01 done, 02 4 of 9, 03 locked ...`"""
    rows = [_lesson(course, workspace, lesson) for lesson in course.lessons]
    return ", ".join(f"{row['id']} {row['state'] if row['state'] != 'ready' else _about(row)}" for row in rows)


def _print_milestones(milestones: list[dict[str, Any]]) -> None:
    for each in milestones:
        print(f"  {each['id']} {each['title']:<17}{each['year']} {each['state']:<8}{_about(each)}".rstrip())


def _lesson(course: Course, workspace: Workspace, lesson: Lesson) -> dict[str, Any]:
    path, last = workspace.file_of(lesson), last_result(workspace, lesson)
    missing = _missing(course, workspace, lesson)
    state = "done" if workspace.exported(lesson) else "locked" if missing else "ready"
    about = {"id": lesson.id, "name": lesson.name, "title": lesson.title, "state": state, "needs": list(lesson.needs)}
    where = {"missing": missing, "file": workspace.shown(path), "opened": path.exists()}
    return {**about, **where, "passed": last.get("passed"), "of": last.get("of"), "same": last.get("same")}


def _milestone(course: Course, workspace: Workspace, milestone: Milestone) -> dict[str, Any]:
    passed = workspace.recall("milestones", milestone.id, bool)
    missing = _missing(course, workspace, milestone)
    state = "locked" if missing else "done" if passed else "ready"
    about = {"id": milestone.id, "year": milestone.year, "title": milestone.title}
    return {**about, "state": state, "missing": missing, "passed": passed}


def _missing(course: Course, workspace: Workspace, item: Lesson | Milestone) -> list[str]:
    return [lesson.id for lesson in course.needs_of(item) if not workspace.exported(lesson)]


def _about(item: dict[str, Any]) -> str:
    if item["state"] == "locked":
        return f"needs {', '.join(item['missing'])}"
    if "of" not in item:
        return {None: "not run yet", True: "", False: "missed its pass line"}[item["passed"]]
    if item["of"] is None:
        return "" if item["state"] == "done" else "not tested yet" if item["opened"] else "not opened"
    return f"{item['passed']} of {item['of']}{'' if item['same'] else ', changed since'}"
