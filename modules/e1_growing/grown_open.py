"""The layer that is open: what its candidates see, and the best of them so far. Supplied with lesson e1: trace it.

Begin at `Opened`, then `Side`. Columns stand as they are in `Opened.columns`; a `Side` has them standardised and
turned, one row a column, so that the two inputs of a candidate lie side by side in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np

from tinytorch.grown_config import TERMS, GMDHConfig
from tinytorch.grown_rows import Rows
from tinytorch.grown_units import Units, candidates, none_yet, standardised

__all__: list[str] = []  # the package hands on none of this

PART = 2**18  # bytes of the expanded inputs of a part: they fit beside a core, and memory is used again
FEATURE_NOISE, OUTPUT_NOISE = 1e-12, 1e-9  # up to which a column counts as one number


class Side:
    """Rows that candidates are fitted to, or scored on: standardised columns `(n, N)` and targets `(N,)`.

    Rows that count differently are scaled by the roots of their weights, targets and expanded inputs alike, for squared
    errors are then weighed. `factor` brings an error by the scaled targets to one by the weighted spread of targets.
    """

    def __init__(self, columns: np.ndarray, targets: np.ndarray, weights: np.ndarray | None) -> None:
        self.columns, self.y, self.roots, self.factor = columns, targets, None, 1.0
        if weights is not None:
            self.roots = np.sqrt(weights)
            self.y = targets * self.roots
            spread = weights * (targets - np.average(targets, weights=weights)) ** 2
            self.factor = float(((self.y - self.y.mean()) ** 2).sum() / spread.sum())

    def terms(self, pairs: np.ndarray, kind: str, expand: Any) -> np.ndarray:
        """The terms of each pair, by the lesson's `expand`. `(P, 2) -> (P, N, q)`"""
        found: np.ndarray = expand(self.columns[pairs[:, 0]], self.columns[pairs[:, 1]], kind)
        return found if self.roots is None else found * self.roots[:, None]


class Opened:
    """An open layer: its columns by name of the rows ("train", "dev", "val"), its pairs, and the best units so far."""

    def __init__(
        self, rows: dict[str, Rows], below: dict[str, np.ndarray], config: GMDHConfig, table: type[Units]
    ) -> None:
        self.columns = {name: np.concatenate([rows[name].x, below[name]], axis=1) for name in rows}
        features = rows["train"].x.shape[1]
        self.center, self.scale, varies = statistics(self.columns["train"], features)
        self.pairs = self._pairs(varies, 0 if config.shortcut or not below["train"].size else features)
        self.train, self.dev = (self._side(name, rows[name]) for name in ("train", "dev"))
        self.best: Any = none_yet(table)
        self.tried: list[str] = []

    def _pairs(self, varies: np.ndarray, first: int) -> np.ndarray:
        """All pairs i < j of the columns from `first` on that are not the same in every training row. `(P, 2)`"""
        usable = [int(column) for column in np.flatnonzero(varies) if column >= first]
        return np.array(list(combinations(usable, 2)), dtype=np.int64).reshape(-1, 2)

    def _side(self, name: str, rows: Rows) -> Side:
        columns = standardised(self.columns[name], self.center, self.scale)
        return Side(np.ascontiguousarray(columns.T), rows.y, rows.weights)

    def parts(self, kind: str) -> list[np.ndarray]:
        """The pairs in parts of a bounded size."""
        size = max(1, PART // (8 * TERMS[kind] * self.train.columns.shape[1]))
        return [self.pairs[start : start + size] for start in range(0, len(self.pairs), size)]

    def candidates(self, kind: str, found: Iterable[tuple[np.ndarray, np.ndarray]]) -> Any:
        """All candidates of a family as a table, from the coefficients and errors of its parts."""
        results = list(found)
        table = type(self.best)
        if not results:
            return none_yet(table)
        coefficients, errors = (np.concatenate(arrays) for arrays in zip(*results))
        return candidates(table, kind, self.pairs, coefficients, errors, (self.center, self.scale))


def statistics(columns: np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and deviation of each column, and whether it varies. `(N, n) -> (n,), (n,), (n,)`

    Each is computed by itself, row after row in memory. What varies by rounding alone does not: a feature by
    FEATURE_NOISE of its largest number, the output of a unit by OUTPUT_NOISE of the target's deviation. Its deviation
    is 1.
    """
    turned = np.ascontiguousarray(columns.T)
    noise = FEATURE_NOISE * np.abs(turned).max(axis=1)
    noise[features:] = OUTPUT_NOISE
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = turned.mean(axis=1), turned.std(axis=1)
    varies = (deviation > noise) & np.isfinite(deviation)
    return np.where(varies, mean, 0.0), np.where(varies, deviation, 1.0), varies
