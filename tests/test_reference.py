"""The package that the solved lessons export: small functions, few lines, nothing of the notebook left in it."""

from __future__ import annotations

import ast
import io
import statistics
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from tito.course import Course
from tito.dev.export import reference

COURSE = Course.find()
FOLDER = reference(COURSE) / "tinytorch"
EXPORTED = {lesson.name: (FOLDER / f"{lesson.name}.py").read_text(encoding="utf-8") for lesson in COURSE.lessons}
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
LATE = {"decimal", "hashlib", "json", "logging", "pathlib", "queue", "random", "tempfile", "urllib", "zipfile"}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def code_lines(source: str) -> set[int]:
    """Lines with code on them: no blank line, comment or docstring; and neither imports nor the list of names."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    for node in tree.body:
        listing = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        if listing or isinstance(node, (ast.Import, ast.ImportFrom)):
            lines -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return lines


def function_lengths() -> dict[str, int]:
    """Lines of code of every function's body."""
    found = {}
    for name, source in EXPORTED.items():
        code = code_lines(source)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                body = set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
                found[f"{name}.{node.name}:{node.lineno}"] = len(code & body)
    return found


def test_the_exported_lessons_are_at_most_1000_lines_of_code() -> None:
    counts = {name: len(code_lines(source)) for name, source in EXPORTED.items()}
    assert sum(counts.values()) <= 1000, counts


def test_functions_are_short() -> None:
    lengths = function_lengths()
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
    for lesson in COURSE.lessons:
        for path in lesson.supplied:
            assert (FOLDER / path.name).read_bytes() == Path(path).read_bytes()


def test_importing_it_brings_no_module_that_takes_long() -> None:
    """What NumPy has brought already costs nothing."""
    program = "import sys, numpy; before = {*sys.modules}; import tinytorch; print(*sys.modules.keys() - before)"
    command = [sys.executable, "-c", program]
    brought = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, encoding="utf-8", check=True).stdout
    assert "tinytorch.runs" in brought.split() and not LATE & set(brought.split())
