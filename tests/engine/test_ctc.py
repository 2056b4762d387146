"""The loss over all alignments: against every path written out, a central difference, and counts known by heart."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    Adam,
    CTCLoss,
    Generator,
    Linear,
    LogSoftmax,
    Sequential,
    Tanh,
    Tensor,
    Trainer,
    gradcheck,
)

PAD = -1


def spelled(path: Any, blank: int) -> list[int]:
    """What a path says: repeats merged, then blanks dropped."""
    return [int(key) for key, _ in itertools.groupby(path) if key != blank]


def enumerated(scores: np.ndarray, target: list[int], blank: int) -> float:
    """Minus the log of the summed exp(score) of every path of `scores (T, C)` that spells the target."""
    paths = itertools.product(range(scores.shape[1]), repeat=len(scores))
    sums = [math.fsum(scores[t, c] for t, c in enumerate(path)) for path in paths if spelled(path, blank) == target]
    return -math.log(math.fsum(map(math.exp, sums))) if sums else math.inf


@st.composite
def batches(draw: st.DrawFn, classes: int = 3, frames: int = 4) -> tuple[np.ndarray, list[list[int]], list[int], int]:
    """Scores (T, N, C), which need not be normalised, a target for each sequence, its frames, and the blank."""
    n, blank = draw(st.integers(1, 3)), draw(st.integers(0, classes - 1))
    label = st.sampled_from([c for c in range(classes) if c != blank])
    targets = draw(st.lists(st.lists(label, max_size=3), min_size=n, max_size=n))
    lengths = draw(st.lists(st.integers(0, frames), min_size=n, max_size=n))
    scores = np.random.default_rng(draw(st.integers(0, 999))).normal(-1, 2, (frames, n, classes))
    return scores, targets, lengths, blank


def padded(targets: list[list[int]], width: int = 0) -> np.ndarray:
    width = max(width, *map(len, targets), 0)
    return np.array([target + [PAD] * (width - len(target)) for target in targets], dtype=np.int64)


def tensor(scores: Any) -> Tensor:
    return Tensor(scores, dtype="float64", requires_grad=True)


def log_softmax(shape: tuple[int, ...], seed: int) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(0, 1, shape)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))


@given(batches())
@settings(max_examples=60, deadline=None)
def test_every_path_written_out(batch: tuple[np.ndarray, list[list[int]], list[int], int]) -> None:
    scores, targets, lengths, blank = batch
    want = [enumerated(scores[:length, n], targets[n], blank) for n, length in enumerate(lengths)]
    counts = [len(target) for target in targets]
    got = CTCLoss(blank, "none")(tensor(scores), padded(targets), lengths, counts)
    np.testing.assert_allclose(got.data, want, rtol=1e-12, atol=1e-12)


@given(batches(), st.sampled_from(["none", "mean", "sum"]))
@settings(max_examples=40, deadline=None)
def test_gradients(batch: tuple[np.ndarray, list[list[int]], list[int], int], reduction: str) -> None:
    scores, targets, lengths, blank = batch
    loss_fn = CTCLoss(blank, reduction, zero_infinity=True)
    counts = [len(target) for target in targets]
    assert gradcheck(lambda x: loss_fn(x, padded(targets), lengths, counts), [scores])


@pytest.mark.parametrize(
    ("target", "frames", "paths"),
    [([], 5, 1), ([1], 3, 6), ([1, 2], 2, 1), ([1, 2], 3, 5), ([1, 1], 3, 1), ([1, 1], 4, 6 - 1), ([2, 1, 2], 3, 1)],
)
def test_a_score_of_zero_counts_paths(target: list[int], frames: int, paths: int) -> None:
    """One label is a run in three frames: 3 + 2 + 1. Two alike need a blank between: aa-a, a-aa, a--a, -a-a, a-a-."""
    loss = CTCLoss(reduction="none")(tensor(np.zeros((frames, 3))), target, frames, len(target))
    assert loss.shape == () and round(math.exp(-loss.item()), 9) == paths


def test_long_sequences_stay_exact_in_float32() -> None:
    """Without repeats there are (T + S over 2S) paths; each has a probability far under the smallest float."""
    frames, labels, classes = 2000, [1, 2] * 30, 4
    log_probs = Tensor(np.full((frames, 1, classes), -math.log(classes)), dtype="float32", requires_grad=True)
    loss = CTCLoss(reduction="sum")(log_probs, [labels], [frames], [len(labels)])
    want = frames * math.log(classes) - math.log(math.comb(frames + len(labels), 2 * len(labels)))
    assert loss.data.dtype == np.float32
    np.testing.assert_allclose(loss.item(), want, rtol=1e-6)
    loss.backward()
    np.testing.assert_allclose(log_probs.grad.sum(axis=-1), -1, rtol=1e-5)


def test_every_frame_that_counts_shares_out_one() -> None:
    log_probs = tensor(log_softmax((6, 3, 4), 0))
    CTCLoss(reduction="sum")(log_probs, [[1, 2], [3, 3], [2, PAD]], [6, 4, 2], [2, 2, 1]).backward()
    counts = np.arange(6)[:, None] < [6, 4, 2]
    np.testing.assert_allclose(log_probs.grad.sum(axis=2), -1.0 * counts, atol=1e-12)
    assert (log_probs.grad <= 0).all() and (log_probs.grad[~counts] == 0).all()


def results(scores: np.ndarray, targets: Any, lengths: Any, counts: Any) -> list[np.ndarray]:
    log_probs = tensor(scores)
    losses = CTCLoss(reduction="none")(log_probs, targets, lengths, counts)
    losses.sum().backward()
    return [losses.data, log_probs.grad]


def test_what_lies_behind_the_lengths_does_not_count() -> None:
    scores = log_softmax((5, 2, 4), 1)
    want = results(scores, [[1, 2], [3, 1]], [5, 3], [2, 1])
    scores[3:, 1] = 1e9
    for targets in ([[1, 2, 77], [3, 0, PAD]], [1, 2, 3], Tensor([[1, 2], [3, 3]])):
        for got, expected in zip(results(scores, targets, Tensor([5, 3]), (2, 1)), want):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_one_sequence_without_a_batch(reduction: str) -> None:
    scores = log_softmax((5, 4), 2)
    one = CTCLoss(reduction=reduction)(tensor(scores), [1, 1, 3], 5, 3)
    batch = CTCLoss(reduction=reduction)(tensor(scores[:, None]), [[1, 1, 3]], [5], [3])
    assert one.shape == () and one.item() == batch.item()


def test_mean_is_by_label_and_a_target_without_labels_counts_whole() -> None:
    scores, targets, counts = log_softmax((5, 3, 4), 3), [[1, 2], [3, PAD], [PAD, PAD]], [2, 1, 0]
    a, b, c = CTCLoss(reduction="none")(tensor(scores), targets, [5, 5, 5], counts).data
    assert c == pytest.approx(-scores[:, 2, 0].sum())
    loss = CTCLoss()(tensor(scores), targets, [5, 5, 5], counts)
    assert loss.item() == pytest.approx((a / 2 + b + c) / 3)


def test_too_few_frames() -> None:
    scores, targets, lengths, counts = log_softmax((3, 3, 4), 4), [1, 1, 2, 1, 2], [3, 1, 3], [3, 1, 1]
    losses, grad = results(scores, targets, lengths, counts)
    assert losses[0] == np.inf and np.isfinite(losses[1:]).all()
    assert np.isnan(grad[:, 0]).any(axis=1).all() and np.isfinite(grad[:, 1:]).all()
    log_probs = tensor(scores)
    zeroed = CTCLoss(reduction="none", zero_infinity=True)(log_probs, targets, lengths, counts)
    zeroed.sum().backward()
    np.testing.assert_array_equal(zeroed.data, [0, *losses[1:]])
    np.testing.assert_array_equal(log_probs.grad[:, 1:], grad[:, 1:])
    assert (log_probs.grad[:, 0] == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_dtype_is_kept(dtype: str, reduction: str) -> None:
    log_probs = Tensor(log_softmax((4, 2, 3), 5), dtype=dtype, requires_grad=True)
    loss = CTCLoss(reduction=reduction)(log_probs, [[1], [2]], [4, 4], [1, 1])
    loss.sum().backward()
    assert loss.data.dtype == log_probs.grad.dtype == dtype


BATCH: dict[str, Any] = {
    "log_probs": Tensor(np.zeros((4, 2, 3))),
    "targets": [[1, 2], [2, 1]],
    "input_lengths": [4, 4],
    "target_lengths": [2, 2],
}


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        ({"log_probs": Tensor(np.zeros((4, 2, 3), dtype=int))}, TypeError, "tensor of floats, got int64"),
        ({"log_probs": np.zeros((4, 2, 3))}, TypeError, "tensor of floats, got ndarray"),
        ({"log_probs": Tensor(np.zeros((4, 2, 3, 1)))}, ValueError, r"\(T, N, C\) or \(T, C\), .* got \(4, 2, 3, 1\)"),
        ({"log_probs": Tensor(np.zeros((0, 2, 3)))}, ValueError, r"each 1 or more, got \(0, 2, 3\)"),
        ({"log_probs": Tensor(np.zeros((4, 2, 0)))}, ValueError, r"each 1 or more, got \(4, 2, 0\)"),
        ({"targets": [[1.0, 2.0], [2.0, 1.0]]}, TypeError, "targets must be integers, got float64"),
        ({"targets": [[1, 2], [2]]}, ValueError, "targets have rows of unlike lengths"),
        ({"targets": [[1, 2]]}, ValueError, r"targets must be \(2, S\), or one dimension .* got \(1, 2\)"),
        ({"targets": [1, 2, 1]}, ValueError, "target_lengths add up to 4, targets hold 3 labels"),
        ({"targets": [[1, 2], [2, 3]]}, ValueError, "label 1 of sequence 1 is 3; labels are 0 to 2"),
        ({"targets": [[1, 2], [-1, 1]]}, ValueError, "label 0 of sequence 1 is -1"),
        ({"targets": [1, 0, 2, 1]}, ValueError, "label 1 of sequence 0 is 0; .* without the blank 0"),
        ({"input_lengths": [4, 5]}, ValueError, r"input_lengths\[1\] is 5, it must be from 0 to 4"),
        ({"input_lengths": [-1, 4]}, ValueError, r"input_lengths\[0\] is -1"),
        ({"input_lengths": 4}, ValueError, r"input_lengths must be \(2,\), one a sequence, got \(1,\)"),
        ({"input_lengths": [4.0, 4.0]}, TypeError, "input_lengths must be integers"),
        ({"target_lengths": [2, 3]}, ValueError, r"target_lengths\[1\] is 3, it must be from 0 to 2"),
        ({"target_lengths": [True, True]}, TypeError, "target_lengths must be integers, got bool"),
    ],
)
def test_refusals(change: dict[str, Any], kind: type[Exception], text: str) -> None:
    CTCLoss()(**BATCH)
    with pytest.raises(kind, match=f"^CTCLoss: .*{text}"):
        CTCLoss()(**{**BATCH, **change})


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"blank": 3}, ValueError, "blank is 3, classes are 0 to 2"),
        ({"blank": -1}, ValueError, "blank must be 0 or more"),
        ({"blank": 1.0}, TypeError, "blank must be an integer"),
        ({"reduction": "average"}, ValueError, "reduction must be 'none', 'mean' or 'sum', got 'average'"),
    ],
)
def test_refusals_of_settings(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"^CTCLoss: {text}"):
        CTCLoss(**options)(**BATCH)


class Spelling:
    """CTCLoss for a Trainer: predictions (N, T, C), every frame counts, targets (N, S) padded with PAD."""

    def __call__(self, prediction: Tensor, targets: Tensor) -> Tensor:
        frames = [prediction.shape[1]] * len(targets)
        log_probs = LogSoftmax(-1)(prediction).transpose(0, 1)
        return CTCLoss()(log_probs, targets, frames, (targets.data != PAD).sum(axis=1))


def test_a_model_learns_to_spell() -> None:
    """Eight sequences of twelve frames: each label shows for one or two frames, noise between; nothing is aligned."""
    rng, frames, codes = np.random.default_rng(0), 12, np.eye(3)
    targets = [[1, 2], [2, 1], [1, 1], [3, 2, 1], [2], [3, 3], [1, 3, 2], []]
    inputs = rng.normal(0, 0.2, (len(targets), frames, 3))
    for row, target in zip(inputs, targets):
        for place, label in enumerate(target):
            start = 4 * place + rng.integers(0, 2)
            row[start : start + rng.integers(1, 3)] += 2 * codes[label - 1]
    batch = Tensor(inputs), Tensor(padded(targets))
    model = Sequential(Linear(3, 16, rng=Generator(0)), Tanh(), Linear(16, 4, rng=Generator(1)))
    trainer = Trainer(model, Adam(model.parameters(), lr=0.1), Spelling())
    halves = [(batch[0][:5], batch[1][:5]), (batch[0][5:], batch[1][5:])]
    first, _ = trainer.evaluate(halves)
    for _ in range(100):
        trainer.train_epoch(halves, accumulation_steps=2)
    last, _ = trainer.evaluate([batch])
    assert first > 4 and last < 0.01
    assert [spelled(row, 0) for row in model(batch[0]).data.argmax(axis=-1)] == targets
