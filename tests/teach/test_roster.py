"""The roster: what is read, what is said of a broken one, and that nbgrader's gradebook gets it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from tito.errors import UserError
from tito.teach.folder import Folder
from tito.teach.intake import roster
from tito.teach.intake.roster import Student

Write = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(text: str | bytes) -> Path:
        path = tmp_path / "roster.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return path

    return make


def test_students_and_their_other_columns(write: Write) -> None:
    text = (
        'id,first_name,last_name,email,canvas_id,note\r\nann,Ann,"Lee, Dr.",ann@x.org,77,more time\r\n\r\nbo_2,,,,,\r\n'
    )
    assert roster.read(write(text)) == {
        "ann": Student("ann", "Ann", "Lee, Dr.", "ann@x.org", {"canvas_id": "77", "note": "more time"}),
        "bo_2": Student("bo_2", more={"canvas_id": "", "note": ""}),
    }


def test_what_spreadsheets_write_is_read(write: Write) -> None:
    text = "\ufeffID; First_Name ;last_name\n ann ;Jörg;Groß\n"
    assert roster.read(write(text)) == {"ann": Student("ann", "Jörg", "Groß")}
    assert list(roster.read(write("id\nann\n"))) == ["ann"]
    assert roster.read(write("id,email\n")) == {}


@pytest.mark.parametrize(
    "text, says",
    [
        (b"id\nann\nb\xf6\n", "is not UTF-8 at line 3, character 2; save it as CSV UTF-8"),
        ("id\nann\n".encode("utf-16"), "is UTF-16, not UTF-8"),
        ("", "line 1: no column is called id"),
        ("name\nann\n", "line 1: no column is called id"),
        ("id,email,Email\nann,,\n", "line 1, column 3: email is there twice"),
        ("id\nann\n\nbo\nann\n", "line 5, column id: ann stands on line 2 too"),
        ("id\nann\nANN\n", "line 3, column id: ANN stands on line 2 too"),
        ("id,email\n,x@y\n", "line 2, column id is empty"),
        ("id,email\nann,a,b\n", "line 2 has 3 fields for 2 columns; put quotes around commas"),
        ('id,email\n"ann\nx",y\n', "line 2, column id holds a line break"),
        ('id,email\nbo,\nann,"open\n', "line 3 is no CSV: unexpected end of data"),
        ("id,email\nann,x\0y\n", "line 2"),
        (f"id,first_name\nann,{'x' * 129}\n", "line 2, column first_name has 129 characters, the most is 128"),
        *(
            (f"id\n{id}\n", "line 2, column id: ")
            for id in ("..", ".ann", "a/b", "a\\b", "a b", "ünal", "con", "NUL.x", "a.", "-x", "a+b", "a" * 65, "а")
        ),
    ],
)
def test_a_broken_roster_is_named_by_line_and_column(write: Write, text: str | bytes, says: str) -> None:
    path = write(text)
    with pytest.raises(UserError) as error:
        roster.read(path)
    message = error.value.message
    assert message.startswith(str(path)) and says in message
    assert message.endswith(f", then repeat: tito teach import-roster {path}") and "\n" not in message


def test_a_missing_roster_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="roster.csv is missing; write it with the columns id,first_name,last_name,email"
    ):
        roster.read(tmp_path / "roster.csv")


def test_the_gradebook_gets_the_students_and_their_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # nbgrader calls alembic
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\nc.CourseDirectory.course_id = 'toy'\n")
    folder = Folder(tmp_path)
    for last, count in (("Lee", 2), ("Roe", 2)):
        folder.roster.write_text(f"id,first_name,last_name,email\nann,Ann,{last},a@x\nbo,,,\n", encoding="utf-8")
        assert roster.into_gradebook(folder) == count
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}", "toy") as gradebook:
        students = {s.id: (s.first_name, s.last_name, s.email) for s in gradebook.students}
    assert students == {"ann": ("Ann", "Roe", "a@x"), "bo": (None, None, None)}
