"""The solved package that a lesson builds on, as an archive: made with the site, unpacked for who has no answers yet.

It holds what tito would find in a workspace's `.tito` after these lessons were exported: their cells, and the build,
under the hash by which tito/package.py looks for it. So nothing is trusted: answers of the reader's make another hash.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

from tito import package
from tito.commands.checking import package_for
from tito.commands.lessons import stored_input
from tito.course import Course, Lesson
from tito.inpage import earlier
from tito.inpage.saved import Saved
from tito.workspace import Workspace

FOLDERS = ("exported", "cache")
DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is made


def name(lesson: Lesson | None) -> str:
    """`03.zip`; `all.zip` is what a page without a lesson builds on, the whole course without electives."""
    return f"{lesson.id}.zip" if lesson else "all.zip"


def archive(course: Course, lesson: Lesson | None) -> bytes:
    """The archive of what the lesson needs, of the course's own answers."""
    with tempfile.TemporaryDirectory() as place:
        workspace = Workspace.create(Path(place) / "reader")
        earlier.store(workspace, [earlier.whose(need, Saved()) for need in lessons(course, lesson)], {})
        build(course, workspace, lesson)
        return _zipped(workspace.private)


def unpack(workspace: Workspace, data: Path) -> None:
    """Put an archive's content into a workspace."""
    with zipfile.ZipFile(data) as file:
        file.extractall(workspace.private)


def lessons(course: Course, lesson: Lesson | None) -> tuple[Lesson, ...]:
    """What the lesson builds on; a page without a lesson has all of them, and no elective."""
    return course.needs_of(lesson) if lesson else course.lessons


def build(course: Course, workspace: Workspace, lesson: Lesson | None) -> Path:
    """The folder of the package that the lesson's cells are run on."""
    if lesson:
        return package_for(course, workspace, lesson)
    return package.cached(workspace.private / "cache", [stored_input(workspace, each) for each in course.lessons])


def _zipped(private: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for path in (path for folder in FOLDERS for path in sorted((private / folder).rglob("*"))):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(path.relative_to(private).as_posix(), DATE)
                file.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
