"""Weights for the yes and for whole entries: against repeated entries, by hand, at the ends, in a Trainer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    SGD,
    BCEWithLogitsLoss,
    Generator,
    Linear,
    Tensor,
    Trainer,
    WeightedBCEWithLogitsLoss,
    gradcheck,
)

TWO = math.log(2)


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, TWO),
        ({"pos_weight": 3}, (3 + 1 + 3 + 1 + 1 + 3) / 6 * TWO),
        ({"pos_weight": [3, 5, 7]}, (3 + 1 + 7 + 1 + 1 + 7) / 6 * TWO),
        ({"weight": [[2], [4]]}, 3 * TWO),
        ({"weight": [1, 0, 2], "pos_weight": [3, 5, 7]}, (3 + 0 + 14 + 1 + 0 + 14) / 6 * TWO),
    ],
)
def test_by_hand(options: dict[str, Any], want: float) -> None:
    """A logit of 0 costs log 2 whatever the answer; the sum is divided by six entries, whatever the weights."""
    loss = WeightedBCEWithLogitsLoss(**options)(Tensor(np.zeros((2, 3))), Tensor([[1, 0, 1], [0, 0, 1]]))
    assert loss.shape == () and loss.data.dtype == np.float32 and loss.item() == pytest.approx(want, rel=1e-6)


@given(n=st.integers(1, 8), times=st.integers(0, 5), seed=st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_a_weight_is_a_repetition(n: int, times: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    z, y = rng.normal(0, 3, n), rng.integers(0, 2, n)
    repeats = np.where(y == 1, times, 1)
    want = BCEWithLogitsLoss()(Tensor(np.repeat(z, repeats), "float64"), np.repeat(y, repeats)).item() * repeats.sum()
    for options in ({"pos_weight": times}, {"weight": repeats}):
        got = WeightedBCEWithLogitsLoss(**options)(Tensor(z, "float64"), y).item() * n
        assert got == pytest.approx(want if repeats.sum() else 0, rel=1e-12)


def test_a_soft_target_lies_between_no_and_yes() -> None:
    z, loss_fn = Tensor([-2.0, 0.0, 3.0], "float64"), WeightedBCEWithLogitsLoss([1, 2, 3], pos_weight=[4, 5, 6])
    no, yes, soft = (loss_fn(z, np.full(3, y)).item() for y in (0, 1, 0.25))
    assert soft == pytest.approx(0.75 * no + 0.25 * yes, rel=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_logits(dtype: str) -> None:
    """The wrong side costs its distance and pulls with its weight; the right side costs exp(-|z|), to the last."""
    z = Tensor([1e4, -1e4, 1e4, -1e4, 30, -30], dtype=dtype, requires_grad=True)
    y = [1, 1, 0, 0, 1, 0]
    small, logits = math.exp(-30), [0, 3e4, 1e4, 0, 3 * math.exp(-30), math.exp(-30)]
    loss_fn = WeightedBCEWithLogitsLoss(pos_weight=3)
    for i, want in enumerate(logits):
        assert loss_fn(z[i : i + 1], y[i : i + 1]).item() == pytest.approx(want, rel=1e-6, abs=0)
    (loss_fn(z, y) * 6).backward()
    np.testing.assert_allclose(z.grad, [0, -3, 1, 0, -3 * small, small], rtol=1e-6)


@given(shape=st.sampled_from([(5,), (2, 3), (2, 1, 3)]), seed=st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_gradients_of_soft_targets(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, weight, pos_weight = rng.uniform(0, 1, shape), rng.uniform(0, 3, shape[-1:]), rng.uniform(0, 3, shape)
    assert gradcheck(lambda z: WeightedBCEWithLogitsLoss(weight, pos_weight)(z, y), [rng.normal(0, 3, shape)])


def test_weights_are_copied_and_counts_are_the_base_classes() -> None:
    weights = np.array([2.0, 2.0])
    loss_fn, z, y = WeightedBCEWithLogitsLoss(pos_weight=weights), Tensor([[1.0, -1.0]]), Tensor([[1, 1]])
    before = loss_fn(z, y).item()
    weights[:] = 9
    assert loss_fn(z, y).item() == before
    assert isinstance(loss_fn, BCEWithLogitsLoss)
    assert loss_fn.total_weight(y) == 1 and loss_fn.correct(z, y) == (1, 2)


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"weight": "heavy"}, TypeError, "weight must be numbers, got 'heavy'"),
        ({"pos_weight": [1, -2]}, ValueError, r"pos_weight must be 0 or more and finite, got \[1, -2\]"),
        ({"weight": np.nan}, ValueError, "weight must be 0 or more and finite, got nan"),
        ({"pos_weight": np.inf}, ValueError, "pos_weight must be 0 or more and finite, got inf"),
        ({"pos_weight": [1, 2]}, ValueError, r"pos_weight \(2,\), prediction \(2, 3\)"),
        ({"weight": np.ones((4, 2, 3))}, ValueError, r"weight \(4, 2, 3\), prediction \(2, 3\)"),
    ],
)
def test_refusals(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^WeightedBCEWithLogitsLoss: {text}"):
        WeightedBCEWithLogitsLoss(**options)(Tensor(np.zeros((2, 3))), np.zeros((2, 3)))


def test_refusals_of_a_call() -> None:
    with pytest.raises(ValueError, match=r"^WeightedBCEWithLogitsLoss: shapes differ: prediction \(2,\), targets \(3,"):
        WeightedBCEWithLogitsLoss()(Tensor([0.0, 0.0]), [1, 0, 1])
    with pytest.raises(TypeError, match="^WeightedBCEWithLogitsLoss: the prediction must be a tensor of floats"):
        WeightedBCEWithLogitsLoss()(Tensor([0, 0]), [1, 0])


def trained(cuts: list[int], epochs: int, pos_weight: float) -> tuple[Trainer, list[Any]]:
    """A rare yes, one in eight, that two features tell only in part; batches cut at `cuts`, one step an epoch."""
    rng = np.random.default_rng(0)
    y = np.arange(64) % 8 == 0
    x = rng.normal(0, 1, (64, 2)) + y[:, None]
    model = Linear(2, 1, rng=Generator(0))
    loss_fn = WeightedBCEWithLogitsLoss(pos_weight=[pos_weight])
    trainer = Trainer(model, SGD(model.parameters(), lr=2.0), loss_fn)
    pieces = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, 64])]
    batches = [(Tensor(x[piece]), Tensor(y[piece, None])) for piece in pieces]
    for _ in range(epochs):
        trainer.train_epoch(batches, accumulation_steps=len(batches))
    return trainer, batches


def test_any_cut_of_a_window_trains_the_same() -> None:
    whole, batches = trained([], 3, 7)
    parts, _ = trained([1, 20, 50], 3, 7)
    np.testing.assert_allclose(parts.model.weight.data, whole.model.weight.data, rtol=1e-5)
    np.testing.assert_allclose(parts.evaluate(batches), whole.evaluate(batches), rtol=1e-5)


def test_a_heavier_yes_is_found_more_often() -> None:
    """At the minimum the bias has no slope: pos_weight times the missed yes is then the false alarms."""
    found = []
    for pos_weight in (1, 7):
        trainer, batches = trained([], 1000, pos_weight)
        ((x, y),) = batches
        shares = 1 / (1 + np.exp(-trainer.model(x).data))
        assert pos_weight * (1 - shares)[y.data].sum() == pytest.approx(shares[~y.data].sum(), rel=1e-3)
        found.append(int((shares > 0.5)[y.data].sum()))
    assert found[0] < found[1]
