"""micrograd, whose values are single numbers: XOR only. It has no exp, so the sigmoid is one more operation of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workloads import Work

from peers import Missing

try:
    from micrograd.engine import Value
except ImportError:
    raise Missing("micrograd is not installed") from None

Step = Callable[[], float]


def sigmoid(value: Any) -> Any:
    """Written as micrograd writes its own `relu`."""
    out = Value(1 / (1 + math.exp(-value.data)), (value,), "sigmoid")

    def backward() -> None:
        value.grad += out.data * (1 - out.data) * out.grad

    out._backward = backward
    return out


def layer(inputs: list[Any], weights: list[list[Any]], biases: list[Any]) -> list[Any]:
    """micrograd's Neuron with a sigmoid."""
    return [sigmoid(sum((w * x for w, x in zip(row, inputs)), bias)) for row, bias in zip(weights, biases)]


def micrograd(work: Work) -> Step | None:
    if work.kind != "xor":
        return None
    layers = [([[Value(w) for w in row] for row in weight.tolist()], [Value(b) for b in bias.tolist()])
              for weight, bias in work.weights]  # fmt: skip
    params = [value for weight, bias in layers for values in (*weight, bias) for value in values]
    samples = list(zip(work.x.tolist(), work.y[:, 0].tolist()))

    def forward(inputs: list[Any]) -> Any:
        for weight, bias in layers:
            inputs = layer(inputs, weight, bias)
        return inputs[0]

    def step() -> float:
        loss = sum((forward(x) - y) ** 2 for x, y in samples) * (1 / len(samples))
        for param in params:
            param.grad = 0
        loss.backward()
        for param in params:
            param.data -= work.lr * param.grad
        return loss.data

    return step


PEERS: dict[str, Any] = {"micrograd": micrograd}
