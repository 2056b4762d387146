"""The students of a course, from CSV: id, first_name, last_name, email, and columns of its own. Begin at `read`.

Columns that tito knows: `lms_user_id`, `canvas_id` and `moodle_id` (what the LMS puts into names of files), and
`lms_name` (the name there, where it is another one). Every id is the name of a folder.
"""

from __future__ import annotations

import csv
import io
import shlex
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tito.errors import UserError
from tito.teach import nbgrader_api
from tito.teach.folder import Folder
from tito.teach.intake import safenames

COLUMNS = ("id", "first_name", "last_name", "email")
LONGEST = 128  # characters: nbgrader's columns


@dataclass(frozen=True)
class Student:
    """A line of the roster."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    more: Mapping[str, str] = field(default_factory=dict)


class _Broken(Exception):
    """What is wrong with a roster and what to do: a sentence that goes on behind the file's name."""


def read(path: Path) -> dict[str, Student]:
    """All students by id, in the file's order; UserError names line and column of what is wrong."""
    try:
        return _students(_text(path))
    except _Broken as broken:
        raise UserError(f"{path}{broken}, then repeat: tito teach import-roster {shlex.quote(str(path))}") from None


def into_gradebook(folder: Folder) -> int:
    """Enter all students of the course's roster into nbgrader's gradebook, or bring them up to date; how many."""
    students = read(folder.roster)
    with nbgrader_api.open_course(folder).gradebook as gradebook:
        for student in students.values():
            names = {"first_name": student.first_name, "last_name": student.last_name, "email": student.email}
            gradebook.update_or_create_student(student.id, **{name: text or None for name, text in names.items()})
    return len(students)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise _Broken(f" is missing; write it with the columns {','.join(COLUMNS)}") from None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise _Broken(" is UTF-16, not UTF-8; save it as CSV UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise _Broken(f" is not UTF-8 at line {line}, character {column}; save it as CSV UTF-8") from None


def _students(text: str) -> dict[str, Student]:
    students: dict[str, Student] = {}
    seen: dict[str, int] = {}
    rows = _rows(text)
    columns = _columns(next(rows, (1, []))[1])
    for line, row in rows:
        student = _student(columns, row, f", line {line}")
        first = seen.setdefault(student.id.casefold(), line)
        if first != line:
            raise _Broken(f", line {line}, column id: {student.id} stands on line {first} too; take one out")
        students[student.id] = student
    return students


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, each with the line that it begins on."""
    header = text.partition("\n")[0]
    delimiter = ";" if ";" in header and "," not in header else ","  # as spreadsheets write where 1,5 is a number
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            if any(field.strip() for field in row):
                yield line, [field.strip() for field in row]
            line = reader.line_num + 1
    except csv.Error as error:
        raise _Broken(f", line {line} is no CSV: {error}; mend it") from None


def _columns(header: list[str]) -> list[str]:
    names = [name.casefold() for name in header]
    for number, name in enumerate(names, 1):
        if name and name in names[: number - 1]:
            raise _Broken(f", line 1, column {number}: {name} is there twice; rename one")
    if "id" not in names:
        raise _Broken(f", line 1: no column is called id; name the columns {','.join(COLUMNS)}")
    return names


def _student(columns: list[str], row: list[str], where: str) -> Student:
    if len(row) > len(columns):
        raise _Broken(f"{where} has {len(row)} fields for {len(columns)} columns; put quotes around commas")
    for number, text in enumerate(row):
        _check(text, f"{where}, column {columns[number] or number + 1}")
    values = dict(zip(columns, row))
    _check_id(values.get("id", ""), f"{where}, column id")
    known = {name: values.pop(name, "") for name in COLUMNS}
    return Student(**known, more={name: values.get(name, "") for name in columns if name and name not in COLUMNS})


def _check(text: str, where: str) -> None:
    if len(text) > LONGEST:
        raise _Broken(f"{where} has {len(text)} characters, the most is {LONGEST}; shorten it")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise _Broken(f"{where} holds a line break or control character: {text!a}; take it out")


def _check_id(text: str, where: str) -> None:
    if not text:
        raise _Broken(f"{where} is empty; give the student one")
    if not safenames.allowed_id(text):
        form = f"at most {safenames.LONGEST_ID} of a-z, A-Z, 0-9 and . _ - @, none of Windows' reserved names"
        raise _Broken(f"{where}: {text!a} can be no folder's name, which takes {form}; change it")
