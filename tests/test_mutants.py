"""Mutants: what each operator makes of a solution, that nothing outside of it changes, and who survives."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tito import cli
from tito.course import Course, Lesson
from tito.dev import survivors
from tito.dev.mutants import mutants, solution_lines

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

COURSE = Course.find()
FAST = "05"  # make test-all scores them all

CELL = """\
def f(a: np.ndarray, b: np.ndarray, flag: bool) -> {returns}:
    \"\"\"Takes 1 and 2.\"\"\"
    c = a + 1
    ### BEGIN SOLUTION
{lines}
    ### END SOLUTION
    return c - 1
"""


def cell(lines: str, returns: str = "int") -> str:
    indented = "\n".join(f"    {line}" for line in lines.split("\n"))
    return CELL.format(lines=indented, returns=returns)


MADE = [  # operator, solution, what it becomes
    ("other_sign", "c = a - b", {"c = a + b"}),
    ("other_sign", "c = a / b", {"c = a * b", "c = a // b"}),
    ("other_sign", "c = (a) < (b)", {"c = (a) <= (b)", "c = (a) >= (b)"}),
    ("other_sign", "c = a is not b", {"c = a is b"}),
    ("other_sign", "c = a not  in b", {"c = a in b"}),
    ("other_sign", "c = a and b", {"c = a or b"}),
    ("one_side", "c = (a + b) * 2", {"c = (a) * 2", "c = (b) * 2", "c = a + b", "c = 2"}),
    ("one_side", "c = a - a.max(axis=0)", {"c = a", "c = a.max(axis=0)"}),
    ("one_side", "c = a or b", {"c = a", "c = b"}),
    ("other_order", "c = a @ b", {"c = b @ a"}),
    ("other_order", "c = g(a, *b)", set()),
    ("other_order", "c = g(a, b, flag)", {"c = g(b, a, flag)", "c = g(a, flag, b)"}),
    ("other_order", "c = np.zeros((a, b))", {"c = np.zeros((b, a))"}),
    ("other_order", "c = max(a, isinstance(b, (int, float)))", {"c = max(a, isinstance((int, float), b))"}),
    ("sign_lost", "c = not a", {"c = a"}),
    ("sign_lost", "c = -(a + b) * 2", {"c = (a + b) * 2"}),
    ("other_constant", "c = g(3)", {"c = g(4)", "c = g(2)"}),
    ("other_constant", "c = g(0.5)", {"c = g(1.5)", "c = g(1.0)"}),
    ("other_constant", "c = a.sum(keepdims=True)", {"c = a.sum(keepdims=False)"}),
    ("other_constant", "c = g(None) if a is None else 'biu'", {"c = g(0) if a is None else 'biu'"}
     | {"c = g(None) if a is None else 'iu'"}),
    ("other_truth", "c = 1 if a < b else 2", {"c = 1 if True else 2", "c = 1 if False else 2"}),
    ("other_truth", "c = [i for i in a if i]", {f"c = [i for i in a if {t}]" for t in ("True", "False", "not i")}),
    ("lost_statement", "g(a)", {"pass"}),
    ("lost_statement", "with g(a) as c: g(b)", {"if True: g(b)", "with g(a) as c: pass"}),
    ("other_result", "return a", {"return None"}),
    ("other_result", "raise ValueError(f'{a - b}')", {"raise RuntimeError(f'{a - b}')"}),
    ("other_name", "c = a.sum(b.max())", {"c = a.mean(b.max())", "c = a.sum(b.min())"}),
    ("other_name", "c = np.array(a, np.float32)", {"c = np.asarray(a, np.float32)", "c = np.array(a, np.float64)"}),
    ("lost_call", "c = np.exp(a - b) * 2", {"c = (a - b) * 2"}),
    ("lost_call", "c = a.copy()", {"c = a"}),
    ("lost_call", "c = a @ b.T", {"c = a @ b"}),
    ("lost_call", "c = a.data.shape, b.data", {"c = a.data.shape, b"}),
    ("lost_call", "c = a[0]", {"c = a"}),
    ("lost_argument", "c = a.sum(axis=0, keepdims=True)", {"c = a.sum(keepdims=True)", "c = a.sum(axis=0)"}),
    ("lost_argument", "c = g((a), b=(1))", {"c = g((a))"}),
    ("lost_argument", "c = a.sum(0)", {"c = a.sum()"}),
    ("lost_argument", "c = g(a, (b))", {"c = g(a)"}),
    ("other_axis", "c = g(a, axis=b)", {"c = g(a, axis=0)", "c = g(a, axis=-1)"}),
    ("other_assignment", "c += a - b", {"c = a - b", "c -= a - b", "c = c + (a - b)"}),
    ("other_assignment", "c -= 1", {"c = 1", "c += 1"}),
    ("other_assignment", "c = c + a", {"c += a"}),
    ("rebound", "a[...] = b", {"a = b"}),
    ("rebound", "a[:] = b", {"a = b"}),
    ("spoilt_input", "return a * b", {"a *= b; return a"}),
    ("spoilt_input", "return c * b", set()),
    ("moved_epsilon", "c = np.sqrt(a + 1e-8) * 2", {"c = (np.sqrt(a) + 1e-8) * 2"}),
    ("moved_epsilon", "c = np.sqrt(a) + 1e-8", {"c = np.sqrt(a + 1e-8)"}),
    ("one_beside", "c = a[b:]", {"c = a[:]", "c = a[b + 1:]", "c = a[b - 1:]"}),
    ("one_beside", "c = range(b)", {"c = range(b + 1)", "c = range(b - 1)"}),
]  # fmt: skip


@pytest.mark.parametrize("operator, line, wanted", MADE)
def test_an_operator(operator: str, line: str, wanted: set[str]) -> None:
    found = mutants("f", cell(line))
    assert {mutant.new for mutant in found if mutant.operator == operator} == wanted
    assert {(mutant.old, mutant.line) for mutant in found} == {(line.replace("  ", " "), 5)}


def test_float64_leaks_where_an_array_is_returned() -> None:
    made = {mutant.new for mutant in mutants("f", cell("return a", "np.ndarray"))}
    assert made == {"return None", "return np.asarray(a, np.float64)"}


def test_messages_annotations_and_docstrings_stay() -> None:
    lines = 'def g(x: int = 3) -> 4:\n    """Gives 5."""\n    raise ValueError(x + 1)\ntext = f"{a + 1}"'
    made = {mutant.new for mutant in mutants("f", cell(lines))}
    assert made == {"def g(x: int = 4) -> 4:", "def g(x: int = 2) -> 4:", "raise RuntimeError(x + 1)", "pass"}


def test_a_statement_of_several_lines_is_one_mutant() -> None:
    (mutant,) = [m for m in mutants("f", cell("for i in a:\n    g(\n        i)")) if m.line == 5 and m.new == "pass"]
    assert (mutant.old, mutant.operator) == ("for i in a: g( i)", "lost_statement")


def test_letters_beyond_ascii_move_nothing() -> None:
    assert {m.new for m in mutants("f", cell("c = 'ü' + a.copy()")) if m.operator == "lost_call"} == {"c = 'ü' + a"}


@pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)
def test_mutants_of_a_lesson(lesson: Lesson) -> None:
    """They compile, differ from the solution and from each other, and change lines of solutions only."""
    for exercise in (found for found in lesson.cells() if found.role == "exercise"):
        before, allowed, forms = exercise.source.split("\n"), solution_lines(exercise.source), set()
        for mutant in mutants(exercise.name, exercise.source):
            forms.add(ast.dump(ast.parse(mutant.source)))
            steps = difflib.SequenceMatcher(None, before, mutant.source.split("\n"), autojunk=False).get_opcodes()
            changed = {number + 1 for kind, start, end, *_ in steps if kind != "equal" for number in range(start, end)}
            assert changed and changed <= allowed, mutant
        assert len(forms | {ast.dump(ast.parse(exercise.source))}) == len(mutants(exercise.name, exercise.source)) + 1


WEAK = """# %% imports
from tito.notebook import check, draw, patch, probe, raises

# %% exercise="size" points=1
def size(numbers):
    ### BEGIN SOLUTION
    total = 0
    for number in numbers:
        total += number * number
    while total > 100:
        total -= 1
    return total
    ### END SOLUTION


# %% check="size" points=1
def test_unit_size():
    check("size([1, 1])", want=2)


test_unit_size()
"""


@pytest.fixture
def weak(make_lesson: Callable[..., Lesson], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Course, Lesson]:
    monkeypatch.setattr(survivors, "SECONDS", 0.2)
    lesson = make_lesson(tmp_path, WEAK)
    return Course(tmp_path, "Toys", (lesson,), ()), lesson


def equivalent(lesson: Lesson, *new: str, old: str = "total += number * number") -> None:
    entry = f'[[equivalent]]\nexercise = "size"\nold = "{old}"\nnew = {json.dumps(new)}\nwhy = "One is one."\n'
    (lesson.folder / "equivalent.toml").write_text(entry, encoding="utf-8")


def test_survivors_are_named_with_their_line_and_endless_mutants_are_caught(weak: tuple[Course, Lesson]) -> None:
    found = survivors.score(*weak)
    lived = {(mutant.line, mutant.new) for mutant in found.survivors}
    assert {(9, "total += number"), (10, "while total >= 100:"), (11, "total += 1")} <= lived
    assert not {(10, "while True:"), (9, "total = number * number")} & lived
    assert found.mutants == found.caught + len(found.survivors) and found.equivalent == 0
    assert not found.is_good and found.problems == ()


def test_an_equivalent_is_taken_out_of_the_score(weak: tuple[Course, Lesson]) -> None:
    equivalent(weak[1], "total += number")
    found = survivors.score(*weak)
    assert found.equivalent == 1 and found.problems == ()
    assert "total += number" not in {mutant.new for mutant in found.survivors}


def test_an_equivalent_out_of_date_is_a_problem(weak: tuple[Course, Lesson]) -> None:
    equivalent(weak[1], "total = number * number", "total += number ** 9")
    caught, gone = survivors.score(*weak).problems
    assert "total = number * number is caught by a check" in caught
    assert "total += number ** 9 no longer occurs" in gone


def test_a_solution_that_fails_is_a_problem(weak: tuple[Course, Lesson]) -> None:
    course, lesson = weak
    (lesson.folder / "toy.py").write_text(WEAK.replace("want=2", "want=3"), encoding="utf-8")
    found = survivors.score(course, lesson)
    assert found.problems == ("the solution of size fails a check",)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dev", "check", "--mutants", FAST, "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["lessons"]
    assert told["score"] >= survivors.LEAST and told["problems"] == []
    assert told["caught"] + told["equivalent"] + len(told["survivors"]) == told["mutants"] > 100


def test_the_table(weak: tuple[Course, Lesson]) -> None:
    title, row, *lines = survivors._table([survivors.score(*weak)]).splitlines()
    assert title.split() == ["lesson", "mutants", "caught", "equivalent", "score", "seconds"]
    assert row.split()[0] == "01" and row.split()[4].endswith("%")
    assert "        size, line 9: total += number * number -> total += number" in lines
