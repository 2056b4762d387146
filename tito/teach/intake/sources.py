"""Where submissions come from: nbgrader's exchange, a folder of files, an LMS's zip. Begin at `Found`.

A source says who handed in what, and when, and reads nothing yet. Every reading goes through `intake`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from tito.errors import UserError
from tito.teach import nbgrader_api
from tito.teach.folder import Folder
from tito.teach.intake import intake, lms, openat, safenames, unzip
from tito.teach.intake.intake import Entry, Submission
from tito.teach.intake.refusal import Refused, shown
from tito.teach.intake.roster import Student

MOST_ENTRIES = 100_000  # of a class's zip
FUTURE_OR_PAST = 600  # seconds between the time that a folder's name claims and that of the folder
TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d{1,6})?(?: ([A-Za-z][A-Za-z0-9_+/-]{0,40}))?")


@dataclass(frozen=True)
class Attempt:
    """Something that a student of the roster handed in."""

    student: str
    name: str  # how it is called where it lies
    read: Callable[[], Submission]  # Refused
    order: tuple[Any, ...]  # later attempts of a student compare greater
    when: datetime | None = None  # None where the source does not know
    own_time: bool = False  # whether timestamp.txt in it is believed
    late: bool | None = None  # as an LMS marked it
    kind: str = ""  # "canvas" or "moodle"
    upload: int = 0  # Canvas's number, which grows
    notes: tuple[str, ...] = ()


@dataclass
class Found:
    """What a source holds of one assignment; `unknown` are names with the reason why they are no student's for sure."""

    title: str
    attempts: list[Attempt] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)

    def by_student(self) -> dict[str, list[Attempt]]:
        """Each student's attempts, in order."""
        found: dict[str, list[Attempt]] = {}
        for attempt in sorted(self.attempts, key=lambda attempt: (attempt.student, attempt.order)):
            found.setdefault(attempt.student, []).append(attempt)
        return found


def moment(text: str) -> datetime | None:
    """The time in nbgrader's notation, `2027-03-01 12:00:00.000000 UTC`; None for anything else."""
    match = TIME.fullmatch(text)
    if not match:
        return None
    try:
        zone = timezone.utc if match[3] in (None, "UTC") else ZoneInfo(match[3])
        return datetime.fromisoformat(match[1] + (match[2] or "").ljust(7, "0") * bool(match[2])).replace(tzinfo=zone)
    except (ValueError, OSError, KeyError):
        return None


def exchange(folder: Folder, assignment: str, students: Mapping[str, Student]) -> Found:
    """What lies in the inbound folder of nbgrader's exchange. nbgrader's own collect follows links, so this reads."""
    api = nbgrader_api.open_course(folder)
    collect = api.exchange.Collect(coursedir=api.coursedir, authenticator=api.authenticator, parent=api)
    inbound = Path(getattr(collect, "root", ""), api.coursedir.course_id, "inbound").resolve()
    if not inbound.is_dir():
        way_out = (
            f"set c.Exchange.root in {folder.config.name}, or use: tito teach collect {_short(assignment)} --folder DIR"
        )
        raise UserError(f"there is no exchange at {inbound}; {way_out}")
    found = Found("the exchange")
    for name in sorted(os.listdir(inbound)):
        parts = name.split("+")
        if len(parts) in (3, 4) and parts[1] == assignment:
            with _gone_is_unknown(found, name):
                _inbound(found, inbound / name, parts, students, bool(collect.check_owner))
    return found


def _inbound(found: Found, path: Path, parts: list[str], students: Mapping[str, Student], check_owner: bool) -> None:
    student, assignment, when, changed = parts[0], parts[1], moment(parts[2]), path.lstat()
    owner = _owner(changed.st_uid) if check_owner else student
    if student not in students:
        found.unknown.append((path.name, "not in the roster"))
    elif when is None:
        found.unknown.append((path.name, "its name holds no time"))
    elif owner != student and owner in students:
        found.unknown.append((path.name, f"belongs to {owner}, who is another student"))
    else:
        notes = [f"belongs to the system's user {owner}"] if owner != student else []
        if abs(changed.st_ctime - when.timestamp()) > FUTURE_OR_PAST:
            last = datetime.fromtimestamp(changed.st_ctime, timezone.utc)
            notes.append(f"says {when:%Y-%m-%d %H:%M %Z}, and was changed {last:%Y-%m-%d %H:%M} UTC")
        read = _reader(intake.read_submission, path, assignment)
        found.attempts.append(Attempt(student, path.name, read, (when, path.name), when, notes=tuple(notes)))


def _owner(uid: int) -> str:
    if sys.platform == "win32":
        return ""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"number {uid}"


def _reader(read: Callable[[Path, str], Submission], path: Path, assignment: str) -> Callable[[], Submission]:
    return lambda: read(path, assignment)


def files(place: Path, assignment: str, students: Mapping[str, Student], assignments: Collection[str]) -> Found:
    """What lies in a folder: STUDENT/, STUDENT/ASSIGNMENT/, or STUDENT_anything with the ending ipynb, py or zip."""
    if not place.is_dir():
        raise UserError(f"{place} is no folder; name another one: tito teach collect {_short(assignment)} --folder DIR")
    found = Found(str(place))
    for path in sorted(place.resolve().iterdir()):
        if safenames.hidden([path.name]):
            continue
        with _gone_is_unknown(found, path.name):
            if path.name in students or (path.is_dir() and not path.is_symlink()):
                _folder(found, path, assignment, students, assignments)
            else:
                _file(found, path, assignment, students)
    return found


@contextmanager
def _gone_is_unknown(found: Found, name: str) -> Iterator[None]:
    """A student may take away at any moment what was listed just now."""
    try:
        yield
    except OSError as error:
        found.unknown.append((name, f"cannot be read: {error.strerror}"))


def _folder(
    found: Found, path: Path, assignment: str, students: Mapping[str, Student], assignments: Collection[str]
) -> None:
    if path.name not in students:
        found.unknown.append((path.name, "not in the roster"))
        return
    student = path.name
    if not path.is_symlink() and any((path / name).is_dir() for name in assignments):
        path = path / assignment
        if not os.path.lexists(path):
            return  # as in submitted/: this student handed in others
    read = _reader(intake.read_submission, path, assignment)
    found.attempts.append(Attempt(student, student, read, (_changed(path),), own_time=True))


def _file(found: Found, path: Path, assignment: str, students: Mapping[str, Student]) -> None:
    if path.suffix.lower() not in (".ipynb", ".py", ".zip"):
        found.unknown.append((path.name, "no notebook, percent file or zip"))
        return
    owners = _owners(path, assignment, students)
    if len(owners) != 1:
        why = f"may be by {', '.join(owners)}" if owners else "begins with no id of the roster"
        found.unknown.append((path.name, why))
        return
    student = owners[0]
    inside = path.name[len(student) + 1 :] if path.stem != student else f"{assignment}{path.suffix}"
    read = intake.read_archive if path.suffix.lower() == ".zip" else _single(inside)
    found.attempts.append(Attempt(student, path.name, _reader(read, path, assignment), (_changed(path), path.name)))


def _owners(path: Path, assignment: str, students: Mapping[str, Student]) -> list[str]:
    """Whose it may be: ids may hold `_` themselves. Where the rest is the assignment's name, that decides."""
    cuts = [*(match.start() for match in re.finditer("_", path.stem)), len(path.stem)]
    ids = [path.stem[:cut] for cut in cuts if path.stem[:cut] in students]
    return [id for id in ids if path.stem == f"{id}_{assignment}"] or ids


def _single(inside: str) -> Callable[[Path, str], Submission]:
    def read(path: Path, assignment: str) -> Submission:
        with openat.file(path) as file:
            return intake.take([Entry(inside, file.read)], assignment)

    return read


def _changed(path: Path) -> float:
    return path.lstat().st_mtime


def _short(assignment: str) -> str:
    """`01_tensor` -> `01`, as one types it."""
    return assignment.partition("_")[0]


@contextmanager
def lms_zip(path: Path, assignment: str, students: Mapping[str, Student], kind: str | None) -> Iterator[Found]:
    """What lies in the zip that Canvas or Moodle gives of all submissions; it stays open while its files are read."""
    again = f"tito teach collect {_short(assignment)}"
    try:
        with openat.file(path.resolve()) as file, unzip.opened(file, MOST_ENTRIES) as archive:
            members = {m.name: m for m in unzip.members(archive) if not safenames.hidden(m.name.split("/"))}
            kind = kind or lms.guess(members)
            if kind is None:
                raise UserError(f"no name in {path} is Canvas's or Moodle's; unpack it, then: {again} --folder DIR")
            yield _lms_attempts(Found(path.name), members, assignment, lms.Directory(students, kind), kind)
    except Refused as refused:
        raise UserError(f"{path}: {refused.reason}; download it again, then: {again} --zip FILE") from None


def _lms_attempts(
    found: Found, members: Mapping[str, unzip.Member], assignment: str, directory: lms.Directory, kind: str
) -> Found:
    people: dict[str, list[lms.LmsFile]] = {}
    for name in members:
        file = lms.parse(name, kind)
        try:
            if file is None:
                raise lms.Unmatched(f"no name of a handed-in file by {kind.capitalize()}")
            people.setdefault(directory.find(file).id, []).append(file)
        except lms.Unmatched as error:
            found.unknown.append((name, str(error)))
    for student, theirs in people.items():
        if len({(file.person, file.number) for file in theirs}) > 1:
            found.unknown += [(file.name, f"one of several people who may be {student}") for file in theirs]
            continue
        found.attempts += [_lms_attempt(student, files, members, assignment) for files in _split(theirs)]
    return found


def _split(files: list[lms.LmsFile]) -> Iterator[list[lms.LmsFile]]:
    """A student's files as attempts: all that are newest of their name, and before them each older one by itself."""
    newest: dict[str, lms.LmsFile] = {}
    for file in sorted(files, key=lambda file: (file.upload, file.name)):
        older, newest[safenames.key(file.own)] = newest.get(safenames.key(file.own)), file
        if older:
            yield [older]
    yield list(newest.values())


def _lms_attempt(
    student: str, files: list[lms.LmsFile], members: Mapping[str, unzip.Member], assignment: str
) -> Attempt:
    def read() -> Submission:
        return intake.take([Entry(file.own, members[file.name].read) for file in files], assignment)

    main = next((file for file in files if file.own.endswith(".ipynb")), files[-1])
    order = (main.upload, shown(main.name))
    return Attempt(student, main.name, read, order, late=main.late, kind=main.kind, upload=main.upload)
