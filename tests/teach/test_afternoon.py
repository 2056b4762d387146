"""A course in an afternoon: an instructor with nothing but `tito teach`, from an empty folder to marks in the LMS.

Six students hand in lesson 03, some in a folder and some by Canvas; then one hands in again. Begin at `afternoon`.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course

LESSON = Course.find().lesson("03")
NAME = LESSON.stem
EXERCISES = [cell.name for cell in LESSON.cells() if cell.role == "exercise"]
FULL = sum(cell.points for cell in LESSON.cells() if cell.role == "check")
STUDENTS = """id,first_name,last_name,email,canvas_id
ann,Ann,Lee,ann@example.org,71
ben,Ben,Orr,ben@example.org,72
cho,Cho,Kim,cho@example.org,73
dee,Dee,Roe,dee@example.org,74
eve,Eve,Poe,eve@example.org,75
fay,Fay,Ito,fay@example.org,76
"""
RULES = """
[assignment."03_layers"]
due = 2027-03-12T23:59:00+00:00
late = {policy = "per day", percent = 10, cap = 50}
attempt = "best"
"""
IN_TIME, TWO_DAYS_LATE = "2027-03-01 10:00:00.000000 UTC", "2027-03-14 12:00:00.000000 UTC"
DUE_TO = {"ann": FULL, "cho": 0.0, "dee": FULL - 0.2 * FULL, "fay": FULL}  # after lateness

Notebook = dict[str, Any]


def worth(exercises: Iterable[str]) -> float:
    return sum(c.points for c in LESSON.cells() if c.role == "check" and c.name.split()[0] in set(exercises))


class Afternoon:
    """The instructor's terminal, and the students' work."""

    def __init__(self, desk: Path) -> None:
        self.desk, self.here, self.course = desk, desk, desk / "my-course"

    def tito(self, *words: str, code: int = 0) -> str:
        """Run `tito teach`; what it said, which is short and has no traceback."""
        command = [str(Path(sys.executable).with_name("tito")), "teach", *words]
        env = {name: value for name, value in os.environ.items() if name not in ("JUPYTER_PATH", "PYTHONWARNINGS")}
        done = subprocess.run(command, cwd=self.here, env=env, capture_output=True, encoding="utf-8", check=False)
        said, lines = done.stdout + done.stderr, done.stdout.splitlines()
        assert done.returncode == code and (code or not done.stderr), said
        assert len(lines) <= 12 and all(len(line) <= 78 for line in lines), said
        return said

    def solved(self, exercises: Iterable[str]) -> Notebook:
        """The released notebook with these exercises answered."""
        released = self.course / "release" / NAME / f"{NAME}.ipynb"
        answers = {cell.id: cell.source for cell in LESSON.cells() if cell.name in set(exercises)}
        notebook: Notebook = json.loads(released.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = answers.get(cell["id"], cell["source"])
        return notebook

    def hostile(self) -> Notebook:
        """All answered, but one reads, writes and boasts, and one ends the process when it is called."""
        notebook = self.solved(EXERCISES)
        here = str(self.course)
        theft = (
            f"try:\n    open({here!r} + '/stolen', 'w').write(open({here!r} + '/roster.csv').read())\n"
            "except OSError:\n    pass\nprint('All checks passed')\n"
        )
        for cell in notebook["cells"]:
            if cell["id"] == "exercise-affine":
                cell["source"] = theft + "".join(cell["source"])
            if cell["id"] == "exercise-dropout":
                cell["source"] = "".join(cell["source"]).replace("return ", "import os; os._exit(0)\n        return ")
        return notebook

    def put(self, place: str, notebook: Notebook, time: str = "") -> None:
        path = self.desk / "inbox" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")
        if time:
            (path.parent / "timestamp.txt").write_text(time, encoding="utf-8")

    def marks(self) -> dict[str, dict[str, str]]:
        """The rows of the exported spreadsheet, by student."""
        self.tito("export", "03", "--to", "csv")
        with open(self.course / "out" / f"{NAME}-csv.csv", encoding="utf-8", newline="") as file:
            return {row["id"]: row for row in csv.DictReader(file)}

    def scores(self) -> dict[str, float]:
        return {student: float(row["score"]) for student, row in self.marks().items()}


@pytest.fixture(scope="module")
def afternoon(tmp_path_factory: pytest.TempPathFactory) -> Afternoon:
    """All that happened until marks were there; what was said is looked at on the way."""
    one = Afternoon(tmp_path_factory.mktemp("desk"))
    assert "Next:  cd my-course && tito teach import-roster" in one.tito("init", "my-course")
    one.here = one.course
    (one.desk / "students.csv").write_text(STUDENTS, encoding="utf-8")
    assert "6 students" in one.tito("import-roster", "../students.csv")
    with open(one.course / "course.toml", "a", encoding="utf-8") as settings:
        settings.write(RULES)
    assert f"{FULL} points, no answer in it" in one.tito("release", "03")
    assert "Nothing of 03_layers is in submitted/.  Next:  tito teach collect 03" in one.tito("grade", "03", code=1)
    for early in ("feedback", "report"):
        assert "has no results; grade first: tito teach grade 03" in one.tito(early, "03", code=1)
    hand_in(one)
    said = one.tito("collect", "03", "--folder", "../inbox")
    assert "4 new, 0 unchanged, 1 late, 0 refused, 0 unknown, 2 nothing from" in said
    said = one.tito("collect", "03", "--zip", "../submissions.zip")
    assert "2 new" in said and "2 unknown, 0 nothing from" in said and "stranger" in said and "Next:" in said
    one.put("ann/03_layers.ipynb", one.solved(EXERCISES[:1]), TWO_DAYS_LATE)
    assert "1 new, 3 unchanged" in one.tito("collect", "03", "--folder", "../inbox")
    said = one.tito("grade", "03", "--workers", "2")
    assert "8 graded, 0 refused, 0 graded before" in said and "2 of these are earlier attempts" in said
    assert "Next:  tito teach feedback 03, tito teach report 03" in said
    assert "0 graded, 0 refused, 8 graded before" in one.tito("grade", "03")
    assert "first: tito teach export 03 --to gradebook" in one.tito("unlock", "03", "--now", code=1)
    assert "6 submissions went into the gradebook" in one.tito("export", "03", "--to", "gradebook")
    return one


def hand_in(one: Afternoon) -> None:
    """A folder, and the zip that Canvas gives."""
    one.put("ann/03_layers.ipynb", one.solved(EXERCISES), IN_TIME)
    one.put("ben_03_layers.ipynb", one.solved(EXERCISES[:4]))
    one.put("cho/03_layers/03_layers.ipynb", one.solved([]), IN_TIME)
    one.put("dee/03_layers.ipynb", one.solved(EXERCISES), TWO_DAYS_LATE)
    with zipfile.ZipFile(one.desk / "submissions.zip", "w") as archive:
        for name, notebook in (
            ("poeeve_75_1001_03_layers.ipynb", one.hostile()),
            ("itofay_LATE_76_1002_My layers (final).ipynb", one.solved(EXERCISES)),
            ("itofay_LATE_76_1003_My layers (final)-1.ipynb", one.solved(EXERCISES[:2])),
            ("stranger_99_1004_03_layers.ipynb", one.solved(EXERCISES)),
            ("../../evil.ipynb", {}),
        ):
            archive.writestr(name, json.dumps(notebook))


def test_everybody_has_what_they_earned(afternoon: Afternoon) -> None:
    scores = afternoon.scores()
    assert {student: scores[student] for student in DUE_TO} == DUE_TO
    assert scores["ben"] == worth(EXERCISES[:4])
    honest = FULL - worth(["dropout"])
    assert honest - worth(["train", "load_state_dict"]) <= scores["eve"] <= honest  # whose checks call Dropout too
    assert not (afternoon.course / "stolen").exists()


def test_best_or_last_attempt_is_a_line_in_course_toml(afternoon: Afternoon) -> None:
    """Ann's first was right and in time, her last is worse and late; Fay's came by Canvas, which says no time."""
    best, settings = afternoon.marks(), afternoon.course / "course.toml"
    assert [best["ann"][key] for key in ("attempts", "days_late", "score")] == ["2", "0", f"{FULL}"]
    assert (best["fay"]["attempts"], best["fay"]["score"]) == ("2", f"{FULL}")
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('"best"\n', '"last"\n'), encoding="utf-8")
    try:
        last = afternoon.marks()
        first = worth(EXERCISES[:1])
        assert [float(last["ann"][key]) for key in ("earned", "days_late")] == [first, 2]
        assert float(last["ann"]["score"]) == max(0.0, round(first - 0.2 * FULL, 2))
        assert float(last["fay"]["score"]) == worth(EXERCISES[:2])
        assert {student: last[student]["score"] for student in ("ben", "dee")} == {
            student: best[student]["score"] for student in ("ben", "dee")
        }
    finally:
        settings.write_text(text, encoding="utf-8")


def test_what_goes_out_lies_where_it_was_said(afternoon: Afternoon) -> None:
    said = afternoon.tito("feedback", "03") + afternoon.tito("report", "03")
    for to in ("canvas", "moodle", "gradescope"):
        said += afternoon.tito("export", "03", "--to", to)
    said += afternoon.tito("unlock", "03", "--now")
    named = set(re.findall(r"\bout/[\w./-]+\.\w+", said.replace("STUDENT", "ann")))
    assert {place for place in named if not (afternoon.course / place).is_file()} == set()
    endings = ("-canvas.csv", "-canvas-feedback.zip", "-moodle.csv", "-gradescope.zip")
    assert {f"out/{NAME}{end}" for end in endings} <= named and f"out/report/{NAME}.html" in named
    assert "late by Canvas, without a time; nothing was taken off: fay" in said
    assert "nothing came by Moodle" in said and "No Identifier is known" in said
    assert "6 pages" in said
    canvas_has_every_mark_and_feedback_under_its_names(afternoon)
    with open(afternoon.course / "out" / "unlock_03" / "students.csv", encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["ben", "cho", "eve"]


def canvas_has_every_mark_and_feedback_under_its_names(afternoon: Afternoon) -> None:
    with open(afternoon.course / "out" / f"{NAME}-canvas.csv", encoding="utf-8", newline="") as file:
        rows = {row["ID"]: row for row in csv.DictReader(file)}
    assert {rows[id][NAME] for id in ("71", "76")} == {f"{FULL}"} and float(rows["74"][NAME]) == 0.8 * FULL
    with zipfile.ZipFile(afternoon.course / "out" / f"{NAME}-canvas-feedback.zip") as archive:
        assert [name.split("_")[0] for name in archive.namelist()] == ["poeeve", "itofay"]
