"""The course's Jupyter kernel: this Python, with the solved package of the lessons that the notebook builds on.

`python -m tito.teach.assignments.kernel -f FILE` is what kernel.json names. Which lesson it is for says the folder that
the notebook lies in, as in source/03_layers or autograded/ada/03_layers. The packages lie in .teach/reference, outside
of what is released. A kernel runs whatever it is given, with the rights of who starts it: see sealed_execute.py.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tito import package
from tito.course import Course, Lesson
from tito.fold import FoldInput
from tito.teach.folder import Folder

VARIABLE = "TINYTORCH_PACKAGE"  # where tito.notebook looks; importing that would look already
NAME = "python3"  # as in the notebooks that students get: in this course's folder it means this kernel
REFERENCE = "TINYTORCH_REFERENCE"


def register(folder: Folder, course: Course) -> Path:
    """Write the kernel's specification; the folder that Jupyter is to look in."""
    place = jupyter(folder) / "kernels" / NAME
    place.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "tito.teach.assignments.kernel", "-f", "{connection_file}"]
    env = {REFERENCE: str(folder.reference.resolve()), "MPLBACKEND": "agg"}
    spec = {"argv": argv, "display_name": f"Python 3 ({course.title})", "language": "python", "env": env}
    (place / "kernel.json").write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
    return jupyter(folder)


def jupyter(folder: Folder) -> Path:
    """The course's own Jupyter data."""
    return folder.private / "jupyter"


def build(folder: Folder, course: Course) -> None:
    """Build every lesson's and milestone's package anew: what it needs, solved, and its own supplied modules."""
    folder.reference.mkdir(parents=True, exist_ok=True)
    for lesson in course.everything:
        needs = [solved(need) for need in course.needs_of(lesson)]
        _build(folder.reference / lesson.id, [*needs, replace(solved(lesson), cells=())])
    for milestone in course.every_milestone:
        _build(folder.reference / milestone.id, [solved(need) for need in course.needs_of(milestone)])


def solved(lesson: Lesson) -> FoldInput:
    """The lesson with its solutions, for the exporter."""
    return package.fold_input(lesson, package.exported(lesson), f"modules/{lesson.stem}.ipynb")


def _build(place: Path, lessons: list[FoldInput]) -> None:
    """Build beside the place, and exchange the two, so that a kernel never sees half a package."""
    fresh = Path(tempfile.mkdtemp(prefix="new-", dir=place.parent))
    package.build(fresh, lessons)
    shutil.rmtree(place, ignore_errors=True)
    os.rename(fresh, place)


def main() -> None:
    """Become the kernel."""
    assignment = Path.cwd().name
    place = Path(os.environ.get(REFERENCE, "")) / assignment.partition("_")[0]
    if place.is_dir():
        os.environ[VARIABLE] = str(place)
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()


if __name__ == "__main__":
    main()
