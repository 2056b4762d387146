"""From submitted/ to what is graded: the files that an assignment's grading uses, and nothing else of a submission."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from tito.teach import intake
from tito.teach.bundle import Bundle
from tito.teach.folder import Folder
from tito.teach.grading import Work

ENDINGS = (".ipynb", ".py")
PACKAGE = "tinytorch/"


def students(folder: Folder, assignment: str, pattern: str = "*") -> Iterator[str]:
    """Who has handed it in, in order of names."""
    places = sorted(folder.submitted.glob(f"*/{assignment}")) if folder.submitted.is_dir() else []
    return (place.parent.name for place in places if fnmatchcase(place.parent.name, pattern))


def take(folder: Folder, student: str, bundle: Bundle, mode: str) -> tuple[Work, intake.Submission]:
    """A student's work; with mode "own", the earlier lessons that they handed in belong to it. Raises Refused."""
    place = folder.submitted / student
    submission = intake.read_submission(place / bundle.assignment)
    files = used(submission.files, bundle.assignment)
    handed_in = {name: data for name, data in submission.files.items() if name.startswith(PACKAGE)}
    if mode == "own":
        files |= handed_in or _earlier(place, bundle)
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
