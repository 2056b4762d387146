"""A milestone as an nbgrader assignment: the run, which is graded by itself, and written questions, graded by hand."""

from __future__ import annotations

import ast
from typing import Any

from tito import release
from tito.course import Course, Milestone
from tito.percent import Cell
from tito.teach.assignments.milestone_questions import POINTS, QUESTIONS
from tito.teach.grader import milestone_grading

RUN = """\
import subprocess
import sys

subprocess.run([sys.executable, "-m", "tito", "milestone", "{id}"], check=False)"""

CHECK = """\
# {name}: graded on the lessons that you hand in.
### BEGIN HIDDEN TESTS
raise RuntimeError("only the sealed grader trains on the student's own package: tito teach grade {id}")
### END HIDDEN TESTS"""

HOW = """\
Open this notebook in your workspace, in the folder modules. What you hand in is this notebook and, beside it, your
notebooks of the lessons {lessons}: the package is made of them again, and trained anew. Points for the run depend on
that, and not on what stands below."""


def cells(course: Course, milestone: Milestone) -> tuple[Cell, ...]:
    """The notebook's cells, with the answers as solutions."""
    text = (course.root / "milestones" / milestone.file).read_text(encoding="utf-8")
    title = f"# {milestone.id} {milestone.title}, {milestone.year}"
    lessons = ", ".join(lesson.stem for lesson in course.needs_of(milestone))
    told = [title, ast.get_docstring(ast.parse(text)) or "", HOW.format(lessons=lessons)]
    made = [Cell("markdown", {}, "\n\n".join(told), number=1)]
    made.append(Cell("code", {}, RUN.format(id=milestone.id), number=2))
    for i, (question, answer) in enumerate(QUESTIONS.get(milestone.id, ()), start=1):
        solution = f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION"
        made.append(Cell("markdown", {"question": f"think {i}"}, question))
        made.append(Cell("markdown", {"answer": f"think {i}", "points": POINTS}, solution))
    for check in milestone_grading.checks(milestone.id):
        source = CHECK.format(name=check.name, id=milestone.id)
        made.append(Cell("code", {"check": check.name, "points": check.points}, source))
    return tuple(made)


def notebook(course: Course, milestone: Milestone) -> dict[str, Any]:
    """The notebook from which nbgrader releases."""
    return release.notebook_of(cells(course, milestone), solutions=True)
