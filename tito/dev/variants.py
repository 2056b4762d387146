"""An exercise with other code in it: a known mistake, a generic change, or a function that does nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tito.course import Lesson
from tito.dev import jobs
from tito.dev.mistakes import mistakes_of
from tito.dev.mutants import mutants
from tito.testing import Job


@dataclass(frozen=True)
class Variant:
    """`says` is what a learner is told of it; nothing where it is no mistake that the lesson knows."""

    exercise: str
    source: str
    says: str = ""


def solutions_of(lesson: Lesson) -> dict[str, str]:
    """The cells of the exercises, solved."""
    return {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}


def mistaken(lesson: Lesson) -> list[Variant]:
    """One for each known mistake."""
    solutions = solutions_of(lesson)
    return [Variant(one.exercise, one.apply(solutions[one.exercise]), one.says) for one in mistakes_of(lesson)]


def changed(lesson: Lesson) -> Iterator[Variant]:
    """One for each generic change, and for each function one that returns None and one that returns its argument."""
    for name, source in solutions_of(lesson).items():
        yield from (Variant(name, mutant.source) for mutant in mutants(name, source))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                first = next((one.arg for one in node.args.args if one.arg != "self"), "self")
                yield Variant(name, _with_body(source, node, "return None"))
                yield Variant(name, _with_body(source, node, f"return {first}"))


def size(source: str) -> int:
    """How much code it is, comments and layout apart."""
    return sum(1 for _ in ast.walk(ast.parse(source)))


def visible(lesson: Lesson, variant: Variant) -> Job:
    """The lesson with the variant in it, whose visible checks of this exercise alone are run."""
    hidden = {cell.name for cell in lesson.cells() if cell.role == "check" and cell.hidden}
    job = jobs.only(whole(lesson, variant), variant.exercise)
    return replace(job, cells=[cell for cell in job.cells if cell["role"] != "check" or cell["name"] not in hidden])


def whole(lesson: Lesson, variant: Variant) -> Job:
    """The lesson with the variant in it, and all its checks."""
    return jobs.solved(lesson, {variant.exercise: variant.source})


def _with_body(source: str, function: ast.FunctionDef, statement: str) -> str:
    lines = source.split("\n")
    start, indent = function.body[0].lineno - 1, " " * function.body[0].col_offset
    return "\n".join([*lines[:start], indent + statement, *lines[function.end_lineno :]])
