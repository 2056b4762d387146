"""Operations, dtypes and gradients beside PyTorch's."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tinytorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tinytorch import Tensor

DTYPES = ["bool", "uint8", "int32", "int64", "float32", "float64"]
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Float32 numbers between 0.5 and 2 of either sign."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape)).astype(np.float32)


def same(ours: Tensor, theirs: torch.Tensor, **tolerance: float) -> None:
    """Equal dtype, shape and numbers."""
    expected = theirs.detach().numpy()
    assert ours.data.dtype == expected.dtype
    np.testing.assert_allclose(ours.data, expected, **{"rtol": 1e-5, "atol": 2e-6, **tolerance})


UNARY: dict[str, Callable[[Any], Any]] = {
    "exp": lambda a: a.exp(),
    "log of square": lambda a: (a**2).log(),
    "sqrt of square": lambda a: (a * a).sqrt(),
    "neg": lambda a: -a,
    "rsub": lambda a: 3 - a,
    "rdiv": lambda a: 1 / a,
    "rpow": lambda a: 2**a,
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "sum dim": lambda a: a.sum(dim=-1, keepdim=True),
    "mean dim": lambda a: a.mean(dim=0),
    "amax": lambda a: a.amax(dim=-1),
    "max": lambda a: a.max(),
    "max values": lambda a: a.max(0)[0],
    "reshape": lambda a: a.reshape(-1) * 2,
    "transpose": lambda a: a.transpose(0, -1),
    "index": lambda a: a[0],
    "slice": lambda a: a[..., :1],
    "repeated": lambda a: a[[0, 0, -1]],
}


@pytest.mark.parametrize("name", UNARY)
@given(shape=SHAPES, seed=st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_values_and_gradients(name: str, shape: tuple[int, ...], seed: int) -> None:
    array = numbers(shape, seed)
    ours, theirs = Tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    y, z = UNARY[name](ours), UNARY[name](theirs)
    same(y, z)
    (y * y).sum().backward()
    (z * z).sum().backward()
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=2e-5, atol=1e-5)


def test_ties_share_in_amax() -> None:
    array = np.float32([[1, 3, 3], [2, 2, 2]])
    ours, theirs = Tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    ours.amax(dim=1).sum().backward()
    theirs.amax(dim=1).sum().backward()
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy())


@pytest.mark.parametrize("names", list(itertools.product(DTYPES, DTYPES)))
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((), (2,)), ((2,), ()), ((), ())])
@pytest.mark.parametrize("symbol", ["+", "*", "/"])
def test_promotion(names: tuple[str, str], shapes: tuple[tuple[int, ...], ...], symbol: str) -> None:
    arrays = [np.ones(shape, dtype=name) for shape, name in zip(shapes, names)]
    expression = f"a {symbol} b"
    ours = eval(expression, dict(zip("ab", [Tensor(array, dtype=array.dtype) for array in arrays])))
    theirs = eval(expression, dict(zip("ab", [torch.tensor(array) for array in arrays])))
    same(ours, theirs)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_promotion_of_numbers(name: str, number: float, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype=name)
    for symbol in "+*/":
        ours = eval(f"a {symbol} n", {"a": Tensor(array, dtype=name), "n": number})
        theirs = eval(f"a {symbol} n", {"a": torch.tensor(array), "n": number})
        same(ours, theirs)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("method", ["exp", "log", "sqrt", "sum"])
def test_dtypes_of_curves_and_sums(name: str, method: str) -> None:
    array = np.ones((2,), dtype=name)
    same(getattr(Tensor(array, dtype=name), method)(), getattr(torch.tensor(array), method)())


@pytest.mark.parametrize("name", ["int64", "bool"])
def test_mean_of_integers_is_refused_by_both(name: str) -> None:
    array = np.ones((2,), dtype=name)
    with pytest.raises(TypeError):
        Tensor(array).mean()
    with pytest.raises(RuntimeError):
        torch.tensor(array).mean()


def test_empty_folds() -> None:
    same(Tensor(np.zeros((0, 2))).mean(dim=0), torch.zeros(0, 2).mean(dim=0))
    same(Tensor(np.zeros((0, 2))).sum(dim=0), torch.zeros(0, 2).sum(dim=0))
    same(Tensor(np.zeros((2, 0))).amax(dim=0), torch.zeros(2, 0).amax(dim=0))
    same(Tensor(np.zeros((2, 0))).argmax(dim=0), torch.zeros(2, 0).argmax(dim=0))
    with pytest.raises(ValueError):
        Tensor(np.zeros((2, 0))).amax(dim=1)
    with pytest.raises(IndexError):
        torch.zeros(2, 0).amax(dim=1)


ACTIVATIONS = {
    "ReLU": ({}, torch.nn.ReLU()),
    "Sigmoid": ({}, torch.nn.Sigmoid()),
    "Tanh": ({}, torch.nn.Tanh()),
    "GELU": ({}, torch.nn.GELU(approximate="tanh")),
    "Softmax": ({"dim": -1}, torch.nn.Softmax(dim=-1)),
    "LogSoftmax": ({"dim": 0}, torch.nn.LogSoftmax(dim=0)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(shape=SHAPES, seed=st.integers(0, 999), size=st.sampled_from([1.0, 10.0, 1e4]))
@settings(max_examples=40, deadline=None)
def test_activations(name: str, shape: tuple[int, ...], seed: int, size: float) -> None:
    array = numbers(shape, seed) * np.float32(size)
    settings_, reference = ACTIVATIONS[name]
    ours, theirs = Tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    y, z = getattr(tinytorch, name)(**settings_)(ours), reference(theirs)
    same(y, z)
    upstream = numbers(shape, seed + 1)
    y.backward(upstream)
    z.backward(torch.tensor(upstream))
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=2e-5, atol=5e-6)


@given(front=hnp.array_shapes(min_dims=1, max_dims=2, min_side=1, max_side=4), seed=st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_matmul(front: tuple[int, ...], seed: int) -> None:
    a, b = numbers((*front, 3, 2), seed), numbers((2, 4), seed + 1)
    ours = [Tensor(a, requires_grad=True), Tensor(b, requires_grad=True)]
    theirs = [torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)]
    y, z = ours[0] @ ours[1], theirs[0] @ theirs[1]
    same(y, z)
    (y * y).sum().backward()
    (z * z).sum().backward()
    for mine, its in zip(ours, theirs):
        np.testing.assert_allclose(mine.grad, its.grad.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("other", [0.1, 0.3, 1, True])
def test_a_number_is_compared_in_the_precision_of_the_tensor(compare: Callable[..., Any], other: float) -> None:
    numbers = [0.1, 0.3, 1.0, -2.0]
    for dtype in ("float32", "float64"):
        ours = compare(Tensor(numbers, dtype=dtype), other)
        assert ours.data.tolist() == compare(torch.tensor(numbers, dtype=getattr(torch, dtype)), other).tolist()
