"""Which dtype a result has, by PyTorch's rules. Supplied with lesson 01: trace it, don't write it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this


def floating(array: np.ndarray) -> np.ndarray:
    """Floats as they are, integers and booleans as float32."""
    return array if array.dtype.kind == "f" else array.astype(np.float32)


def as_array(value: Any, beside: np.dtype) -> np.ndarray:
    """Make an array of a number or array that stands beside a tensor of dtype `beside`, whose precision it takes."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype(beside if beside.kind == "f" else np.float32)
    return array.astype(beside) if type(value) is int and beside.kind in "iu" else array


def promote(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Cast arrays to one dtype: floats beat integers, those booleans, and a 0-d array gives way to its equals."""
    if all(array.dtype == arrays[0].dtype for array in arrays):
        return arrays
    rank = [{"b": 0, "u": 1, "i": 1, "f": 2}[array.dtype.kind] for array in arrays]
    highest = [array for array, r in zip(arrays, rank) if r == max(rank)]
    dtype = np.result_type(*[a.dtype for a in highest if a.ndim] or [a.dtype for a in highest])
    return [array.astype(dtype, copy=False) for array in arrays]
