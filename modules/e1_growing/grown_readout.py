"""From the scores of classes to chances: logistic or multinomial regression, by Newton's method.

Supplied with lesson e1: trace it, don't write it. Begin at `fit_read_out`. The sums are taken by einsum, in NumPy's own
loops, so that they do not depend on the number of BLAS threads.
"""

from __future__ import annotations

import numpy as np

__all__: list[str] = []  # the package hands on none of this

STEPS = 100  # Newton needs about ten
TRACE = 1e-3  # of the penalty, on biases: one number more in all of them changes no share, and curvature must not be 0
SMALL = 1e-9  # a step below this changes no digit that is shown


def log_shares(logits: np.ndarray) -> np.ndarray:
    """Logarithm of the shares of each row, `(N, C) -> (N, C)`, without overflow."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def linear(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums plus a bias, which is the last column of `weights`. `(N, M), (K, M + 1) -> (N, K)`"""
    return np.einsum("nm,km->nk", scores, weights[:, :-1]) + weights[:, -1]


def fit_read_out(
    scores: np.ndarray, classes: np.ndarray, count: int, rows: np.ndarray | None, penalty: float
) -> np.ndarray:
    """Weights for `linear` that make the classes likely. `(N, M), (N,) -> (C, M + 1)`, for two classes `(1, M + 1)`.

    Lowest mean of -log(share of the right class), each row counting as `rows` says, plus `penalty` / 2 times the
    squares of the weights for standardised scores, so that classes that are separated get finite ones.
    """
    center, scale = scores.mean(axis=0), scores.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    inputs = np.append((scores - center) / scale, np.ones((len(scores), 1)), axis=1)  # (N, M + 1)
    share = (np.ones(len(scores)) if rows is None else rows) / len(scores)
    right = np.eye(count)[classes]
    weights = np.zeros((count if count > 2 else 1, inputs.shape[1]))
    for _ in range(STEPS):
        step = _step(weights, inputs, right, share, penalty)
        weights = _downhill(weights, step, inputs, right, share, penalty)
        if np.abs(step).max() < SMALL:
            break
    weights[:, :-1] /= scale
    weights[:, -1] -= (weights[:, :-1] * center).sum(axis=1)
    return weights


def _logs(weights: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Logarithms of the shares, `(N, C)`; of two classes the first has the score 0."""
    logits = np.einsum("nd,kd->nk", inputs, weights)
    return log_shares(logits if logits.shape[1] > 1 else np.append(np.zeros_like(logits), logits, axis=1))


def _loss(weights: np.ndarray, inputs: np.ndarray, right: np.ndarray, share: np.ndarray, penalty: float) -> float:
    likely = (share * (right * _logs(weights, inputs)).sum(axis=1)).sum()
    squares = (weights[:, :-1] ** 2).sum() + TRACE * (weights[:, -1] ** 2).sum()
    return float(penalty / 2 * squares - likely)


def _step(weights: np.ndarray, inputs: np.ndarray, right: np.ndarray, share: np.ndarray, penalty: float) -> np.ndarray:
    """Newton's step, inverse curvature times slope. `(K, d) -> (K, d)`"""
    free, width = weights.shape
    chances = np.exp(_logs(weights, inputs))[:, -free:]  # (N, K)
    decay = np.append(np.full(width - 1, penalty), penalty * TRACE)
    slope = np.einsum("n,nk,nd->kd", share, chances - right[:, -free:], inputs) + decay * weights
    curvature = np.empty((free, width, free, width))
    for i in range(free):
        for j in range(free):
            spread = share * chances[:, i] * ((i == j) - chances[:, j])
            curvature[i, :, j] = np.einsum("n,nd,ne->de", spread, inputs, inputs) + (i == j) * np.diag(decay)
    flat = np.linalg.solve(curvature.reshape(free * width, free * width), slope.reshape(-1, 1))
    return flat.reshape(free, width)


def _downhill(
    weights: np.ndarray, step: np.ndarray, inputs: np.ndarray, right: np.ndarray, share: np.ndarray, penalty: float
) -> np.ndarray:
    """The step, halved until the loss does not rise."""
    before = _loss(weights, inputs, right, share, penalty)
    for halvings in range(30):
        after = weights - step / 2**halvings
        if _loss(after, inputs, right, share, penalty) <= before:
            return after
    return weights
