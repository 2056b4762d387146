"""`tito teach collect --folder` on real folders, and what happens the second time."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from handed import NAME, NOTEBOOK
from handed import saved as notebook
from teacher import Teacher, at_work

from tito.cli import main
from tito.teach.intake import collected, sources


@pytest.fixture
def teacher(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Teacher:
    return at_work(tmp_path, capfd, monkeypatch)


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


def test_of_several_files_the_last_changed_counts(teacher: Teacher) -> None:
    for name, changed in (("ann_a.ipynb", 3), ("ann_b.ipynb", 1), ("ann_c.ipynb", 2)):
        (teacher.inbox / name).write_bytes(notebook(name))
        os.utime(teacher.inbox / name, (changed, changed))
    teacher.collect("--folder", teacher.inbox)
    assert teacher.have() == {"ann": "ann_a.ipynb"}
    teacher.collect("--folder", teacher.inbox, "--all-attempts")
    assert teacher.kept("ann") == ["ann_b.ipynb", "ann_c.ipynb"]


def test_what_is_taken_away_meanwhile_stops_nobody(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> None:
    for student in ("ann", "bo_2"):
        (teacher.inbox / f"{student}.ipynb").write_bytes(notebook())
    look = sources._owners

    def look_and_take_away(path: Path, *rest: Any) -> list[str]:
        if path.stem == "ann":
            path.unlink()
        return look(path, *rest)

    monkeypatch.setattr(sources, "_owners", look_and_take_away)
    assert "1 new" in teacher.collect("--folder", teacher.inbox)
    assert ["unknown", "", "'ann.ipynb'", "cannot be read: No such file or directory"] in teacher.told()


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
    assert teacher.have() == {"dee": "fine"} and "1 new" in said and "4 refused, 0 unknown" in said
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
    attempts = collected.attempts(collected.read(teacher.folder, NAME)["ann"])
    places = [teacher.folder.root / attempt.place for attempt in attempts]
    assert [attempt.attempt for attempt in attempts] == [1, 2] and places == [kept, teacher.place("ann")]
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
    teacher.collect("--folder", teacher.inbox)
    before = sorted(teacher.folder.root.rglob("*"))
    (teacher.inbox / "ann" / NOTEBOOK).write_bytes(notebook("second"))
    assert "1 new" in teacher.collect("--folder", teacher.inbox, "--dry-run")
    assert sorted(teacher.folder.root.rglob("*")) == before and teacher.have() == {"ann": "x = 1"}


def test_a_collecting_that_was_killed_is_completed(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> None:
    (teacher.inbox / "ann").mkdir()
    (teacher.inbox / "ann" / NOTEBOOK).write_bytes(notebook())
    with monkeypatch.context() as patch:
        patch.setattr(collected, "append", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        main(["teach", "collect", "03", "--folder", str(teacher.inbox)], teacher.course)
    teacher.capfd.readouterr()
    assert teacher.history("ann") == []
    (teacher.folder.private / "staging" / "1_half").mkdir(parents=True, exist_ok=True)
    assert "1 unchanged" in teacher.collect("--folder", teacher.inbox)
    assert teacher.history("ann") == [(1, "submitted", "")] and not (teacher.folder.private / "staging").exists()


def test_a_half_written_line_of_the_record_is_passed_over(teacher: Teacher) -> None:
    line = collected.Collected("ann", 1, "a", "submitted/ann/03_layers")
    collected.append(teacher.folder, NAME, [line])
    path = teacher.folder.private / "collected" / f"{NAME}.jsonl"
    path.write_bytes(path.read_bytes() + b'{"student": "bo')
    collected.append(teacher.folder, NAME, [line])
    assert collected.read(teacher.folder, NAME) == {"ann": [line, line]}
