"""Layer norm and softmax in one node each, with few passes over memory. Supplied with lesson 06: trace it, don't write it.

Begin at `softmax`, then `FusedSoftmax`. An array that a line has made may be written to again (`out=`, `-=`). What came
in is only read, and so is what is kept for backward: somebody else may hold it, and backward may run twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinytorch.dtypes import floating
from tinytorch.layers import Module, Parameter
from tinytorch.settings import integer, setting
from tinytorch.tensor import Operation, Tensor

__all__ = ["LayerNorm", "layer_norm", "softmax", "log_softmax"]


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Shares along `dim`: exp of every score over the sum of exps. `(..., C) -> (..., C)`, float, sums to 1

    The same as lesson 02's `Softmax`, and never overflows either. Raises TypeError when x is no tensor or dim no
    integer, ValueError when x has no such dimension.
    """
    _require_dimension("softmax", x, dim)
    return FusedSoftmax(dim).apply(x)


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Logarithm of the shares along `dim`: x - log(sum of exp(x)). `(..., C) -> (..., C)`, float, none above 0

    The same as lesson 02's `LogSoftmax`; keeps one more array of x's size for backward, which then takes no exp.
    Raises as `softmax` does.
    """
    _require_dimension("log_softmax", x, dim)
    return FusedLogSoftmax(dim).apply(x)


def layer_norm(x: Tensor, normalized_shape: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Each row brought to mean 0 and variance 1, times `weight`, plus `bias`. `(..., D), (D,), (D,) -> (..., D)`

    A row is what lies along the last dimension, D = `normalized_shape` numbers; the variance is their mean squared
    distance from the mean, and `eps` is added to it. Raises TypeError when x is no tensor of floats, ValueError when
    shapes don't fit or eps is below 0. Source: Ba, Kiros and Hinton, "Layer normalization", 2016.
    """
    size, eps = integer("layer_norm: normalized_shape", normalized_shape, least=1), setting("layer_norm: eps", eps)
    _require_rows(x, size)
    weight = Tensor.wrap(np.ones(size, x.dtype)) if weight is None else weight
    bias = Tensor.wrap(np.zeros(size, x.dtype)) if bias is None else bias
    for name, value in (("weight", weight), ("bias", bias)):
        if np.shape(value) != (size,):
            raise ValueError(f"layer_norm: {name} must be ({size},), one number a column, got {np.shape(value)}")
    return FusedLayerNorm(eps).apply(x, weight, bias)


class LayerNorm(Module):
    """`layer_norm` with a weight and a bias that are learned, from 1 and 0 on. `(..., D) -> (..., D)`

    `weight` and `bias` are `(D,)`, D = `normalized_shape`, or None without `elementwise_affine`. Raises TypeError when
    D is no integer or eps no number, ValueError when D is below 1 or eps below 0; on a call as `layer_norm` does.
    """

    def __init__(self, normalized_shape: int, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        self.normalized_shape = integer("LayerNorm: normalized_shape", normalized_shape, least=1)
        self.eps, self.elementwise_affine = setting("LayerNorm: eps", eps), elementwise_affine
        self.weight = Parameter(np.ones(self.normalized_shape)) if elementwise_affine else None
        self.bias = Parameter(np.zeros(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class FusedSoftmax(Operation):
    """Lesson 02's Softmax with the temporaries written over. `(...) -> (...)`"""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        shares = x - x.max(axis=self.dim, keepdims=True)
        np.exp(shares, out=shares)
        shares /= total(shares, self.dim)
        return shares

    def backward(self, grad: np.ndarray) -> np.ndarray:
        """y (grad - sum of grad * y over dim)."""
        to_x = grad - dot(grad, self.output, self.dim)
        to_x *= self.output
        return to_x


class FusedLogSoftmax(Operation):
    """Lesson 02's LogSoftmax, which keeps its exps: backward would take them again. `(...) -> (...)`"""

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        x = floating(a)
        shifted = x - x.max(axis=self.dim, keepdims=True)
        self.exps = np.exp(shifted)
        self.sums = total(self.exps, self.dim)
        shifted -= np.log(self.sums)
        return shifted

    def backward(self, grad: np.ndarray) -> np.ndarray:
        """grad - softmax * sum of grad over dim."""
        to_x = self.exps * (total(grad, self.dim) / -self.sums)
        to_x += grad
        return to_x


class FusedLayerNorm(Operation):
    """(x - mean) / sqrt(variance + eps) * weight + bias, each row by itself. `(..., D), (D,), (D,) -> (..., D)`

    Keeps `normal (R, D)`, the R rows before weight and bias, and `inverse (R, 1)`, 1 over each root.
    """

    def __init__(self, eps: float = 1e-5) -> None:
        self.eps = eps

    def forward(self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
        rows = np.ascontiguousarray(x).reshape(-1, x.shape[-1])
        self.normal = rows - total(rows) / x.shape[-1]
        variance = dot(self.normal, self.normal) / x.shape[-1]
        self.inverse = 1 / np.sqrt(variance + self.eps)
        self.normal *= self.inverse
        result = self.normal * weight
        result += bias
        return result.reshape(x.shape)

    def backward(self, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
        rows = np.ascontiguousarray(grad).reshape(self.normal.shape)  # a sum's gradient is one number, spread out
        product = rows * self.normal
        to_weight, to_bias = product.sum(axis=0), rows.sum(axis=0)
        x = self.inputs[0]
        return self.to_rows(rows, product).reshape(x.shape) if x.requires_grad else None, to_weight, to_bias

    def to_rows(self, rows: np.ndarray, product: np.ndarray) -> np.ndarray:
        """With g = grad * weight: inverse * (g - mean of g - normal * mean of g * normal). Writes over `product`."""
        weight = self.inputs[1].data
        slope, mean = ((part @ weight)[:, None] / weight.size for part in (product, rows))
        np.multiply(self.normal, slope, out=product)
        product += mean
        to_x = rows * weight
        to_x -= product
        to_x *= self.inverse
        return to_x


def dot(a: np.ndarray, b: np.ndarray, dim: int = -1) -> np.ndarray:
    """Sum of a * b over `dim`, which stays with size 1. Along the last one by BLAS, without a product in memory."""
    if dim in (-1, a.ndim - 1):
        return np.vecdot(np.ascontiguousarray(a), np.ascontiguousarray(b))[..., None]  # else no BLAS, and less exact
    return (a * b).sum(axis=dim, keepdims=True)


def total(a: np.ndarray, dim: int = -1) -> np.ndarray:
    """Sum over `dim`, which stays with size 1. Along the last one by `dot` with ones: half the time of `sum`."""
    if dim in (-1, a.ndim - 1):
        return dot(a, np.ones(a.shape[-1], a.dtype))
    return a.sum(axis=dim, keepdims=True)


# What is refused


def _require_dimension(name: str, x: Any, dim: Any) -> None:
    """Raise TypeError unless x is a tensor and dim an integer, ValueError unless x has that dimension."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: needs a tensor, got {type(x).__name__}; wrap it in Tensor()")
    if not -x.ndim <= integer(f"{name}: dim", dim, least=-x.ndim) < x.ndim:
        raise ValueError(f"{name}: shape {x.shape} has no dimension {dim}")


def _require_rows(x: Any, size: int) -> None:
    """Raise TypeError unless x is a tensor of floats, ValueError unless it ends in `size`."""
    if not isinstance(x, Tensor) or x.dtype.kind != "f":
        got = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"layer_norm: needs a tensor of floats, got {got}; convert with Tensor() or .astype('float32')")
    if x.shape[-1:] != (size,):
        raise ValueError(f"layer_norm: x {x.shape} must end in {size}, the normalized_shape; reshape x")
