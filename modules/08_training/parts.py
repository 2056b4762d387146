"""Refuses what a Trainer cannot be made of. Supplied with lesson 08: trace it, don't write it."""

from __future__ import annotations

from typing import Any

from tinytorch.layers import Module
from tinytorch.optimizers import Optimizer
from tinytorch.settings import setting

__all__: list[str] = []  # the package hands on none of this


def require_parts(model: Any, optimizer: Any, loss_fn: Any, scheduler: Any, grad_clip_norm: Any) -> None:
    """Raise TypeError or ValueError for parts that cannot be meant; those that may be None are checked when given."""
    _require("model", model, isinstance(model, Module), "a Module")
    _require("optimizer", optimizer, isinstance(optimizer, Optimizer), "an Optimizer")
    _require("loss_fn", loss_fn, callable(loss_fn), "callable with (prediction, targets)")
    has_rate = scheduler is None or callable(getattr(scheduler, "get_lr", None))
    _require("scheduler", scheduler, has_rate, "None or have a method get_lr(epoch)")
    if grad_clip_norm is not None and not setting("Trainer: grad_clip_norm", grad_clip_norm) > 0:
        raise ValueError("Trainer: grad_clip_norm must be above 0; pass None for no limit")


def _require(name: str, part: Any, fits: bool, wanted: str) -> None:
    if not fits:
        raise TypeError(f"Trainer: {name} must be {wanted}, got a {type(part).__name__}")
