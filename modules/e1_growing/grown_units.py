"""Units side by side, as a table of arrays. Supplied with lesson e1: trace it, don't write it.

A unit reads two columns. The columns of a layer are the D features, always in front, and behind them what the units of
the layer below gave: column 2 is feature 2 in every layer, column D + 5 is unit 5 below. Begin at `Units`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from tinytorch.grown_config import TERMS

__all__: list[str] = []  # the package hands on none of this

FARTHEST = 1e30  # standard deviations from the mean: its cube, times a coefficient, is finite still
FAMILIES = tuple(TERMS)
MOST_TERMS = max(TERMS.values())

Table = TypeVar("Table", bound="Units")


@dataclass(frozen=True, eq=False)
class Units:
    """K units, one a row of every array, the lowest error first."""

    pairs: np.ndarray  # (K, 2) int64, the columns that it reads
    families: np.ndarray  # (K,) int64, place in FAMILIES
    coefficients: np.ndarray  # (K, 8), zeros behind the family's own
    center: np.ndarray  # (K, 2), mean of each input on the training rows
    scale: np.ndarray  # (K, 2), standard deviation of each
    errors: np.ndarray  # (K,), by which it was chosen
    low: np.ndarray  # (K,), the range of its outputs on the training rows; infinite without clamp
    high: np.ndarray  # (K,)

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self: Table, units: Any, pairs: np.ndarray | None = None) -> Table:
        """The units of these numbers, with other pairs of columns where they are given."""
        arrays = {name: array[units] for name, array in self.arrays().items()}
        return type(self)(**{**arrays, **({} if pairs is None else {"pairs": pairs})})

    def beside(self: Table, other: Units) -> Table:
        """These units, then the other's."""
        joined = zip(self.arrays().items(), other.arrays().values())
        return type(self)(**{name: np.concatenate([ours, theirs]) for (name, ours), theirs in joined})

    def limited(self: Table, outputs: np.ndarray, margin: float) -> Table:
        """The same units, kept within the range of their `outputs (N, K)`, wider by the share `margin` at both ends."""
        low, high = outputs.min(axis=0), outputs.max(axis=0)
        room = margin * (high - low)
        return type(self)(**{**self.arrays(), "low": low - room, "high": high + room})

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def by_kind(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each family that occurs, and the numbers of its units."""
        for code in np.unique(self.families):
            yield FAMILIES[code], np.flatnonzero(self.families == code)

    def inputs(self, columns: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What these units read, standardised: u and v. `(N, n), (k,) -> (k, N), (k, N)`"""
        picked = columns[:, self.pairs[units]]  # (N, k, 2)
        both = standardised(picked, self.center[units], self.scale[units])
        return both[:, :, 0].T, both[:, :, 1].T

    def weights(self, kind: str, units: np.ndarray) -> np.ndarray:
        """The coefficients of these units, all of one family. `(k,) -> (k, q)`"""
        return self.coefficients[units, : TERMS[kind]]


def standardised(columns: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """(columns - center) / scale, `(..., n), (n,), (n,) -> (..., n)`; what is farther out than FARTHEST stays there."""
    with np.errstate(over="ignore"):
        return np.clip((columns - center) / scale, -FARTHEST, FARTHEST)


def candidates(
    table: type[Table], kind: str, pairs: np.ndarray, coefficients: np.ndarray, errors: np.ndarray, statistics: Any
) -> Table:
    """Units of one family, as yet without limits. `(P, 2), (P, q), (P,)`; statistics are means and deviations `(n,)`"""
    center, scale = statistics
    count, padding = len(pairs), MOST_TERMS - TERMS[kind]
    families = np.full(count, FAMILIES.index(kind), dtype=np.int64)
    padded = np.pad(coefficients, ((0, 0), (0, padding)))
    unlimited = np.full(count, np.inf)
    return table(pairs, families, padded, center[pairs], scale[pairs], errors, -unlimited, unlimited)


def none_yet(table: type[Table]) -> Table:
    """A table without units."""
    nothing = np.empty(0)
    two = np.empty((0, 2))
    return table(
        two.astype(np.int64), nothing.astype(np.int64), np.empty((0, MOST_TERMS)), two, two, nothing, nothing, nothing
    )


def outputs_of(layers: Sequence[Any], x: np.ndarray) -> np.ndarray:
    """What the last layer gives, when each sees the features and the layer below. `(N, D) -> (N, K)`"""
    below = np.empty((len(x), 0))
    for layer in layers:
        below = layer.forward(np.concatenate([x, below], axis=1))
    return below
