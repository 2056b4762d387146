"""Inputs that vary from check to check and are the same on every machine and in every run."""

from __future__ import annotations

import hashlib

import numpy as np


class Draw:
    """Draws arrays of float64 or int64 from a Philox generator whose key is reset for each check cell."""

    def __init__(self) -> None:
        self.reset()

    def reset(self, key: str = "") -> None:
        """Begin the stream that belongs to `key`: the same key gives the same numbers again."""
        digest = hashlib.sha256(key.encode("utf-8")).digest()
        self._generator = np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))

    def integers(self, low: int, high: int, shape: int | tuple[int, ...]) -> np.ndarray:
        """int64 of `shape`, low <= x < high."""
        return np.asarray(self._generator.integers(low, high, shape, dtype=np.int64))

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """float64 of `shape`, mean 0, standard deviation 1."""
        return np.asarray(self._generator.standard_normal(shape))

    def uniform(self, low: float, high: float, shape: int | tuple[int, ...]) -> np.ndarray:
        """float64 of `shape`, low <= x < high."""
        return np.asarray(self._generator.uniform(low, high, shape))

    def permutation(self, n: int) -> np.ndarray:
        """(n,) int64: 0 to n - 1 in some order."""
        return self._generator.permutation(n).astype(np.int64)


draw = Draw()
