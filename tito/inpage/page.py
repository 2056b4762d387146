"""One open page: a lesson with the reader's answers, cells that run, exercises that are checked.

A page lives in a real workspace, in a folder of its own, so that what is checked here is what `tito test` checks: the
notebook with the reader's cells in it, on the package of the earlier lessons.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tito import links, pycell, release, report, testing
from tito.commands.checking import check_lesson
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.fold import imports
from tito.fold.names import bound_by
from tito.inpage import alone, earlier, needs, wide
from tito.inpage.here import Here
from tito.inpage.kernel import PACKAGE, Kernel, Ran
from tito.inpage.printed import Write
from tito.inpage.saved import Saved, digest, notebook, owner
from tito.percent import Cell
from tito.report import Result
from tito.testing import Job, Outcome
from tito.workspace import Workspace, write_text

Json = dict[str, Any]

VARIABLE = "TINYTORCH_PACKAGE"  # by which tito/notebook.py, imported later, finds the package


class Page:
    """A lesson that is open, or a page without one, which has the whole package."""

    def __init__(self, course: Course, lesson: Lesson | None, workspace: Workspace, saved: Mapping[str, Saved]) -> None:
        self.course, self.lesson, self.workspace = course, lesson, workspace
        self.cells: tuple[Cell, ...] = release.student_cells(lesson) if lesson else ()
        self.earlier = [earlier.whose(need, saved.get(need.id, Saved())) for need in needs.lessons(course, lesson)]
        self.saved, self.trouble = saved, ""
        wide.prepare()
        alone.prepare()
        self.kernel = Kernel({f"{each.name}.py": _titled(each) for each in earlier.unwritten(self.earlier)})
        self.ran: set[str] = set()
        self.package: Path | None = None
        if lesson:
            self._use_package()

    def _use_package(self) -> None:
        """Make the package of the earlier lessons, and let cells import it. A page without a lesson may need none."""
        self.package = self._build()
        os.environ[VARIABLE] = str(self.package)
        sys.path.insert(0, str(self.package))

    def _build(self) -> Path:
        """The package's folder; ours, with a word about it, when the reader's answers do not go together."""
        earlier.store(self.workspace, self.earlier, self.saved)
        try:
            return needs.build(self.course, self.workspace, self.lesson)
        except UserError as error:
            if not any(map(release.has_solutions, self.course.lessons)):
                raise
            self.trouble = f"Yours do not go together, {error.message}; so ours stand in."
            self.earlier = [replace(each, whose="ours") for each in self.earlier]
            for each in self.earlier:
                self.workspace.snapshot(each.lesson).unlink(missing_ok=True)
            earlier.store(self.workspace, self.earlier, {})
            return needs.build(self.course, self.workspace, self.lesson)

    @property
    def about(self) -> Json:
        """Which earlier lessons are the reader's, in a line, and those to write first; the checks of this one."""
        line = " ".join(filter(None, (earlier.sentence(self.earlier), self.trouble)))
        return {"line": line, "unwritten": [each.stem for each in earlier.unwritten(self.earlier)]}

    def run(self, id: str, source: str, write: Write) -> Ran:
        """Run one cell in the page's namespace."""
        if self.package is None and PACKAGE in source:
            self._use_package()
        ran = self.kernel.run(self._label(id), source, write)
        if ran.status != "error":
            self.ran.add(id)
        return ran

    def defined_in(self, name: str) -> list[str]:
        """The cells that define a name and have not run, by id: what a reader forgot to run."""
        waiting = (cell for cell in self.cells if cell.kind == "code" and cell.role != "check")
        return [cell.id for cell in waiting if cell.id not in self.ran and name in _defines(cell.source)]

    def check(self, sources: Mapping[str, str], exercise: str = "") -> Json:
        """Check one exercise, or all: what `tito test --keep-going --json` says of the lesson with these sources."""
        if self.lesson is None:
            raise UserError("this page has no lesson to check; open one of the lessons' pages")
        write_text(self.workspace.modules / f"{self.lesson.stem}.ipynb", notebook(self.cells, sources))

        def run(jobs: Sequence[Job], folder: Path, *, keep_going: bool) -> list[Outcome]:
            chosen = [_only(job, exercise) for job in jobs]
            outcomes = testing.run(chosen, folder, keep_going=keep_going, child=Here(folder))
            return [self._waiting(outcome) for outcome in outcomes]

        result, _ = check_lesson(self.course, self.workspace, self.lesson, keep_going=True, run=run)
        return self._told(result, sources)

    def _waiting(self, outcome: Outcome) -> Outcome:
        """A failure in the stub of an earlier lesson waits for that lesson."""
        if not (outcome.inside and outcome.error and outcome.error[0] == NotImplementedError.__name__):
            return outcome
        for each in earlier.unwritten(self.earlier):
            if each.stem in outcome.inside[0]:
                about = (outcome.lesson, outcome.check, outcome.exercise, "waits", outcome.cell)
                return Outcome(*about, waits_for=_titled(each))
        return outcome

    def _told(self, result: Result, sources: Mapping[str, str]) -> Json:
        (lesson,) = report.as_json([result])["lessons"]
        pairs = zip(lesson["checks"], result.outcomes)
        checks = [{**told, **self._more(told, sources), "link": self._link(outcome)} for told, outcome in pairs]
        return {**lesson, "checks": checks}

    def _link(self, outcome: Outcome) -> str:
        """Where the site explains a failure, seen from this lesson's page; "" of what is no failure."""
        found = None
        if outcome.status == "FAIL" and self.lesson:
            found = links.place(self.course, self.lesson, outcome)
        page = f"{found[0].stem}.html" if found and found[0] != self.lesson else ""
        return f"{page}#{found[1]}" if found else ""

    def _more(self, check: Json, sources: Mapping[str, str]) -> Json:
        """What a page wants to know beside it: cells by id, and the digest of what was checked."""
        named = next((cell for cell in self.cells if cell.role == "check" and cell.name == check["check"]), None)
        about = owner(self.cells, named) if named else None
        tried = digest(sources.get(about.id, about.source)) if about else ""
        return {"id": named.id if named else None, "digest": tried, "at": self._id_of(check["file"])}

    def _id_of(self, file: str | None) -> str | None:
        """`<cell 9>` -> that cell's id."""
        number = (file or "").strip("<>").removeprefix("cell ")
        return self.cells[int(number) - 1].id if number.isdecimal() and 0 < int(number) <= len(self.cells) else None

    def _label(self, id: str) -> str:
        cell = next((cell for cell in self.cells if cell.id == id), None)
        if cell is None:
            return "this cell"
        return f"{cell.role} {cell.name}".strip() if cell.role != "demo" else f"cell {cell.number}"


def open_page(
    course: Course, folder: Path, lesson: str | None, saved: Mapping[str, Saved], prebuilt: Path | None = None
) -> Page:
    """Open a lesson in a new or used folder; `prebuilt` is the archive of needs.py, for a folder that is new."""
    used = (folder / ".tito" / "workspace.json").exists()
    workspace = Workspace(folder) if used else Workspace.create(folder)
    if prebuilt:
        needs.unpack(workspace, prebuilt)
    return Page(course, course.lesson(lesson) if lesson else None, workspace, saved)


def _titled(lesson: Lesson) -> str:
    return f"lesson {lesson.id} {lesson.title}"


def _only(job: Job, exercise: str) -> Job:
    """The job with the checks of one exercise only."""
    kept = [cell for cell in job.cells if cell["role"] != "check" or cell["name"].split()[0] == exercise]
    return replace(job, cells=kept) if exercise else job


def _defines(source: str) -> set[str]:
    """What a cell brings: imports, names, and methods that it adds to a class."""
    names: set[str] = set()
    for node in pycell.read(source).tree.body:
        brought = imports.read(node) if isinstance(node, (ast.Import, ast.ImportFrom)) else ()
        names |= {*bound_by(node), *(item.bound for item in brought)}
    return names
