"""Makes a course folder in which nbgrader's own commands work, and keeps its source/ as the course is. Begin at `make`.

A notebook in source/ belongs to the instructor once it was changed by hand: tito does not write over it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from tito import release
from tito.course import Course, Lesson, Milestone
from tito.errors import UserError
from tito.teach.assignments import kernel, milestone_assignment, variants
from tito.teach.assignments.variants import Variant
from tito.teach.folder import Folder
from tito.teach.grader import milestone_grading
from tito.workspace import read_json, write_json, write_text

WRITTEN = "source.json"  # hashes of notebooks as tito wrote them
STUDENT = ("id", "first_name", "last_name", "email")
IGNORED = "/gradebook.db*\n/.teach/\n/submitted/\n/autograded/\n/feedback/\n/out/\n"

CONFIG = '''\
"""nbgrader's configuration of this course. What makes it right and safe comes with tito; yours comes below."""

from pathlib import Path

import tito.teach
from tito.teach.assignments import course_folder

c = get_config()
load_subconfig("nbgrader_config.py", path=str(Path(tito.teach.__file__).parent))
course_folder.settle(c, Path(__file__).parent)

c.CourseDirectory.course_id = {course_id!r}
{exchange}
# A large or shared course keeps its gradebook in PostgreSQL:
# c.CourseDirectory.db_url = "postgresql://grader@localhost/gradebook"
'''
NO_EXCHANGE = '# c.Exchange.root = "/srv/nbgrader/exchange"  # a folder that all students reach, mode 777'

SETTINGS = """\
# What this course changes; every line is optional. `tito teach release` reads it anew.

# site = "https://example.org/our-class"  # of the class edition's pages: the class wheel prints links to them
# timezone = "Europe/Berlin"  # late days end at the same time of day, also when clocks change

# [assignment."03_layers"]
# due = 2027-03-12T23:59:00+01:00  # always with an offset
# late = {policy = "per day", percent = 10, cap = 50, grace = 15}  # or "none", "zero"; grace in minutes
# attempt = "last"  # or "best"
# drop = ["Linear bias"]  # checks that no longer count
# question_points = 2  # questions for reflection, graded by hand in formgrader

# A variant changes some of that:  tito teach release 03 --variant short
# [variant.short.assignment."03_layers"]
# exercises = ["Affine", "Linear"]  # the others stand there and earn nothing
# points = {Affine = 6}  # of an exercise, shared among its checks
# due = 2027-03-19T23:59:00+01:00
"""


def make(folder: Folder, course: Course, course_id: str, exchange: str | None = None) -> None:
    """Fill a new or empty folder. Raises UserError when it holds something."""
    if folder.root.exists() and (not folder.root.is_dir() or any(folder.root.iterdir())):
        raise UserError(f"{folder.root} is not empty; give a new folder: tito teach init my-course")
    for place in (folder.root, folder.source, folder.submitted, folder.out):
        place.mkdir(parents=True, exist_ok=True)
    folder.private.mkdir(mode=0o700)
    root = f"c.Exchange.root = {exchange!r}" if exchange else NO_EXCHANGE
    write_text(folder.config, CONFIG.format(course_id=course_id, exchange=root))
    write_text(folder.settings, SETTINGS)
    write_text(folder.root / ".gitignore", IGNORED)
    write_text(folder.root / "header.ipynb", _header(course_id))
    with open(folder.roster, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(STUDENT)
    for name in assignments(course):
        write_source(folder, course, name, variants.load(folder))
    kernel.build(folder, course)
    kernel.register(folder, course)
    assert len(folder.secret) == 32  # made now, before two graders start at once


def settle(config: Any, root: Path) -> None:
    """For nbgrader_config.py: what depends on where the course lies. `config` is the `c` of that file."""
    folder = Folder(root.resolve())
    config.CourseDirectory.root = str(folder.root)
    config.IncludeHeaderFooter.header = str(folder.root / "header.ipynb")
    _first_in("JUPYTER_PATH", str(kernel.jupyter(folder)))
    _first_in("PATH", str(Path(sys.executable).parent))  # nbgrader calls the program alembic, which lies there


def assignments(course: Course) -> tuple[str, ...]:
    """The names of all: `01_tensor`, ..., `m1`, ...; an elective comes into source/ when it is released."""
    return (*(lesson.stem for lesson in course.lessons), *(milestone.id for milestone in course.milestones))


def item(course: Course, key: str) -> Lesson | Milestone:
    """The lesson or milestone of that name, as `03`, `layers`, `03_layers` or `m2`; electives too.

    Raises UserError where there is none, and for a milestone that has no checks for the grader.
    """
    if key.lower() not in (milestone.id for milestone in course.every_milestone):
        return course.lesson(key)
    milestone = course.milestone(key)
    if not milestone_grading.is_graded(milestone.id):
        raise UserError(f"{milestone.id} {milestone.title} is not graded; run it with: tito milestone {milestone.id}")
    return milestone


def name_of(one: Lesson | Milestone) -> str:
    """The assignment's name."""
    return one.stem if isinstance(one, Lesson) else one.id


def source_of(folder: Folder, name: str) -> Path:
    """The notebook from which an assignment is released."""
    return folder.source / name / f"{name}.ipynb"


def write_source(folder: Folder, course: Course, name: str, variant: Variant) -> bool:
    """Write an assignment's notebook and figures, unless it was changed by hand; whether they were written."""
    path = source_of(folder, name)
    written = read_json(folder.private / WRITTEN)
    if path.exists() and written.get(name) != _digest(path):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    one = item(course, name)
    text = _dumped(source_notebook(course, one, variant))
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    for figure in one.figures if isinstance(one, Lesson) else ():
        (path.parent / "figures").mkdir(exist_ok=True)
        shutil.copyfile(figure, path.parent / "figures" / figure.name)
    write_json(folder.private / WRITTEN, {**written, name: _digest(path)})
    return True


def source_notebook(course: Course, one: Lesson | Milestone, variant: Variant) -> dict[str, Any]:
    """The notebook with solutions, as this variant grades it."""
    if isinstance(one, Milestone):
        return milestone_assignment.notebook(course, one)
    return release.notebook(variant.lesson(one), solutions=True)


def _header(course_id: str) -> str:
    text = (
        f"*{course_id}.* Write where a cell says `raise NotImplementedError` or `YOUR ANSWER HERE`. `tito test` runs "
        "the checks that you see; a cell that says only what else is checked has its check with the instructor."
    )
    cell = {"cell_type": "markdown", "id": "header", "metadata": {}, "source": [text]}
    return _dumped({**release.notebook_of([], solutions=True), "cells": [cell]})


def _dumped(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _first_in(variable: str, place: str) -> None:
    others = [entry for entry in os.environ.get(variable, "").split(os.pathsep) if entry and entry != place]
    os.environ[variable] = os.pathsep.join([place, *others])
