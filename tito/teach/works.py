"""From submitted/ to what is graded: the files that an assignment's grading uses, and nothing else of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tito.teach import collected, intake
from tito.teach.bundle import Bundle
from tito.teach.folder import Folder
from tito.teach.grading import Work

ENDINGS = (".ipynb", ".py")
PACKAGE = "tinytorch/"


@dataclass(frozen=True)
class Handed:
    """One attempt of a student's, and where it lies; `earlier` when another one has replaced it since."""

    student: str
    place: Path
    earlier: bool = False


def handed_in(folder: Folder, assignment: str, pattern: str = "*", earlier: bool = False) -> Iterator[Handed]:
    """What lies in submitted/, student by student; with `earlier`, before it what collecting kept of theirs."""
    history = collected.read(folder, assignment) if earlier else {}
    standing = set(students(folder, assignment, pattern))
    for student in sorted(standing | {student for student in history if fnmatchcase(student, pattern)}):
        for one in collected.attempts(history.get(student, ())):
            if not one.place.startswith("submitted/"):
                yield Handed(student, folder.root / one.place, earlier=True)
        if student in standing:
            yield Handed(student, folder.submitted / student / assignment)


def students(folder: Folder, assignment: str, pattern: str = "*") -> Iterator[str]:
    """Who has handed it in, in order of names."""
    places = sorted(folder.submitted.glob(f"*/{assignment}")) if folder.submitted.is_dir() else []
    return (place.parent.name for place in places if fnmatchcase(place.parent.name, pattern))


def take(
    folder: Folder, student: str, bundle: Bundle, mode: str, place: Path | None = None
) -> tuple[Work, intake.Submission]:
    """A student's work, that in submitted/ unless another place is given. Raises Refused.

    With mode "own", the earlier lessons that they handed in belong to it.
    """
    mine = folder.submitted / student
    submission = intake.read_submission(place or mine / bundle.assignment, bundle.assignment)
    files = used(submission.files, bundle.assignment)
    package = {name: data for name, data in submission.files.items() if name.startswith(PACKAGE)}
    if mode == "own":
        files |= package or _earlier(mine, bundle)
    return Work(student, bundle.assignment, files, mode), submission


def _earlier(place: Path, bundle: Bundle) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for stem in bundle.lessons:
        if stem != bundle.assignment and (place / stem).is_dir():
            files |= used(intake.read_submission(place / stem).files, stem)
    return files


def used(files: Mapping[str, bytes], stem: str) -> dict[str, bytes]:
    """The notebook, else the percent file."""
    names = [f"{stem}{ending}" for ending in ENDINGS if f"{stem}{ending}" in files]
    return {name: files[name] for name in names[:1]}
