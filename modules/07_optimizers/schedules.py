"""Learning rates by the number of the step. Supplied with lesson 07: trace it, don't write it.

A schedule is a pure function: the same step has the same rate, whatever was asked before. So there is nothing to save
and nothing to restore; a resumed run asks for the step it stands at. Begin at `Schedule`; the rest is formulas.
"""

from __future__ import annotations

import math
from typing import Any

from tinytorch.settings import integer, setting

__all__ = ["Schedule", "ConstantLR", "StepLR", "CosineLR", "WarmupLR", "WarmupCosineLR"]


class Schedule:
    """A learning rate for every step, counted from 0. A subclass writes `rate(step)`, of its constructor's arguments.

    The arguments stand in attributes of their names, as plain numbers: a checkpoint compares them. Rates, `base_lr` and
    `min_lr` have the optimizer's unit, change of a weight over gradient. Raises TypeError for an argument that is no
    number, or no integer where steps are counted; ValueError for one out of range.
    """

    def __init__(self, base_lr: float) -> None:
        self.base_lr = setting(f"{type(self).__name__}: base_lr", base_lr)

    def rate(self, step: int) -> float:
        """The rate of a step that is an integer, 0 or more."""
        raise TypeError(f"{type(self).__name__}: a schedule needs a method rate(step)")

    def lr_at(self, step: int) -> float:
        """The rate of this step. Raises TypeError for no integer, ValueError below 0 or for a rate out of range."""
        name = type(self).__name__
        number = integer(f"{name}: step", step)
        try:
            return setting(f"{name}: the rate of step {number}", self.rate(number))
        except OverflowError as error:
            raise ValueError(f"{name}: the rate of step {number} is too large for a float; shrink gamma?") from error

    def apply(self, optimizer: Any) -> None:
        """Set the optimizer's rate for its coming step, which is number `optimizer.step_count`. Call before `step()`.

        Raises TypeError when that is no optimizer.
        """
        if not hasattr(optimizer, "step_count"):
            kind = type(optimizer).__name__
            raise TypeError(f"{type(self).__name__}: apply needs an Optimizer, got a {kind}; pass Adam or SGD")
        optimizer.lr = self.lr_at(optimizer.step_count)


class ConstantLR(Schedule):
    """`base_lr` at every step."""

    def rate(self, step: int) -> float:
        """The same for all."""
        return self.base_lr


class StepLR(Schedule):
    """`base_lr`, multiplied by `gamma` after every `step_size` steps."""

    def __init__(self, base_lr: float, step_size: int, gamma: float = 0.1) -> None:
        Schedule.__init__(self, base_lr)
        self.step_size = integer("StepLR: step_size", step_size, least=1)
        self.gamma = setting("StepLR: gamma", gamma)

    def rate(self, step: int) -> float:
        """base * gamma ** (whole stretches of step_size steps that are over)."""
        return float(self.base_lr * self.gamma ** (step // self.step_size))


class CosineLR(Schedule):
    """Half a cosine from `base_lr` at step 0 down to `min_lr` at step `total_steps`, which then stays.

    Lesson 08's CosineSchedule has the same rates by the epoch. Raises ValueError for min_lr above base_lr too.
    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
    """

    def __init__(self, base_lr: float, total_steps: int, min_lr: float = 0.0) -> None:
        Schedule.__init__(self, base_lr)
        self.total_steps = integer("CosineLR: total_steps", total_steps, least=1)
        self.min_lr = _lowest("CosineLR", min_lr, self.base_lr)

    def rate(self, step: int) -> float:
        """min + (base - min) * (1 + cos(pi * step / total)) / 2."""
        return _half_cosine(self.base_lr, self.min_lr, step, self.total_steps)


class WarmupLR(Schedule):
    """A straight line from `base_lr / warmup_steps` at step 0 to `base_lr` at step `warmup_steps - 1`; then that.

    With 0 warm-up steps it is `base_lr` from the first. Source: Goyal and others, "Accurate, large minibatch SGD:
    training ImageNet in 1 hour", arXiv 1706.02677, 2017.
    """

    def __init__(self, base_lr: float, warmup_steps: int) -> None:
        Schedule.__init__(self, base_lr)
        self.warmup_steps = integer("WarmupLR: warmup_steps", warmup_steps)

    def rate(self, step: int) -> float:
        """base * (step + 1) / warmup while that is below base."""
        return _warming(self.base_lr, step, self.warmup_steps) if step < self.warmup_steps else self.base_lr


class WarmupCosineLR(Schedule):
    """The straight line of WarmupLR, then half a cosine from step `warmup_steps` to `min_lr` at step `total_steps`.

    With 0 warm-up steps it is CosineLR. Raises ValueError for min_lr above base_lr, and unless warmup_steps is below
    total_steps, too. Sources: Goyal and others, "Accurate, large minibatch SGD: training ImageNet in 1 hour", arXiv
    1706.02677, 2017; Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
    """

    def __init__(self, base_lr: float, warmup_steps: int, total_steps: int, min_lr: float = 0.0) -> None:
        Schedule.__init__(self, base_lr)
        self.warmup_steps = integer("WarmupCosineLR: warmup_steps", warmup_steps)
        self.total_steps = integer("WarmupCosineLR: total_steps", total_steps, least=1)
        self.min_lr = _lowest("WarmupCosineLR", min_lr, self.base_lr)
        if self.warmup_steps >= self.total_steps:
            steps = f"warmup_steps {self.warmup_steps} must be below total_steps {self.total_steps}"
            raise ValueError(f"WarmupCosineLR: {steps}, which counts the warm-up too")

    def rate(self, step: int) -> float:
        """The line while the warm-up lasts, then the cosine over the steps that are left."""
        if step < self.warmup_steps:
            return _warming(self.base_lr, step, self.warmup_steps)
        cosine_steps = self.total_steps - self.warmup_steps
        return _half_cosine(self.base_lr, self.min_lr, step - self.warmup_steps, cosine_steps)


def _lowest(name: str, min_lr: float, base_lr: float) -> float:
    """`min_lr` as a Python float. Raises ValueError when it is above `base_lr`."""
    lowest = setting(f"{name}: min_lr", min_lr)
    if lowest > base_lr:
        raise ValueError(f"{name}: min_lr {lowest} is above base_lr {base_lr}; exchange them?")
    return lowest


def _warming(base_lr: float, step: int, warmup_steps: int) -> float:
    """The rate of a step of the warm-up; the quotient is 1 at its last, so that the rate is `base_lr` to the bit."""
    return base_lr * ((step + 1) / warmup_steps)


def _half_cosine(base_lr: float, min_lr: float, step: int, total_steps: int) -> float:
    """From `base_lr` at step 0 to `min_lr` at `total_steps`, where the cosine is -1, and after."""
    done = min(step, total_steps) / total_steps
    return min_lr + (base_lr - min_lr) * (1 + math.cos(math.pi * done)) / 2
