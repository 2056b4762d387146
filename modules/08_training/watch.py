"""Looks on at every step of a run: its loss, rate, gradient norm and speed. Supplied with lesson 08.

Trace it, don't write it. The Trainer's base asks a `Watch` before and after each update while `fit` runs; the student's
methods know nothing of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this


class Watch:
    """What one step is made of. `run` is told of each batch and step, and asked whether it wishes to stop."""

    def __init__(self, trainer: Any, ranks: Any, run: Any) -> None:
        self.trainer, self.ranks, self.run = trainer, ranks, run
        self.stop = False  # whether a rank wished to; all of them follow
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Forget the time since the last step: it went into an evaluation or a file."""
        self.rows, self.seen, self.norm, self.began = 0, 0, 0.0, time.perf_counter()
        last = self.trainer.boundary
        self.sums = (last.loss_sum, last.weight_sum) if last else (0.0, 0.0)

    def batches(self, batches: Iterable[Any], accumulation_steps: int) -> tuple[Iterable[Any], int]:
        """The batches of this process, and how many of them make a step."""
        shares = self.ranks.shares(self.trainer, batches, accumulation_steps)
        return self._counted(shares), self.ranks.batches_a_step(accumulation_steps)

    def _counted(self, batches: Iterable[Any]) -> Iterator[Any]:
        trainer = self.trainer
        for inputs, targets in batches:
            loss_sum, weight_sum = trainer.loss_sum, trainer.weight_sum
            self.rows += len(inputs)
            yield inputs, targets
            self.run.after_batch((trainer.loss_sum - loss_sum) / (trainer.weight_sum - weight_sum))

    def before_update(self, sample_count: float) -> float:
        """Add up what all ranks found -> what the gradients are divided by.

        Raises ValueError that names the parameter whose gradient is not finite.
        """
        reduced = self.ranks.reduce(self.trainer, sample_count, self.rows, self.run.wishes_to_stop())
        sample_count, self.rows, self.stop = reduced
        self.norm = gradient_norm(self.trainer) / sample_count
        return sample_count

    def after_update(self) -> None:
        """Tell of the step."""
        trainer, now, sums = self.trainer, time.perf_counter(), (self.trainer.loss_sum, self.trainer.weight_sum)
        loss, weight = (after - before for after, before in zip(sums, self.sums))
        speed = self.rows / max(now - self.began, 1e-9)
        self.seen += self.rows
        self.rows, self.began, self.sums = 0, now, sums
        row = {"kind": "step", "step": trainer.step, "epoch": trainer.epoch + 1, "loss": loss / weight}
        self.run.after_step({**row, "lr": trainer.optimizer.lr, "grad_norm": self.norm, "samples_per_second": speed})


def gradient_norm(trainer: Any) -> float:
    """Length of the optimizer's gradients, taken as one vector. Raises ValueError that names one that is not finite."""
    grads = [parameter.grad for parameter in trainer.optimizer.params if parameter.grad is not None]
    squares = sum(float(np.vdot(grad, grad)) for grad in grads)
    if math.isfinite(squares):
        return math.sqrt(squares)
    for name, parameter in trainer.model.named_parameters():
        if parameter.grad is not None and not np.isfinite(parameter.grad).all():
            raise ValueError(f"the gradient of {name} holds NaN or infinity; lower the rate, or look at this batch")
    return math.sqrt(sum(float(np.square(grad, dtype=np.float64).sum()) for grad in grads))


def not_finite(model: Any) -> str | None:
    """The first parameter that holds NaN or infinity, by dotted name. A buffer may: a mask is often made of -inf."""
    return next((name for name, part in model.named_parameters() if not np.isfinite(part.data).all()), None)
