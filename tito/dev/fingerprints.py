"""`tito dev fingerprints [NN]`: writes what every known mistake gives at the visible checks; see tito/diagnosis.py.

Each exercise is run solved, once with each known mistake, and once for each of its functions with a body that does
nothing: what a mistake has in common with `return None` names no mistake.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tito.course import Course, Lesson
from tito.dev import jobs, trials
from tito.dev.export import needs_of
from tito.dev.mistakes import Mistake, mistakes_of
from tito.diagnosis import FILE, Json, digest, load, same, wrong
from tito.testing import Job


@dataclass(frozen=True)
class Variant:
    """An exercise with other code in it. Nobody's mistake in particular says nothing."""

    exercise: str
    source: str
    says: str


def run(args: argparse.Namespace) -> int:
    """Write the files, and say how many mistakes each can name."""
    course = Course.find()
    for lesson in [course.lesson(args.lesson)] if args.lesson else course.lessons:
        made = fingerprints(course, lesson)
        (lesson.folder / FILE).write_text(text(made), encoding="utf-8", newline="\n")
        print(f"{lesson.id} {lesson.name:<12} {len(mistakes_of(lesson))} mistakes, {len(nameable(made))} named")
    return 0


def fingerprints(course: Course, lesson: Lesson) -> dict[str, Json]:
    """What stands in the lesson's file."""
    solutions = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    variants = [*_mistaken(solutions, mistakes_of(lesson)), *_idle(solutions)]
    right = [replace(_job(lesson, name, source), observed=name) for name, source in solutions.items()]
    tried = [_job(lesson, one.exercise, one.source) for one in variants]
    seen = trials.observe_all([*right, *tried], needs_of(course, lesson))
    expected = dict(zip(solutions, seen))
    found = list(zip(variants, seen[len(right) :]))
    return {
        name: {
            "checks": digest(lesson.cells(), name),
            "right": expected[name],
            "mistakes": _unlike(
                {"says": one.says, "wrong": wrong(seen, expected[name])} for one, seen in found if one.exercise == name
            ),
        }
        for name in solutions
    }


def nameable(made: dict[str, Json]) -> list[tuple[str, str]]:
    """The exercise and sentence of every fingerprint that no other sentence shares."""
    rows = [(name, one["says"], one["wrong"]) for name, table in made.items() for one in table["mistakes"]]
    return [
        (name, says)
        for name, says, wrong in rows
        if says and not any(other[0] == name and other[1] != says and same(other[2], wrong) for other in rows)
    ]


def text(made: dict[str, Json]) -> str:
    """JSON with a line for every fingerprint, so that a change of one is a change of one line."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_table(table)}" for name, table in made.items()) + "\n}\n"


def is_fresh(made: dict[str, Json], lesson: Lesson) -> bool:
    """Whether the lesson's file says the same, but for the last digits: those may be another machine's."""
    return same(json.loads(text(made)), load(lesson))


def _table(table: dict[str, Json]) -> str:
    lines = ",\n  ".join(json.dumps(one, separators=(",", ":")) for one in table["mistakes"])
    right = json.dumps(table["right"], separators=(",", ":"))
    return f'{{"checks": "{table["checks"]}", "right":\n {right},\n "mistakes": [\n  {lines}\n ]}}'


def _mistaken(solutions: dict[str, str], known: Sequence[Mistake]) -> Iterator[Variant]:
    for mistake in known:
        yield Variant(mistake.exercise, mistake.apply(solutions[mistake.exercise]), mistake.says)


def _idle(solutions: dict[str, str]) -> Iterator[Variant]:
    """For each function of an exercise: one that returns None, and one that returns its first argument."""
    for name, source in solutions.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                arguments = [argument.arg for argument in node.args.args]
                first = next((argument for argument in arguments if argument != "self"), "self")
                for result in ("None", first):
                    yield Variant(name, _with_body(source, node, f"return {result}"), "")


def _with_body(source: str, function: ast.FunctionDef, statement: str) -> str:
    lines = source.split("\n")
    indent = " " * function.body[0].col_offset
    return "\n".join([*lines[: function.body[0].lineno - 1], indent + statement, *lines[function.end_lineno :]])


def _job(lesson: Lesson, exercise: str, source: str) -> Job:
    """The lesson with this text for the exercise, whose visible checks alone are run."""
    hidden = {cell.name for cell in lesson.cells() if cell.role == "check" and cell.hidden}
    job = jobs.only(jobs.solved(lesson, {exercise: source}), exercise)
    return replace(job, cells=[cell for cell in job.cells if cell["role"] != "check" or cell["name"] not in hidden])


def _unlike(found: Iterator[dict[str, Json]]) -> list[dict[str, Json]]:
    """Each that differs from the solution, once."""
    kept: list[dict[str, Json]] = []
    for one in found:
        if one["wrong"] and one not in kept:
            kept.append(one)
    return kept
