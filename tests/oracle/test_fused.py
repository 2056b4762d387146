"""Layer norm and softmax beside PyTorch's: numbers, gradients, the layer's state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tinytorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tinytorch import Tensor
from torch.nn import functional

FRONTS = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
DTYPES = st.sampled_from(["float32", "float64"])


def numbers(shape: tuple[int, ...], seed: int, dtype: str = "float32") -> np.ndarray:
    """Numbers of which no two in a row are closer than 0.3, in any order."""
    rng = np.random.default_rng(seed)
    apart = rng.permuted(np.broadcast_to(np.arange(shape[-1]) / 2.0, shape), axis=-1)
    return (apart + rng.uniform(-0.6, -0.4, shape)).astype(dtype)


def near(got: np.ndarray, want: torch.Tensor) -> None:
    """Equal shape; numbers to 1e-5 in float32 and 1e-10 in float64, of the largest where that is above 1.

    PyTorch's are in float64: its own float32 gradients may be off by over 1e-5.
    """
    expected, tolerance = want.detach().numpy(), 1e-5 if got.dtype == np.float32 else 1e-10
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, tolerance, tolerance * max(1, np.abs(expected).max(initial=0)))


def same(ours: Tensor, theirs: torch.Tensor, leaves: list[tuple[Tensor, torch.Tensor]], seed: int) -> None:
    """Equal outputs, and equal gradients of the leaves, pair by pair; ours all of one dtype."""
    near(ours.data, theirs)
    upstream = np.random.default_rng(seed).uniform(-1, 1, ours.shape).astype(ours.dtype)
    ours.backward(upstream)
    theirs.backward(torch.tensor(upstream, dtype=torch.float64))
    for mine, its in leaves:
        assert mine.grad is not None and its.grad is not None and mine.grad.dtype == mine.dtype == ours.dtype
        near(mine.grad, its.grad)


def pair(array: np.ndarray) -> tuple[Tensor, torch.Tensor]:
    """A leaf here and one there, of the same numbers."""
    ours = Tensor(array, dtype=array.dtype, requires_grad=True)
    return ours, torch.tensor(array, dtype=torch.float64, requires_grad=True)


@given(front=FRONTS, size=st.integers(1, 40), seed=st.integers(0, 999), dtype=DTYPES,
       eps=st.sampled_from([1e-5, 0.1]), parts=st.sampled_from(["", "w", "b", "wb"]))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_layer_norm(front: tuple[int, ...], size: int, seed: int, dtype: str, eps: float, parts: str) -> None:
    x, weight, bias = (
        pair(numbers(shape, seed + i, dtype)) for i, shape in enumerate(((*front, size), (size,), (size,)))
    )
    used = {name: tensors for name, tensors in (("weight", weight), ("bias", bias)) if name[0] in parts}
    ours = tinytorch.layer_norm(x[0], size, eps=eps, **{name: tensors[0] for name, tensors in used.items()})
    theirs = functional.layer_norm(x[1], [size], eps=eps, **{name: tensors[1] for name, tensors in used.items()})
    same(ours, theirs, [x, *used.values()], seed)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@given(front=FRONTS, size=st.integers(1, 9), seed=st.integers(0, 999), dtype=DTYPES,
       scale=st.sampled_from([1.0, 100.0, 1e4]), data=st.data())  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_softmaxes(name: str, front: Any, size: int, seed: int, dtype: str, scale: float, data: st.DataObject) -> None:
    front = tuple(side or 1 for side in front)
    dim = data.draw(st.integers(-len(front) - 1, len(front)))
    x = pair((numbers((*front, size), seed) * scale).astype(dtype))
    same(getattr(tinytorch, name)(x[0], dim), getattr(functional, name)(x[1], dim), [x], seed)


def test_wide_rows() -> None:
    rng = np.random.default_rng(0)
    x, weight, bias = (pair(rng.standard_normal(shape, dtype=np.float32)) for shape in ((256, 1024), (1024,), (1024,)))
    ours = tinytorch.softmax(tinytorch.layer_norm(x[0], 1024, weight[0], bias[0]))
    theirs = functional.softmax(functional.layer_norm(x[1], [1024], weight[1], bias[1]), -1)
    same(ours, theirs, [x, weight, bias], 1)


@pytest.mark.parametrize("affine", [True, False])
def test_the_layer_takes_the_state_of_theirs(affine: bool) -> None:
    theirs = torch.nn.LayerNorm(5, eps=0.1, elementwise_affine=affine)
    for i, parameter in enumerate(theirs.parameters()):
        parameter.data += torch.tensor(numbers((5,), i))
    ours = tinytorch.LayerNorm(5, eps=0.1, elementwise_affine=affine)
    ours.load_state_dict({name: tensor.numpy() for name, tensor in theirs.state_dict().items()})
    theirs.double()
    x = pair(numbers((2, 3, 5), 9))
    same(ours(x[0]), theirs(x[1]), [x, *zip(ours.parameters(), theirs.parameters())], 3)
