"""Refuses what a Trainer cannot be made of, hands its generator on, and finds those of a model. Supplied with lesson 08.

Trace it, don't write it: begin at `require_parts`.
"""

from __future__ import annotations

from typing import Any

from tinytorch.generator import Generator
from tinytorch.layers import Dropout, Module
from tinytorch.optimizers import Optimizer
from tinytorch.settings import setting

__all__: list[str] = []  # the package hands on none of this


def require_parts(model: Any, optimizer: Any, loss_fn: Any, scheduler: Any, grad_clip_norm: Any) -> None:
    """Raise TypeError or ValueError for parts that cannot be meant; those that may be None are checked when given."""
    _require("model", model, isinstance(model, Module), "a Module")
    _require("optimizer", optimizer, isinstance(optimizer, Optimizer), "an Optimizer")
    _require("loss_fn", loss_fn, callable(loss_fn), "callable with (prediction, targets)")
    ways = [name for name in ("get_lr", "lr_at") if callable(getattr(scheduler, name, None))]
    _require(
        "scheduler", scheduler, scheduler is None or len(ways) == 1, "None or have either get_lr(epoch) or lr_at(step)"
    )
    if grad_clip_norm is not None and not setting("Trainer: grad_clip_norm", grad_clip_norm) > 0:
        raise ValueError("Trainer: grad_clip_norm must be above 0; pass None for no limit")


def give_streams(model: Any, rng: Generator | None) -> None:
    """Give every Dropout the stream of `rng` that its dotted name splits off; without `rng` each keeps its own.

    So one more draw, or one more Dropout, in one place shifts no mask elsewhere. Raises TypeError for another kind.
    """
    if rng is None:
        return
    _require("rng", rng, isinstance(rng, Generator), "a Generator or None")
    for name, module in model.named_modules():
        if isinstance(module, Dropout):
            module.rng = rng.split(name)


def generators(model: Any) -> dict[str, Generator]:
    """Every generator that stands in an attribute of a module, by dotted name."""
    return {
        f"{path}.{name}".lstrip("."): value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, Generator)
    }


def _require(name: str, part: Any, fits: bool, wanted: str) -> None:
    if not fits:
        raise TypeError(f"Trainer: {name} must be {wanted}, got a {type(part).__name__}")
