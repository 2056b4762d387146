"""Brings attempts into submitted/STUDENT/ASSIGNMENT/, as nbgrader wants them. Begin at `collect`.

What is there is replaced only by a later attempt with other files, and then moved to a dated name under
.teach/attempts. Each submission is staged whole and moved in by one rename, so that who grades meanwhile sees the old
one or the new one.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from tito import swap
from tito.teach.folder import Folder
from tito.teach.intake import collected, intake
from tito.teach.intake.collected import Collected
from tito.teach.intake.intake import Submission
from tito.teach.intake.refusal import Refused
from tito.teach.intake.sources import Attempt, Found, moment


@dataclass
class Report:
    """What collecting did, or would do in a dry run."""

    new: list[Collected] = field(default_factory=list)  # now in submitted/
    unchanged: list[Collected] = field(default_factory=list)
    older: list[Collected] = field(default_factory=list)  # than what is in submitted/
    earlier: list[Collected] = field(default_factory=list)  # attempts kept beside it
    refused: list[Collected] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)


def collect(
    folder: Folder,
    assignment: str,
    found: Found,
    all_attempts: bool = False,
    dry_run: bool = False,
    progress: Callable[[], object] = lambda: None,
) -> Report:
    """Collect each student's last attempt; with `all_attempts` the earlier ones too, under .teach/attempts.

    A refused attempt is told in the report and stops nothing. `progress` is called after each student.
    """
    report = Report(unknown=list(found.unknown))
    history = collected.read(folder, assignment)
    for student, attempts in found.by_student().items():
        desk = _Desk(folder, assignment, student, history.get(student, []), dry_run)
        for position, attempt in list(enumerate(attempts, 1))[0 if all_attempts else -1 :]:
            _one(desk, attempt, position, report, last=position == len(attempts))
        progress()
    return report


def _one(desk: _Desk, attempt: Attempt, position: int, report: Report, last: bool) -> None:
    """Collect one attempt of a student, or say why not."""
    line = Collected(desk.student, desk.number(position), attempt.name, when=_iso(attempt.when))
    line = replace(line, late=attempt.late, kind=attempt.kind, upload=attempt.upload)
    try:
        submission = attempt.read()
    except Refused as refused:
        desk.refuse(replace(line, refused=refused.reason, notes=attempt.notes), report.refused)
        return
    when = attempt.when or (moment(submission.time) if attempt.own_time else None)
    line = replace(line, when=_iso(when), notes=(*attempt.notes, *submission.notes))
    if last:
        _stand(desk, submission, line, report)
    else:
        desk.keep(submission, line, report.earlier)


def _stand(desk: _Desk, submission: Submission, line: Collected, report: Report) -> None:
    """Put the attempt into submitted/, unless it is there or a later one is."""
    there = desk.there()
    if there and there.files == submission.files and (not line.when or line.submitted == moment(there.time)):
        desk.leave(line, report.unchanged)
    elif there and desk.is_older(line, there):
        report.older.append(line)
    else:
        desk.put(submission, line, there, report.new)


@dataclass
class _Desk:
    """One student's place: what is there, and what is written."""

    folder: Folder
    assignment: str
    student: str
    history: list[Collected]
    dry_run: bool

    @property
    def live(self) -> Path:
        """Where nbgrader looks for it."""
        return self.folder.submitted / self.student / self.assignment

    def number(self, position: int) -> int:
        """The number of a new attempt: its position in the source, unless another has it."""
        used = {line.attempt for line in self.history}
        return position if position not in used else max(used) + 1

    def there(self) -> Submission | None:
        """What lies in submitted/; None for nothing, and for what intake would not take."""
        try:
            return intake.read_submission(self.live) if self.live.exists() else None
        except Refused:
            return None

    def is_older(self, line: Collected, there: Submission) -> bool:
        """Whether a later attempt is there, by time or by Canvas's numbers; what is not known is later."""
        before, when = moment(there.time), line.submitted
        if before and when:
            return when < before
        last = collected.standing(self.history)
        return bool(last and last.kind == line.kind and line.upload < last.upload)

    def leave(self, line: Collected, told: list[Collected]) -> None:
        """As it is; a line is added where a collecting that was killed did not come to it."""
        last, line = collected.standing(self.history), replace(line, place=self._shown(self.live))
        if last and (last.name, last.when) == (line.name, line.when):
            told.append(last)
        else:
            self._write(line, told)

    def put(self, submission: Submission, line: Collected, there: Submission | None, told: list[Collected]) -> None:
        """Into submitted/; what was there goes to a dated place."""
        line = replace(line, place=self._shown(self.live))
        replaced = os.path.lexists(self.live)
        if replaced and not self.dry_run:
            stage = self._stage(submission, line)
            swap.exchange(stage, self.live)
            self._move(stage, there)
        elif not self.dry_run:
            self.live.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self._stage(submission, line), self.live)
        self._write(replace(line, attempt=self.number(line.attempt)), told)

    def keep(self, submission: Submission, line: Collected, told: list[Collected]) -> None:
        """An earlier attempt, under .teach/attempts, once."""
        if any(one.place and (one.name, one.when) == (line.name, line.when) for one in self.history):
            return
        place = self._dated(line)
        if not self.dry_run:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(self._stage(submission, line), place)
        self._write(replace(line, place=self._shown(place)), told)

    def refuse(self, line: Collected, told: list[Collected]) -> None:
        """Tell it each time, remember it once."""
        if any((one.name, one.when, one.refused) == (line.name, line.when, line.refused) for one in self.history):
            told.append(line)
        else:
            self._write(line, told)

    def _move(self, replaced: Path, there: Submission | None) -> None:
        """Move what was in submitted/ to its dated place."""
        when = moment(there.time) if there else None
        last = collected.standing(self.history) or Collected(self.student, self.number(1), "", when=_iso(when))
        place = self._dated(last)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(replaced, place)
        self._write(replace(last, place=self._shown(place)), [])

    def _write(self, line: Collected, told: list[Collected]) -> None:
        told.append(line)
        self.history.append(line)
        if not self.dry_run:
            collected.append(self.folder, self.assignment, [line])

    def _stage(self, submission: Submission, line: Collected) -> Path:
        stage = self.folder.private / "staging" / f"{os.getpid()}_{secrets.token_hex(8)}"
        for name, data in {**submission.files, **_beside(submission, line)}.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(data)
        return stage

    def _dated(self, line: Collected) -> Path:
        """A free name under .teach/attempts: the attempt's number, and when it came in or else was collected."""
        when = line.submitted or datetime.now(timezone.utc)
        folder = self.folder.private / "attempts" / self.assignment / self.student
        name = f"{line.attempt:03d}_{when.astimezone(timezone.utc):%Y-%m-%d_%H-%M-%S}"
        names = (folder / f"{name}{more}" for more in ("", *(f"_{i}" for i in range(2, 1000))))
        return next(place for place in names if not os.path.lexists(place))

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.folder.root).as_posix()


def clear_staging(folder: Folder) -> None:
    """Remove what a collecting that was killed left half written; call it under the lock."""
    shutil.rmtree(folder.private / "staging", ignore_errors=True)


def _beside(submission: Submission, line: Collected) -> Mapping[str, bytes]:
    """nbgrader's two notes: the time, where it is known, and the secret, without which release_feedback stops."""
    secret = submission.secret if submission.secret.isalnum() else secrets.token_hex(64)
    notes = {intake.SECRET: secret.encode("ascii")}
    if line.submitted:
        notes[intake.TIME] = f"{line.submitted.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S.%f} UTC".encode("ascii")
    return notes


def _iso(when: datetime | None) -> str:
    return when.isoformat() if when else ""
