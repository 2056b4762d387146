"""Stands in for nbgrader's Execute: the sealed grader runs the submission, and its verdicts become outputs.

nbgrader reads points from the outputs of a check's cell: none is full marks, an error is zero. Here nothing of these
outputs was written by student code. Cells that are no checks keep what the student saved in them, as plain text and
pictures encoded anew, and are not run for it.
"""

from __future__ import annotations

import atexit
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbformat import from_dict
from nbgrader import utils  # type: ignore[import-untyped]
from nbgrader.preprocessors import NbGraderPreprocessor  # type: ignore[import-untyped]

from tito.course import Course, Lesson
from tito.teach.assignments import course_folder, variants
from tito.teach.folder import Folder
from tito.teach.nbgrader_hooks import plain
from tito.teach.result import CheckResult, Result

if TYPE_CHECKING:
    from tito.teach.grader.workers import Worker


class SealedExecute(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Grades the submission by `tito.teach.grader.grading`, and writes what came out into the cells of the checks."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """nbconvert's interface; `nb` has been through RestoreCells."""
        names = resources["nbgrader"]
        folder = Folder(Path(resources["metadata"]["path"]).resolve().parents[2])
        result = grade(folder, names["student"], names["assignment"])
        for note in result.notes:
            self.log.warning(note)
        write(nb.cells, result)
        return nb, resources


def grade(folder: Folder, student: str, assignment: str) -> Result:
    """What the sealed grader makes of submitted/STUDENT/ASSIGNMENT."""
    from tito.teach.grader.grading import Work
    from tito.teach.intake import intake

    files = intake.read_submission(folder.submitted / student / assignment).files
    worker = _worker(folder, assignment)
    return worker.grade(Work(student, assignment, files, worker.mode))


def write(cells: list[Any], result: Result) -> None:
    """Put each check's verdict into its cell: no output when it is ok, else the reason as an error.

    Raises ValueError for a check with points that the course does not have: an instructor's own, which stays ungraded
    rather than cost everybody its points.
    """
    verdicts = {f"check-{_id(check.name)}": check for check in result.checks}
    for cell in cells:
        if cell.cell_type != "code" or not utils.is_grade(cell) or utils.is_solution(cell):
            continue
        name = cell.metadata["nbgrader"]["grade_id"]
        if name in verdicts:
            cell.outputs, cell.execution_count = _nodes(_said(verdicts[name])), None
        elif cell.metadata["nbgrader"]["points"] and result.status == "graded":
            raise ValueError(f"{name} is no check of the course, so that only nbgrader's stock Execute could run it")
        elif cell.metadata["nbgrader"]["points"]:
            cell.outputs = _nodes([plain.error("NotRun", result.reason)])


def _nodes(outputs: list[dict[str, Any]]) -> list[Any]:
    return [from_dict(each) for each in outputs]  # type: ignore[no-untyped-call]


def _said(check: CheckResult) -> list[dict[str, Any]]:
    if check.status == "ok":
        return []
    told = check.says or (": ".join(check.error) if check.error else "") or check.reason
    compared = [f"{word} {text}" for word, text in (("want", check.want), ("got", check.got)) if text]
    lines = [told, check.expression, *compared, check.looks_like and f"looks like: {check.looks_like}"]
    return [plain.error(check.status, "\n".join(filter(None, lines)) or "not ok")]


def _id(name: str) -> str:
    """The part of a cell's id that a check's name gives, as Cell.id makes it."""
    from tito.percent import Cell

    return Cell("code", {"check": name}).id.removeprefix("check-")


@lru_cache(maxsize=1)
def _worker(folder: Folder, assignment: str) -> Worker:
    """One for all submissions of this process: nbgrader makes a preprocessor anew for each notebook."""
    from tito.teach.grader import bundle, workers

    course = Course.find()
    one = course_folder.item(course, assignment)
    made = bundle.make(course, one, variants.released(folder, assignment))
    mode = "reference" if isinstance(one, Lesson) else "own"
    worker = workers.Worker(made, folder.secret, mode=mode)
    atexit.register(worker.starter.close)
    return worker
