"""From submitted/ to what is graded: the files that an assignment's grading uses, and nothing else of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from tito.teach.folder import Folder
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.grading import Work
from tito.teach.intake import collected, intake

ENDINGS = (".ipynb", ".py")
PACKAGE = "tinytorch/"


def students(folder: Folder, assignment: str, pattern: str = "*") -> Iterator[str]:
    """Who has handed it in, in order of names."""
    places = sorted(folder.submitted.glob(f"*/{assignment}")) if folder.submitted.is_dir() else []
    return (place.parent.name for place in places if fnmatchcase(place.parent.name, pattern))


def places(folder: Folder, assignment: str, pattern: str = "*", earlier: bool = False) -> Iterator[tuple[str, Path]]:
    """Student and folder of all that lies in submitted/; with `earlier`, of attempts kept besides."""
    if not earlier:
        yield from ((each, folder.submitted / each / assignment) for each in students(folder, assignment, pattern))
        return
    for student, history in sorted(collected.read(folder, assignment).items()):
        for one in collected.attempts(history) if fnmatchcase(student, pattern) else ():
            if not one.place.startswith("submitted/"):
                yield student, folder.root / one.place


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
