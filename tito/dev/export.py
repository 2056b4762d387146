"""Builds the reference: the package as it comes out when every exercise is solved."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from tito import package
from tito.course import Course, Lesson
from tito.fold import FoldInput


def run(args: argparse.Namespace) -> int:
    """`tito dev export`: write build/reference/tinytorch and say what is in it."""
    course = Course.find()
    files = sorted((reference(course) / package.PACKAGE).glob("*.py"))
    theirs = {name for lesson in course.electives for name in files_of(lesson)}
    told = _counted([file for file in files if file.name not in theirs])
    apart = _counted([file for file in files if file.name in theirs])
    print(f"Wrote build/reference/tinytorch ({told}{f'; electives: {apart}' if theirs else ''}).")
    return 0


def files_of(lesson: Lesson) -> list[str]:
    """The names of the files that a lesson gives to the package, its own first."""
    return [f"{lesson.name}.py", *(path.name for path in lesson.supplied)]


def _counted(files: Sequence[Path]) -> str:
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    return f"{len(files)} files, {lines} lines"


def reference(course: Course) -> Path:
    """The folder build/reference, whose tinytorch is made anew from the lessons as they are now, electives too."""
    made = _kept(course, [fold_input(lesson) for lesson in course.everything])
    target = _build(course) / "reference"
    with FileLock(target.with_suffix(".lock")):  # the workers of a test run come at once
        if package.hashes(target / package.PACKAGE) != package.hashes(made / package.PACKAGE):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(made / package.PACKAGE, target / package.PACKAGE)
    return target


def needs_of(course: Course, lesson: Lesson) -> Path:
    """The folder of a package with all that the lesson builds on, solved, and its own supplied modules."""
    needs = [fold_input(need) for need in course.needs_of(lesson)]
    return _kept(course, [*needs, replace(fold_input(lesson), cells=())])


def fold_input(lesson: Lesson) -> FoldInput:
    """The lesson with its solutions, for the exporter."""
    return package.fold_input(lesson, package.exported(lesson), f"modules/{lesson.stem}.ipynb")


def _kept(course: Course, lessons: Sequence[FoldInput]) -> Path:
    return package.cached(_build(course) / "cache", lessons)


def _build(course: Course) -> Path:
    """The checkout's folder for what is made; beside an installed course nothing is written, so that of the caller."""
    return (course.root if course.root.name != "_course" else Path.cwd()) / "build"
