"""`tito teach collect --zip`: whose a file is by Canvas's and Moodle's names, and the names that feedback gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from handed import NAME, NOTEBOOK
from handed import saved as notebook
from hypothesis import given, settings
from hypothesis import strategies as st
from teacher import Teacher, at_work

from tito.cli import main
from tito.teach.intake import collected, lms
from tito.teach.intake.lms import Directory, Unmatched
from tito.teach.intake.roster import Student


@pytest.fixture
def teacher(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Teacher:
    return at_work(tmp_path, capfd, monkeypatch)


# Canvas


def test_a_canvas_zip(teacher: Teacher) -> None:
    path = teacher.zip(
        {
            "leeann_77_503_03_layers-1.ipynb": notebook("ann, last"),
            "leeann_77_502_helper.py": b"y = 1",
            f"leeann_77_501_{NOTEBOOK}": notebook("ann, first"),
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
        teacher.collect("--zip", teacher.zip(dict(reversed(files.items()))), "--all-attempts")
        assert teacher.have() == {"ann": "2"}
        kept = sorted((teacher.folder.private / "attempts" / NAME / "ann").iterdir())
        assert [place.name[:4] for place in kept] == ["001_", "002_"] and teacher.kept("ann") == ["0", "1"]
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
