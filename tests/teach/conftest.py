"""A course folder with the real nbgrader, for tests that release, submit and grade in it."""

from __future__ import annotations

import copy
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import Browser

from tito.cli import main
from tito.course import Course
from tito.teach.assignments import course_folder, kernel
from tito.teach.folder import Folder
from tito.teach.nbgrader_api import open_course

Notebook = dict[str, Any]
STOCK = """
# In tests only: nbgrader's own Execute.
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.Execute",
    "tito.teach.nbgrader_hooks.preprocessors.PlainOutputs",
    *c.Autograde.autograde_preprocessors[1:],
]
"""


class Classroom:
    """An instructor in a course folder, and what students hand in."""

    def __init__(self, root: Path, made: Path, more: str = "") -> None:
        self.root, self.course, self.folder = root, Course.find(), Folder(root)
        shutil.copytree(made, root)
        kernel.register(self.folder, self.course)
        with open(self.folder.config, "a", encoding="utf-8") as config:
            config.write(more)

    def nbgrader(self, *words: str, ok: bool = True) -> str:
        """Run nbgrader's own command in the folder; all that it said."""
        done = self.run("nbgrader", *words)
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def tito(self, *words: str) -> str:
        """Run `tito teach` in this process; what it said."""
        said = io.StringIO()
        with chdir(self.root), redirect_stdout(said):
            assert main(["teach", *words]) == 0
        return said.getvalue()

    def api(self, do: str, *words: str) -> str:
        """Do something by nbgrader's Python API, in this process; its log."""
        done = getattr(open_course(self.folder), do)(*words)
        assert done["success"], done
        return str(done["log"])

    def run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program that lies beside this Python, stderr and stdout together."""
        command = [str(Path(sys.executable).with_name(program)), *words]
        env = {name: value for name, value in os.environ.items() if name not in ("JUPYTER_PATH", "PYTHONWARNINGS")}
        env |= {"PYTHONIOENCODING": "utf-8"}
        shared = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "check": False}
        return subprocess.run(command, cwd=self.root, env=env, **shared)  # type: ignore[call-overload, no-any-return]

    def released(self, name: str) -> Notebook:
        """The notebook as students get it."""
        return read(self.folder.release / name / f"{name}.ipynb")

    def solved(self, name: str, exercises: Iterable[str] | None = None) -> Notebook:
        """The released notebook with the course's answers in these exercises, else in all."""
        source = {cell["id"]: cell for cell in read(course_folder.source_of(self.folder, name))["cells"]}
        notebook = self.released(name)
        for cell in notebook["cells"]:
            wanted = exercises is None or cell["id"] in {f"exercise-{exercise}" for exercise in exercises}
            if wanted and cell["id"].startswith("exercise-"):
                cell["source"] = source[cell["id"]]["source"]
        return notebook

    def submit(self, student: str, name: str, notebook: Notebook) -> Path:
        """Put a submission where nbgrader's collect would."""
        place = self.folder.submitted / student / name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        (place / "timestamp.txt").write_text("2027-03-01 10:00:00.000000 UTC", encoding="utf-8")
        return place

    def autograded(self, student: str, name: str) -> Notebook:
        """The notebook as nbgrader left it for the instructor."""
        return read(self.root / "autograded" / student / name / f"{name}.ipynb")

    def scores(self, name: str) -> dict[str, tuple[float, float, bool]]:
        """By student: score, most that there is, whether something waits for a person."""
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}", "course") as gradebook:
            found = gradebook.find_assignment(name).submissions
            return {each.student_id: (each.score, each.max_score, each.needs_manual_grade) for each in found}

    def grades(self, student: str, name: str) -> dict[str, float | None]:
        """Each graded cell's automatic score."""
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}", "course") as gradebook:
            submission = gradebook.find_submission_notebook(name, name, student)
            return {grade.name: grade.auto_score for grade in submission.grades}


def read(path: Path) -> Notebook:
    """A notebook as plain JSON."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def position(notebook: Notebook, id: str) -> int:
    """Where the cell of that id stands."""
    return next(i for i, cell in enumerate(notebook["cells"]) if cell.get("id") == id)


@pytest.fixture(scope="session")
def cell_at() -> Callable[[Notebook, str], Any]:
    """The cell of an id."""
    return lambda notebook, id: notebook["cells"][position(notebook, id)]


@pytest.fixture(scope="session")
def edited() -> Callable[..., Notebook]:
    """A copy of a notebook with `change(cells, index)` done to it at the cell of an id."""

    def edit(notebook: Notebook, id: str, change: Callable[[list[Any], int], object]) -> Notebook:
        fresh = copy.deepcopy(notebook)
        change(fresh["cells"], position(fresh, id))
        return fresh

    return edit


@pytest.fixture(scope="session")
def made_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder as `tito teach init` makes it, to be copied."""
    folder = Folder(tmp_path_factory.mktemp("made") / "course")
    course_folder.make(folder, Course.find(), "course")
    return folder.root


@pytest.fixture(scope="session")
def make_classroom(made_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Classroom]:
    """Makes course folders; `stock` puts nbgrader's own Execute in, `more` is further configuration."""

    def make(stock: bool = False, more: str = "") -> Classroom:
        return Classroom(tmp_path_factory.mktemp("teach") / "course", made_course, STOCK * stock + more)

    return make


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A window of a headless Chromium that all tests of one process share."""
    window = Browser()
    yield window
    window.driver.quit()
