"""Other inputs for a question: what a check asks, asked once more with other numbers, tells more mistakes apart.

Floats are changed wherever they stand, integers inside lists and arrays only, and within the range that they have
there: elsewhere they are sizes and dimensions. Whether the new question makes sense does not matter; it is put to the
learner's code and to code with a known mistake, and the two answers are compared.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from tito.checks.bench import Expression, ProbeCall, Question
from tito.checks.values import Plain

FACTOR = 1.09
STEPS = (0.3, -0.2, 0.55, 0.0, -0.45)  # added to the numbers of a list in turn


def varied(question: Question) -> Question:
    """The question with other numbers in its source, arguments and names."""
    if isinstance(question, ProbeCall):
        return replace(question, args=_value(question.args), names=_value(question.names))
    return Expression(_source(question.source), _value(question.names))


def _value(value: Plain) -> Plain:
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, list) and value and all(type(item) in (int, float) for item in value):
        return _array(np.array(value)).tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(_value(item) for item in value)
    return value * FACTOR if type(value) is float else value


def _array(array: np.ndarray) -> np.ndarray:
    """The same shape and dtype. Integers move round within their range, every one by another distance."""
    places = np.arange(array.size).reshape(array.shape)
    if array.dtype.kind == "f":
        return np.asarray(array * FACTOR + np.array(STEPS)[places % len(STEPS)], array.dtype)
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    return np.asarray((array - low + places) % (high - low + 1) + low, array.dtype)


def _source(source: str) -> str:
    return ast.unparse(_Numbers().visit(ast.parse(source.strip(), mode="eval")))


class _Numbers(ast.NodeTransformer):
    """Changes the numbers of an expression's text."""

    def visit_List(self, node: ast.List) -> ast.expr:
        try:
            value = ast.literal_eval(node)
        except ValueError:  # names inside
            return ast.List([self.visit(item) for item in node.elts], node.ctx)
        return ast.parse(repr(_value(value)), mode="eval").body

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value: Any = _value(node.value) if type(node.value) is float else node.value
        return ast.Constant(value)
