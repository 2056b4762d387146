"""`tito teach collect` on real folders, zips named as LMSs name them, and nbgrader's own exchange."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import sys
import zipfile
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tito import release
from tito.cli import main
from tito.course import Course
from tito.teach import collected, lms, nbgrader_api
from tito.teach.folder import Folder
from tito.teach.lms import Directory, Unmatched
from tito.teach.roster import Student

NAME = "03_layers"
NOTEBOOK = f"{NAME}.ipynb"
ROSTER = """id,first_name,last_name,email,canvas_id,moodle_id
ann,Ann,Lee,,77,9077
bo_2,Bo,Müller,,78,9078
cy,Cy,Roe,,79,9079
cy2,Cy,Roe,,80,9080
dee,Dee,Poe,,,
03_layers,Odd,Name,,,
"""
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "toy"
c.Exchange.root = {exchange!r}
c.Exchange.cache = {cache!r}
"""


def notebook(source: str = "x = 1") -> bytes:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": [source]}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}).encode()


class Teacher:
    """An instructor in a course folder: runs `tito teach collect` in this process."""

    def __init__(self, root: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capfd, self.course = Folder(root), capfd, Course.find()
        self.inbox = root.parent / "inbox"
        self.inbox.mkdir()

    def collect(self, *more: str | Path) -> str:
        """What it says."""
        self.code = main(["teach", "collect", "03", *map(str, more)], self.course)
        said = self.capfd.readouterr()
        assert said.err == "", said.err
        lines = said.out.splitlines()
        assert len(lines) <= 12 and max(map(len, lines)) <= 78
        return said.out

    def told(self) -> list[list[str]]:
        """The lines of the file with all of it."""
        text = (self.folder.out / f"collect_{NAME}.txt").read_text(encoding="utf-8")
        return [line.split("\t") for line in text.splitlines()]

    def place(self, student: str) -> Path:
        """Where nbgrader looks."""
        return self.folder.submitted / student / NAME

    def have(self) -> dict[str, str]:
        """Who has what: the source of the first cell."""
        found = sorted(self.folder.submitted.glob(f"*/{NAME}/{NOTEBOOK}"))
        return {p.parent.parent.name: json.loads(p.read_bytes())["cells"][0]["source"][0] for p in found}

    def history(self, student: str) -> list[tuple[int, str, str]]:
        """Attempts of one student: number, place without its date, reason."""
        lines = collected.read(self.folder, NAME).get(student, [])
        return [(line.attempt, line.place.split("/")[0], line.refused) for line in lines]

    def zip(self, files: dict[str, bytes], name: str = "submissions.zip") -> Path:
        path = self.inbox / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, data in files.items():
                archive.writestr(key, data)
        return path


@pytest.fixture
def teacher(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Teacher:
    root = tmp_path / "course"
    (root / ".teach").mkdir(parents=True)
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    config = CONFIG.format(exchange=str(exchange), cache=str(tmp_path / "cache"))
    (root / "nbgrader_config.py").write_text(config, encoding="utf-8")
    (root / "roster.csv").write_text(ROSTER, encoding="utf-8")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # nbgrader calls alembic
    return Teacher(root, capfd)


# A folder


def test_a_folder_of_folders_and_files(teacher: Teacher) -> None:
    for student in ("ann", "zoe"):
        (teacher.inbox / student).mkdir()
        (teacher.inbox / student / NOTEBOOK).write_bytes(notebook(student))
    (teacher.inbox / f"bo_2_{NOTEBOOK}").write_bytes(notebook("bo"))
    (teacher.inbox / "cy.ipynb").write_bytes(notebook("cy"))
    (teacher.inbox / "cy2_mine.ipynb").write_bytes(notebook("cy2"))
    (teacher.inbox / "dee_x.ipynb").write_bytes(b"no notebook")
    (teacher.inbox / "essay.docx").write_bytes(b"")
    said = teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"ann": "ann", "bo_2": "bo", "cy": "cy", "cy2": "cy2"}
    assert "4 new, 0 unchanged, 0 late, 1 refused, 2 unknown, 2 nothing from" in said
    assert "refused  dee: 03_layers.ipynb is broken, line 1, column 1" in said
    assert "unknown  zoe: not in the roster" in said and "essay.docx: no notebook" in said
    assert ["new", "cy2", "'cy2_mine.ipynb'", "mine.ipynb was taken as 03_layers.ipynb"] in teacher.told()
    assert collected.refusals(collected.read(teacher.folder, NAME)).keys() == {"dee"}


def test_nbgraders_own_layout_and_its_time(teacher: Teacher) -> None:
    mine = teacher.inbox / "ann" / NAME
    mine.mkdir(parents=True)
    (mine / NOTEBOOK).write_bytes(notebook())
    (mine / "timestamp.txt").write_text("2027-03-02 12:00:00.5 Europe/Berlin", encoding="ascii")
    (teacher.inbox / "bo_2" / "01_tensor").mkdir(parents=True)  # who handed in another lesson only
    (teacher.folder.settings).write_text(f'[assignment."{NAME}"]\ndue = 2027-03-02T10:00:00Z\n', encoding="utf-8")
    assert "1 new, 0 unchanged, 1 late, 0 refused, 0 unknown, 5 nothing from" in teacher.collect(
        "--folder", teacher.inbox
    )
    when = (teacher.place("ann") / "timestamp.txt").read_text(encoding="ascii")
    assert when == "2027-03-02 11:00:00.500000 UTC"
    assert collected.read(teacher.folder, NAME)["ann"][0].submitted == datetime(
        2027, 3, 2, 11, 0, 0, 500000, timezone.utc
    )
    (teacher.folder.root / "extensions.csv").write_text("student,assignment,due,days\nann,*,,1\n", encoding="utf-8")
    assert "1 unchanged, 0 late" in teacher.collect("--folder", teacher.inbox)


def test_whose_file_it_is_is_never_guessed(teacher: Teacher) -> None:
    (teacher.folder.roster).write_text("id\nab\nab_c\n", encoding="utf-8")
    (teacher.inbox / "ab_c_work.ipynb").write_bytes(notebook())
    (teacher.inbox / f"ab_c_{NOTEBOOK}").write_bytes(notebook("sure"))
    teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"ab_c": "sure"}
    assert ["unknown", "", "'ab_c_work.ipynb'", "may be by ab, ab_c"] in teacher.told()


def test_a_hostile_folder_stops_nobody_and_brings_nothing_in(teacher: Teacher) -> None:
    (teacher.folder.root / "gradebook.db").write_bytes(b"SQLite format 3\0 secret")
    links = {"ann": "/etc/shadow", "bo_2": str(teacher.folder.root / "gradebook.db")}
    for student, target in links.items():
        (teacher.inbox / student).mkdir()
        (teacher.inbox / student / NOTEBOOK).write_bytes(notebook())
        (teacher.inbox / student / "x.txt").symlink_to(target)
    (teacher.inbox / "cy").symlink_to(teacher.folder.root)
    (teacher.inbox / f"cy2_{NOTEBOOK}").symlink_to(teacher.folder.root / "gradebook.db")
    (teacher.inbox / "dee").mkdir()
    (teacher.inbox / "dee" / NOTEBOOK).write_bytes(notebook("fine"))
    said = teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"dee": "fine"} and "1 new" in said and "3 refused, 1 unknown" in said
    assert sorted(p.name for p in teacher.folder.submitted.iterdir()) == ["dee"]


# Again


def test_what_is_there_is_replaced_only_with_a_dated_backup(teacher: Teacher) -> None:
    (teacher.inbox / "ann").mkdir()
    mine = teacher.inbox / "ann" / NOTEBOOK
    mine.write_bytes(notebook("first"))
    assert "1 new" in teacher.collect("--folder", teacher.inbox)
    secret = (teacher.place("ann") / "submission_secret.txt").read_text(encoding="ascii")
    assert len(secret) == 128
    assert "0 new, 1 unchanged" in teacher.collect("--folder", teacher.inbox)
    assert (teacher.place("ann") / "submission_secret.txt").read_text(encoding="ascii") == secret
    mine.write_bytes(notebook("second"))
    assert "1 new" in teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"ann": "second"}
    (kept,) = (teacher.folder.private / "attempts" / NAME / "ann").iterdir()
    assert kept.name.startswith("001_20") and b"first" in (kept / NOTEBOOK).read_bytes()
    assert teacher.history("ann") == [(1, "submitted", ""), (1, ".teach", ""), (2, "submitted", "")]
    assert not list((teacher.folder.private / "staging").glob("*"))


def test_a_refused_attempt_leaves_what_is_there(teacher: Teacher) -> None:
    (teacher.inbox / "ann").mkdir()
    mine = teacher.inbox / "ann" / NOTEBOOK
    mine.write_bytes(notebook("first"))
    teacher.collect("--folder", teacher.inbox)
    mine.write_bytes(b"\xff")
    for _ in range(2):
        assert "refused  ann: 03_layers.ipynb is not UTF-8 at byte 0" in teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"ann": "first"}
    assert [number for number, *_ in teacher.history("ann")] == [1, 2]
    assert collected.refusals(collected.read(teacher.folder, NAME)) == {}


def test_what_plain_nbgrader_collected_is_kept_too(teacher: Teacher) -> None:
    teacher.place("ann").mkdir(parents=True)
    (teacher.place("ann") / NOTEBOOK).write_bytes(notebook("theirs"))
    (teacher.place("ann") / "timestamp.txt").write_text("2027-01-01 00:00:00 UTC", encoding="ascii")
    (teacher.inbox / "ann").mkdir()
    (teacher.inbox / "ann" / NOTEBOOK).write_bytes(notebook("ours"))
    teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"ann": "ours"}
    (kept,) = (teacher.folder.private / "attempts" / NAME / "ann").iterdir()
    assert kept.name == "001_2027-01-01_00-00-00" and b"theirs" in (kept / NOTEBOOK).read_bytes()
    assert teacher.history("ann") == [(1, ".teach", ""), (2, "submitted", "")]


def test_a_dry_run_writes_nothing(teacher: Teacher) -> None:
    (teacher.inbox / "ann").mkdir()
    (teacher.inbox / "ann" / NOTEBOOK).write_bytes(notebook())
    before = sorted(teacher.folder.root.rglob("*"))
    said = teacher.collect("--folder", teacher.inbox, "--dry-run")
    assert said.startswith("a dry run, nothing is written: ") and "1 new" in said
    assert sorted(p for p in teacher.folder.root.rglob("*") if p.suffix != ".lock") == before


def test_a_collecting_that_was_killed_is_completed(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> None:
    (teacher.inbox / "ann").mkdir()
    (teacher.inbox / "ann" / NOTEBOOK).write_bytes(notebook())
    with monkeypatch.context() as patch:
        patch.setattr(collected, "append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        main(["teach", "collect", "03", "--folder", str(teacher.inbox)], teacher.course)
    teacher.capfd.readouterr()
    assert teacher.history("ann") == []
    assert "1 unchanged" in teacher.collect("--folder", teacher.inbox)
    assert teacher.history("ann") == [(1, "submitted", "")]


def test_a_half_written_line_of_the_record_is_passed_over(teacher: Teacher) -> None:
    line = collected.Collected("ann", 1, "a", "submitted/ann/03_layers")
    collected.append(teacher.folder, NAME, [line])
    path = teacher.folder.private / "collected" / f"{NAME}.jsonl"
    path.write_bytes(path.read_bytes() + b'{"student": "bo')
    collected.append(teacher.folder, NAME, [line])
    assert collected.read(teacher.folder, NAME) == {"ann": [line, line]}


# Canvas


def test_a_canvas_zip(teacher: Teacher) -> None:
    path = teacher.zip(
        {
            f"leeann_77_501_{NOTEBOOK}": notebook("ann, first"),
            "leeann_77_502_03_layers-1.ipynb": notebook("ann, last"),
            "leeann_77_503_helper.py": b"y = 1",
            "müllerbo_LATE_78_504_03_layers-2.ipynb": notebook("bo"),
            f"poedee_90_505_{NOTEBOOK}": notebook("dee"),
            f"stranger_91_506_{NOTEBOOK}": notebook("stranger"),
            "roecy_79_text.html": b"<p>",
            f"anon_ab1cd_507_{NOTEBOOK}": notebook("anon"),
        }
    )
    said = teacher.collect("--zip", path)
    assert teacher.have() == {"ann": "ann, last", "bo_2": "bo", "dee": "dee"}
    assert "3 new, 0 unchanged, 1 late, 0 refused, 3 unknown, 3 nothing from" in said
    assert (teacher.place("ann") / "helper.py").exists()
    assert not (teacher.place("bo_2") / "timestamp.txt").exists()  # Canvas's zips hold no time
    assert collected.read(teacher.folder, NAME)["bo_2"][0].late is True
    assert ["unknown", "", "'roecy_79_text.html'", "no name of a handed-in file by Canvas"] in teacher.told()


def test_all_attempts_of_a_zip_are_kept_apart_once(teacher: Teacher) -> None:
    files = {f"leeann_77_50{i}_03_layers{more}.ipynb": notebook(str(i)) for i, more in enumerate(["", "-1", "-2"])}
    for _ in range(2):
        teacher.collect("--zip", teacher.zip(files), "--all-attempts")
        assert teacher.have() == {"ann": "2"}
        kept = sorted((teacher.folder.private / "attempts" / NAME / "ann").iterdir())
        assert [place.name[:4] for place in kept] == ["001_", "002_"]
        assert [json.loads((p / NOTEBOOK).read_bytes())["cells"][0]["source"] for p in kept] == [["0"], ["1"]]
    assert teacher.history("ann") == [(1, ".teach", ""), (2, ".teach", ""), (3, "submitted", "")]


def test_an_older_zip_replaces_nothing(teacher: Teacher) -> None:
    teacher.collect("--zip", teacher.zip({"leeann_77_900_03_layers-1.ipynb": notebook("new")}))
    assert "0 new" in teacher.collect("--zip", teacher.zip({f"leeann_77_501_{NOTEBOOK}": notebook("old")}))
    assert teacher.have() == {"ann": "new"} and teacher.told()[0][:2] == ["older", "ann"]


def test_a_time_in_a_students_zip_is_not_believed(teacher: Teacher) -> None:
    teacher.collect(
        "--zip",
        teacher.zip({f"leeann_77_1_{NOTEBOOK}": notebook(), "leeann_77_2_timestamp.txt": b"2000-01-01 00:00:00 UTC"}),
    )
    assert not (teacher.place("ann") / "timestamp.txt").exists()
    assert collected.read(teacher.folder, NAME)["ann"][0].when == ""


STUDENTS = {
    "ann": Student("ann", "Ann", "Lee", more={"canvas_id": "77", "moodle_id": "9077"}),
    "bo": Student("bo", "Bo", "Müller", more={"canvas_id": "78"}),
    "cy": Student("cy", "Cy", "Roe", more={"canvas_id": "79", "moodle_id": "9079"}),
    "cy2": Student("cy2", "Cy", "Roe", more={"canvas_id": "80", "moodle_id": "9080"}),
    "dee": Student("dee", "Dee", "Poe"),
    "kit": Student("kit", "Christopher", "Doe", more={"canvas_id": "81", "lms_name": "Kit Doe"}),
    "x": Student("x", "Xi", "Yu"),
    "x2": Student("x2", "Xi", "Yu"),
}


@pytest.mark.parametrize(
    "name, whose",
    [
        ("leeann_77_501_03_layers.ipynb", "ann"),
        ("leeannmarie_77_501_03_layers.ipynb", "ann"),  # a middle name
        ("leeann_LATE_77_501_a_b_1_2_c.ipynb", "ann"),
        ("mullerbo_78_501_03_layers.ipynb", "bo"),
        ("roecy_80_501_03_layers.ipynb", "cy2"),  # two of one name, by number
        ("poedee_500_501_03_layers.ipynb", "dee"),  # no number in the roster
        ("kitdoe_81_501_03_layers.ipynb", "kit"),
        ("leeann_77_80_03_layers.ipynb", "ann"),  # an upload with the number of a user, before the file's own
        ("zed_77_501_03_layers.ipynb", None),  # another name with this number
        ("leeann_500_501_03_layers.ipynb", None),  # another number with this name
        ("roecy_500_501_03_layers.ipynb", None),
        ("yuxi_500_501_03_layers.ipynb", None),  # two of one name without numbers
        ("zed_500_501_03_layers.ipynb", None),
        ("leeann_77_79_501_03_layers.ipynb", None),  # cy calls himself leeann_77
        ("anon_77_501_03_layers.ipynb", None),
    ],
)
def test_whose_a_canvas_file_is(name: str, whose: str | None) -> None:
    assert found(name, "canvas") == whose


@pytest.mark.parametrize(
    "name, whose",
    [
        ("Ann Lee_12345_assignsubmission_file_/03_layers.ipynb", "ann"),
        ("Lee Ann_12345_assignsubmission_file/03_layers.ipynb", "ann"),
        ("Ann Lee_12345_assignsubmission_file_03_layers.ipynb", "ann"),
        ("Ann Lee_12345_assignsubmission_file_/folder/03_layers.ipynb", "ann"),
        ("Bo Müller_1_assignsubmission_file_/a.ipynb", "bo"),
        ("Ann Lee_79_assignsubmission_file_/a.ipynb", "ann"),  # the number is another one for each assignment
        ("Cy Roe_9080_assignsubmission_file_/a.ipynb", "cy2"),
        ("Ann Marie Lee_9077_assignsubmission_file_/a.ipynb", "ann"),
        ("Cy Roe_1_assignsubmission_file_/a.ipynb", None),
        ("Participant_9077_assignsubmission_file_/a.ipynb", None),
        ("Zed Zed_1_assignsubmission_file_/a.ipynb", None),
    ],
)
def test_whose_a_moodle_file_is(name: str, whose: str | None) -> None:
    assert found(name, "moodle") == whose


def found(name: str, kind: str) -> str | None:
    file = lms.parse(name, kind)
    assert file is not None
    try:
        return Directory(STUDENTS, kind).find(file).id
    except Unmatched as error:
        assert str(error)
        return None


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=8), st.booleans(), st.integers(1, 10**9), st.integers(1, 10**9), st.text(min_size=1, max_size=8)
)
def test_any_canvas_name_gives_its_number_among_those_that_may_be(
    person: str, late: bool, user: int, upload: int, file: str
) -> None:
    name = f"{person}{'_LATE' * late}_{user}_{upload}_{file}"
    parsed = lms.parse(name, "canvas")
    if "/" not in name and "\n" not in name:
        assert parsed is not None and (str(user) in parsed.numbers or any(c.isdigit() for c in person))
        assert lms.guess([name]) == "canvas"


def test_two_who_claim_to_be_one_student_are_both_unknown(teacher: Teacher) -> None:
    path = teacher.zip(
        {
            f"Dee Poe_1_assignsubmission_file_/{NOTEBOOK}": notebook("dee"),
            f"Poe Dee_2_assignsubmission_file_/{NOTEBOOK}": notebook("evil"),
            f"Ann Lee_3_assignsubmission_file_/{NOTEBOOK}": notebook("ann"),
        }
    )
    assert "1 new" in teacher.collect("--zip", path)
    assert teacher.have() == {"ann": "ann"}
    assert sum(line[-1] == "one of several people who may be dee" for line in teacher.told()) == 2


def test_a_hostile_zip_of_a_class_costs_only_who_made_it(teacher: Teacher) -> None:
    bomb = b" " * 30 * 10**6
    path = teacher.zip(
        {
            f"Ann Lee_1_assignsubmission_file_/{NOTEBOOK}": bomb,
            "Bo Müller_2_assignsubmission_file_/../../../gradebook.db": b"x",
            f"Dee Poe_3_assignsubmission_file_/{NOTEBOOK}": notebook("dee"),
            "../../evil.ipynb": b"x",
            "/etc/cron.d/x": b"x",
        }
    )
    said = teacher.collect("--zip", path, "--lms", "moodle")
    assert teacher.have() == {"dee": "dee"} and "1 new" in said and "2 refused, 2 unknown" in said
    assert not (teacher.folder.root / "gradebook.db").exists()
    assert sorted(p.name for p in teacher.folder.submitted.iterdir()) == ["dee"]


def test_a_zip_that_is_none_is_said(teacher: Teacher) -> None:
    path = teacher.inbox / "a.zip"
    path.write_bytes(b"PK")
    assert main(["teach", "collect", "03", "--zip", str(path)], teacher.course) == 2
    assert "a.zip: it is no zip" in teacher.capfd.readouterr().err
    assert main(["teach", "collect", "03", "--zip", str(teacher.zip({"a.ipynb": b""}))], teacher.course) == 2
    assert "is Canvas's or Moodle's" in teacher.capfd.readouterr().err


# Feedback's names, as the LMSs' own programs read them


def canvas_reads(name: str) -> tuple[str, str]:
    """User and upload, as Canvas finds them (Assignment#infer_comment_context_from_filename)."""
    first, second = [part for part in name.split("_") if part.isdecimal()][:2]
    return first, second


def moodle_reads(path: str) -> tuple[str, str, str]:
    """Participant, plugin and file, as Moodle finds them (assignfeedback_file_zip_importer)."""
    parts = path.split("/")
    info = parts[0].split("_", 4)
    return info[1], f"{info[2]}_{info[3]}", "/".join([*(part for part in info[4:] if part), *parts[1:]])


@pytest.mark.parametrize(
    "name", ["leeann_77_501_03_layers.ipynb", "müllerbo_LATE_77_501_03_layers-2.ipynb", "leeann_77_501_a_9_8_b.py"]
)
def test_canvas_takes_the_feedbacks_name(name: str) -> None:
    file = lms.parse(name, "canvas")
    assert file and lms.feedback_name(file).endswith(".html")
    assert canvas_reads(lms.feedback_name(file)) == ("77", "501")


@pytest.mark.parametrize("between", ["_/", "/", "_", "_/folder/"])
def test_moodle_takes_the_feedbacks_name(between: str) -> None:
    file = lms.parse(f"Ann Lee_123_assignsubmission_file{between}03_layers.ipynb", "moodle")
    assert file
    participant, plugin, page = moodle_reads(lms.feedback_name(file))
    assert (participant, plugin) == ("123", "assignsubmission_file")
    assert page.endswith("03_layers_feedback.html")


def test_the_record_knows_the_feedbacks_name(teacher: Teacher) -> None:
    teacher.collect("--zip", teacher.zip({"leeann_77_502_03_layers-1.ipynb": notebook()}))
    line = collected.standing(collected.read(teacher.folder, NAME)["ann"])
    assert line and line.feedback_name == "leeann_77_502_03_layers-1.html"


# nbgrader's exchange


class Exchange:
    """Releases with nbgrader; fetches and submits as a student, by nbgrader's own API."""

    def __init__(self, teacher: Teacher, home: Path) -> None:
        self.teacher, self.home = teacher, home
        source = teacher.folder.source / NAME / NOTEBOOK
        source.parent.mkdir(parents=True)
        source.write_text(release.notebook_text(teacher.course.lesson("03"), solutions=True), encoding="utf-8")
        api = nbgrader_api.open_course(teacher.folder)
        for step in (api.generate_assignment, api.release_assignment):
            made = step(NAME)
            assert made["success"], made["log"]
        self.inbound = home.parent / "exchange" / "toy" / "inbound"

    def submit(self, student: str, source: str) -> Path:
        """Fetch, write something, submit: the new folder in the exchange."""
        place = self.home / student
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        before = set(self.inbound.iterdir())
        self._run("FetchAssignment", student, place)
        path = place / NAME / NOTEBOOK
        text = json.loads(path.read_text(encoding="utf-8"))
        text["cells"].insert(0, json.loads(notebook(source))["cells"][0])
        path.write_text(json.dumps(text), encoding="utf-8")
        self._run("Submit", student, place)
        (new,) = set(self.inbound.iterdir()) - before
        return new

    def _run(self, step: str, student: str, place: Path) -> None:
        api = nbgrader_api.open_course(self.teacher.folder)
        api.coursedir.assignment_id, api.coursedir.student_id = NAME, student
        app = getattr(api.exchange, step)(coursedir=api.coursedir, authenticator=api.authenticator, parent=api)
        app.assignment_dir = str(place)
        app.start()


@pytest.mark.filterwarnings("ignore")  # nbgrader's and its libraries' own
def test_the_exchange_with_real_release_fetch_and_submit(teacher: Teacher, tmp_path: Path) -> None:
    exchange = Exchange(teacher, tmp_path / "home")
    exchange.submit("ann", "first")
    last = exchange.submit("ann", "last")
    fine = exchange.submit("bo_2", "bo")
    linked, piped = exchange.submit("cy", "cy"), exchange.submit("cy2", "cy2")
    (linked / "x.db").symlink_to(teacher.folder.root / "gradebook.db")
    (linked / "sh.txt").symlink_to("/etc/shadow")
    (piped / "submission_secret.txt").unlink()
    os.mkfifo(piped / "submission_secret.txt")
    (exchange.inbound / f"zoe+{NAME}+2027-01-01 00:00:00.000000 UTC+x").mkdir()
    (exchange.inbound / f"dee+{NAME}+yesterday+x").mkdir()
    (exchange.inbound / f"dee+{NAME}+2027-01-01 00:00:00.000000 UTC+x").symlink_to(teacher.folder.root)
    said = teacher.collect("--all-attempts")
    assert teacher.have() == {"ann": "last", "bo_2": "bo"}
    assert "2 new, 0 unchanged, 0 late, 3 refused, 2 unknown, 4 nothing from" in said
    assert [(number, place) for number, place, _ in teacher.history("ann")] == [(1, ".teach"), (2, "submitted")]
    for note in ("timestamp.txt", "submission_secret.txt"):
        assert (teacher.place("ann") / note).read_bytes() == (last / note).read_bytes()
    assert fine.name.split("+")[2].startswith((teacher.place("bo_2") / "timestamp.txt").read_text("ascii")[:19])
    assert "2 unchanged" in teacher.collect("--exchange")
    assert sorted(p.name for p in teacher.folder.submitted.iterdir()) == ["ann", "bo_2"]
    collects_as_nbgrader_does(teacher)


def collects_as_nbgrader_does(teacher: Teacher) -> None:
    """nbgrader's own collect finds nothing newer, and its autograde takes the time from what is there."""
    api = nbgrader_api.open_course(teacher.folder)
    assert api.coursedir.get_existing_timestamp(str(teacher.place("ann"))) is not None
    for student in ("cy", "cy2", "dee", "zoe"):
        shutil.rmtree(teacher.place(student), ignore_errors=True)
    with api.gradebook as gradebook:
        assert gradebook.find_assignment(NAME).name == NAME


def test_who_hands_in_for_another_student_is_found_out(teacher: Teacher, tmp_path: Path) -> None:
    inbound = tmp_path / "exchange" / "toy" / "inbound"
    inbound.mkdir(parents=True)
    me = pwd.getpwuid(os.getuid()).pw_name
    teacher.folder.roster.write_text(f"id\nann\n{me}\n", encoding="utf-8")
    for student in ("ann", me):
        place = inbound / f"{student}+{NAME}+2027-01-01 00:00:00.000000 UTC+r"
        place.mkdir()
        (place / NOTEBOOK).write_bytes(notebook(student))
    teacher.collect()
    assert teacher.have() == {me: me}
    told = {line[0]: line for line in teacher.told()}
    assert told["unknown"][3] == f"belongs to {me}, who is another student"
    assert told["new"][3].startswith("says 2027-01-01 00:00 UTC, and was changed 20")  # an invented time


def test_without_an_exchange_it_says_how_to_make_one(teacher: Teacher) -> None:
    assert main(["teach", "collect", "03"], teacher.course) == 2
    assert "there is no exchange at" in teacher.capfd.readouterr().err
