"""An instructor in a course folder, who runs `tito teach collect`."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from handed import NAME, NOTEBOOK

from tito.cli import main
from tito.course import Course
from tito.teach.folder import Folder
from tito.teach.intake import collected

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


def source(place: Path) -> str:
    """The first cell of the notebook in a submission."""
    return str(json.loads((place / NOTEBOOK).read_bytes())["cells"][0]["source"][0])


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
        return {path.parent.parent.name: source(path.parent) for path in found}

    def kept(self, student: str) -> list[str]:
        """Earlier attempts: the source of the first cell."""
        return [source(place) for place in sorted((self.folder.private / "attempts" / NAME / student).iterdir())]

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


def at_work(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Teacher:
    """Her, in a new course folder that knows a new exchange."""
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
