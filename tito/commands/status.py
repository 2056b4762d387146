"""`tito status [--json]`: all lessons and milestones, a line each, and electives apart.

With --json, stdout is one object:

    {"workspace": "/home/ada/my-tinytorch",
     "lessons": [{"id": "02", "name": "activations", "title": "Activations", "state": "ready", "needs": ["01"],
                  "missing": [], "file": "modules/02_activations.ipynb", "opened": true, "passed": 4, "of": 9,
                  "same": true}, ...],
     "milestones": [{"id": "m1", "year": 1958, "title": "Perceptron", "state": "ready", "missing": [], "passed": null}],
     "electives": {"lessons": [...], "milestones": [...]}}

A lesson's state is "done" (exported), "ready" or "locked"; a milestone's is "done" (passed), "ready" or "locked".
`missing` lists the needed lessons that are not exported. `passed` and `of` are the checks of the last test, null when
there was none; `same` is whether the file is still as it was then.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from tito.commands.common import enter, last_result, print_json
from tito.course import Course, Lesson, Milestone
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Print the table."""
    workspace = enter()
    rows = _rows(course, workspace, course.lessons, course.milestones)
    electives = _rows(course, workspace, course.electives, course.elective_milestones)
    if args.json:
        print_json({"workspace": str(workspace.root), **rows, "electives": electives})
        return 0
    print(workspace.root.name)
    _print(rows)
    _print_electives(electives)
    return 0


def list_milestones(course: Course, workspace: Workspace, as_json: bool) -> int:
    """Print the milestones' part of the table, and how to run one."""
    rows = _rows(course, workspace, (), course.milestones)
    electives = _rows(course, workspace, (), course.elective_milestones)
    if as_json:
        print_json({"milestones": rows["milestones"], "electives": {"milestones": electives["milestones"]}})
        return 0
    _print(rows)
    _print_electives(electives)
    print("Run one:  tito milestone ID")
    return 0


def lessons_in_short(course: Course, workspace: Workspace) -> str:
    """`01 done, 02 4 of 9, 03 locked ...`, with the electives that were opened."""
    opened = [lesson for lesson in course.electives if workspace.file_of(lesson).exists()]
    rows = [_lesson(course, workspace, lesson) for lesson in (*course.lessons, *opened)]
    return ", ".join(f"{row['id']} {row['state'] if row['state'] != 'ready' else _about(row)}" for row in rows)


def _rows(
    course: Course, workspace: Workspace, lessons: Sequence[Lesson], milestones: Sequence[Milestone]
) -> dict[str, list[dict[str, Any]]]:
    return {
        "lessons": [_lesson(course, workspace, lesson) for lesson in lessons],
        "milestones": [_milestone(course, workspace, milestone) for milestone in milestones],
    }


def _print(rows: dict[str, list[dict[str, Any]]]) -> None:
    for each in rows["lessons"]:
        print(f"  {each['id'] + ' ' + each['name']:<25}{each['state']:<8}{_about(each)}".rstrip())
    for each in rows["milestones"]:
        named = f"{each['id']} {each['title']}"
        print(f"  {named:<20}{each['year']} {each['state']:<8}{_about(each)}".rstrip())


def _print_electives(rows: dict[str, list[dict[str, Any]]]) -> None:
    if any(rows.values()):
        print("Electives, if you like; nothing waits for them:")
        _print(rows)


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
