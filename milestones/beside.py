"""What a grown network is held against: least squares on given terms, and the network of 1986. Nothing here grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tables import Rows

RIDGE = 1e-3  # times the rows, for standardised features


def linear(x: np.ndarray) -> np.ndarray:
    """1 and each feature. `(N, D) -> (N, 1 + D)`"""
    return np.append(np.ones((len(x), 1)), x, axis=1)


def quadratic(x: np.ndarray) -> np.ndarray:
    """1, each feature, and the products of all pairs, squares included. `(N, D) -> (N, 1 + D + D (D + 1) / 2)`"""
    first, second = np.triu_indices(x.shape[1])
    return np.append(linear(x), x[:, first] * x[:, second], axis=1)


def least_squares(terms: Callable[[np.ndarray], np.ndarray], rows: Rows, new: np.ndarray) -> np.ndarray:
    """What ridge regression on these terms, fitted to the rows, says of new ones. `(M, D) -> (M,)`"""
    x, y = rows
    center, scale = x.mean(axis=0), x.std(axis=0)
    design = terms((x - center) / scale)
    gram = design.T @ design + RIDGE * len(x) * np.diag([0.0, *[1.0] * (design.shape[1] - 1)])
    return np.asarray(terms((new - center) / scale) @ np.linalg.solve(gram, design.T @ y))


def explained(said: np.ndarray, y: np.ndarray) -> float:
    """R2: the share of the target's spread that is explained; 0 for its mean, below for worse."""
    return float(1 - ((y - said) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def both(train: Rows, dev: Rows) -> Rows:
    """What a network that needs no dev may be fitted to."""
    return np.concatenate([train[0], dev[0]]), np.concatenate([train[1], dev[1]])


def compared(runs: list[Any]) -> dict[str, list[float]]:
    """R2 on the test rows of each run, by the ways to predict them."""
    ways: dict[str, Any] = {
        "weighted sum": lambda grown: least_squares(linear, both(grown.train, grown.dev), grown.test[0]),
        "all products": lambda grown: least_squares(quadratic, both(grown.train, grown.dev), grown.test[0]),
        "grown": lambda grown: grown.net.predict(grown.test[0]),
    }
    return {name: [explained(way(grown), grown.test[1]) for grown in runs] for name, way in ways.items()}


def right_in_1986(rows: Rows, new: Rows, seed: int) -> float:
    """The share of new digits that the network of the third milestone reads, trained on these. Needs lesson 08."""
    from m3_mlp_1986 import learn_digits
    from tinytorch import Tensor, TensorDataset

    trained, held_out = (TensorDataset(*(Tensor(part) for part in digits)) for digits in (rows, new))
    _, trainer = learn_digits(trained, held_out, seed)
    last: Any = trainer.history["accuracy"][-1]
    return float(last)
