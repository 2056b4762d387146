"""The limit: the arithmetic of by_hand.py into arrays that are made once.

Parameters lie in one flat array and gradients in another, so that the optimizer needs a handful of calls in all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from workloads import ADAM_EPS, BETAS, EPS, Work

Step = Callable[[], float]


class Flat:
    """All parameters in one array, all gradients in another; `params` and `grads` are views: weight, bias, ..."""

    def __init__(self, work: Work) -> None:
        arrays = [array for weight, bias in work.weights for array in (weight.T, bias)]
        self.param = np.concatenate([array.ravel() for array in arrays])
        self.grad = np.zeros_like(self.param)
        self.params, self.grads = (self.views(whole, arrays) for whole in (self.param, self.grad))

    def views(self, whole: np.ndarray, arrays: list[np.ndarray]) -> list[np.ndarray]:
        ends = np.cumsum([array.size for array in arrays])
        return [part.reshape(array.shape) for part, array in zip(np.split(whole, ends[:-1]), arrays)]

    def optimizer(self, work: Work) -> Callable[[], None]:
        param, grad, lr = self.param, self.grad, work.lr
        velocity, scratch = np.zeros_like(param), np.empty_like(param)

        def sgd() -> None:
            np.multiply(grad, lr, out=grad)
            np.subtract(param, grad, out=param)

        def momentum() -> None:
            np.multiply(velocity, 0.9, out=velocity)
            np.add(velocity, grad, out=velocity)
            np.multiply(velocity, lr, out=scratch)
            np.subtract(param, scratch, out=param)

        return {"sgd": sgd, "momentum": momentum, "adam": self.adam(lr)}[work.optimizer]

    def adam(self, lr: float) -> Callable[[], None]:
        param, grad = self.param, self.grad
        mean, square, scratch = np.zeros_like(param), np.zeros_like(param), np.empty_like(param)
        (b1, b2), count = BETAS, 0

        def update() -> None:
            nonlocal count
            count += 1
            np.multiply(mean, b1, out=mean)
            np.multiply(grad, 1 - b1, out=scratch)
            np.add(mean, scratch, out=mean)
            np.multiply(square, b2, out=square)
            np.multiply(grad, grad, out=grad)
            np.multiply(grad, 1 - b2, out=grad)
            np.add(square, grad, out=square)
            # rate * mean / (sqrt(square / c) + eps), with the root of c taken out of the array
            root = (1 - b2**count) ** 0.5
            np.sqrt(square, out=scratch)
            np.add(scratch, ADAM_EPS * root, out=scratch)
            np.divide(mean, scratch, out=scratch)
            np.multiply(scratch, lr * root / (1 - b1**count), out=scratch)
            np.subtract(param, scratch, out=param)

        return update


def xor(work: Work) -> Step:
    x, y, flat = work.x, work.y, Flat(work)
    (w1, b1, w2, b2), (dw1, db1, dw2, db2), update = flat.params, flat.grads, flat.optimizer(work)
    hidden, g1, slope1 = (np.empty((len(x), len(b1)), np.float32) for _ in range(3))
    output, error, slope2 = (np.empty((len(x), 1), np.float32) for _ in range(3))
    xt, ht, w2t, ones = x.T, hidden.T, w2.T, np.ones(len(x), np.float32)

    def sigmoid(z: np.ndarray, slope: np.ndarray) -> None:
        """In place; `slope` becomes its derivative."""
        np.negative(z, out=z)
        np.exp(z, out=z)
        np.add(z, 1, out=z)
        np.reciprocal(z, out=z)
        np.subtract(1, z, out=slope)
        np.multiply(slope, z, out=slope)

    def step() -> float:
        np.dot(x, w1, out=hidden)
        np.add(hidden, b1, out=hidden)
        sigmoid(hidden, slope1)
        np.dot(hidden, w2, out=output)
        np.add(output, b2, out=output)
        sigmoid(output, slope2)
        np.subtract(output, y, out=error)
        flat_error = error.ravel()
        loss = float(np.dot(flat_error, flat_error)) / len(flat_error)
        np.multiply(error, 2 / len(flat_error), out=error)
        np.multiply(error, slope2, out=error)
        np.dot(ht, error, out=dw2)
        np.dot(ones, error, out=db2)
        np.dot(error, w2t, out=g1)
        np.multiply(g1, slope1, out=g1)
        np.dot(xt, g1, out=dw1)
        np.dot(ones, g1, out=db1)
        update()
        return loss

    return step


def cross_entropy(labels: np.ndarray, classes: int) -> Callable[[np.ndarray, bool], float]:
    """A function that gives the mean loss and, if asked, turns the scores into their gradient in place."""
    count = len(labels)
    best, sums = (np.empty((count, 1), np.float32) for _ in range(2))
    places = np.arange(count) * classes + labels  # in the flat array of scores
    picked = np.empty(count, np.float32)

    def loss_of(scores: np.ndarray, backward: bool) -> float:
        np.maximum.reduce(scores, axis=1, out=best, keepdims=True)
        np.subtract(scores, best, out=scores)
        line = scores.ravel()
        line.take(places, out=picked, mode="clip")
        np.exp(scores, out=scores)
        np.add.reduce(scores, axis=1, out=sums, keepdims=True)
        if backward:
            np.divide(scores, sums, out=scores)
            line[places] -= 1
            np.multiply(scores, 1 / count, out=scores)
        np.log(sums, out=sums)
        return (float(np.add.reduce(sums, axis=None)) - float(np.add.reduce(picked))) / count

    return loss_of


def classes(work: Work) -> Step:
    """Any number of layers; without an optimizer, forward and loss only."""
    flat, rows, backward = Flat(work), len(work.x), bool(work.optimizer)
    weights, biases, to_weights, to_biases = flat.params[::2], flat.params[1::2], flat.grads[::2], flat.grads[1::2]
    outputs = [np.empty((rows, len(bias)), np.float32) for bias in biases]
    slopes = [np.empty_like(output) for output in outputs[:-1]]
    masks = [np.empty(output.shape, bool) for output in outputs[:-1]]
    inputs, ones = [work.x, *outputs[:-1]], np.ones(rows, np.float32)
    forward = list(zip(inputs, weights, biases, outputs))
    last, loss_of = len(weights) - 1, cross_entropy(work.y, outputs[-1].shape[1])
    update = flat.optimizer(work) if backward else None

    def step() -> float:
        for i, (x, weight, bias, output) in enumerate(forward):
            np.dot(x, weight, out=output)
            np.add(output, bias, out=output)
            if i < last:
                np.maximum(output, 0, out=output)
        loss = loss_of(outputs[-1], backward)
        if update is None:
            return loss
        grad = outputs[-1]
        for i in range(last, -1, -1):
            np.dot(inputs[i].T, grad, out=to_weights[i])
            np.dot(ones, grad, out=to_biases[i])
            if i:
                np.dot(grad, weights[i].T, out=slopes[i - 1])
                np.greater(inputs[i], 0, out=masks[i - 1])
                grad = np.multiply(slopes[i - 1], masks[i - 1], out=slopes[i - 1])
        update()
        return loss

    return step


def norm(work: Work) -> Step:
    x, (scale, shift) = work.x.copy(), (array.copy() for array in work.weights[0])
    y, lr, (rows, width) = work.y, work.lr, x.shape
    normal, scores, scratch = (np.empty_like(x) for _ in range(3))
    column, inverse = (np.empty((rows, 1), np.float32) for _ in range(2))
    to_scale, to_shift, target = np.empty_like(scale), np.empty_like(shift), y / rows

    def mean_of(a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
        """The mean along each row of `a`, or of `a * b`, into `column`."""
        if b is None:
            np.add.reduce(a, axis=1, out=column, keepdims=True)
        else:
            np.einsum("ij,ij->i", a, b, out=column[:, 0])
        return np.multiply(column, 1 / width, out=column)

    def step() -> float:
        np.subtract(x, mean_of(x), out=normal)
        np.add(mean_of(normal, normal), EPS, out=inverse)
        np.sqrt(inverse, out=inverse)
        np.reciprocal(inverse, out=inverse)
        np.multiply(normal, inverse, out=normal)
        np.multiply(normal, scale, out=scores)
        np.add(scores, shift, out=scores)
        np.subtract(scores, np.maximum.reduce(scores, axis=1, keepdims=True), out=scores)
        np.exp(scores, out=scores)
        np.divide(scores, np.add.reduce(scores, axis=1, out=column, keepdims=True), out=scores)
        np.einsum("ij,ij->i", scores, target, out=column[:, 0])
        loss = float(column.sum())
        np.subtract(target, column, out=scratch)
        np.multiply(scores, scratch, out=scores)
        np.add.reduce(scores, axis=0, out=to_shift)
        np.multiply(scores, normal, out=scratch)
        np.add.reduce(scratch, axis=0, out=to_scale)
        np.multiply(scores, scale, out=scores)
        np.multiply(normal, mean_of(scores, normal), out=normal)
        np.subtract(scores, mean_of(scores), out=scores)
        np.subtract(scores, normal, out=scores)
        np.multiply(inverse, lr, out=inverse)
        np.multiply(scores, inverse, out=scores)
        np.subtract(x, scores, out=x)
        for param, grad in ((scale, to_scale), (shift, to_shift)):
            np.multiply(grad, lr, out=grad)
            np.subtract(param, grad, out=param)
        return loss

    return step


def tuned(work: Work) -> Step | None:
    make = {"xor": xor, "classes": classes, "norm": norm}.get(work.kind)
    return make and make(work)


PEERS: dict[str, Any] = {"tuned": tuned}
