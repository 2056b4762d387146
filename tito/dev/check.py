"""`tito dev check`: proves of every lesson that its solutions pass, that its stubs are todo and that its mistakes FAIL.

A proof is a function from a lesson to the sentences that say what is wrong; none is what an author wants to see.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from tito import release
from tito.course import Course, Lesson
from tito.dev import jobs, kernel, survivors, trials
from tito.dev.export import needs_of, reference
from tito.dev.mistakes import Mistake, mistakes_of
from tito.errors import UserError

FEWEST_MISTAKES = 6


@dataclass(frozen=True)
class Report:
    """What was counted of a lesson, and what is wrong with it."""

    id: str
    exercises: int
    checks: int
    mistakes: int
    caught: int
    problems: tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """Check one lesson, or all but electives; 1 when anything is wrong."""
    if args.mutants:
        return survivors.run(args)
    _require_kernel()
    course = Course.find()
    lessons = [course.lesson(args.lesson)] if args.lesson else course.lessons
    reports = [check(course, lesson) for lesson in lessons]
    notebooks = ThreadPoolExecutor(2).map(lambda lesson: notebook_problems(course, lesson), lessons)
    reports = [
        Report(**{**asdict(report), "problems": (*report.problems, *more)}) for report, more in zip(reports, notebooks)
    ]
    print(json.dumps({"lessons": [asdict(report) for report in reports]}) if args.json else _table(reports))
    return 1 if any(report.problems for report in reports) else 0


def _require_kernel() -> None:
    """Notebooks run in a kernel, which a student's installation need not have."""
    if not (find_spec("nbclient") and find_spec("ipykernel")):
        raise UserError("dev check runs notebooks; install what it needs with: pip install 'tinytorch-course[dev]'")


def check(course: Course, lesson: Lesson) -> Report:
    """All proofs but the run in a kernel."""
    needs = needs_of(course, lesson)
    caught, missed = _mistakes(lesson, needs)
    problems = [*_solutions(course, lesson, needs), *_stubs(lesson, needs), *missed, *_leaks(lesson), *_points(lesson)]
    exercises = [cell for cell in lesson.cells() if cell.role == "exercise"]
    checks = [cell for cell in lesson.cells() if cell.role == "check"]
    return Report(lesson.id, len(exercises), len(checks), len(mistakes_of(lesson)), caught, tuple(problems))


def notebook_problems(course: Course, lesson: Lesson) -> tuple[str, ...]:
    """What goes wrong when the notebook, solutions in, runs from top to bottom in a real kernel."""
    return kernel.run(release.notebook_text(lesson, solutions=True), needs_of(course, lesson)).problems


def _solutions(course: Course, lesson: Lesson, needs: Path) -> Iterator[str]:
    """Every check passes on the solutions, as cells of the notebook and on the exported package."""
    ways = {"notebook": (jobs.solved(lesson), needs), "package": (jobs.exported(lesson), reference(course))}
    for way, (job, folder) in ways.items():
        (verdicts,) = trials.run_all([job], folder)
        for name, verdict in verdicts.items():
            if verdict["status"] != "ok":
                yield f"the solution fails {name} in the {way}: {_said(verdict)}"


def _stubs(lesson: Lesson, needs: Path) -> Iterator[str]:
    """With one stub left, that exercise's checks are todo."""
    stubs = {cell.name: cell.source for cell in release.student_cells(lesson) if cell.role == "exercise"}
    tried = [jobs.only(jobs.solved(lesson, {name: stub}), name) for name, stub in stubs.items()]
    for name, verdicts in zip(stubs, trials.run_all(tried, needs)):
        if not verdicts:
            yield f"{name} has no check"
        for check, verdict in verdicts.items():
            if verdict["status"] != "todo":
                yield f"the stub of {name} is {verdict['status']}, not todo, in check {check}: {_said(verdict)}"


def _mistakes(lesson: Lesson, needs: Path) -> tuple[int, list[str]]:
    """How many known mistakes the named checks catch, and what is wrong with the rest."""
    solutions = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    known = mistakes_of(lesson)
    few = [name for name in solutions if _count(known, name) < FEWEST_MISTAKES]
    problems = [f"{name} has under {FEWEST_MISTAKES} known mistakes" for name in few]
    tried = [jobs.only(jobs.solved(lesson, {m.exercise: m.apply(solutions[m.exercise])}), m.exercise) for m in known]
    verdicts = trials.run_all(tried, needs)
    missed = [m for m, found in zip(known, verdicts) if found.get(m.check, {}).get("status") != "FAIL"]
    problems += [f"check {m.check} does not catch that {m.exercise} {m.says}" for m in missed]
    return len(known) - len(missed), problems


def _count(known: Iterable[Mistake], exercise: str) -> int:
    return sum(mistake.exercise == exercise for mistake in known)


def _leaks(lesson: Lesson) -> Iterator[str]:
    """The student's notebook holds no line of a solution and none of a hidden check."""
    for solved, released in zip(lesson.cells(), release.student_cells(lesson)):
        shown = {line.strip() for line in released.source.split("\n")}
        for line in _regions(solved.source):
            if line in shown:
                yield f"{solved.id} shows {line!r} to the student"


def _regions(source: str) -> Iterator[str]:
    """The stripped lines between marks that clear them."""
    inside = False
    for line in source.split("\n"):
        if "### END " in line:
            inside = False
        if inside and line.strip():
            yield line.strip()
        if "### BEGIN " in line:
            inside = True


def _points(lesson: Lesson) -> Iterator[str]:
    """An exercise is worth the sum of its checks."""
    for cell in lesson.cells():
        if cell.role == "exercise":
            total = sum(c.points for c in lesson.cells() if c.role == "check" and c.name.split()[0] == cell.name)
            if total != cell.points:
                yield f"{cell.name} is worth {cell.points} points, its checks {total}"


def _said(verdict: dict[str, object]) -> str:
    found = {key: verdict.get(key) for key in ("kind", "expression", "want", "got", "error", "waits_for")}
    return ", ".join(f"{key} {value}" for key, value in found.items() if value)


def _table(reports: Iterable[Report]) -> str:
    lines = ["lesson  exercises  checks  mistakes  caught"]
    for r in reports:
        lines.append(f"{r.id:>6}  {r.exercises:>9}  {r.checks:>6}  {r.mistakes:>8}  {r.caught:>6}")
        lines += [f"        {problem}" for problem in r.problems]
    return "\n".join(lines)
