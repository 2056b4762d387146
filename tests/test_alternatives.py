"""Right answers of another kind pass: tests/alternatives holds at least two for every exercise.

They stand in percent files, a cell an answer: `# %% exercise="matmul" answer="einsum"`. Each was written from the stub
alone. Set k is the k-th answer of every exercise, all at once. TITO_DRAWS is how many draws every check is tried with.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tito import package, percent
from tito.course import Course, Lesson
from tito.dev import jobs, trials
from tito.dev.export import fold_input, needs_of
from tito.fold import FoldInput
from tito.testing import Job

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

COURSE = Course.find()
FOLDER = Path(__file__).parent / "alternatives"
DRAWS = int(os.environ.get("TITO_DRAWS", "50"))
SETS = (0, 1, 2)

Answers = dict[str, dict[str, str]]  # exercise -> name of the answer -> the cell's source

each_lesson = pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)
each_set = pytest.mark.parametrize("k", SETS[:2])  # the third differs in a few exercises, which are tried alone


@cache
def answers(lesson: Lesson) -> Answers:
    found: Answers = {}
    for cell in percent.read((FOLDER / f"a{lesson.stem}.py").read_text(encoding="utf-8")):
        if cell.role == "exercise":
            found.setdefault(cell.name, {})[cell.marks["answer"]] = cell.source
    return found


def answer_set(lesson: Lesson, k: int) -> dict[str, str]:
    """The k-th answer of every exercise, the last of those that have fewer."""
    return {exercise: list(given.values())[: k + 1][-1] for exercise, given in answers(lesson).items()}


def solutions(lesson: Lesson) -> dict[str, str]:
    return {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}


class Plain(ast.NodeTransformer):
    """Takes docstrings and annotations out, and calls local names by the order in which they appear."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        assigned = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and type(name.ctx) is ast.Store}
        local = assigned | {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
        numbered: dict[str, str] = {}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in local:
                part.id = numbered.setdefault(part.id, f"name{len(numbered)}")
            if isinstance(part, ast.arg):
                part.arg, part.annotation = numbered.setdefault(part.arg, f"name{len(numbered)}"), None
        node.returns = None
        return self.undocumented(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return self.undocumented(node)

    def undocumented(self, node: Any) -> Any:
        self.generic_visit(node)
        if ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        return node


def normal(source: str) -> str:
    return ast.dump(Plain().visit(ast.parse(source)))


def failures(job: Job, verdicts: trials.Verdicts, label: str) -> Iterator[str]:
    """A sentence for every check that is not ok."""
    for check in job.checks:
        verdict = verdicts[check["name"]]
        if verdict["status"] != "ok":
            told = [f"{key}={verdict[key]}" for key in ("expression", "want", "got", "error") if verdict.get(key)]
            yield f"{label}: {check['name']} is {verdict['status']} {'  '.join(told)}"


def problems(tried: Mapping[str, Job], folder: Path) -> list[str]:
    verdicts = trials.run_all(list(tried.values()), folder)
    return [line for (label, job), found in zip(tried.items(), verdicts) for line in failures(job, found, label)]


@each_lesson
def test_every_exercise_has_two_more_answers(lesson: Lesson) -> None:
    count = {exercise: len(given) for exercise, given in answers(lesson).items()}
    assert count.keys() == solutions(lesson).keys()
    assert min(count.values()) >= 2


@each_lesson
def test_no_answer_is_another_in_disguise(lesson: Lesson) -> None:
    for exercise, solution in solutions(lesson).items():
        forms = {normal(source) for source in (solution, *answers(lesson)[exercise].values())}
        assert len(forms) == 1 + len(answers(lesson)[exercise]), exercise


def test_disguises_are_seen_through() -> None:
    one = "def f(a: int) -> int:\n    '''Twice.'''\n    b = a + a\n    return b"
    assert normal(one) == normal("def f(x):\n    y = x + x\n    # the sum\n    return y")
    assert normal(one) != normal("def f(a):\n    b = 2 * a\n    return b")


@each_lesson
def test_every_answer_passes_every_check(lesson: Lesson) -> None:
    tried = {
        f"{exercise} ({name})": jobs.solved(lesson, {exercise: source})
        for exercise, given in answers(lesson).items()
        for name, source in given.items()
    }
    assert problems(tried, needs_of(COURSE, lesson)) == []


def drawn(job: Job) -> Job:
    """The job with every check that draws once for each draw: the key of a draw is the check's name."""
    drawing = [cell for cell in job.checks if "draw." in cell["source"]]
    again = [{**cell, "name": f"{cell['name']} draw {i}"} for i in range(1, DRAWS) for cell in drawing]
    return replace(job, cells=[*job.cells, *again])


@each_lesson
def test_checks_judge_alike_whatever_is_drawn(lesson: Lesson) -> None:
    tried = {"solution": drawn(jobs.solved(lesson))}
    tried |= {f"set {k}": drawn(jobs.solved(lesson, answer_set(lesson, k))) for k in SETS}
    assert problems(tried, needs_of(COURSE, lesson)) == []


def with_answers(lesson: Lesson, k: int) -> FoldInput:
    """The lesson for the exporter, each exercise answered by set k."""
    given, lesson_input = answer_set(lesson, k), fold_input(lesson)
    cells = [replace(cell, source=given[cell.name]) if cell.role == "exercise" else cell for cell in lesson_input.cells]
    return replace(lesson_input, cells=cells)


@each_set
def test_later_lessons_stand_on_other_answers(k: int, tmp_path: Path) -> None:
    found = []
    for lesson in COURSE.everything:
        needs = [with_answers(need, k) for need in COURSE.needs_of(lesson)]
        package.build(tmp_path / lesson.id, [*needs, replace(fold_input(lesson), cells=())])
        found += problems({f"lesson {lesson.id}": jobs.solved(lesson)}, tmp_path / lesson.id)
    assert found == []


@each_set
def test_a_package_of_other_answers_passes_every_check(k: int, tmp_path: Path) -> None:
    package.build(tmp_path, [with_answers(lesson, k) for lesson in COURSE.everything])
    assert problems({f"lesson {lesson.id}": jobs.exported(lesson) for lesson in COURSE.everything}, tmp_path) == []
