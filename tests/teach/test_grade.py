"""`tito teach grade`: what it prints and keeps, what it leaves alone, what it asks before marks change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tito import release
from tito.cli import main
from tito.course import Course
from tito.errors import UserError
from tito.teach.folder import Folder
from tito.teach.marks.store import Store

COURSE = Course.find()
LESSON = COURSE.lesson("02")
POINTS = sum(cell.points for cell in LESSON.cells() if cell.role == "check")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    (tmp_path / ".teach").mkdir()
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


def submit(folder: Folder, student: str, solved: bool = True, text: str | None = None) -> None:
    place = folder.submitted / student / LESSON.stem
    place.mkdir(parents=True, exist_ok=True)
    notebook = release.notebook(LESSON)
    solutions = {cell.id: cell.source for cell in LESSON.cells() if cell.role == "exercise" and solved}
    for cell in notebook["cells"]:
        cell["source"] = solutions.get(cell["id"], cell["source"])
    (place / f"{LESSON.stem}.ipynb").write_text(text or json.dumps(notebook), encoding="utf-8")
    (place / "timestamp.txt").write_text("2027-03-01 12:00:00.000000 UTC", encoding="utf-8")


def grade(*words: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["teach", "grade", "02", "--workers", "1", "--level", "1", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 12 and all(len(line) <= 78 for line in lines)
    return lines


def earned(folder: Folder) -> dict[str, float]:
    with Store(folder.results) as store:
        return {student: result.earned for student, result in store.latest(LESSON.stem).items()}


def test_a_class(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    submit(folder, "ada")
    submit(folder, "bob", solved=False)
    submit(folder, "eve", text="{")
    submit(folder, "mia", text="[" * 100_000)
    planned = grade("--dry-run", capsys=capsys)
    assert planned[0].startswith("02_activations: 2 would be graded, 2 refused, 0 graded before;")
    assert earned(folder) == {}
    first = grade(capsys=capsys)
    assert first[0].startswith("02_activations: 2 graded, 2 refused, 0 graded before;")
    assert first[1] == f"Of these the mean is {POINTS / 2:.1f} of {POINTS} points."
    assert first[2].startswith("  eve: ") and first[3].startswith("  mia: ")
    assert earned(folder) == {"ada": POINTS, "bob": 0, "eve": 0, "mia": 0}
    again = grade(capsys=capsys)
    assert again[0].startswith("02_activations: 0 graded, 2 refused, 2 graded before;")
    submit(folder, "bob")
    third = grade("--student", "b*", capsys=capsys)
    assert third[0].startswith("02_activations: 1 graded, 0 refused, 0 graded before;")
    assert earned(folder)["bob"] == POINTS


def test_marks_of_a_regrade_wait_for_a_word(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    submit(folder, "ada")
    grade(capsys=capsys)
    first = next(cell.name for cell in LESSON.cells() if cell.role == "exercise")
    folder.settings.write_text(f'[assignment."{LESSON.stem}"]\nexercises = ["{first}"]\n', encoding="utf-8")
    points = sum(cell.points for cell in LESSON.cells() if cell.role == "check" and cell.name.split()[0] == first)
    assert any("0 higher, 1 lower" in line for line in grade(capsys=capsys))
    assert earned(folder) == {"ada": POINTS}
    grade("--yes", capsys=capsys)
    assert earned(folder) == {"ada": points}


def test_level_3_must_be_asked_for_twice(folder: Folder) -> None:
    submit(folder, "ada")
    with pytest.raises(UserError, match="--accept-not-isolated"):
        from tito.teach.commands import grade as command

        parsed = command.argparse.ArgumentParser()
        command.arguments(parsed)
        command.run(parsed.parse_args(["02", "--level", "3"]), COURSE)


def test_level_3_says_so_in_every_result(folder: Folder) -> None:
    submit(folder, "ada")
    ordinary = ["unshare", "--user", "--map-user=1000", "--map-group=1000", sys.executable, "-m", "tito"]
    words = ["teach", "grade", "02", "--level", "3", "--accept-not-isolated", "--workers", "1"]
    refused = subprocess.run([*ordinary[4:], *words], cwd=folder.root, capture_output=True, text=True)
    assert refused.returncode == 2 and "as root a submission could do anything" in refused.stderr + refused.stdout
    done = subprocess.run([*ordinary, *words], cwd=folder.root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT ISOLATED" in done.stdout
    with Store(folder.results) as store:
        (result,) = store.latest(LESSON.stem).values()
    assert (result.isolation, result.earned) == (3, POINTS)
