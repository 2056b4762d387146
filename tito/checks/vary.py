"""Other inputs for a question: what a check asks, asked again with other numbers, tells more mistakes apart.

The first way changes floats wherever they stand, and integers inside lists and arrays, within the range that they have
there. The second makes floats small, moves integers up by one and turns truths round. Whether the new question makes
sense does not matter: it is put to the learner's code and to code with a known mistake, and the answers are compared.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tito.checks.bench import Expression, ProbeCall, Question
from tito.checks.values import Plain


class Way(NamedTuple):
    """How numbers change: floats by a factor, and in lists by steps in turn; single integers and truths as well."""

    factor: float
    steps: tuple[float, ...]
    stride: int  # how much farther than the one before it an integer of a list moves
    single: bool


WAYS = (
    Way(1.09, (0.3, -0.2, 0.55, 0.0, -0.45), stride=1, single=False),
    Way(0.12, (0.05, 0.4, -0.15), stride=2, single=True),
)


def varied(question: Question, way: Way) -> Question:
    """The question with other numbers in its source, arguments and names."""
    if isinstance(question, ProbeCall):
        return replace(question, args=_value(question.args, way), names=_value(question.names, way))
    return Expression(_source(question.source, way), _value(question.names, way))


def _value(value: Plain, way: Way) -> Plain:
    if isinstance(value, np.ndarray):
        return _array(value, way)
    if isinstance(value, dict):
        return {key: _value(item, way) for key, item in value.items()}
    if isinstance(value, list) and value and all(type(item) in (int, float) for item in value):
        return _array(np.array(value), way).tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(_value(item, way) for item in value)
    return _single(value, way)


def _single(value: Plain, way: Way) -> Plain:
    if type(value) is float:
        return value * way.factor
    if type(value) is bool:
        return value != way.single
    return value + way.single if type(value) is int else value


def _array(array: np.ndarray, way: Way) -> np.ndarray:
    """The same shape and dtype. Integers move round within their range, every one by another distance."""
    places = np.arange(array.size).reshape(array.shape)
    if array.dtype.kind == "f":
        return np.asarray(array * way.factor + np.array(way.steps)[places % len(way.steps)], array.dtype)
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    return np.asarray((array - low + way.stride * places) % (high - low + 1) + low, array.dtype)


def _source(source: str, way: Way) -> str:
    return ast.unparse(_Numbers(way).visit(ast.parse(source.strip(), mode="eval")))


class _Numbers(ast.NodeTransformer):
    """Changes the numbers of an expression's text."""

    def __init__(self, way: Way) -> None:
        self.way = way

    def visit_List(self, node: ast.List) -> ast.expr:
        try:
            value = ast.literal_eval(node)
        except ValueError:  # names inside
            return ast.List([self.visit(item) for item in node.elts], node.ctx)
        return ast.parse(repr(_value(value, self.way)), mode="eval").body

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        value: Any = _single(node.value, self.way)
        return ast.Constant(value)
