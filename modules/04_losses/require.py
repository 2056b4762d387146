"""Refuses predictions and targets that do not fit each other. Supplied with lesson 04: trace it, don't write it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinytorch.tensor import Tensor

__all__: list[str] = []  # the package hands on none of this


def require_floats(name: str, prediction: Any) -> None:
    """Raise TypeError unless the prediction is a tensor of floats."""
    if not isinstance(prediction, Tensor) or prediction.data.dtype.kind != "f":
        got = prediction.dtype if isinstance(prediction, Tensor) else type(prediction).__name__
        raise TypeError(f"{name}: the prediction must be a tensor of floats, got {got}")


def require_same_shape(name: str, prediction: Tensor, targets: Any) -> None:
    """Raise ValueError unless both have one shape, TypeError unless the prediction is a tensor of floats."""
    require_floats(name, prediction)
    shape = targets.data.shape if isinstance(targets, Tensor) else np.shape(targets)
    if prediction.data.shape != shape:
        shapes = f"prediction {prediction.shape}, targets {shape}"
        raise ValueError(f"{name}: shapes differ: {shapes}; reshape one of them")


def require_classes(name: str, scores: Tensor, targets: np.ndarray, soft: bool, weight: np.ndarray | None) -> None:
    """Raise ValueError unless scores are (N, C), targets (N,) or (N, C) when `soft`, and weights (C,)."""
    require_floats(name, scores)
    shape = scores.data.shape
    if len(shape) != 2 or not (targets.shape == shape[:1] or soft and targets.shape == shape):
        wanted = "(N,) or (N, C)" if soft else "(N,)"
        raise ValueError(f"{name}: needs scores (N, C) and targets {wanted}, got {shape} and {targets.shape}")
    if weight is not None and weight.shape != shape[1:]:
        raise ValueError(f"{name}: weight {weight.shape} must have one number for each of {shape[1]} classes")
