"""What holds for the source of every lesson: marks, check cells, known mistakes, hints, exported names."""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tito.course import Course, Lesson
from tito.dev.mistakes import mistakes_of
from tito.percent import Cell

COURSE = Course.find()
LESSONS = {lesson.stem: lesson for lesson in COURSE.everything}
CHECKS = {f"{stem}: {c.name}": c for stem, each in LESSONS.items() for c in each.cells() if c.role == "check"}
ALLOWED = {"np", "math", "check", "probe", "raises", "draw"} | set(dir(builtins))
FIRST_LINE = "from tito.notebook import check, draw, patch, probe, raises"

# What each lesson exports, by the course's plan: importable from its own file and from tinytorch.
EXPORTS = {
    "tensor": """Operation Add Sub Mul Div Neg Pow Exp Log Sqrt MatMul Sum Mean Max Reshape Permute GetItem Tensor zeros
        ones arange Generator""",
    "activations": "ReLU Sigmoid Tanh GELU Softmax LogSoftmax",
    "layers": "Parameter Module Linear Dropout Flatten Sequential Affine",
    "losses": "MSELoss L1Loss BCEWithLogitsLoss NLLLoss CrossEntropyLoss SoftmaxCrossEntropy",
    "dataloader": "Dataset TensorDataset DataLoader",
    "autograd": "no_grad gradcheck",
    "optimizers": "Optimizer SGD Adam AdamW",
    "training": "CosineSchedule clip_grad_norm Trainer",
    "growing": """expand fit_candidates regularity select GrowthRule prune bias GMDHConfig GMDHNetwork fit_head
        to_module""",
}


def is_probe(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") == "probe" for d in node.decorator_list)


def names_used(cell: Cell) -> Iterator[tuple[str, int]]:
    """Names that a check cell reads outside its probes, and that nothing in the cell defines."""
    tree = ast.parse(cell.source)
    outside = [node for node in tree.body if not is_probe(node)]
    nodes = [inner for node in outside for inner in ast.walk(node)]
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for node in nodes:
        if isinstance(node, ast.Name) and node.id not in own | ALLOWED:
            yield node.id, node.lineno


def bare_truths(cell: Cell) -> Iterator[str]:
    """What a check wants that holds True or False, and beside them nothing that the cell computes or draws."""
    calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    for want in (keyword.value for call in calls for keyword in call.keywords if keyword.arg == "want"):
        parts = list(ast.walk(want))
        names = {part.id for part in parts if isinstance(part, ast.Name)} - {"np", *dir(builtins)}
        if not names and any(isinstance(part, ast.Constant) and isinstance(part.value, bool) for part in parts):
            yield ast.unparse(want)


@pytest.mark.parametrize("name", CHECKS)
class TestCheckCells:
    """A check holds no student's object: it must run where the student's code cannot be imported."""

    def test_reads_only_plain_names(self, name: str) -> None:
        assert not list(names_used(CHECKS[name]))

    def test_asserts_nothing_by_itself(self, name: str) -> None:
        tree = ast.parse(CHECKS[name].source)
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree))

    def test_compares_nothing_inside_a_probe(self, name: str) -> None:
        probes = [node for node in ast.parse(CHECKS[name].source).body if is_probe(node)]
        calls = [n for probe in probes for n in ast.walk(probe) if isinstance(n, ast.Call)]
        assert not {getattr(call.func, "id", "") for call in calls} & {"check", "raises"}

    def test_is_probes_one_test_and_its_call(self, name: str) -> None:
        body = [node for node in ast.parse(CHECKS[name].source).body if not is_probe(node)]
        assert len(body) == 2
        test, call = body
        assert isinstance(test, ast.FunctionDef) and test.name.startswith("test_unit_")
        assert ast.unparse(call) == f"{test.name}()"

    def test_a_hidden_one_shows_one_comment(self, name: str) -> None:
        cell = CHECKS[name]
        lines = cell.source.splitlines()
        if cell.hidden:
            assert lines[0].startswith("# ") and lines[1] == "### BEGIN HIDDEN TESTS"
            assert lines[-1] == "### END HIDDEN TESTS"
        else:
            assert "HIDDEN TESTS" not in cell.source

    def test_no_constant_answers_a_hidden_one(self, name: str) -> None:
        """Code that has taken over the student's process could say True each time, and know nothing."""
        cell = CHECKS[name]
        if cell.hidden:
            assert not list(bare_truths(cell))
            assert "draw." in cell.source


@pytest.mark.parametrize("want", ["True", "[False] * 3", "(True, [True])", "{'a': False}", "[False, 2, ()]"])
def test_a_want_of_truths_is_seen(want: str) -> None:
    cell = replace(next(iter(CHECKS.values())), source=f"check(got, want={want})")
    assert list(bare_truths(cell)) == [want]
    assert not list(bare_truths(replace(cell, source=f"check(got, want=[drawn, {want}])")))


@pytest.mark.parametrize("stem", LESSONS)
class TestLesson:
    """One lesson's source, hints and mistakes."""

    def test_line_one_of_the_code(self, stem: str) -> None:
        first = next(cell for cell in LESSONS[stem].cells() if cell.kind == "code")
        assert first.role == "imports" and first.source.splitlines()[0] == FIRST_LINE

    def test_every_check_belongs_to_an_exercise_or_a_twin(self, stem: str) -> None:
        cells = LESSONS[stem].cells()
        owners = {cell.name for cell in cells if cell.role in ("exercise", "twin")}
        assert {cell.name.split()[0] for cell in cells if cell.role == "check"} <= owners

    def test_every_exercise_has_a_visible_check_mistakes_and_hints(self, stem: str) -> None:
        lesson = LESSONS[stem]
        exercises = {cell.name for cell in lesson.cells() if cell.role == "exercise"}
        visible = {cell.name.split()[0] for cell in lesson.cells() if cell.role == "check" and not cell.hidden}
        assert exercises <= visible
        counts = Counter(mistake.exercise for mistake in mistakes_of(lesson))
        assert set(counts) == exercises and min(counts.values()) >= 6
        hints = hints_of(lesson)
        assert set(hints) == exercises
        assert all(len(steps) == 3 and all(steps) for steps in hints.values())

    def test_mistakes_differ(self, stem: str) -> None:
        changes = Counter((m.exercise, m.old, m.new) for m in mistakes_of(LESSONS[stem]))
        assert max(changes.values()) == 1

    def test_it_shows_a_number_in_its_first_three_cells_of_code(self, stem: str) -> None:
        code = [cell for cell in LESSONS[stem].cells() if cell.kind == "code"][:3]
        last = [ast.parse(cell.source).body[-1] for cell in code]
        assert any(isinstance(node, ast.Expr) for node in last)

    def test_exported_names(self, stem: str, reference: dict[str, dict[str, object]]) -> None:
        name = LESSONS[stem].name
        wanted = set(EXPORTS[name].split())
        assert wanted <= set(reference[name]) and wanted <= set(reference[""])


def hints_of(lesson: Lesson) -> dict[str, list[str]]:
    from tito.course import _read_toml

    return _read_toml(lesson.folder / "hints.toml")


@pytest.fixture(scope="module")
def reference() -> dict[str, dict[str, object]]:
    """The names that `import *` takes of each file of the reference package; "" is the package itself."""
    from tito.dev.export import reference as build

    found: dict[str, dict[str, object]] = {}
    for file in sorted((build(COURSE) / "tinytorch").glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        listed = [
            node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ]
        name = "" if file.stem == "__init__" else file.stem
        found[name] = dict.fromkeys(ast.literal_eval(listed[0].value)) if listed else {}
    return found
