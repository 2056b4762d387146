"""CSV and zips for others: columns as the LMS names them, no formulas, no names where none are wanted; the commands."""

from __future__ import annotations

import csv
import io
import re
import shlex
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tito.cli import main
from tito.course import Course
from tito.teach.folder import Folder
from tito.teach.intake import collected
from tito.teach.intake.collected import Collected
from tito.teach.intake.roster import Student
from tito.teach.marks import exports, regrading
from tito.teach.marks.late import marks
from tito.teach.marks.policy import Policy
from tito.teach.marks.store import Store
from tito.teach.result import CheckResult, Key, Result

NAME = "03_layers"
DUE = datetime(2027, 3, 12, 23, 59, tzinfo=timezone.utc)
ROSTER = """id,first_name,last_name,email,canvas_id,section
ada,Ada,Lovelace,ada@example.org,101,A
eve,=cmd|' /C calc'!A0,"-2+3;=1+1",@eve,102,B
bob,Bob,Moss,bob@example.org,103,A
"""
TRIGGERS = "=+-@\t\r＝＋－＠"


def made(student: str, *earned: float, bundle: str = "b1", submission: str = "s1") -> Result:
    key = Key(student, NAME, submission, bundle, "reference", {"wall": 10.0}, "0" * 16, "3.11.7", "2.2.0")
    checks = (CheckResult(f"check {i}", "Linear", 10.0, e, False, "ok") for i, e in enumerate(earned))
    return Result(key, "graded", checks=tuple(checks))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A course folder with three students, two of whom handed in by Moodle; the current folder."""
    root = tmp_path / "course"
    (root / ".teach").mkdir(parents=True)
    (root / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (root / "course.toml").write_text(
        f'[assignment."{NAME}"]\ndue = 2027-03-12T23:59:00Z\nlate = {{policy = "per day", percent = 10}}\n',
        encoding="utf-8",
    )
    folder = Folder(root)
    with Store(folder.results) as store:
        store.add(made("ada", 10, 2.125), DUE)
        store.add(made("eve", 10, 10), DUE + timedelta(hours=1))
    lines = [
        Collected("ada", 1, "Ada Lovelace_77_assignsubmission_file_/layers.ipynb", "submitted/ada", kind="moodle"),
        Collected("eve", 1, "eve_102_9_layers.ipynb", "submitted/eve", kind="canvas", upload=9),
    ]
    collected.append(folder, NAME, lines)
    for student in ("ada", "eve"):
        page = folder.out / "feedback" / NAME / f"{student}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"<p>{student}</p>", encoding="utf-8")
    monkeypatch.chdir(root)
    return folder


Tito = Callable[[str], tuple[int, str]]


@pytest.fixture
def tito(folder: Folder, capsys: pytest.CaptureFixture[str]) -> Tito:
    """Runs a command: its exit code and all that it said."""

    def run(line: str) -> tuple[int, str]:
        code = main(["teach", *shlex.split(line)], Course.find())
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def read(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


# ---- columns


def test_canvas(folder: Folder, tito: Tito) -> None:
    code, said = tito("export 03 --to canvas --column 'Layers (55)'")
    assert code == 0 and "2 of 3 handed in, 1 late" in said
    assert read(folder.out / f"{NAME}-canvas.csv") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Layers (55)"],
        ["    Points Possible", "", "", "", "", "20"],
        ["Lovelace, Ada", "101", "", "ada", "A", "12.12"],
        ["'-2+3;'=1+1,' =cmd|' /C calc'!A0", "102", "", "eve", "B", "18"],
        ["Moss, Bob", "103", "", "bob", "A", ""],
    ]
    with zipfile.ZipFile(folder.out / f"{NAME}-canvas-feedback.zip") as archive:
        assert archive.namelist() == ["eve_102_9_layers.html"] and archive.read(archive.namelist()[0]) == b"<p>eve</p>"


def test_moodle(folder: Folder, tito: Tito) -> None:
    assert tito("export 03 --to moodle")[0] == 0
    header, ada, eve, bob = read(folder.out / f"{NAME}-moodle.csv")
    assert header == [
        "Identifier",
        "Full name",
        "Email address",
        "Status",
        "Grade",
        "Maximum Grade",
        "Grade can be changed",
        "Last modified (submission)",
        "Last modified (grade)",
        "Feedback comments",
    ]
    assert ada[:6] == ["Participant 77", "Ada Lovelace", "ada@example.org", "Submitted for grading", "12.12", "20"]
    assert eve[2] == "'@eve" and eve[-1] == "1 day late: 2 points less"
    assert bob[3:5] == ["No submission", ""]
    with zipfile.ZipFile(folder.out / f"{NAME}-moodle-feedback.zip") as archive:
        assert archive.namelist() == ["Ada Lovelace_77_assignsubmission_file_/layers_feedback.html"]


def test_csv(folder: Folder, tito: Tito) -> None:
    with Store(folder.results) as store:
        store.add(made("stranger", 1))
    code, said = tito("export 03 --to csv")
    assert code == 0 and "not in the roster: stranger" in said
    rows = read(folder.out / f"{NAME}-csv.csv")
    table = {row[0]: dict(zip(rows[0], row)) for row in rows[1:]}
    assert list(table) == ["ada", "eve", "bob", "stranger"]
    eve = {"days_late": "1", "earned": "20", "penalty": "2", "score": "18", "points": "20", "status": "graded"}
    assert table["eve"].items() >= eve.items()
    assert table["eve"]["submitted"] == "2027-03-13T00:59:00+00:00"
    assert table["bob"]["status"] == "missing" and table["bob"]["score"] == ""
    with zipfile.ZipFile(folder.out / f"{NAME}-csv-feedback.zip") as archive:
        assert archive.namelist() == ["ada.html", "eve.html"]


def test_csv_says_why_nothing_was_taken(folder: Folder, tito: Tito) -> None:
    collected.append(folder, NAME, [Collected("bob", 1, "bob.ipynb", refused="03_layers.ipynb is not UTF-8 at byte 0")])
    for words, told in (("", ["refused", "03_layers.ipynb is not UTF-8 at byte 0"]), (" --anonymous", ["missing", ""])):
        assert tito(f"export 03 --to csv{words}")[0] == 0
        (path,) = folder.out.glob(f"{NAME}*csv*anonymous*.csv" if words else f"{NAME}-csv.csv")
        header, *rows = read(path)
        (bob,) = (dict(zip(header, row)) for row in rows if row[header.index("score")] == "")
        assert [bob["status"], bob["reason"]] == told


# ---- formulas


def begins_a_formula(text: str, separators: str = ",;\t") -> bool:
    """What a spreadsheet would see: the field cut at any separator, quoted or not, a part beginning with a trigger."""
    for separator in separators:
        text = text.replace(separator, "\n")
    parts = text.replace("\r", "\n").replace('"', "\n").split("\n")
    return any(part.lstrip().startswith(tuple(TRIGGERS)) for part in parts)


@given(st.text(alphabet=TRIGGERS + "a1 ;,\n\"'|", max_size=12))
@example("=1+1")
@example(" \t=1")
@example('a";=1')
def test_no_text_begins_a_formula(text: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(["x", exports.guarded(text), 1])
    (row,) = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert not begins_a_formula(row[1])
    assert row[1].replace("'", "") == text.replace("'", "")


@given(st.text(alphabet="abcäß .'()&1/é-", max_size=12).filter(lambda text: not text.lstrip().startswith("-")))
def test_an_ordinary_name_stays_as_it_is(text: str) -> None:
    assert exports.guarded(text) == text


# ---- without names


def test_pseudonyms_are_stable_and_want_the_secret() -> None:
    names = {exports.pseudonym(f"student{i}", b"secret") for i in range(1000)}
    assert len(names) == 1000 and exports.pseudonym("student0", b"secret") in names
    assert exports.pseudonym("student0", b"other") not in names


@pytest.mark.parametrize("kind", ["csv", "canvas", "moodle"])
def test_anonymous_files_say_nothing_of_who(folder: Folder, tito: Tito, kind: str) -> None:
    assert tito(f"export 03 --to {kind} --anonymous")[0] == 0
    text = (folder.out / f"{NAME}-{kind}-anonymous.csv").read_text(encoding="utf-8")
    for telling in ("ada", "Ada", "Lovelace", "example.org", "eve", "Participant", "101", "2027", "Moss"):
        assert telling not in re.sub("anon-[0-9a-f]{12}", "", text)  # whose digits may spell anything
    names = [exports.pseudonym(student, folder.secret) for student in ("ada", "eve", "bob")]
    assert all(name in text for name in names)
    assert sorted(names) == sorted(names, key=text.index)  # the order is not the roster's
    assert [path.name for path in folder.out.glob("*.zip")] == []


def test_who_has_to_be_known_is_not_made_anonymous(tito: Tito) -> None:
    code, said = tito("export 03 --to gradebook --anonymous")
    assert code == 2 and "has to know who is who" in said


# ---- nothing half written, nothing in a dry run


@pytest.mark.parametrize("kind", ["csv", "canvas", "moodle", "gradescope"])
def test_a_dry_run_writes_nothing(folder: Folder, tito: Tito, kind: str) -> None:
    before = sorted(folder.root.rglob("*"))
    code, said = tito(f"export 03 --to {kind} --dry-run")
    assert code == 0 and "nothing is written" in said
    assert sorted(folder.root.rglob("*")) == before


def test_what_fails_half_way_leaves_the_old_file(folder: Folder, tito: Tito) -> None:
    tito("export 03 --to csv")
    path = folder.out / f"{NAME}-csv.csv"
    before = path.read_bytes()
    rows = iter([["a"], ["b"]])

    def failing() -> object:
        yield next(rows)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        exports.write(path, failing())  # type: ignore[arg-type]
    assert path.read_bytes() == before


def test_without_results_it_says_what_to_do(tito: Tito) -> None:
    code, said = tito("export 04 --to csv")
    assert code == 1 and "tito teach grade 04" in said


def test_a_class_of_5000_is_kept_slim(tmp_path: Path) -> None:
    """What is kept of a mark for sorting by roster is less than a tenth of its result."""
    big = Result(made("ada").key, "graded", checks=(*(made("ada", *range(40)).checks),))
    with Store(tmp_path / "results") as store:
        store.add(big)
        (mark,) = marks(store, NAME, Policy())
    line = exports.lines(Folder(tmp_path), NAME, {"ada": Student("ada")}, [mark])[0]
    assert line.mark and len(line.mark.result.to_json()) < len(big.to_json()) / 10 and line.mark.points == 400


# ---- results, regrading


def test_results_overview_and_a_check_that_would_be_dropped(folder: Folder, tito: Tito) -> None:
    code, said = tito("results")
    assert code == 0 and said.split() == f"{NAME} 2 handed in 0 refused 1 late mean 15.1 of 20".split()
    assert tito("results 03") == (0, f"{NAME}: 2 students\n       2  check 0\n       1  check 1\n")
    code, said = tito("results 03 --drop 'check 1'")
    assert code == 0 and "ada: 12.125 of 20 would be 10 of 10" in said and 'drop = ["check 1"]' in said
    code, said = tito("results 03 --drop 'check 7'")
    assert code == 2 and "no check 'check 7'" in said


def test_results_of_two_graders_merge(folder: Folder, tito: Tito, tmp_path: Path) -> None:
    with Store(tmp_path / "theirs") as theirs:
        theirs.add(made("bob", 10, 10))
        theirs.add(made("ada", 10, 10))
    code, said = tito(f"results --merge {tmp_path / 'theirs'}")
    assert code == 1 and "2 results were new; 1 keys have two different results" in said and "ada" in said
    code, said = tito("results --copy ours")
    assert code == 0
    with Store(folder.root / "ours") as copy:
        assert {student: result.earned for student, result in copy.latest(NAME).items()} == {
            "ada": 20,
            "eve": 20,
            "bob": 20,
        }
    code, said = tito("results --merge nowhere")
    assert code == 2 and "there is no nowhere" in said


def test_a_regrade_is_shown_and_asked_before_it_counts(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new = [made("ada", 10, 10, bundle="b2"), made("eve", 9, 10, bundle="b2")]
    keys = [result.key for result in new]
    with Store(folder.results) as store:
        for result in new:
            store.add(result)

        def earned() -> list[float]:
            return [result.earned for result in store.latest(NAME).values()]

        assert not regrading.settle(store, keys, False, "tito teach grade 03")
        said = capsys.readouterr().out
        assert "1 higher, 1 lower" in said and "ada: 12.125 to 20 (check 1 2.125 to 10)" in said
        assert "tito teach grade 03 --yes" in said and earned() == [12.125, 20]
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        assert not regrading.settle(store, keys, False, "", ask=lambda question: "") and earned() == [12.125, 20]
        assert regrading.settle(store, keys, False, "", ask=lambda question: "y") and earned() == [20, 19]
        capsys.readouterr()
        assert regrading.settle(store, keys, False, "") and capsys.readouterr().out == ""


def test_a_regrade_that_changes_no_mark_asks_nothing(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    same = made("ada", 10, 2.125, bundle="b2")
    with Store(folder.results) as store:
        store.add(same)
        assert regrading.settle(store, [same.key], False, "") and capsys.readouterr().out == ""
        assert store.latest(NAME)["ada"] == same
