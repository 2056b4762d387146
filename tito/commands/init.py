"""`tito init DIR`: a new workspace with the first lesson in it."""

from __future__ import annotations

import shutil
from argparse import Namespace
from pathlib import Path
from shlex import quote

from tito.commands.open import make_file
from tito.course import Course
from tito.workspace import Workspace


def run(args: Namespace, course: Course) -> int:
    """Make the workspace and say where to begin."""
    workspace = Workspace.create(Path(args.folder), percent=args.py)
    _copy_milestones(course, workspace)
    first = course.lessons[0]
    path = make_file(workspace, first)
    print(f"Made {args.folder}: your notebooks go to modules/, your package grows in tinytorch/.")
    print(f"Lesson {first.id} {first.name} is in {workspace.shown(path)}.")
    print(f"Next:  cd {quote(args.folder)} && tito open {first.id}")
    return 0


def _copy_milestones(course: Course, workspace: Workspace) -> None:
    source = course.root / "milestones"
    if source.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, workspace.root / "milestones", ignore=ignored, dirs_exist_ok=True)
