"""Submissions laid out for JPlag: a folder a student, and what all were given as base code. Begin at `export`.

JPlag (L. Prechelt, G. Malpohl, M. Philippsen, "Finding Plagiarisms among a Set of Programs with JPlag", J.UCS 2002)
reads Python files, so cells are written one after the other. They are copied as text; nothing is parsed or run.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from tito.course import Lesson, Milestone
from tito.teach.intake import intake
from tito.teach.pages import similarity

COMMAND = "java -jar jplag.jar --mode run -l python3 -bc base submissions"


def export(out: Path, submitted: Path, item: Lesson | Milestone, assignment: str, students: Iterable[str]) -> int:
    """Write OUT/submissions/STUDENT/ASSIGNMENT.py and OUT/base/ASSIGNMENT.py anew; how many students there are."""
    shutil.rmtree(out, ignore_errors=True)
    _write(out / "base" / f"{assignment}.py", similarity.released(item))
    written = 0
    for student in students:
        try:
            cells = similarity.cells(intake.read_submission(submitted / student / assignment), item)
        except (intake.Refused, OSError):
            continue
        _write(out / "submissions" / student / f"{assignment}.py", cells.values())
        written += 1
    return written


def _write(path: Path, cells: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n# %%\n".join(cells) + "\n", encoding="utf-8", errors="replace")
