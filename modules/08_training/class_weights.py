"""A run whose classes count differently. Supplied with lesson 08: trace it, don't write it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this


@contextmanager
def weighing(trainer: Any, class_weights: Any, train: Any) -> Iterator[None]:
    """Inside, the trainer's loss weighs classes: by an array `(C,)`, by "balanced", or, for None, as it does anyway.

    Raises TypeError for a loss without class weights, ValueError where "balanced" can't count the targets.
    """
    if class_weights is None:
        yield
        return
    loss = trainer.loss_fn
    if not hasattr(loss, "weight") or not hasattr(loss, "total_weight"):
        raise TypeError(
            f"fit: class_weights needs a loss with class weights, such as CrossEntropyLoss, got {loss!r:.80}"
        )
    weight = (
        balanced(train) if isinstance(class_weights, str) and class_weights == "balanced" else _array(class_weights)
    )
    trainer.loss_fn = copy.copy(loss)
    trainer.loss_fn.weight = weight
    try:
        yield
    finally:
        trainer.loss_fn = loss


def _array(class_weights: Any) -> np.ndarray:
    try:
        weight = np.array(class_weights, dtype=np.float64)
    except (TypeError, ValueError):
        weight = np.empty(0)
    if weight.ndim != 1 or not weight.size or not np.isfinite(weight).all() or not (weight >= 0).all():
        raise ValueError(f'fit: class_weights must be "balanced" or numbers (C,) from 0 up, got {class_weights!r:.80}')
    return weight


def balanced(loader: Any) -> np.ndarray:
    """N / (C * samples of the class) for each class of a loader over a TensorDataset, float64 `(C,)`.

    So every class counts as much as every other. Raises ValueError where the targets are no class indices, or a class
    between 0 and the largest has no sample.
    """
    while hasattr(loader, "loader"):
        loader = loader.loader
    tensors: Any = getattr(getattr(loader, "dataset", None), "tensors", ())
    targets = np.asarray(tensors[1]) if len(tensors) == 2 else np.empty(0)
    if targets.dtype.kind not in "iu" or targets.ndim != 1:
        raise ValueError(
            "fit: class_weights='balanced' needs a loader over TensorDataset(inputs, classes); pass an array"
        )
    counts = np.bincount(targets[targets >= 0])
    if not counts.all():
        raise ValueError(
            f"fit: class {int(np.argmin(counts))} has no sample to balance; pass class_weights as an array"
        )
    return counts.sum() / (len(counts) * counts)
