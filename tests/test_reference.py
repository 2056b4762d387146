"""The package that the solved lessons export: small functions, few lines, nothing of the notebook left in it."""

from __future__ import annotations

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tito.course import Course
from tito.dev.export import reference
from tito.dev.size import BUDGET, code_lines, function_lengths

COURSE = Course.find()
FOLDER = reference(COURSE) / "tinytorch"
EXPORTED = {each.name: (FOLDER / f"{each.name}.py").read_text(encoding="utf-8") for each in COURSE.everything}
LATE = {"decimal", "hashlib", "json", "logging", "pathlib", "queue", "random", "tempfile", "urllib", "zipfile"}


def test_the_exported_lessons_are_within_their_budget() -> None:
    counts = {lesson.name: len(code_lines(EXPORTED[lesson.name])) for lesson in COURSE.lessons}  # electives apart
    assert sum(counts.values()) <= BUDGET == 1000, counts


def test_functions_are_short() -> None:
    lengths = {
        f"{name}.{place}": n for name, source in EXPORTED.items() for place, n in function_lengths(source).items()
    }
    assert statistics.median(lengths.values()) <= 4
    assert max(lengths.values()) <= 20, max(lengths, key=lambda name: lengths[name])


@pytest.mark.parametrize("name", EXPORTED)
def test_nothing_of_the_notebook_is_left(name: str) -> None:
    source = EXPORTED[name]
    for trace in ("print(", "test_unit", "check(", "__main__", "tito.", "@patch", "SOLUTION", "About "):
        assert trace not in source.replace("Exported by tito from", ""), trace


def test_every_public_name_has_a_docstring() -> None:
    for name, source in EXPORTED.items():
        for node in ast.parse(source).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
                assert ast.get_docstring(node), f"{name}.{node.name}"


def test_supplied_modules_are_copied_as_they_are() -> None:
    for lesson in COURSE.everything:
        for path in lesson.supplied:
            assert (FOLDER / path.name).read_bytes() == Path(path).read_bytes()


def test_importing_it_brings_no_module_that_takes_long() -> None:
    """What NumPy has brought already costs nothing."""
    program = "import sys, numpy; before = {*sys.modules}; import tinytorch; print(*sys.modules.keys() - before)"
    command = [sys.executable, "-c", program]
    brought = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, encoding="utf-8", check=True).stdout
    assert "tinytorch.runs" in brought.split() and not LATE & set(brought.split())
