"""Whether operations are recorded, in which order, and what backward starts from. Supplied with lesson 06: trace it."""

from __future__ import annotations

import itertools
import threading
from contextlib import ContextDecorator
from typing import Any

import numpy as np

__all__ = ["is_grad_enabled", "no_grad"]

creation = itertools.count()  # every recorded operation takes the next number; the walk goes by it


class _Mode(threading.local):
    """The switch of one thread; every thread starts with recording on."""

    enabled = True


_mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether this thread records what it computes."""
    return _mode.enabled


class no_grad(ContextDecorator):
    """Record nothing inside: `with no_grad():`, or `@no_grad()` above a function. Holds for the present thread."""

    def __init__(self) -> None:
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(_mode.enabled)
        _mode.enabled = False

    def __exit__(self, *error: object) -> None:
        _mode.enabled = self.before.pop()


def first_gradient(data: np.ndarray, gradient: Any) -> np.ndarray:
    """What backward starts from: `gradient` in the dtype of `data`, or 1 where `data` is a single number.

    Raises RuntimeError when there is no gradient for several numbers, ValueError when it has another shape.
    """
    if gradient is None and data.size != 1:
        raise RuntimeError(f"backward: shape {data.shape} is no single number; take .sum(), or pass gradient=")
    start = np.ones_like(data) if gradient is None else np.asarray(gradient, dtype=data.dtype)
    if start.shape != data.shape:
        raise ValueError(f"backward: gradient= has shape {start.shape}, the tensor {data.shape}; make them equal")
    return start
