"""Releases an assignment: nbgrader generates it, and it goes out only if no answer is in it. Begin at `release`."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tito.course import Course, Lesson, Milestone
from tito.errors import UserError
from tito.teach.assignments import course_folder, leaks, milestone_assignment, variants
from tito.teach.assignments.variants import Variant
from tito.teach.folder import Folder
from tito.teach.marks.policy import moment

if TYPE_CHECKING:
    from nbgrader.apps import NbGraderAPI  # type: ignore[import-untyped]

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same release gives the same bytes


@dataclass(frozen=True)
class Released:
    """What went out: archive, sum of points, whether the source was changed by hand and the exchange has it."""

    archive: Path
    points: float
    by_hand: bool
    exchanged: bool


def release(folder: Folder, course: Course, api: NbGraderAPI, one: Lesson | Milestone, variant: Variant) -> Released:
    """Generate, search, and hand over. Raises UserError, and nothing stays in release/ or out/ that tells an answer."""
    name = course_folder.name_of(one)
    by_hand = not course_folder.write_source(folder, course, name, variant)
    if by_hand and variant.name:
        path = course_folder.source_of(folder, name)
        raise UserError(
            f"{path} was changed by hand, so that no variant can be made of it; move it away: mv {path} {path}~"
        )
    _ran(api.generate_assignment(name, force=True), f"nbgrader generate_assignment {name}")
    archive = pack(folder.release / name, folder.out / f"{name}.zip")
    _refuse_leaks(folder, course, one, archive)
    variants.remember(folder, name, variant)
    points = _enter(folder, api, name, variant)
    exchanged = bool(api.exchange_is_functional)
    if exchanged:
        _ran(api.release_assignment(name), f"nbgrader release_assignment {name}")
    return Released(archive, points, by_hand, exchanged)


def pack(source: Path, target: Path) -> Path:
    """The folder as a zip file that is the same, byte for byte, when its files are."""
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{source.name}/{path.relative_to(source).as_posix()}", EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target


def secrets_of(folder: Folder, course: Course, one: Lesson | Milestone) -> frozenset[str]:
    """What must not go out: by the course's own lesson, and by the notebook in source/, which may have been changed."""
    ours = one.cells() if isinstance(one, Lesson) else milestone_assignment.cells(course, one)
    path = course_folder.source_of(folder, course_folder.name_of(one))
    return leaks.secrets_of(cell.source for cell in ours) | leaks.secrets_of(_sources(path))


def _sources(path: Path) -> Iterator[str]:
    """The cells of the notebook; one that is written whole by the student is a solution whole."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        whole = cell["metadata"].get("nbgrader", {}).get("solution") and "BEGIN SOLUTION" not in text
        yield f"### BEGIN SOLUTION\n{text}\n### END SOLUTION" if whole else text


def _refuse_leaks(folder: Folder, course: Course, one: Lesson | Milestone, archive: Path) -> None:
    secrets = secrets_of(folder, course, one)
    hits = leaks.found(leaks.archive(archive), secrets)
    if not hits:
        return
    archive.unlink()
    shutil.rmtree(folder.release / course_folder.name_of(one))
    file, line = hits[0]
    path = course_folder.source_of(folder, course_folder.name_of(one))
    raise UserError(
        f"{file} would tell an answer or a hidden check, {line[:40]!r}; nothing was released; look at: {path}"
    )


def _enter(folder: Folder, api: NbGraderAPI, name: str, variant: Variant) -> float:
    """Put the due date into the gradebook; the sum of points that is there."""
    due = variant.of(name).get("due")
    date = {"duedate": moment(due, None, f"{folder.settings}: due").isoformat(" ")} if due else {}
    with api.gradebook as gradebook:
        return float(gradebook.update_or_create_assignment(name, **date).max_score)


def _ran(done: dict[str, Any], command: str) -> None:
    if not done["success"]:
        lines = [line for line in (done.get("error") or done.get("log") or "").strip().splitlines() if line.strip()]
        raise UserError(f"nbgrader failed: {lines[-1] if lines else 'no reason given'}; see it all with: {command}")
