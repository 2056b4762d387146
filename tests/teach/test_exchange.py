"""`tito teach collect` from nbgrader's exchange, after nbgrader's own release, fetch and submit."""

from __future__ import annotations

import json
import os
import pwd
import shutil
from pathlib import Path

import pytest
from handed import NAME, NOTEBOOK
from handed import saved as notebook
from teacher import Teacher, at_work

from tito import release
from tito.cli import main
from tito.teach import nbgrader_api


@pytest.fixture
def teacher(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Teacher:
    return at_work(tmp_path, capfd, monkeypatch)


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
