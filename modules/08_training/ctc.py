"""A loss for label sequences that nobody has aligned with their frames. Supplied with lesson 08.

Trace it, don't write it: begin at `CTCLoss.__call__`, then `PathLoss.forward`. Sizes: T frames, N sequences, C classes,
S labels, L states. Labels a b have the states `start - a - b -`: a start before the first frame, labels between blanks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinytorch.require import require_floats
from tinytorch.settings import integer
from tinytorch.tensor import Operation, Tensor

__all__ = ["CTCLoss"]


class CTCLoss:
    """Minus the log of the probability that the frames spell the labels. `(T, N, C), (N, S), (N,), (N,) -> ()`

    A path takes one class a frame and spells what is left when repeats are merged and then blanks dropped; the
    probability is that of all paths that spell the labels. Of `log_probs (T, N, C)`, or `(T, C)` for one sequence, the
    first `input_lengths[n]` frames count; of targets `(N, S)` the first `target_lengths[n]` labels, or targets are one
    dimension, all labels end to end. Reductions: "none" gives `(N,)`, "sum" their sum, "mean" the mean over sequences
    of loss by label (without labels, of the loss). With too few frames for the labels a loss is infinite and its
    gradient NaN; both are 0 under `zero_infinity`. The gradient is the derivative by `log_probs`: PyTorch's has the
    softmax in it already, and is the same at the logits before LogSoftmax.

    Raises TypeError for log_probs that are no floats, labels and lengths that are no integers; ValueError for shapes
    that don't fit, a length out of range, a label that is no class or the blank, an unknown reduction.
    Source: Graves, Fernandez, Gomez and Schmidhuber, "Connectionist temporal classification", ICML 2006.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"CTCLoss: reduction must be 'none', 'mean' or 'sum', got {reduction!r}")
        self.blank, self.reduction, self.zero_infinity = integer("CTCLoss: blank", blank), reduction, zero_infinity

    def __call__(self, log_probs: Tensor, targets: Any, input_lengths: Any, target_lengths: Any) -> Tensor:
        """Check everything, take the loss of each sequence, and reduce."""
        require_floats("CTCLoss", log_probs)
        labels = _integers("targets", targets)
        single = log_probs.ndim == 2
        if single:
            frames, classes = log_probs.shape
            log_probs = log_probs.reshape(frames, 1, classes)
        _require_fit(log_probs.shape, labels.shape, self.blank)
        frames, sequences, classes = log_probs.shape
        frame_counts = _lengths("input_lengths", input_lengths, sequences, frames)
        label_counts = _lengths("target_lengths", target_lengths, sequences, labels.shape[-1])
        states = extended(_padded(labels, label_counts, classes, self.blank), self.blank)
        losses = PathLoss(states, frame_counts, label_counts, self.zero_infinity).apply(log_probs)
        return self.reduced(losses.reshape(()) if single else losses, label_counts)

    def reduced(self, losses: Tensor, label_counts: np.ndarray) -> Tensor:
        """The losses as `reduction` wants them. `(N,) or () -> (N,) or ()`"""
        if self.reduction == "none":
            return losses
        if self.reduction == "sum":
            return losses.sum()
        return (losses / np.maximum(label_counts, 1).reshape(losses.shape)).mean()


class PathLoss(Operation):
    """Minus the log of the sum over all paths, of each sequence. `(T, N, C) -> (N,)`

    `states (N, L)` is what `extended` gives. Inside, all is in logarithms and float64; only a loop over T is Python's.
    """

    def __init__(
        self, states: np.ndarray, frame_counts: np.ndarray, label_counts: np.ndarray, zero_infinity: bool
    ) -> None:
        self.states, self.frame_counts, self.zero_infinity = states, frame_counts, zero_infinity
        # Two states on is a step that leaves out the blank between: only from a label (or start) to another label.
        self.leap = np.where(states[:, 2:] != states[:, :-2], 0.0, -np.inf)  # (N, L - 2)
        last = 2 * label_counts[:, None]  # the last label; the blank behind it is an end too
        self.ends = np.where((np.arange(states.shape[1]) - last) // 2 == 0, 0.0, -np.inf)  # (N, L)

    def forward(self, log_probs: np.ndarray) -> np.ndarray:
        self.alphas = self.forward_variables(self.emissions(log_probs))
        self.log_likelihoods = np.logaddexp.reduce(self.alphas[-1] + self.ends, axis=1)  # (N,)
        losses = -self.log_likelihoods
        if self.zero_infinity:
            losses[losses == np.inf] = 0
        return losses.astype(log_probs.dtype)

    def backward(self, grad: np.ndarray) -> np.ndarray:
        """Minus the share of all paths that go through a state, gathered by its class. `(N,) -> (T, N, C)`"""
        log_probs = self.inputs[0].data
        betas = self.backward_variables(self.emissions(log_probs))
        impossible = np.inf if self.zero_infinity else np.nan
        whole = np.where(self.log_likelihoods == -np.inf, impossible, self.log_likelihoods)
        shares = np.where(self.running(len(betas)), np.exp(self.alphas[1:] + betas - whole[:, None]), 0)  # (T, N, L)
        to_log_probs = np.zeros(log_probs.shape)
        frames, sequences = np.ogrid[: len(betas), : len(grad)]
        np.add.at(to_log_probs, (frames[..., None], sequences[..., None], self.states), -shares * grad[:, None])
        return to_log_probs

    def emissions(self, log_probs: np.ndarray) -> np.ndarray:
        """What each state costs in each frame; nothing can be at the start any more. `(T, N, C) -> (T, N, L)`"""
        costs = np.take_along_axis(log_probs, self.states[None], axis=2)
        costs[:, :, 0] = -np.inf
        return costs

    def running(self, frames: int) -> np.ndarray:
        """Which frames count. `(T, N, 1)`"""
        return np.arange(frames)[:, None, None] < self.frame_counts[:, None]

    def forward_variables(self, emissions: np.ndarray) -> np.ndarray:
        """Log of the sum over all ways to be in a state after t frames. `(T, N, L) -> (T + 1, N, L)`"""
        alphas = np.full((len(emissions) + 1, *self.states.shape), -np.inf)
        alphas[0, :, 0] = 0
        for t, running in enumerate(self.running(len(emissions))):
            alphas[t + 1] = np.where(running, arrivals(alphas[t], self.leap) + emissions[t], alphas[t])
        return alphas

    def backward_variables(self, emissions: np.ndarray) -> np.ndarray:
        """Log of the sum over all ways to go on from a state in frame t to an end. `(T, N, L) -> (T, N, L)`"""
        betas = np.empty(emissions.shape)
        betas[-1] = self.ends
        running = self.running(len(emissions))
        for t in range(len(emissions) - 1, 0, -1):
            onward = arrivals((betas[t] + emissions[t])[:, ::-1], self.leap[:, ::-1])[:, ::-1]
            betas[t - 1] = np.where(running[t], onward, self.ends)
        return betas


def extended(labels: np.ndarray, blank: int) -> np.ndarray:
    """The states' classes: a start (with the blank's number), then labels between blanks. `(N, S) -> (N, 2 * S + 2)`"""
    states = np.full((len(labels), 2 * labels.shape[1] + 2), blank)
    states[:, 2::2] = labels
    return states


def arrivals(scores: np.ndarray, leap: np.ndarray) -> np.ndarray:
    """Log of the sum over the ways into a state: to stay, one state on, two on where `leap` is 0. `(N, L) -> (N, L)`"""
    total = scores.copy()
    total[:, 1:] = np.logaddexp(total[:, 1:], scores[:, :-1])
    total[:, 2:] = np.logaddexp(total[:, 2:], scores[:, :-2] + leap)
    return total


# What is refused


def _integers(name: str, value: Any) -> np.ndarray:
    """The value as an array. Raises TypeError unless it holds integers or nothing, ValueError when it is ragged."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"CTCLoss: {name} have rows of unlike lengths; pad them, or join them end to end") from error
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"CTCLoss: {name} must be integers, got {array.dtype}")
    return array.astype(np.int64)


def _require_fit(scores: tuple[int, ...], labels: tuple[int, ...], blank: int) -> None:
    """Raise ValueError unless scores are (T, N, C), not empty, with the blank among the C, and labels (N, S) or 1-d."""
    if len(scores) != 3 or 0 in scores:
        raise ValueError(f"CTCLoss: log_probs must be (T, N, C) or (T, C), each 1 or more, got {scores}")
    if len(labels) != 1 and (len(labels) != 2 or labels[0] != scores[1]):
        wanted = f"({scores[1]}, S), or one dimension with all labels"
        raise ValueError(f"CTCLoss: targets must be {wanted}, got {labels}")
    if blank >= scores[2]:
        raise ValueError(f"CTCLoss: blank is {blank}, classes are 0 to {scores[2] - 1}")


def _lengths(name: str, value: Any, sequences: int, most: int) -> np.ndarray:
    """One length a sequence, from 0 to `most`; a single one may be a number. `(N,)`"""
    lengths = np.atleast_1d(_integers(name, value))
    if lengths.shape != (sequences,):
        raise ValueError(f"CTCLoss: {name} must be ({sequences},), one a sequence, got {lengths.shape}")
    for n in np.flatnonzero((lengths < 0) | (lengths > most)):
        raise ValueError(f"CTCLoss: {name}[{n}] is {lengths[n]}, it must be from 0 to {most}")
    return lengths


def _padded(labels: np.ndarray, lengths: np.ndarray, classes: int, blank: int) -> np.ndarray:
    """The labels that count, blanks behind them. `(N, S) or (sum of lengths,) -> (N, longest)`

    Raises ValueError when labels in one dimension are not as many as the lengths say, or one is no class or the blank.
    """
    padded = np.full((len(lengths), lengths.max()), blank)
    inside = np.arange(padded.shape[1]) < lengths[:, None]
    if labels.ndim == 1 and labels.size != lengths.sum():
        raise ValueError(f"CTCLoss: target_lengths add up to {lengths.sum()}, targets hold {labels.size} labels")
    padded[inside] = labels if labels.ndim == 1 else labels[:, : padded.shape[1]][inside]
    for n, s in np.argwhere(inside & ((padded < 0) | (padded >= classes) | (padded == blank))):
        wanted = f"labels are 0 to {classes - 1} without the blank {blank}"
        raise ValueError(f"CTCLoss: label {s} of sequence {n} is {padded[n, s]}; {wanted}")
    return padded
