"""Schedules beside PyTorch's, over all steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tinytorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import ConstantLR, CosineLR, Generator, Linear, Schedule, StepLR, Tensor, WarmupCosineLR, WarmupLR
from torch.optim.lr_scheduler import ConstantLR as ConstantFactor
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, SequentialLR
from torch.optim.lr_scheduler import StepLR as TheirStepLR

RATES = st.floats(1e-6, 10)
SHARES = st.floats(0, 1)
STEPS = st.integers(2, 60)


def same(ours: Schedule, theirs: Callable[[Any], Any], steps: int) -> None:
    """The rates of the first `steps` steps are those of PyTorch's scheduler."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=ours.base_lr)
    scheduler, rates = theirs(optimizer), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    found = [ours.lr_at(step) for step in range(steps)]
    np.testing.assert_allclose(found, rates, rtol=1e-9, atol=1e-11 * ours.base_lr)


@given(base=RATES, low=SHARES, total=STEPS)
@settings(max_examples=40, deadline=None)
def test_cosine(base: float, low: float, total: int) -> None:
    ours = CosineLR(base, total, base * low)
    same(ours, lambda optimizer: CosineAnnealingLR(optimizer, T_max=total, eta_min=base * low), total + 1)


@given(base=RATES, size=st.integers(1, 20), gamma=st.floats(0.1, 1.5))
@settings(max_examples=40, deadline=None)
def test_step(base: float, size: int, gamma: float) -> None:
    same(StepLR(base, size, gamma), lambda optimizer: TheirStepLR(optimizer, size, gamma), 70)


def line(optimizer: Any, warm: int) -> Any:
    return LinearLR(optimizer, start_factor=1 / warm, end_factor=1.0, total_iters=warm - 1)


@given(base=RATES, warm=STEPS)
@settings(max_examples=40, deadline=None)
def test_warm_up(base: float, warm: int) -> None:
    same(WarmupLR(base, warm), lambda optimizer: line(optimizer, warm), warm + 10)


@given(base=RATES, low=SHARES, warm=STEPS, rest=STEPS)
@settings(max_examples=40, deadline=None)
def test_warm_up_and_cosine(base: float, low: float, warm: int, rest: int) -> None:
    def theirs(optimizer: Any) -> Any:
        cosine = CosineAnnealingLR(optimizer, T_max=rest, eta_min=base * low)
        return SequentialLR(optimizer, [line(optimizer, warm), cosine], milestones=[warm])

    same(WarmupCosineLR(base, warm, warm + rest, base * low), theirs, warm + rest + 1)


def test_constant() -> None:
    same(ConstantLR(0.3), lambda optimizer: ConstantFactor(optimizer, factor=1.0), 20)


LAMBDAS = {
    "constant": ConstantLR(0.05),
    "step": StepLR(0.05, 4, 0.5),
    "cosine": CosineLR(0.05, 12, 0.01),
    "warm-up": WarmupLR(0.05, 5),
    "both": WarmupCosineLR(0.05, 5, 14, 0.01),
}


@pytest.mark.parametrize("name", LAMBDAS)
def test_training_by_a_schedule_has_the_weights_of_training_by_lambda_lr(name: str) -> None:
    schedule, rows = LAMBDAS[name], Generator(1).normal(0, 1, (5, 3))
    ours = Linear(3, 1, rng=Generator(0))
    theirs = [torch.tensor(parameter.data.copy(), requires_grad=True) for parameter in ours.parameters()]
    mine = tinytorch.SGD(ours.parameters(), lr=0.1, momentum=0.9)
    its = torch.optim.SGD(theirs, lr=1.0, momentum=0.9)  # LambdaLR multiplies it
    factors = LambdaLR(its, schedule.lr_at)
    for _ in range(20):
        schedule.apply(mine)
        for optimizer in (mine, its):
            optimizer.zero_grad()
        (ours(Tensor(rows)) ** 2).mean().backward()
        (torch.tensor(rows) @ theirs[0].T + theirs[1]).square().mean().backward()
        mine.step()
        its.step()
        factors.step()
    for parameter, tensor in zip(ours.parameters(), theirs):
        np.testing.assert_allclose(parameter.data, tensor.detach().numpy(), rtol=1e-4, atol=1e-6)
