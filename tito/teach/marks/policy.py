"""When an assignment is due and what lateness costs, as course.toml says it, and extensions.csv for single students.

timezone = "Europe/Berlin"          # late days end at the same time of day, also when clocks change

[assignment."03_layers"]
due = 2027-03-12T23:59:00+01:00     # always with an offset
late = {policy = "per day", percent = 10, cap = 50, grace = 15}   # or "none", "zero"; grace in minutes
attempt = "last"                    # or "best"
drop = ["Linear bias"]              # checks that no longer count

The variant that was released may say otherwise (variants.py). extensions.csv has the columns student, assignment, due,
days: another due date, or days more; assignment * means all.
Begin at `load`.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tito.errors import UserError
from tito.teach.assignments import variants
from tito.teach.folder import Folder
from tito.teach.intake import roster

EXTENSIONS = "extensions.csv"
LATE = ("none", "zero", "per day")
ATTEMPT = ("last", "best")


@dataclass(frozen=True)
class Extension:
    """One row for a student: due at another time, or days later than the others."""

    due: datetime | None
    days: float


@dataclass(frozen=True)
class Policy:
    """What holds for one assignment. `percent` and `cap` are of the assignment's points."""

    due: datetime | None = None
    late: str = "none"
    percent: float = 0.0  # for each day that has begun
    cap: float = 100.0
    grace: timedelta = timedelta(0)
    attempt: str = "last"
    drop: frozenset[str] = frozenset()
    extensions: Mapping[str, tuple[Extension, ...]] = field(default_factory=dict)

    def due_of(self, student: str) -> datetime | None:
        """When it is due for this student: the latest of all that was granted, so nobody loses by an extension."""
        if self.due is None:
            return None
        granted = self.extensions.get(student, ())
        dates = [self.due, *(_granted(self.due, extension) for extension in granted)]
        return max(dates, key=utc)


def load(folder: Folder, assignment: str) -> Policy:
    """The policy of an assignment. Raises UserError, naming file and place, for what can't be right."""
    table = _read_toml(folder.settings) if folder.settings.exists() else {}
    zone = _zone(table.get("timezone"), folder.settings)
    entry = variants.entry(folder, assignment) if table else {}
    policy = parse(entry, zone, f'{folder.settings}, [assignment."{assignment}"]')
    return Policy(**{**vars(policy), "extensions": _extensions(folder, assignment, zone)})


def parse(entry: Mapping[str, Any], zone: tzinfo | None, where: str) -> Policy:
    """The policy in a table of course.toml; the table may hold more than a policy."""
    due = moment(entry["due"], zone, f"{where}: due") if "due" in entry else None
    late = {"policy": "none", "percent": 0, "cap": 100, "grace": 0, **entry.get("late", {})}
    _one_of(set(late), {"policy", "percent", "cap", "grace"}, f"{where}: late")
    _one_of({late["policy"]}, LATE, f"{where}: late policy")
    _one_of({entry.get("attempt", "last")}, ATTEMPT, f"{where}: attempt")
    percent, cap, grace = (_number(late[name], f"{where}: late {name}") for name in ("percent", "cap", "grace"))
    kept = {"attempt": entry.get("attempt", "last"), "drop": frozenset(entry.get("drop", ()))}
    return Policy(due, late["policy"], percent, cap, timedelta(minutes=grace), **kept)


def moment(value: object, zone: tzinfo | None, where: str) -> datetime:
    """A date with its offset from ISO 8601 or from TOML, in the course's zone. Raises UserError for a naive one."""
    try:
        parsed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise UserError(f"{where} is {value!r}, which is no date; write it as: 2027-03-12T23:59:00+01:00") from None
    if parsed.tzinfo is None:
        example = f"{parsed.isoformat()}+01:00"
        raise UserError(f"{where} is {value}, and nobody knows in which time zone; write it as: {example}")
    return parsed.astimezone(zone) if zone else parsed


def later(due: datetime, days: float) -> datetime:
    """So many days after, at the same time of day by the clock on the wall."""
    return due + timedelta(days=days)


def utc(moment: datetime) -> datetime:
    """For comparing: two times of one zone would be compared by the wall clock, which is wrong when it changes."""
    return moment.astimezone(timezone.utc)


def _granted(due: datetime, extension: Extension) -> datetime:
    return extension.due or later(due, extension.days)


def _extensions(folder: Folder, assignment: str, zone: tzinfo | None) -> dict[str, tuple[Extension, ...]]:
    path = folder.root / EXTENSIONS
    if not path.exists():
        return {}
    found: dict[str, tuple[Extension, ...]] = {}
    known = set(roster.read(folder.roster)) if folder.roster.exists() else set()
    for line, row in enumerate(_read_csv(path, {"student", "assignment", "due", "days"}), start=2):
        where, student = f"{path}, line {line}", row["student"].strip()
        if known and student not in known:
            raise UserError(f"{where}: there is no student {student!r} in the roster; see: cat {folder.roster}")
        extension = _extension(row, zone, where)
        if row["assignment"].strip() in ("*", assignment):
            found[student] = (*found.get(student, ()), extension)
    return found


def _extension(row: Mapping[str, str], zone: tzinfo | None, where: str) -> Extension:
    due, days = row["due"].strip(), row["days"].strip()
    if bool(due) == bool(days):
        raise UserError(f"{where} wants a due date or days, one of the two; as in: ada,03_layers,,2")
    return Extension(moment(due, zone, f"{where}: due") if due else None, _number(days or 0, f"{where}: days"))


def _read_csv(path: Path, columns: set[str]) -> Iterable[dict[str, str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restval="")
        missing = sorted(columns - set(reader.fieldnames or ()))
        if missing:
            raise UserError(f"{path} lacks the column {missing[0]}; its first line is: {','.join(sorted(columns))}")
        yield from reader


def _number(value: object, where: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise UserError(f"{where} is {value!r}, not a number from 0 up; as in: 10")
    return number


def _one_of(given: set[str], allowed: Iterable[str], where: str) -> None:
    for wrong in sorted(given - set(allowed)):
        raise UserError(f"{where} can't be {wrong!r}; it is one of: {', '.join(sorted(allowed))}")


def _zone(name: str | None, path: Path) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        raise UserError(f'{path}: there is no time zone {name!r}; write it as: timezone = "Europe/Berlin"') from None


def _read_toml(path: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} can't be read: {error}; edit it: $EDITOR {path}") from None
