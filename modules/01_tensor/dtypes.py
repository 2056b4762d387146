"""Which dtype a result has, by PyTorch's rules, and one that fits a shape. Supplied with lesson 01: trace it.

Every operation runs through here, so what is written out as a loop or a copy was timed.
"""

from __future__ import annotations

import math
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
    first = arrays[0].dtype
    for array in arrays:  # a loop, since this runs at every operation, and all(...) would make a generator each time
        if array.dtype is not first:
            return _promoted(arrays)
    return arrays


def _promoted(arrays: list[np.ndarray]) -> list[np.ndarray]:
    rank = [{"b": 0, "u": 1, "i": 1, "f": 2}[array.dtype.kind] for array in arrays]
    highest = [array for array, r in zip(arrays, rank) if r == max(rank)]
    dtype = np.result_type(*[a.dtype for a in highest if a.ndim] or [a.dtype for a in highest])
    return [array.astype(dtype, copy=False) for array in arrays]


def spread(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`np.broadcast_to(array, shape)`, which takes longer than to fill a small array; read-only either way."""
    if math.prod(shape) > 4096:
        return np.broadcast_to(array, shape)
    filled = np.empty(shape, dtype=array.dtype)
    filled[...] = array
    filled.setflags(write=False)
    return filled


def fits(array: Any, like: np.ndarray) -> bool:
    """Whether `array` is an array of the very shape and dtype of `like`."""
    return type(array) is np.ndarray and array.shape == like.shape and array.dtype is like.dtype
