"""unlock: who failed a lesson gets its reference after the due date, and goes on from it in their workspace."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tito.cli import main
from tito.course import Course
from tito.dev.demo import fill
from tito.errors import UserError
from tito.teach.assignments import unlocking
from tito.teach.intake import roster
from tito.teach.nbgrader_api import open_course

COURSE = Course.find()
FIRST, SECOND = COURSE.lessons[:2]
STUDENTS = "id,first_name,last_name,email\nada,,,\nbob,,,\ncy,,,\ndi,,,\n"
OVER, AHEAD = "2026-01-02T12:00:00+01:00", "2126-01-02T12:00:00+01:00"
Classroom = Any  # tests/teach/conftest.py


def due(room: Classroom, date: str) -> None:
    room.folder.settings.write_text(f'[assignment."{FIRST.stem}"]\ndue = {date}\n', encoding="utf-8")


@pytest.fixture(scope="module")
def room(make_classroom: Callable[..., Classroom]) -> Classroom:
    """ada was right, bob handed in what he was given, cy nothing, and di has nothing yet and more time."""
    room = make_classroom()
    room.folder.roster.write_text(STUDENTS, encoding="utf-8")
    roster.into_gradebook(room.folder)
    due(room, OVER)
    room.api("generate_assignment", FIRST.stem)
    room.submit("ada", FIRST.stem, room.solved(FIRST.stem))
    room.submit("bob", FIRST.stem, room.released(FIRST.stem))
    for student in ("ada", "bob"):
        room.api("autograde", FIRST.stem, student)
    more = f"student,assignment,due,days\ndi,{FIRST.stem},{AHEAD},\n"
    (room.root / "extensions.csv").write_text(more, encoding="utf-8")
    return room


def unlocked(room: Classroom, now: bool = False) -> unlocking.Unlocked:
    with open_course(room.folder).gradebook as gradebook:
        return unlocking.unlock(room.folder, COURSE, gradebook, FIRST, now)


def test_who_failed_gets_it_and_who_has_time_waits(room: Classroom) -> None:
    done = unlocked(room)
    first_check = next(cell.name for cell in FIRST.cells() if cell.role == "check")
    assert done.students == {"bob": f"check {first_check} is not ok", "cy": "nothing handed in"}
    assert done.waiting == ("di",)
    with open(done.file.with_name("students.csv"), encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["bob", "cy"]


def test_nobody_gets_it_before_the_due_date_unless_asked(room: Classroom) -> None:
    shutil.rmtree(room.folder.out / "unlock_01", ignore_errors=True)
    try:
        due(room, AHEAD)
        with pytest.raises(UserError, match=r"is due at 2126.*tito teach unlock 01 --now"):
            unlocked(room)
        room.folder.settings.write_text("", encoding="utf-8")
        with pytest.raises(UserError, match="has no due date in course.toml"):
            unlocked(room)
        assert not (room.folder.out / "unlock_01").exists()
        assert set(unlocked(room, now=True).students) == {"bob", "cy", "di"}
    finally:
        due(room, OVER)


@pytest.fixture
def workspace(room: Classroom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """bob's, with the file in it."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "ws"]) == 0
    monkeypatch.chdir(tmp_path / "ws")
    shutil.copy(unlocked(room, now=True).file, tmp_path / "ws")
    return tmp_path / "ws"


def head(workspace: Path, name: str) -> str:
    return (workspace / "tinytorch" / f"{name}.py").read_text(encoding="utf-8").splitlines()[0]


def test_the_next_lesson_is_open_and_the_package_says_what_was_given(
    workspace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "02", "--no-launch"]) == 1
    assert main(["unlock", "01_tensor.given.py"]) == 0
    assert "01 tensor: reference, given on 20" in capfd.readouterr().out
    assert "from the course's reference, given on 20" in head(workspace, "tensor")
    assert main(["open", "02", "--no-launch"]) == 0
    fill(SECOND, workspace / "modules" / f"{SECOND.stem}.ipynb")
    assert main(["export", "02"]) == 0
    assert "from the course's reference, given on 20" in head(workspace, "tensor")  # also after a later export
    assert "from modules/02_activations.ipynb" in head(workspace, "activations")
    assert "given on" in (workspace / ".tito" / "sourcemap.json").read_text(encoding="utf-8")


def test_an_own_export_takes_its_place(workspace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["unlock", "01_tensor.given.py"]) == 0
    fill(FIRST, workspace / "modules" / f"{FIRST.stem}.ipynb")
    assert main(["export", "01"]) == 0
    assert "from modules/01_tensor.ipynb" in head(workspace, "tensor")
    capfd.readouterr()
    assert main(["unlock", "01_tensor.given.py"]) == 2
    assert "you have exported 01 tensor yourself" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("notes.py", "", "is no lesson's reference"),
        ("01_tensor.given.py", "# %%\nx = 1\n", "is damaged"),
        ("02_activations.given.py", '# %% exercise="ReLU" given="2027-03-01"\n', "needs 01 tensor"),
    ],
)
def test_what_is_no_reference_changes_nothing(
    workspace: Path, capfd: pytest.CaptureFixture[str], name: str, text: str, says: str
) -> None:
    (workspace / name).write_text(text, encoding="utf-8")
    before = sorted(path.name for path in (workspace / "tinytorch").iterdir())
    assert main(["unlock", name]) in (1, 2)
    assert says in capfd.readouterr().err
    assert sorted(path.name for path in (workspace / "tinytorch").iterdir()) == before
