"""The students of a course, from CSV: id, first_name, last_name, email, and columns of its own. Begin at `read`.

Columns that tito knows: `lms_user_id`, `canvas_id` and `moodle_id` (what the LMS puts into names of files), and
`lms_name` (the name there, where it is another one). Every id is the name of a folder.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tito.errors import UserError
from tito.teach import nbgrader_api, safenames
from tito.teach.folder import Folder

COLUMNS = ("id", "first_name", "last_name", "email")
LONGEST = 128  # characters: nbgrader's columns
AGAIN = "then repeat: tito teach import-roster"


@dataclass(frozen=True)
class Student:
    """A line of the roster."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    more: Mapping[str, str] = field(default_factory=dict)


def read(path: Path) -> dict[str, Student]:
    """All students by id, in the file's order; UserError names line and column of what is wrong."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), delimiter=_delimiter(path), strict=True)
    students: dict[str, Student] = {}
    seen: dict[str, int] = {}
    rows = _rows(reader, path)
    columns = _columns(next(rows, (1, []))[1], path)
    for line, row in rows:
        student = _student(columns, row, f"{path}, line {line}")
        first = seen.setdefault(student.id.casefold(), line)
        if first != line:
            raise UserError(f"{path}, line {line}, column id: {student.id} stands on line {first} too; {_mend()}")
        students[student.id] = student
    return students


def into_gradebook(folder: Folder) -> int:
    """Enter all students of the course's roster into nbgrader's gradebook, or bring them up to date; how many."""
    students = read(folder.roster)
    with nbgrader_api.open_course(folder).gradebook as gradebook:
        for student in students.values():
            names = {"first_name": student.first_name, "last_name": student.last_name, "email": student.email}
            gradebook.update_or_create_student(student.id, **{name: text or None for name, text in names.items()})
    return len(students)


def _mend(what: str = "mend it") -> str:
    return f"{what}, {AGAIN}"


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"there is no {path}; write it with the columns {','.join(COLUMNS)}, {AGAIN}") from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError(f"{path} is UTF-16, not UTF-8; {_mend('save it as CSV UTF-8')}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = len(data[: error.start].rpartition(b"\n")[2].decode("utf-8")) + 1
        raise UserError(
            f"{path} is not UTF-8 at line {line}, character {column}; {_mend('save it as CSV UTF-8')}"
        ) from None


def _delimiter(path: Path) -> str:
    """A comma, or the semicolon that spreadsheets write where the comma is for decimals."""
    first = _text(path).partition("\n")[0]
    return ";" if ";" in first and "," not in first else ","


def _rows(reader: Iterator[list[str]], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, each with the line that it begins on."""
    line = 1
    try:
        for row in reader:
            if any(text.strip() for text in row):
                yield line, [text.strip() for text in row]
            line = reader.line_num + 1  # type: ignore[attr-defined]
    except csv.Error as error:
        raise UserError(f"{path}, line {line} is no CSV: {error}; {_mend()}") from None


def _columns(header: list[str], path: Path) -> list[str]:
    names = [name.casefold() for name in header]
    for number, name in enumerate(names, 1):
        if name and name in names[: number - 1]:
            raise UserError(f"{path}, line 1, column {number}: {name} is there twice; {_mend()}")
    if "id" not in names:
        raise UserError(f"{path}, line 1: no column is called id; name the columns {','.join(COLUMNS)}, {AGAIN}")
    return names


def _student(columns: list[str], row: list[str], where: str) -> Student:
    if len(row) > len(columns):
        raise UserError(
            f"{where} has {len(row)} fields for {len(columns)} columns; {_mend('put quotes around commas')}"
        )
    values = dict(zip(columns, row))
    for number, text in enumerate(row):
        _check(text, f"{where}, column {columns[number] or number + 1}")
    _check_id(values.get("id", ""), f"{where}, column id")
    known = {name: values.pop(name, "") for name in COLUMNS}
    return Student(**known, more={name: text for name, text in values.items() if name})


def _check(text: str, where: str) -> None:
    if len(text) > LONGEST:
        raise UserError(f"{where} has {len(text)} characters, the most is {LONGEST}; {_mend('shorten it')}")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise UserError(f"{where} holds a line break or control character: {text!a}; {_mend()}")


def _check_id(text: str, where: str) -> None:
    if not text:
        raise UserError(f"{where} is empty; {_mend('give the student one')}")
    if not safenames.allowed_id(text):
        form = f"at most {safenames.LONGEST_ID} of a-z, A-Z, 0-9 and . _ - @, none of Windows' reserved names"
        raise UserError(f"{where}: {text!a} can be no folder's name, which takes {form}; {_mend()}")
