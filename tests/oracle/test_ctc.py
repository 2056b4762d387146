"""CTCLoss beside PyTorch's: losses at the log-probabilities, gradients at the logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tinytorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import LogSoftmax, Tensor

REDUCTIONS = st.sampled_from(["none", "mean", "sum"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Logits (T, N, C), targets (N, S), lengths of both, and a blank; some have too few frames for their labels."""
    frames, n, classes, most = (draw(st.integers(*bounds)) for bounds in ((1, 12), (1, 4), (2, 6), (0, 6)))
    blank, rng = draw(st.integers(0, classes - 1)), np.random.default_rng(draw(st.integers(0, 9999)))
    scale, dtype = draw(st.sampled_from([(0.1, "float32"), (1.0, "float32"), (1.0, "float64"), (10.0, "float64")]))
    logits = rng.normal(0, scale, (frames, n, classes)).astype(dtype)
    targets = rng.choice([c for c in range(classes) if c != blank], (n, most))
    return logits, targets, rng.integers(0, frames + 1, n), rng.integers(0, most + 1, n), blank


def both(
    logits: np.ndarray, targets: np.ndarray, lengths: Any, counts: Any, options: dict[str, Any], near: float = 1e-5
) -> None:
    """Compare loss and gradient at the logits with PyTorch's in float64: its own float32 may be off by over 1e-5."""
    ours = Tensor(logits, dtype=logits.dtype, requires_grad=True)
    theirs = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    loss = tinytorch.CTCLoss(**options)(LogSoftmax(-1)(ours), targets, lengths, counts)
    others = [torch.tensor(part) for part in (targets, lengths, counts)]
    its_loss = torch.nn.CTCLoss(**options)(theirs.log_softmax(-1), *others)
    assert loss.shape == its_loss.shape and loss.data.dtype == logits.dtype
    np.testing.assert_allclose(loss.data, its_loss.detach().numpy(), rtol=near, atol=near)
    loss.sum().backward()
    its_loss.sum().backward()
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=near, atol=near)


@given(case=cases(), reduction=REDUCTIONS, zero=st.booleans(), joined=st.booleans())
@settings(max_examples=100, deadline=None)
def test_losses_and_gradients(case: Any, reduction: str, zero: bool, joined: bool) -> None:
    logits, targets, lengths, counts, blank = case
    if joined:
        targets = np.concatenate([row[:count] for row, count in zip(targets, counts)])
    both(logits, targets, lengths, counts, {"blank": blank, "reduction": reduction, "zero_infinity": zero})


@given(case=cases(), reduction=REDUCTIONS)
@settings(max_examples=60, deadline=None)
def test_one_sequence_without_a_batch(case: Any, reduction: str) -> None:
    logits, targets, lengths, counts, blank = case
    options = {"blank": blank, "reduction": reduction, "zero_infinity": True}
    both(logits[:, 0], targets[0, : counts[0]], lengths[0], counts[0], options)


@pytest.mark.parametrize(("scale", "dtype", "near"), [(1.0, "float32", 1e-5), (30.0, "float64", 1e-10)])
def test_a_batch_of_real_size(scale: float, dtype: str, near: float) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, scale, (150, 8, 30)).astype(dtype)
    targets, counts = rng.integers(1, 30, (8, 40)), rng.integers(10, 41, 8)
    both(logits, targets, rng.integers(100, 151, 8), counts, {}, near)
