"""`tito export [NN] [--all]`: tests a lesson and, when all is ok, adds it to the learner's package.

Every export builds the whole package: of this lesson as it is now, and of all others, electives too, as they were
exported.
"""

from __future__ import annotations

import textwrap
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tito import package, percent, report
from tito.commands.checking import check_lesson, explained, failed
from tito.commands.common import chosen, enter, every
from tito.commands.lessons import exported_cells, package_jobs, present_input, stored_input
from tito.course import Course, Lesson
from tito.errors import NOT_YET, UserError
from tito.fold import FoldError, FoldInput
from tito.package import Commit
from tito.report import Result
from tito.spare import TOOLS, Spare
from tito.workspace import Workspace

GLUE = "\xa0"  # where no line ends
KEPT = "  Not exported."


def run(args: Namespace, course: Course) -> int:
    """Export one lesson, or all that have a file; 0 when that was possible."""
    workspace = enter()
    with workspace.locked():
        package.recover(workspace)
        lessons = _opened(course, workspace, args) if args.all else [chosen(args.lesson, course, workspace)]
        before = package.hashes(workspace.package)
        for lesson in lessons:
            if not _export(course, workspace, lesson):
                return NOT_YET
    if package.hashes(workspace.package) != before:
        print("Restart running kernels: they still hold the package as it was.")
    for line in _after(course, workspace, lessons):
        print(line)
    return 0


def _opened(course: Course, workspace: Workspace, args: Namespace) -> list[Lesson]:
    lessons = [lesson for lesson in every(course, args.lesson) if workspace.file_of(lesson).exists()]
    if not lessons:
        raise UserError(f"there is no lesson to export yet; begin with: tito open {course.lessons[0].id}")
    return lessons


def _export(course: Course, workspace: Workspace, lesson: Lesson) -> bool:
    """Test the lesson, test the package with it, put the package in place; whether all was ok."""
    with package.staging(workspace) as folder, closing(Spare()) as spare:
        spare.prepare(folder, TOOLS)  # NumPy is imported while the lesson is tested and the package built
        result, plan = check_lesson(course, workspace, lesson)
        if not result.ok:
            print(failed(course, workspace, result, KEPT))
            return False
        lessons = [each for each in course.everything if each == lesson or workspace.exported(each)]
        stored = {each.id: stored_input(workspace, each) for each in lessons if each != lesson}
        inputs = [stored.get(each.id) or present_input(workspace, plan) for each in lessons]
        notes = _build(folder, inputs, lesson)
        broken = _broken(course, folder, lessons, spare)
        if broken:
            intro = f"{result.file} is ok, but not the package built from it:"
            print(failed(course, workspace, replace(broken, notes=notes, intro=intro), KEPT))
            return False
        done = package.commit(workspace, folder, {workspace.snapshot(lesson).name: percent.write(exported_cells(plan))})
    _print_done(workspace, result, done, notes)
    return True


def _build(folder: Path, inputs: Sequence[FoldInput], lesson: Lesson) -> list[str]:
    """Build the package; what is left out of this lesson, which may be why the rest cannot be built."""
    notes: dict[str, list[str]] = {}
    try:
        package.build(folder, inputs, notes)
        return notes.get(lesson.name, [])
    except FoldError as error:
        for line in report.notes(notes.get(lesson.name, [])):
            print(line)
        raise UserError(f"{error.message}, then repeat: tito export {lesson.id}", NOT_YET) from None


def _broken(course: Course, folder: Path, lessons: list[Lesson], spare: Spare) -> Result | None:
    """Run the visible checks of all exported lessons on the build: the first lesson that is not ok, if any."""
    began = time.perf_counter()
    outcomes = spare.run(package_jobs(course, lessons), folder)
    bad = next((outcome.lesson for outcome in outcomes if outcome.status != "ok"), None)
    if bad is None:
        return None
    lesson = course.lesson(bad)
    own = [explained(course, lesson, outcome) for outcome in outcomes if outcome.lesson == bad]
    return Result(lesson.id, lesson.name, f"tinytorch/{lesson.name}.py", own, (), time.perf_counter() - began)


def _print_done(workspace: Workspace, result: Result, done: Commit, notes: list[str]) -> None:
    tested = f"{result.id} {result.name}: {report.count(result)} in {result.seconds:.1f} s."
    said = f"{tested}  {_wrote(workspace, done, result)}"
    print(textwrap.fill(said, report.WIDTH, subsequent_indent="  ").replace(GLUE, " "), flush=True)
    for line in report.notes(notes):
        print(line)
    for name, backup in done.backups.items():
        print(f"  note  tinytorch/{name} was changed by hand; yours is kept:")
        print(f"{report.INDENT}{workspace.shown(backup)}")


def _wrote(workspace: Workspace, done: Commit, result: Result) -> str:
    """`Wrote tinytorch/tensor.py (58 lines).`, each file that is new or changed, the lesson's own first."""
    files = [name for name in done.rewrote if name != "__init__.py"]
    files.sort(key=lambda name: name != f"{result.name}.py")
    if not files:
        return "Nothing in tinytorch/ has changed."
    lines = [len((workspace.package / name).read_text(encoding="utf-8").splitlines()) for name in files]
    return f"Wrote {', '.join(map(f'tinytorch/{{}}{GLUE}({{}}{GLUE}lines)'.format, files, lines))}."


def _after(course: Course, workspace: Workspace, lessons: list[Lesson]) -> list[str]:
    """What to look at, and what to do next."""
    ahead = next((lesson for lesson in course.lessons if not workspace.exported(lesson)), None)
    step = f"tito open {ahead.id}" if ahead else "tito milestone"
    return [f"Yours beside ours:  tito diff {lessons[-1].id}", f"Next:               {step}"]
