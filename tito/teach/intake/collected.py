"""What was collected and refused, an append-only line of JSON each: .teach/collected/ASSIGNMENT.jsonl. Begin at `read`.

Who grades finds here when a submission came in, whether the LMS marked it late, its number among the student's
attempts, why another one was refused, and the name in the LMS's zip under which feedback goes back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from tito.teach.folder import Folder
from tito.teach.intake import lms


@dataclass(frozen=True)
class Collected:
    """One attempt of a student: collected into `place`, or refused for a reason."""

    student: str
    attempt: int  # from 1
    name: str  # as it was called in the source
    place: str = ""  # below the course folder; that of an earlier attempt is .teach/attempts/...
    refused: str = ""
    when: str = ""  # ISO 8601 with its offset; empty where the source knows no time
    late: bool | None = None  # as Canvas marked it
    kind: str = ""  # "canvas" or "moodle"
    upload: int = 0
    notes: tuple[str, ...] = ()

    @property
    def submitted(self) -> datetime | None:
        """When it came in."""
        return datetime.fromisoformat(self.when) if self.when else None

    @property
    def feedback_name(self) -> str:
        """The name under which its LMS takes feedback; empty for what came from elsewhere."""
        file = lms.parse(self.name, self.kind) if self.kind else None
        return lms.feedback_name(file) if file else ""


def read(folder: Folder, assignment: str) -> dict[str, list[Collected]]:
    """All that was collected or refused, by student, in the order in which it was."""
    found: dict[str, list[Collected]] = {}
    path = _path(folder, assignment)
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            table = json.loads(line)
        except ValueError:  # a line that a power cut left half written
            continue
        found.setdefault(table["student"], []).append(Collected(**{**table, "notes": tuple(table["notes"])}))
    return found


def standing(history: Iterable[Collected]) -> Collected | None:
    """Of a student's history what lies in submitted/; None when nothing does."""
    return next((one for one in reversed(list(history)) if one.place.startswith("submitted/")), None)


def attempts(history: Iterable[Collected]) -> list[Collected]:
    """Of a student's history all that is kept, each where it lies now, in order; the last is in submitted/."""
    kept = {line.attempt: line for line in history if line.place}
    return sorted(kept.values(), key=lambda line: (line.place.startswith("submitted/"), line.when, line.attempt))


def refusals(history: Mapping[str, list[Collected]]) -> dict[str, str]:
    """Students who have nothing in submitted/, with the reason for which their last attempt was refused."""
    return {student: all_[-1].refused for student, all_ in history.items() if not standing(all_)}


def append(folder: Folder, assignment: str, lines: Iterable[Collected]) -> None:
    """Add these, on disk when this returns."""
    path = _path(folder, assignment)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        for line in lines:
            file.write(json.dumps(asdict(line), ensure_ascii=True) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _path(folder: Folder, assignment: str) -> Path:
    return folder.private / "collected" / f"{assignment}.jsonl"
