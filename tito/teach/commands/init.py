"""`tito teach init COURSE`: a course folder in which nbgrader's own commands work."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from shlex import quote

from tito.course import Course
from tito.errors import UserError
from tito.teach.edition import require_solutions

HELP = "make a course folder, in which plain nbgrader works too"


def arguments(parser: ArgumentParser) -> None:
    """The folder, and where the exchange is."""
    parser.add_argument("folder", metavar="COURSE")
    parser.add_argument("--id", help="the course's name for nbgrader; else the folder's")
    parser.add_argument("--exchange", metavar="DIR", help="nbgrader's exchange, if students reach a common folder")


def run(args: Namespace, course: Course) -> int:
    """Make the folder and say what comes next."""
    require_solutions(course, "tito teach init")
    from tito.teach.assignments import course_folder
    from tito.teach.folder import Folder

    root = Path(args.folder)
    name = args.id or root.resolve().name
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise UserError(f"a course's name is of letters, digits, _, . and -, not {name!r}; try: {_renamed(args, name)}")
    exchange = str(Path(args.exchange).resolve()) if args.exchange else None
    course_folder.make(Folder(root), course, name, exchange)
    lessons, milestones = len(course.lessons), len(course.milestones)
    print(f"Made {args.folder}: course.toml, roster.csv; in source/ {lessons} lessons, {milestones} milestones.")
    if course.electives:
        named = f"tito teach release {course.electives[0].id}"
        print(f"Electives ({', '.join(each.name for each in course.electives)}) come when named:  {named}")
    print("nbgrader's own commands and formgrader work there as well.")
    print(f"Next:  cd {quote(args.folder)} && tito teach import-roster STUDENTS.csv")
    print(f"Then:  tito teach release {course.lessons[0].id}")
    return 0


def _renamed(args: Namespace, name: str) -> str:
    better = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or "my-course"
    return f"tito teach init {quote(args.folder)} --id {better}"
