"""HIPS autograd: NumPy functions and `value_and_grad`, as in its examples. The updates are those of by_hand.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from workloads import EPS, Work

from peers import Missing, by_hand

try:
    from autograd import numpy as np
    from autograd import value_and_grad
except ImportError:
    raise Missing("autograd is not installed") from None

Step = Callable[[], float]


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def forward(params: list[Any], x: Any, activation: Callable[[Any], Any]) -> Any:
    for weight, bias in zip(params[:-2:2], params[1:-2:2]):
        x = activation(np.dot(x, weight) + bias)
    return np.dot(x, params[-2]) + params[-1]


def relu(z: Any) -> Any:
    return np.maximum(z, 0)


def squared_error(params: list[Any], x: Any, y: Any) -> Any:
    return np.mean((sigmoid(forward(params, x, sigmoid)) - y) ** 2)


def cross_entropy(params: list[Any], x: Any, y: Any) -> Any:
    """`y` is one-hot, as in autograd's examples: the gradient of an index is slower."""
    scores = forward(params, x, relu)
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    return -np.sum((shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))) * y) / len(y)


def norm(params: list[Any], x: Any, y: Any) -> Any:
    x, scale, shift = params
    centred = x - np.mean(x, axis=1, keepdims=True)
    scores = centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + EPS) * scale + shift
    exps = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.sum(exps / np.sum(exps, axis=1, keepdims=True) * y) / len(y)


def autograd(work: Work) -> Step | None:
    if work.kind == "epoch":
        return None
    loss_of = {"xor": squared_error, "classes": cross_entropy, "norm": norm}[work.kind]
    params, x, y = by_hand.parameters(work), work.x, work.y
    if work.kind == "norm":
        params = [array.copy() for array in (work.x, *work.weights[0])]
    if work.kind == "classes":
        y = numpy.eye(len(work.weights[-1][1]), dtype=numpy.float32)[work.y]
    if not work.optimizer:
        return lambda: float(loss_of(params, x, y))
    update, slope = by_hand.optimizer(work, params), value_and_grad(loss_of)

    def step() -> float:
        loss, grads = slope(params, x, y)
        update(*grads)
        return float(loss)

    return step


PEERS: dict[str, Any] = {"autograd": autograd}
