# %% [markdown]
# # e1 The network that grew itself

# %% imports
from tito.notebook import check, draw, patch, probe, raises
from collections.abc import Sequence
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from tinytorch.generator import Generator
from tinytorch.grown import Grown, Map
from tinytorch.grown_config import TERMS, GMDHConfig
from tinytorch.grown_units import Units

# %% exercise="expand" points=3
def expand(u: np.ndarray, v: np.ndarray, kind: str) -> np.ndarray:
    """The terms of two inputs, side by side. `(...), (...) -> (..., q)`, q = TERMS[kind]"""
    ### BEGIN SOLUTION
    if kind not in TERMS:
        raise ValueError(f"expand: kind must be one of {', '.join(TERMS)}, got {kind!r}")
    terms = [np.ones_like(u), u, v, u * v, u * u, v * v, u * u * u, v * v * v]
    return np.stack(terms[: TERMS[kind]], axis=-1)
    ### END SOLUTION


# %% twin="respond"
def respond(A: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Each unit's answer: its terms times its coefficients, added up. `(P, N, q), (P, q) -> (P, N)`"""
    return np.einsum("pnq,pq->pn", A, coefficients)


# %% exercise="fit_candidates" points=3
def fit_candidates(A: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """`(P, N, q), (N,) -> (P, q)`"""
    ### BEGIN SOLUTION
    turned = A.transpose(0, 2, 1)  # (P, q, N)
    gram = turned @ A + ridge * len(y) * np.eye(A.shape[2])  # (P, q, q)
    return np.linalg.solve(gram, (turned @ y)[:, :, None])[:, :, 0]
    ### END SOLUTION


# %% exercise="regularity" points=3
def regularity(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`(P, N), (N,) -> (P,)`"""
    ### BEGIN SOLUTION
    error = ((predictions - y) ** 2).sum(axis=-1) / ((y - y.mean()) ** 2).sum()
    return np.where(np.isfinite(error), error, np.inf)
    ### END SOLUTION


# %% exercise="select" points=3
def select(errors: np.ndarray, keep: int) -> np.ndarray:
    """`(P,) -> (keep,) or fewer`"""
    ### BEGIN SOLUTION
    order = np.argsort(errors, kind="stable")
    return order[np.isfinite(errors[order])][:keep]
    ### END SOLUTION


# %% exercise="rule" points=3
class GrowthRule:
    """When to stop."""

    def __init__(self, width: int, eps: float, min_delta: float) -> None:
        self.width, self.eps, self.min_delta = width, eps, min_delta
        self.kept, self.waited = -1, 0
        self.best = self.reference = np.inf

    def update(self, layer: int, error: float) -> bool:
        ### BEGIN SOLUTION
        improved = layer == 0 or self.reference - error >= max(self.min_delta, self.eps * self.best)
        self.best = min(self.best, error)
        self.waited += 1
        if improved:
            self.kept, self.reference, self.waited = layer, error, 0
        return self.waited >= self.width
        ### END SOLUTION


# %% exercise="prune" points=3
def prune(
    wiring: Sequence[np.ndarray], features: int, wanted: Sequence[int] = (0,)
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Prune."""
    ### BEGIN SOLUTION
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    units = np.array(wanted)
    for pairs in reversed(wiring):
        if not len(units):
            break
        read = pairs[units]
        below = np.unique(read[read >= features])
        kept.insert(0, (units, np.where(read < features, read, features + np.searchsorted(below, read))))
        units = below - features
    return kept
    ### END SOLUTION


# %% exercise="bias" points=3
def bias(A: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    """(P, N, q), (N,) -> (P,)"""
    ### BEGIN SOLUTION
    even, odd = (fit_candidates(A[:, first::2], y[first::2], ridge) for first in (0, 1))
    apart = respond(A, even) - respond(A, odd)
    error = (apart**2).sum(axis=-1) / ((y - y.mean()) ** 2).sum()
    return np.where(np.isfinite(error), error, np.inf)
    ### END SOLUTION


# %% supplied="GMDHLayer"
class GMDHLayer(Units):
    """Units side by side: each reads two columns, standardised, and stays within its range on the training rows."""

    def forward(self, columns: np.ndarray) -> np.ndarray:
        """`(N, n) -> (N, K)`"""
        outputs = np.empty((len(columns), len(self)))
        for kind, units in self.by_kind():
            A = expand(*self.inputs(columns, units), kind)  # (k, N, q)
            outputs[:, units] = respond(A, self.weights(kind, units)).T
        return np.clip(outputs, self.low, self.high)


# %% supplied="Family"
class Family:
    """Fits and scores candidates of one kind."""

    def __init__(self, train: Any, dev: Any, kind: str, config: GMDHConfig) -> None:
        self.train, self.dev, self.kind, self.config = train, dev, kind, config

    def __call__(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`(P, 2) -> (P, q), (P,)`, coefficients and errors."""
        A, B = (side.design(pairs, self.kind, expand) for side in (self.train, self.dev))
        coefficients = fit_candidates(A, self.train.y, self.config.ridge)
        errors = np.zeros(len(pairs))
        for weight, criterion in self.config.shares():
            if criterion == "bias":
                errors += weight * self.train.factor * bias(A, self.train.y, self.config.ridge)
            else:
                errors += weight * self.dev.factor * regularity(respond(B, coefficients), self.dev.y)
        return coefficients, errors


# %% supplied="GMDHNetwork"
class GMDHNetwork(Grown):
    """A network that grows."""

    table = GMDHLayer

    def fit(self, train: Any, dev: Any, val: Any = None) -> "GMDHNetwork":
        self.begin(train, dev, val)
        while not self.finished:
            for kind in self.pending():
                self.fit_family(kind)
            self.close_layer()
        return self

    def fit_family(self, kind: str, map: Map = map) -> None:
        opened = self.require_open()
        found = map(Family(opened.train, opened.dev, kind, self.config), opened.parts(kind))
        table = opened.best.beside(opened.candidates(kind, found))
        opened.best = table.take(select(table.errors, self.config.keep))
        opened.tried.append(kind)

    def close_layer(self) -> None:
        outputs = self.add_layer()
        if "val" in outputs:
            self.val_errors.append(float(regularity(outputs["val"][:, 0], self.rows["val"].y)))
        if self.rule.update(len(self.layers) - 1, self.layer_errors[-1]) or len(self.layers) == self.config.max_layers:
            self.finish()
        else:
            self.opened = self.open_on(self.rows, outputs)

    def new_rule(self) -> GrowthRule:
        return GrowthRule(self.config.width, self.config.eps, self.config.min_delta)

    def kept(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return prune([layer.pairs for layer in self.require_grown()], self.features, self.wanted())
