"""Compares backward with a central difference. Supplied with lesson 06: trace it, don't write it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinytorch.generator import Generator
from tinytorch.tensor import Tensor

__all__ = ["gradcheck"]


def gradcheck(
    function: Callable[..., Tensor], inputs: Sequence[Any], eps: float = 1e-6, atol: float = 1e-6, rtol: float = 1e-5
) -> bool:
    """Return True when `function(*inputs)` has the gradients that a central difference gives, in float64.

    The inputs are arrays or tensors of any shape. An output of several numbers is weighed with fixed random weights
    first, so that every entry counts. Raises ValueError that names the argument, the index and both numbers.
    The method: Nocedal and Wright, "Numerical Optimization", 2nd edition, section 8.1.
    """
    arrays = [np.array(x, dtype=np.float64) for x in inputs]
    tensors = [Tensor(array, dtype=np.float64, requires_grad=True) for array in arrays]
    output = function(*tensors)
    weights = np.asarray(Generator(0).uniform(0.5, 1.5, output.shape), dtype=np.float64)
    if output.requires_grad:
        output.backward(weights)
    for position, tensor in enumerate(tensors):
        got = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad
        want = _difference(function, arrays, position, weights, eps)
        _compare(position, got, want, atol, rtol)
    return True


def _difference(
    function: Callable[..., Tensor], arrays: list[np.ndarray], position: int, weights: np.ndarray, eps: float
) -> np.ndarray:
    """Central difference of the weighed output by every number of one argument."""

    def weighed(shifted: np.ndarray) -> float:
        full = [shifted if i == position else array for i, array in enumerate(arrays)]
        output = function(*[Tensor(array, dtype=np.float64) for array in full])
        return float((output.data * weights).sum())

    slope = np.zeros(arrays[position].shape)
    for index in np.ndindex(slope.shape):
        step = np.zeros(slope.shape)
        step[index] = eps
        slope[index] = (weighed(arrays[position] + step) - weighed(arrays[position] - step)) / (2 * eps)
    return slope


def _compare(position: int, got: np.ndarray, want: np.ndarray, atol: float, rtol: float) -> None:
    """Raise ValueError at the first number that differs, or when the shapes do."""
    if got.shape != want.shape:
        raise ValueError(f"gradcheck: argument {position} has shape {want.shape}, its gradient {got.shape}")
    for index in np.argwhere(~(np.abs(got - want) <= atol + rtol * np.abs(want))):
        at = tuple(int(i) for i in index)
        raise ValueError(
            f"gradcheck: argument {position} at {list(at)}: backward gives {got[at]:.6g}, the difference {want[at]:.6g}"
        )
