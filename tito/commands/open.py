"""`tito open [NN]`: makes a lesson's notebook where it is missing, and starts JupyterLab on it.

With --from FILE it carries on with what was written elsewhere: see take.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from tito import given
from tito.commands.common import chosen, enter, require
from tito.course import Course, Lesson
from tito.workspace import Workspace, write_text


def run(args: Namespace, course: Course) -> int:
    """Make what is missing, print where the lesson is, and open it where that is possible."""
    if args.source is not None:
        from tito.commands import take

        return take.run(args, course)
    workspace = enter()
    lesson = chosen(args.lesson, course, workspace)
    require(workspace, course.needs_of(lesson), f"lesson {lesson.id} {lesson.name}")
    path = workspace.file_of(lesson)
    if not path.exists() or not all(target.exists() for _, target in companions(workspace, lesson)):
        with workspace.locked():
            make_file(workspace, lesson)
    print(f"{lesson.id} {lesson.title}, about {lesson.minutes} minutes:  {path}")
    if can_launch(args, path):
        return launch(workspace, path)
    print(f"Next:  write the first exercise there, then: tito test {lesson.id}")
    return 0


def can_launch(args: Namespace, path: Path) -> bool:
    """Whether there is a terminal to start JupyterLab from, and it is installed and wanted."""
    return bool(
        not args.no_launch and path.suffix == ".ipynb" and sys.stdout.isatty() and find_spec("jupyterlab") is not None
    )


def launch(workspace: Workspace, path: Path) -> int:
    """Start JupyterLab on the notebook, and wait for its end: its exit code."""
    command = [sys.executable, "-m", "jupyterlab", str(path)]
    return subprocess.run(command, cwd=workspace.root, check=False).returncode


def make_file(workspace: Workspace, lesson: Lesson) -> Path:
    """Make the lesson's file, its figures and its supplied modules, where they are missing."""
    path = workspace.file_of(lesson)
    for folder in (workspace.modules, workspace.package):
        folder.mkdir(exist_ok=True)
    if not path.exists():
        write_text(path, first_state(lesson, path))
        given.remember(workspace, lesson, given.of(lesson))
    for source, target in companions(workspace, lesson):
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
    return path


def companions(workspace: Workspace, lesson: Lesson) -> list[tuple[Path, Path]]:
    """What lies beside a notebook, and where: its figures, and the modules that it imports before the first export."""
    figures = [(source, workspace.modules / "figures" / source.name) for source in lesson.figures]
    return [*figures, *((source, workspace.package / source.name) for source in lesson.supplied)]


def first_state(lesson: Lesson, path: Path) -> str:
    """The text of a lesson's file as the learner first gets it."""
    from tito import release

    return release.percent_text(lesson) if path.suffix == ".py" else release.notebook_text(lesson)
