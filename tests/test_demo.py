"""`tito dev demo` on a small course: it goes all the way, stops at what fails, and removes only what is its own.

The demo of the real course is run by tests/long, and by `make demo`.
"""

from __future__ import annotations

import json
import shutil
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tito import release, student
from tito.course import Course, Lesson
from tito.dev import demo
from tito.errors import UserError

FIXTURES = Path(__file__).resolve().parent / "fixtures"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A copy of the small course, which the demo takes for the real one."""
    root = tmp_path / "course"
    shutil.copytree(FIXTURES / "course", root)
    small = Course.load(root)
    monkeypatch.setattr(Course, "find", lambda: small)
    monkeypatch.setattr(demo, "TITO", (sys.executable, str(FIXTURES / "tito_on.py"), str(root)))
    monkeypatch.chdir(tmp_path)
    return small


def run(folder: str) -> int:
    return demo.run(Namespace(folder=folder))


def test_all_the_way_and_again(course: Course, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert run("build/demo") == 0
        said = capfd.readouterr().out
        assert len(said.splitlines()) <= 40
        for words in ("01 vector: ", "02 line: ", "export --all: 2 lessons", "test --all: 2 lessons"):
            assert words in said
        assert "build/demo/plots/m1.txt" in said
    assert Path("build/demo/tinytorch/line.py").exists()


def test_a_step_that_fails_ends_it(course: Course, capfd: pytest.CaptureFixture[str]) -> None:
    source = course.lessons[1].source
    text = source.read_text(encoding="utf-8")
    head, mark, tail = text.partition("### BEGIN SOLUTION\n")
    source.write_text(f"{head}{mark}    raise NotImplementedError\n{tail}", encoding="utf-8")
    with pytest.raises(UserError, match="repeat its last step with: cd demo && tito export 02") as caught:
        run("demo")
    assert caught.value.code == 1
    assert "to do" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["mine/.tito/workspace.json", "mine/essay", "mine"])
def test_what_no_demo_made_stays(name: str, course: Course) -> None:
    mine = Path(name)
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match="mine was not made by a demo") as caught:
        run("mine")
    assert caught.value.code == 2
    assert mine.read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize("lesson", Course.find().everything, ids=lambda lesson: lesson.stem)
def test_fill_writes_the_answers_and_nothing_else(lesson: Lesson, tmp_path: Path) -> None:
    path = tmp_path / f"{lesson.stem}.ipynb"
    path.write_text(release.notebook_text(lesson), encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))
    demo.fill(lesson, path)
    after = json.loads(path.read_text(encoding="utf-8"))
    exercises = {cell.id for cell in lesson.cells() if cell.role == "exercise"}
    for old, new in zip(before["cells"], after["cells"], strict=True):
        assert {**old, "source": []} == {**new, "source": []}
        assert (old["source"] != new["source"]) == (old["id"] in exercises)
    written = "".join(cell.source for cell in student.read(path).cells if cell.id in exercises)
    assert "NotImplementedError" not in written and "### " not in written
