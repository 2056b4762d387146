"""Variants: which exercises are graded, their points, and dates, as named sets in a course's course.toml.

[assignment."03_layers"]                   # holds for this course
question_points = 2                        # questions for reflection, graded by hand
[variant.short.assignment."03_layers"]     # changes that by: tito teach release 03 --variant short
exercises = ["Affine", "Linear"]           # the others stand there and earn nothing
points = { Affine = 6 }                    # of an exercise, shared among its checks
due = 2027-03-12T23:59:00+01:00

What was released stands in .teach/released.json; `entry` gives an assignment's table with that variant in it.
Begin at `load`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from tito.course import Lesson, _read_toml
from tito.errors import UserError
from tito.percent import Cell
from tito.teach.folder import Folder
from tito.workspace import read_json, write_json

RELEASED = "released.json"
Table = Mapping[str, Any]


@dataclass(frozen=True)
class Graded(Lesson):
    """A lesson in which points differ: `points` by the name of the check."""

    points: Mapping[str, int] = field(default_factory=dict)

    def cells(self) -> tuple[Cell, ...]:
        """The lesson's cells with these points."""
        return tuple(self._worth(cell) for cell in super().cells())

    def _worth(self, cell: Cell) -> Cell:
        if cell.role != "check" or cell.name not in self.points:
            return cell
        return replace(cell, marks={**cell.marks, "points": self.points[cell.name]})


@dataclass(frozen=True)
class Variant:
    """What a course says of its assignments, with the changes of one named set; name "" is the course itself."""

    name: str
    tables: Mapping[str, Table]

    def of(self, assignment: str) -> Table:
        """The table of one assignment; empty where nothing is said."""
        return self.tables.get(assignment, {})

    def points_of(self, lesson: Lesson, check: Cell) -> int | None:
        """What a check is worth here; None where its exercise is not graded, and for what is no check."""
        graded = self.of(lesson.stem).get("exercises")
        if check.role != "check" or (graded is not None and check.name.split()[0] not in graded):
            return None
        return _points(lesson, self.of(lesson.stem)).get(check.name, check.points)

    def lesson(self, lesson: Lesson) -> Lesson:
        """The lesson as it is graded here. Raises UserError for an exercise that it does not have."""
        table = self.of(lesson.stem)
        plain = {each.name: getattr(lesson, each.name) for each in fields(Lesson)}
        plain["question_points"] = table.get("question_points", lesson.question_points)
        return Graded(**plain, points=_points(lesson, table))


def load(folder: Folder, name: str | None = None) -> Variant:
    """The course's variant of that name, else the course as it is. Raises UserError when there is none."""
    table = _read_toml(folder.settings) if folder.settings.exists() else {}
    known = table.get("variant", {})
    if name and name not in known:
        names = ", ".join(known) or "none"
        raise UserError(f"{folder.settings} has no variant {name!r} but {names}; look at: cat {folder.settings}")
    base, changes = table.get("assignment", {}), known.get(name, {}).get("assignment", {}) if name else {}
    return Variant(name or "", {key: {**base.get(key, {}), **changes.get(key, {})} for key in {*base, *changes}})


def released(folder: Folder, assignment: str) -> Variant:
    """The variant in which the assignment was released last."""
    name = read_json(folder.private / RELEASED).get(assignment)
    return load(folder, name if isinstance(name, str) else None)


def entry(folder: Folder, assignment: str) -> Table:
    """All that course.toml says of the assignment, as it was released."""
    return released(folder, assignment).of(assignment)


def remember(folder: Folder, assignment: str, variant: Variant) -> None:
    """Note in which variant the assignment was released."""
    path = folder.private / RELEASED
    write_json(path, {**read_json(path), assignment: variant.name})


def _points(lesson: Lesson, table: Table) -> dict[str, int]:
    """The points of each check that differ from the lesson's own."""
    checks: dict[str, list[Cell]] = {}
    for cell in lesson.cells():
        if cell.role == "check":
            checks.setdefault(cell.name.split()[0], []).append(cell)
    graded, worth = table.get("exercises", list(checks)), table.get("points", {})
    for name in (*graded, *worth):
        if name not in checks:
            raise UserError(
                f"{lesson.stem} has no exercise {name!r} but {', '.join(checks)}; correct it in course.toml"
            )
    made: dict[str, int] = {}
    for name, cells in checks.items():
        if name not in graded:
            made |= {cell.name: 0 for cell in cells}
        elif name in worth:
            made |= zip((cell.name for cell in cells), _shared(worth[name], [cell.points for cell in cells]))
    return made


def _shared(points: int, parts: list[int]) -> list[int]:
    """So many points in proportion to these, in whole points: the largest remainders get what is left."""
    total = sum(parts) or 1
    shares = [points * part // total for part in parts]
    by_rest = sorted(range(len(parts)), key=lambda i: -(points * parts[i] % total))
    for i in by_rest[: points - sum(shares)]:
        shares[i] += 1
    return shares
