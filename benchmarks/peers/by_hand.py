"""The floor: the same arithmetic in NumPy, forward and backward by hand, as a good engineer writes it down.

Updates are in place, everything else makes temporaries. Weights lie as `(in, out)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from workloads import ADAM_EPS, BETAS, EPS, Work

Step = Callable[[], float]


def parameters(work: Work) -> list[np.ndarray]:
    """Weight, bias, weight, bias, ..."""
    return [array for weight, bias in work.weights for array in (weight.T.copy(), bias.copy())]


def optimizer(work: Work, params: list[np.ndarray]) -> Callable[..., None]:
    lr, moments = work.lr, [np.zeros_like(param) for param in params]

    def sgd(*grads: np.ndarray) -> None:
        for param, grad in zip(params, grads):
            param -= lr * grad

    def momentum(*grads: np.ndarray) -> None:
        for param, velocity, grad in zip(params, moments, grads):
            velocity *= 0.9
            velocity += grad
            param -= lr * velocity

    return {"sgd": sgd, "momentum": momentum, "adam": adam(lr, params)}[work.optimizer]


def adam(lr: float, params: list[np.ndarray]) -> Callable[..., None]:
    means, squares = ([np.zeros_like(param) for param in params] for _ in range(2))
    (b1, b2), count = BETAS, 0

    def update(*grads: np.ndarray) -> None:
        nonlocal count
        count += 1
        rate, correction = lr / (1 - b1**count), 1 - b2**count
        for param, mean, square, grad in zip(params, means, squares, grads):
            mean *= b1
            mean += (1 - b1) * grad
            square *= b2
            square += (1 - b2) * grad * grad
            param -= rate * mean / (np.sqrt(square / correction) + ADAM_EPS)

    return update


def xor(work: Work) -> Step:
    x, y = work.x, work.y
    w1, b1, w2, b2 = params = parameters(work)
    update = optimizer(work, params)

    def step() -> float:
        hidden = 1 / (1 + np.exp(-(x @ w1 + b1)))
        output = 1 / (1 + np.exp(-(hidden @ w2 + b2)))
        error = output - y
        loss = np.mean(error * error)
        g2 = 2 / error.size * error * output * (1 - output)
        g1 = g2 @ w2.T * hidden * (1 - hidden)
        update(x.T @ g1, g1.sum(axis=0), hidden.T @ g2, g2.sum(axis=0))
        return float(loss)

    return step


def cross_entropy(scores: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """The mean loss, and its gradient by the scores. `(B, C), (B,) -> (), (B, C)`"""
    shifted = scores - scores.max(axis=1, keepdims=True)
    exps = np.exp(shifted)
    sums = exps.sum(axis=1, keepdims=True)
    loss = np.mean(np.log(sums[:, 0]) - shifted[rows, labels])
    grad = exps / sums
    grad[rows, labels] -= 1
    grad /= len(scores)
    return float(loss), grad


def two_layers(work: Work) -> Step:
    x, y, rows = work.x, work.y, np.arange(len(work.x))
    w1, b1, w2, b2 = params = parameters(work)
    update = optimizer(work, params)

    def step() -> float:
        hidden = np.maximum(x @ w1 + b1, 0)
        loss, g2 = cross_entropy(hidden @ w2 + b2, y, rows)
        g1 = g2 @ w2.T * (hidden > 0)
        update(x.T @ g1, g1.sum(axis=0), hidden.T @ g2, g2.sum(axis=0))
        return loss

    return step


def three_layers(work: Work) -> Step:
    x, y, rows = work.x, work.y, np.arange(len(work.x))
    w1, b1, w2, b2, w3, b3 = params = parameters(work)
    update = optimizer(work, params)

    def step() -> float:
        first = np.maximum(x @ w1 + b1, 0)
        second = np.maximum(first @ w2 + b2, 0)
        loss, g3 = cross_entropy(second @ w3 + b3, y, rows)
        g2 = g3 @ w3.T * (second > 0)
        g1 = g2 @ w2.T * (first > 0)
        update(x.T @ g1, g1.sum(axis=0), first.T @ g2, g2.sum(axis=0), second.T @ g3, g3.sum(axis=0))
        return loss

    return step


def evaluation(work: Work) -> Step:
    x, y, rows = work.x, work.y, np.arange(len(work.x))
    w1, b1, w2, b2 = parameters(work)

    def step() -> float:
        scores = np.maximum(x @ w1 + b1, 0) @ w2 + b2
        shifted = scores - scores.max(axis=1, keepdims=True)
        return float(np.mean(np.log(np.exp(shifted).sum(axis=1)) - shifted[rows, y]))

    return step


def norm(work: Work) -> Step:
    """One gradient a forward operation, in reverse order."""
    x, (scale, shift) = work.x.copy(), (array.copy() for array in work.weights[0])
    y, lr, (rows, width) = work.y, work.lr, x.shape

    def step() -> float:
        centred = x - x.mean(axis=1, keepdims=True)
        std = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + EPS)
        normal = centred / std
        scores = normal * scale + shift
        exps = np.exp(scores - scores.max(axis=1, keepdims=True))
        sums = exps.sum(axis=1, keepdims=True)
        shares = exps / sums
        loss = (shares * y).sum() / rows

        to_shares = y / rows
        to_sums = -(to_shares * shares / sums).sum(axis=1, keepdims=True)
        to_scores = (to_shares / sums + to_sums) * exps
        to_normal = to_scores * scale
        to_std = -(to_normal * normal / std).sum(axis=1, keepdims=True)
        to_centred = to_normal / std + to_std / (std * width) * centred
        to_x = to_centred - to_centred.sum(axis=1, keepdims=True) / width
        for param, grad in zip((x, scale, shift), (to_x, (to_scores * normal).sum(axis=0), to_scores.sum(axis=0))):
            param -= lr * grad
        return float(loss)

    return step


def fused_norm(work: Work) -> Step:
    """By the formulas of the gradient of layer norm and softmax as wholes."""
    x, (scale, shift) = work.x.copy(), (array.copy() for array in work.weights[0])
    y, lr, rows = work.y, work.lr, len(x)

    def step() -> float:
        normal = x - x.mean(axis=1, keepdims=True)
        inverse = 1 / np.sqrt((normal * normal).mean(axis=1, keepdims=True) + EPS)
        normal *= inverse
        scores = normal * scale
        scores += shift
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores, out=scores)
        shares /= shares.sum(axis=1, keepdims=True)
        loss = (shares * y).sum() / rows

        to_shares = y / rows
        to_scores = to_shares - (to_shares * shares).sum(axis=1, keepdims=True)
        to_scores *= shares
        to_scale, to_shift = (to_scores * normal).sum(axis=0), to_scores.sum(axis=0)
        to_normal = to_scores
        to_normal *= scale
        normal *= (to_normal * normal).mean(axis=1, keepdims=True)
        to_x = to_normal
        to_x -= to_normal.mean(axis=1, keepdims=True)
        to_x -= normal
        to_x *= inverse
        for param, grad in zip((x, scale, shift), (to_x, to_scale, to_shift)):
            param -= lr * grad
        return float(loss)

    return step


def by_hand(work: Work) -> Step | None:
    if work.kind == "classes":
        return evaluation(work) if not work.optimizer else {2: two_layers, 3: three_layers}[len(work.weights)](work)
    make = {"xor": xor, "norm": norm}.get(work.kind)
    return make and make(work)


def fused(work: Work) -> Step | None:
    return fused_norm(work) if work.kind == "norm" else None


PEERS: dict[str, Any] = {"by hand": by_hand, "by hand, fused": fused}
