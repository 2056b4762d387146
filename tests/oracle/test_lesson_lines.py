"""The lines of PyTorch that stand in the lessons: each ends in something that must be True."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest
import torch

from tito.course import Course

BLOCK = re.compile(r"```python oracle\n(.*?)```", re.DOTALL)
BLOCKS = {
    f"{lesson.stem}, line {cell.line}": block
    for lesson in Course.find().everything
    for cell in lesson.cells()
    if cell.kind == "markdown"
    for block in BLOCK.findall(cell.source)
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_line_of_pytorch_is_true(name: str) -> None:
    names: dict[str, Any] = {"torch": torch, "np": np, "F": torch.nn.functional}
    *before, last = ast.parse(BLOCKS[name]).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(before, []), name, "exec"), names)
    assert eval(compile(ast.Expression(last.value), name, "eval"), names)


def test_every_lesson_has_some() -> None:
    assert {name[:2] for name in BLOCKS} == {lesson.id for lesson in Course.find().everything}
