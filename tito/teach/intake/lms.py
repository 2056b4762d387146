"""Names of files in the zips that Canvas and Moodle make of an assignment's submissions. Begin at `parse`.

Canvas (lib/content_zipper.rb) writes NAME[_LATE]_USER_UPLOAD_FILE in one folder, where NAME is last and first name in
lower case without spaces. Moodle (mod/assign) writes FULL NAME_PARTICIPANT_assignsubmission_file_/FILE, without the
last `_` since 4.1, or all of it as one name; its PARTICIPANT is another number for each assignment. Both read these
names again when feedback is uploaded. What stands in a name is claimed by a student: `Directory.find` asks the roster.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tito.teach.intake.roster import Student

KINDS = ("canvas", "moodle")
CANVAS = re.compile(r"(?P<person>[^/]*?)(?P<late>_LATE)?_(?P<number>\d+)_(?P<upload>\d+)_(?P<file>[^/]+)")
MOODLE = re.compile(r"(?P<person>[^/]*?)_(?P<number>\d+)_assignsubmission_file(?:_/|/|_)(?P<file>.+)")
ID_COLUMNS = {"canvas": ("canvas_id", "lms_user_id"), "moodle": ("moodle_id", "lms_user_id")}


@dataclass(frozen=True)
class LmsFile:
    """A file in an LMS's zip, as its name says."""

    kind: str
    name: str  # as it stands in the zip
    person: str
    number: str  # Canvas: the user's; Moodle: the participant's, for this assignment
    file: str  # the student's own name for it
    upload: int = 0  # Canvas: larger is later
    late: bool | None = None  # by Canvas's mark; Moodle writes none
    numbers: tuple[str, ...] = ()  # all that may be the user's number: a person may be called like one

    @property
    def own(self) -> str:
        """The student's own name without the number that Canvas adds to a second upload: `layers-2.ipynb`."""
        return re.sub(r"-\d{1,3}(?=\.\w+$)", "", self.file) if self.kind == "canvas" else self.file


class Unmatched(Exception):
    """Says why a file belongs to no student for sure."""


def parse(name: str, kind: str) -> LmsFile | None:
    """What a name in an LMS's zip says; None for one that the LMS does not write."""
    match = (CANVAS if kind == "canvas" else MOODLE).fullmatch(name)
    if not match:
        return None
    upload = int(match["upload"][:18]) if kind == "canvas" else 0
    late = bool(match["late"]) if kind == "canvas" else None
    return LmsFile(kind, name, match["person"], match["number"], match["file"], upload, late, _numbers(match))


def guess(names: Iterable[str]) -> str | None:
    """Whose zip this is, by the names in it."""
    names = list(names)
    counts = {kind: sum(parse(name, kind) is not None for name in names) for kind in KINDS}
    best = max(KINDS, key=lambda kind: counts[kind])
    return best if counts[best] else None


def feedback_name(file: LmsFile) -> str:
    """The name under which the LMS takes an HTML page as feedback to this file's student, in a zip."""
    stem = re.sub(r"\.\w+$", "", file.file)
    head = file.name.removesuffix(file.file)
    return f"{head}{stem}.html" if file.kind == "canvas" else f"{head}{stem}_feedback.html"


class Directory:
    """Finds students by what an LMS says of them."""

    def __init__(self, students: Mapping[str, Student], kind: str) -> None:
        self._by_number = _index((number, student) for student in students.values() for number in _ids(student, kind))
        self._by_name = _index((name, student) for student in students.values() for name in _names(student))

    def find(self, file: LmsFile) -> Student:
        """The one student whose file this is, by number and name; Unmatched where that is not sure."""
        numbered = _unique(s for number in file.numbers for s in self._by_number.get(number, ()))
        named = self._by_name.get(_plain(file.person), [])
        if file.kind == "canvas" and numbered:
            return _numbered(numbered, named, file)
        if len(named) > 1:
            named = [student for student in named if student in numbered] or named
        named = named or [student for student in numbered if _share(student, file.person)]
        if len(named) > 1:
            column = " or ".join(ID_COLUMNS[file.kind])
            raise Unmatched(f"{_ids_of(named)} have this name; put their numbers into the column {column}")
        if not named:
            raise Unmatched("not in the roster")
        if file.kind == "canvas" and any(_ids(named[0], file.kind)):
            raise Unmatched(f"has the name of {_ids_of(named)}, but another number than the roster says")
        return named[0]


def _numbered(numbered: list[Student], named: list[Student], file: LmsFile) -> Student:
    """The student with this number in Canvas, if nothing speaks against it."""
    if len(numbered) > 1:
        raise Unmatched(f"holds the numbers of {_ids_of(numbered)}")
    student = numbered[0]
    if student in named or (not named and _share(student, file.person)):
        return student
    raise Unmatched(f"number {file.number} is that of {student.id}, who has another name; is it right for lms_name?")


def _numbers(match: re.Match[str]) -> tuple[str, ...]:
    """All numbers that may be the user's: those before a number that may be an upload's. None begins with 0."""
    if match.re is MOODLE:
        return (match["number"],)
    row = re.match(r"[0-9_]*", match.string[match.start("number") :])
    numbers = row[0].rpartition("_")[0].split("_") if row else []
    return tuple(a for a, b in zip(numbers, numbers[1:]) if not a.startswith("0") and not b.startswith("0"))


def _unique(students: Iterable[Student]) -> list[Student]:
    return list({student.id: student for student in students}.values())


def _ids_of(students: Iterable[Student]) -> str:
    return ", ".join(sorted(student.id for student in students))


def _index(pairs: Iterable[tuple[str, Student]]) -> dict[str, list[Student]]:
    found: dict[str, list[Student]] = {}
    for key, student in pairs:
        if key and student not in found.setdefault(key, []):
            found[key].append(student)
    return found


def _ids(student: Student, kind: str) -> list[str]:
    return [student.more.get(column, "") for column in ID_COLUMNS[kind]]


def _names(student: Student) -> set[str]:
    first, last = _plain(student.first_name), _plain(student.last_name)
    return {first + last, last + first, _plain(student.more.get("lms_name", ""))}


def _share(student: Student, person: str) -> bool:
    """Whether first, last or LMS name stands in the name."""
    parts = (student.first_name, student.last_name, student.more.get("lms_name", ""))
    return any(_plain(part) and _plain(part) in _plain(person) for part in parts)


def _plain(name: str) -> str:
    """Letters and digits only, in lower case, without accents."""
    text = unicodedata.normalize("NFKD", name).casefold()
    return "".join(character for character in text if character.isalnum())
