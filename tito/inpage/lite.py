"""The first cell of a lesson in JupyterLite: makes the package that the lesson builds on. Elsewhere it does nothing.

There the notebook lies in no workspace, so one is made in the memory of the browser, as a page of the site does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tito import release, studentfile
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.inpage.page import open_page
from tito.inpage.saved import Saved, digest, owner

BROWSER = "emscripten"  # Pyodide's sys.platform


def start(lesson: str) -> None:
    """Put the package of the earlier lessons on the path and say whose answers it holds: `lite.start("02")`.

    They are the reader's where the notebooks beside this one have them written, else the course's.
    """
    if sys.platform == BROWSER:
        course = Course.find()
        page = open_page(course, Path.home() / "workspace", lesson, dict(saved(course, Path.cwd())))
        print(page.about["line"] or "This lesson builds on no earlier one.")


def saved(course: Course, folder: Path) -> Iterator[tuple[str, Saved]]:
    """By lesson, what the notebooks in the folder say; one that is not there or cannot be read says nothing."""
    for lesson in course.everything:
        try:
            file = studentfile.read(folder / f"{lesson.stem}.ipynb")
        except UserError:
            continue
        yield lesson.id, _written(lesson, {cell.id: cell.source for cell in file.cells if cell.kind == "code"})


def _written(lesson: Lesson, cells: dict[str, str]) -> Saved:
    """An exercise counts where it is written: its checks stand in the notebook, and its reader has seen them."""
    course = release.student_cells(lesson)
    passed = {}
    for check in (cell for cell in course if cell.role == "check"):
        about = owner(course, check)
        if about is not None and release.STUB not in cells.get(about.id, release.STUB):
            passed[check.name] = digest(cells[about.id])
    return Saved(cells, passed)
