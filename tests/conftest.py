"""What several test files share: a small lesson that has every kind of cell."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tito.cli import main
from tito.course import Course, Lesson

HERE = Path(__file__).resolve().parent
COURSE = HERE / "fixtures" / "course"

# The extra with nbgrader is offered from Python 3.11 on.
collect_ignore = [] if sys.version_info >= (3, 11) else ["test_nbgrader_release.py"]

TOY = '''# %% [markdown]
# # 01 Toys
#
# One number, twice.

# %%
2 * 21

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import numpy as np

# %% exercise="Box" points=3
class Box:
    """Holds a number.

    About 1 line.
    """

    def __init__(self, value):
        ### BEGIN SOLUTION
        self.value = value
        ### END SOLUTION

    def twice(self):
        ### BEGIN SOLUTION
        return 2 * self.value
        ### END SOLUTION


# %% check="Box" points=2
def test_unit_box():
    check("Box(21).twice()", want=42)


test_unit_box()

# %% check="Box negative" points=1 hidden=true
# Also for numbers below zero.
### BEGIN HIDDEN TESTS
def test_unit_box_negative():
    check("Box(-1).twice()", want=-2)


test_unit_box_negative()
### END HIDDEN TESTS

# %% supplied="Box.wrap"
@patch(classmethod)
def wrap(cls: type[Box], value):
    return cls(value)


# %% tags=["figure"]
Box(1)

# %% twin="Add"
class Add:
    def forward(self, a, b):
        return a + b


# %% check="Add" points=1
def test_unit_add():
    check("Add().forward(1, 2)", want=3)


test_unit_add()

# %% [markdown]
# Now the other one:

# %% exercise="Sub" points=1
class Sub:
    def forward(self, a, b):
        ### BEGIN SOLUTION
        return a - b
        ### END SOLUTION


# %% check="Sub" points=1
def test_unit_sub():
    check("Sub().forward(3, 2)", want=1)


test_unit_sub()
'''


MakeLesson = Callable[..., Lesson]


@pytest.fixture(autouse=True)
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed does not depend on whether the site was built here."""
    monkeypatch.setenv("TITO_SITE", "")


@pytest.fixture(scope="session")
def make_lesson() -> MakeLesson:
    """Makes a lesson 01 `toy` of a source, the toy lesson's unless another is given, in a folder of its own."""

    def make(root: Path, source: str = TOY) -> Lesson:
        folder = root / "modules" / "01_toy"
        folder.mkdir(parents=True)
        (folder / "toy.py").write_text(source, encoding="utf-8", newline="\n")
        return Lesson("01", "toy", "Toys", 60, (), folder)

    return make


@pytest.fixture
def toy(make_lesson: MakeLesson, tmp_path: Path) -> Lesson:
    """The toy lesson."""
    return make_lesson(tmp_path / "toy")


@pytest.fixture(scope="session")
def with_elective() -> Callable[..., Course]:
    """Makes the small course with an elective lesson and milestone; `more` stands at the end of its course.toml."""

    def make(root: Path, more: str = "") -> Course:
        for part in (COURSE, COURSE.with_name("elective")):
            shutil.copytree(part, root, dirs_exist_ok=True)
        with open(root / "course.toml", "a", encoding="utf-8") as table:
            table.write((root / "entries.toml").read_text(encoding="utf-8") + more)
        return Course.load(root)

    return make


class Learner:
    """A learner in a new workspace on the small course of tests/fixtures: runs commands in this process."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capfd = folder, capfd
        self.course = Course.load(COURSE)
        self.said: list[str] = []

    def tito(self, line: str) -> tuple[int, str, str]:
        """Run one command: exit code, stdout, stderr."""
        try:
            code = main(shlex.split(line), self.course)
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        out, err = self.capfd.readouterr()
        told = "".join(f"! {row}" for row in err.splitlines(True))
        self.said.append(f"$ tito {line}\n{out}{told}[{code}]\n")
        return code, out, err

    def file(self, key: str = "01") -> Path:
        """The lesson's file."""
        return next(self.folder.glob(f"modules/{self.course.lesson(key).stem}.*"))

    def notebook(self, key: str = "01") -> dict[str, Any]:
        """The lesson's notebook."""
        return dict(json.loads(self.file(key).read_text(encoding="utf-8")))

    def save(self, notebook: dict[str, Any], key: str = "01") -> None:
        """Write a notebook as editors do: a new file takes the old one's name."""
        new = self.file(key).with_name("new.tmp")
        new.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
        os.replace(new, self.file(key))

    def answer(self, key: str = "01", **answers: str) -> None:
        """Put answers into exercises; an empty one is the course's."""
        notebook = self.notebook(key)
        ours = {cell.id: cell.source for cell in self.course.lesson(key).cells()}
        for name, text in answers.items():
            cell = next(cell for cell in notebook["cells"] if cell["id"] == f"exercise-{name}")
            text = text or re.sub(r" *### (BEGIN|END) SOLUTION\n", "", ours[cell["id"]])
            cell["source"] = text.splitlines(keepends=True)
        self.save(notebook, key)

    def solve(self, key: str = "01") -> None:
        """Put the course's answers into all exercises."""
        names = [cell.name for cell in self.course.lesson(key).cells() if cell.role == "exercise"]
        self.answer(key, **dict.fromkeys(names, ""))

    def command(self, *arguments: str) -> list[str]:
        """The command line of a tito that is a process of its own."""
        return [sys.executable, str(HERE / "fixtures" / "tito_on.py"), str(COURSE), *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        """Its environment."""
        return {**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONIOENCODING": "utf-8", **more}

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run any program in the workspace."""
        env = self.environment(**more)
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, encoding="utf-8", check=False)

    def agrees(self, name: str) -> None:
        """What was said is what stands in the golden file; WRITE_GOLDEN=1 writes it anew."""
        text = "".join(self.said).replace(str(self.folder), "~/ws").replace(str(self.folder.parent), "~")
        text = re.sub(r"in \d+\.\d s", "in 0.1 s", text)
        text = re.sub(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(_\d)?", "DATE", text)
        path = HERE / "golden" / "cli" / f"{name}.txt"
        if os.environ.get("WRITE_GOLDEN"):
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8")


@pytest.fixture
def learner(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Learner:
    """A learner who has made a workspace and stands in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    made = Learner(tmp_path / "ws", capfd)
    assert made.tito("init ws")[0] == 0
    monkeypatch.chdir(made.folder)
    made.said.clear()
    return made
