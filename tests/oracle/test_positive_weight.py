"""WeightedBCEWithLogitsLoss beside PyTorch's BCEWithLogitsLoss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import Tensor, WeightedBCEWithLogitsLoss

SHAPES = [None, (), (1,), (3,), (2, 1), (2, 3)]


def arrays(shapes: Any, rng: np.random.Generator, dtype: Any) -> dict[str, Any]:
    """Weights of these shapes by name."""
    named = zip(("weight", "pos_weight"), shapes)
    return {name: rng.uniform(0, 5, shape).astype(dtype) for name, shape in named if shape is not None}


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (np.float64, 1e-12)])
@given(
    shapes=st.tuples(st.sampled_from(SHAPES), st.sampled_from(SHAPES)),
    scale=st.sampled_from([1.0, 1e4]),
    soft=st.booleans(),
    seed=st.integers(0, 999),
)
@settings(max_examples=80, deadline=None)
def test_losses_and_gradients(dtype: Any, rtol: float, shapes: Any, scale: float, soft: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = (rng.normal(0, 1, (2, 3)) * scale).astype(dtype)
    y = (rng.uniform(0, 1, (2, 3)) if soft else rng.integers(0, 2, (2, 3))).astype(dtype)
    weights = arrays(shapes, rng, np.float64)
    ours = Tensor(z, dtype=dtype, requires_grad=True)
    theirs = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    loss = WeightedBCEWithLogitsLoss(**weights)(ours, y)
    options = {name: torch.tensor(weight) for name, weight in weights.items()}
    its_loss = torch.nn.BCEWithLogitsLoss(**options)(theirs, torch.tensor(y, dtype=torch.float64))
    assert loss.data.dtype == dtype
    np.testing.assert_allclose(loss.item(), its_loss.item(), rtol=rtol, atol=1e-10)
    loss.backward()
    its_loss.backward()
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=rtol, atol=rtol)
