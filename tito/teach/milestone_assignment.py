"""A milestone as an nbgrader assignment: the run, which is graded by itself, and written questions, graded by hand."""

from __future__ import annotations

import ast
from typing import Any

from tito import release
from tito.course import Course, Milestone
from tito.percent import Cell
from tito.teach.milestone_questions import POINTS, QUESTIONS, RUN_POINTS

RUN = """\
import subprocess
import sys

subprocess.run([sys.executable, "-m", "tito", "milestone", "{id}"], check=False)"""

CHECK = """\
# The milestone's own pass lines, on the package that you hand in.
import subprocess
import sys

done = subprocess.run([sys.executable, "-m", "tito", "milestone", "{id}"], capture_output=True, check=False)
assert done.returncode == 0, "the milestone has not passed"
del done"""

HOW = """\
Open this notebook in your workspace, in the folder modules. What you hand in is this notebook and beside it your folder
tinytorch, as `tito export` wrote it: the program is run on that package again. Points for the run depend on its own
lines of pass and fail, and not on what stands below."""


def cells(course: Course, milestone: Milestone) -> tuple[Cell, ...]:
    """The notebook's cells, with the answers as solutions."""
    text = (course.root / "milestones" / milestone.file).read_text(encoding="utf-8")
    title = f"# {milestone.id} {milestone.title}, {milestone.year}"
    told = [title, ast.get_docstring(ast.parse(text)) or "", HOW]
    made = [Cell("markdown", {}, "\n\n".join(told), number=1)]
    made.append(Cell("code", {}, RUN.format(id=milestone.id), number=2))
    made.append(Cell("code", {"check": "run", "points": RUN_POINTS}, CHECK.format(id=milestone.id), number=3))
    for i, (question, answer) in enumerate(QUESTIONS.get(milestone.id, ()), start=1):
        solution = f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION"
        made.append(Cell("markdown", {"question": f"think {i}"}, question))
        made.append(Cell("markdown", {"answer": f"think {i}", "points": POINTS}, solution))
    return tuple(made)


def notebook(course: Course, milestone: Milestone) -> dict[str, Any]:
    """The notebook from which nbgrader releases."""
    return release.notebook_of(cells(course, milestone), solutions=True)
