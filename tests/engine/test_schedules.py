"""Schedules: functions of the step alone, that reach what they promise and refuse what cannot be meant."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    SGD,
    Adam,
    CheckpointError,
    ConstantLR,
    CosineLR,
    CosineSchedule,
    Generator,
    Linear,
    MSELoss,
    Schedule,
    StepLR,
    Tensor,
    Trainer,
    WarmupCosineLR,
    WarmupLR,
)

BY_HAND: dict[str, tuple[Schedule, list[float]]] = {
    "constant": (ConstantLR(3), [3, 3, 3]),
    "step": (StepLR(8, 3, gamma=0.5), [8, 8, 8, 4, 4, 4, 2]),
    "step every time": (StepLR(8, 1, gamma=0.25), [8, 2, 0.5]),
    "step to nothing": (StepLR(8, 2, gamma=0), [8, 8, 0, 0]),
    "warm-up": (WarmupLR(8, 4), [2, 4, 6, 8, 8, 8]),
    "one step of warm-up": (WarmupLR(8, 1), [8, 8]),
    "no warm-up": (WarmupLR(8, 0), [8, 8]),
    "cosine": (CosineLR(8, 2, min_lr=2), [8, 5, 2, 2, 2]),
    "cosine of one step": (CosineLR(8, 1), [8, 0, 0]),
    "cosine that stays": (CosineLR(2, 3, min_lr=2), [2, 2, 2, 2, 2]),
    "warm-up and cosine": (WarmupCosineLR(8, 2, 4, min_lr=2), [4, 8, 8, 5, 2, 2]),
    "warm-up from below min_lr": (WarmupCosineLR(8, 4, 6, min_lr=4), [2, 4, 6, 8, 8, 6, 4, 4]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    schedule, rates = BY_HAND[name]
    assert [schedule.lr_at(step) for step in range(len(rates))] == pytest.approx(rates, rel=1e-15)


@pytest.mark.parametrize(
    ("step", "rate"), [(0, 0.01), (50, 0.008536), (100, 0.005), (150, 0.001464), (200, 0.0), (201, 0.0), (10**9, 0.0)]
)
def test_reference_values_of_the_cosine(step: int, rate: float) -> None:
    assert CosineLR(0.01, 200).lr_at(step) == pytest.approx(rate, abs=5e-7)


@pytest.mark.parametrize(("step", "rate"), [(0, 0.001), (9, 0.01), (10, 0.01), (105, 0.005), (200, 0.0)])
def test_reference_values_of_warm_up_and_cosine(step: int, rate: float) -> None:
    assert WarmupCosineLR(0.01, 10, 200).lr_at(step) == pytest.approx(rate, abs=1e-15)


RATES = st.floats(1e-9, 100)
STEPS = st.integers(1, 60)


@given(base=RATES, share=st.floats(0, 1), warm=STEPS, rest=STEPS)
@settings(max_examples=60, deadline=None)
def test_up_to_the_base_and_down_to_the_least(base: float, share: float, warm: int, rest: int) -> None:
    low = base * share
    schedule = WarmupCosineLR(base, warm, warm + rest, low)
    rates = [schedule.lr_at(step) for step in range(warm + rest + 5)]
    assert all(type(rate) is float for rate in rates)
    assert rates[warm - 1] == base  # to the bit, and so is the end
    assert rates[warm + rest :] == [low] * 5
    assert max(rates) <= base * (1 + 1e-15) and min(rates[warm:]) >= low
    np.testing.assert_allclose(np.diff([0, *rates[:warm]]), base / warm, rtol=1e-9)
    assert (np.diff(rates[warm:]) <= 0).all()
    mirrored = [high + lower for high, lower in zip(rates[warm : warm + rest + 1], rates[warm + rest : warm - 1 : -1])]
    assert mirrored == pytest.approx([base + low] * (rest + 1), rel=1e-12)


@given(base=RATES, share=st.floats(0, 1), total=STEPS, step=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_without_warm_up_it_is_the_cosine(base: float, share: float, total: int, step: int) -> None:
    assert WarmupCosineLR(base, 0, total, base * share).lr_at(step) == CosineLR(base, total, base * share).lr_at(step)


@given(base=RATES, share=st.floats(0, 1), epochs=st.integers(1, 20), steps=st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_lesson_08_has_the_same_rate_at_the_start_of_every_epoch(
    base: float, share: float, epochs: int, steps: int
) -> None:
    by_step, by_epoch = CosineLR(base, epochs * steps, base * share), CosineSchedule(base, base * share, epochs)
    starts = [by_step.lr_at(epoch * steps) for epoch in range(epochs + 3)]
    assert starts == pytest.approx([by_epoch.get_lr(epoch) for epoch in range(epochs + 3)], rel=1e-9, abs=base * 1e-14)


@pytest.mark.parametrize("name", BY_HAND)
def test_a_schedule_remembers_nothing(name: str) -> None:
    schedule, _ = BY_HAND[name]
    before = dict(vars(schedule))
    in_order = [schedule.lr_at(step) for step in range(40)]
    steps = random.Random(1).sample(range(40), 40)
    assert {step: schedule.lr_at(step) for step in steps} == dict(enumerate(in_order))
    assert vars(schedule) == before


MADE: dict[str, tuple[Schedule, dict[str, Any]]] = {
    "ConstantLR": (ConstantLR(np.float64(0.5)), {"base_lr": 0.5}),
    "StepLR": (StepLR(1, np.int64(3)), {"base_lr": 1.0, "step_size": 3, "gamma": 0.1}),
    "CosineLR": (CosineLR(np.float32(0.5), 7), {"base_lr": 0.5, "total_steps": 7, "min_lr": 0.0}),
    "WarmupLR": (WarmupLR(np.int32(2), np.uint8(3)), {"base_lr": 2.0, "warmup_steps": 3}),
    "WarmupCosineLR": (
        WarmupCosineLR(0.5, np.int16(3), np.int64(9), np.float32(0.25)),
        {"base_lr": 0.5, "warmup_steps": 3, "total_steps": 9, "min_lr": 0.25},
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_attributes_are_the_arguments_as_plain_numbers(name: str) -> None:
    schedule, wanted = MADE[name]
    assert type(schedule).__name__ == name
    assert repr(vars(schedule)) == repr(wanted)  # by text, as a checkpoint compares them: 1 is not 1.0


def trained(stops: list[int]) -> tuple[bytes, list[float]]:
    """Weights after 10 steps, and the rates; at each stop all is made anew, and model and optimizer are loaded."""
    rows = Tensor(Generator(1).normal(0, 1, (6, 3)))
    kept: tuple[dict[str, Any], dict[str, Any]] | None = None
    rates = []
    for first, last in zip([0, *stops], [*stops, 10]):
        model = Linear(3, 2, rng=Generator(0))
        optimizer, schedule = Adam(model.parameters()), WarmupCosineLR(0.1, 3, 9, 0.01)
        if kept:
            model.load_state_dict(kept[0])
            optimizer.load_state_dict(kept[1])
        for _ in range(first, last):
            schedule.apply(optimizer)
            rates.append(optimizer.lr)
            MSELoss()(model(rows), Tensor(np.ones((6, 2)))).backward()
            optimizer.step()
            optimizer.zero_grad()
        kept = model.state_dict(), optimizer.state_dict()
    return model.weight.data.tobytes() + model.bias.data.tobytes(), rates


@pytest.mark.parametrize("stops", [[1], [4], [2, 3, 9]])
def test_a_resumed_run_needs_no_state_of_its_schedule(stops: list[int]) -> None:
    assert trained(stops) == trained([])


def test_apply_sets_the_rate_of_the_coming_step() -> None:
    assert trained([])[1] == [WarmupCosineLR(0.1, 3, 9, 0.01).lr_at(step) for step in range(10)]


def test_a_trainer_follows_it_and_a_checkpoint_knows_it(tmp_path: Path) -> None:
    def build(total_steps: int) -> Trainer:
        model = Linear(3, 1, rng=Generator(0))
        return Trainer(model, SGD(model.parameters(), lr=9), MSELoss(), CosineLR(0.5, total_steps))

    batch, rates = (Tensor(np.ones((2, 3))), Tensor(np.ones((2, 1)))), []
    trainer = build(4)
    for _ in range(3):
        trainer.train_epoch([batch])
        rates.append(trainer.optimizer.lr)
    assert rates == [CosineLR(0.5, 4).lr_at(step) for step in range(3)]
    trainer.save_checkpoint(tmp_path / "a")
    build(4).load_checkpoint(tmp_path / "a")
    with pytest.raises(CheckpointError, match="schedule"):
        build(5).load_checkpoint(tmp_path / "a")


REFUSED: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "rate below 0": (ValueError, "ConstantLR: base_lr", lambda: ConstantLR(-0.1)),
    "rate NaN": (ValueError, "CosineLR: base_lr", lambda: CosineLR(math.nan, 3)),
    "rate infinite": (ValueError, "WarmupLR: base_lr", lambda: WarmupLR(math.inf, 3)),
    "rate text": (TypeError, "StepLR: base_lr", lambda: StepLR("0.1", 3)),
    "rate bool": (TypeError, "ConstantLR: base_lr", lambda: ConstantLR(True)),
    "step_size 0": (ValueError, "step_size must be 1 or more", lambda: StepLR(0.1, 0)),
    "step_size float": (TypeError, "step_size must be an integer", lambda: StepLR(0.1, 2.0)),
    "gamma below 0": (ValueError, "gamma", lambda: StepLR(0.1, 2, gamma=-1)),
    "total_steps 0": (ValueError, "total_steps must be 1 or more", lambda: CosineLR(0.1, 0)),
    "total_steps bool": (TypeError, "total_steps", lambda: CosineLR(0.1, True)),
    "min_lr below 0": (ValueError, "min_lr", lambda: CosineLR(0.1, 3, -0.1)),
    "min_lr above": (ValueError, "CosineLR: min_lr 0.2 is above base_lr 0.1", lambda: CosineLR(0.1, 3, 0.2)),
    "both: min_lr above": (ValueError, "min_lr 0.2 is above", lambda: WarmupCosineLR(0.1, 1, 3, 0.2)),
    "warmup below 0": (ValueError, "WarmupLR: warmup_steps must be 0 or more", lambda: WarmupLR(0.1, -1)),
    "both: warmup below 0": (ValueError, "warmup_steps must be 0 or more", lambda: WarmupCosineLR(0.1, -1, 3)),
    "both: warmup float": (TypeError, "warmup_steps", lambda: WarmupCosineLR(0.1, 1.0, 3)),
    "both: total": (ValueError, "total_steps must be 1 or more", lambda: WarmupCosineLR(0.1, 0, 0)),
    "warmup all": (ValueError, "warmup_steps 3 must be below total_steps 3", lambda: WarmupCosineLR(0.1, 3, 3)),
    "no rate of its own": (TypeError, "needs a method rate", lambda: Schedule(0.1).lr_at(0)),
    "a rate over all floats": (ValueError, "too large", lambda: StepLR(1, 1, gamma=10).lr_at(400)),
    "an infinite product": (ValueError, "rate of step 1 must be", lambda: StepLR(1e300, 1, gamma=1e300).lr_at(1)),
    "apply to a model": (TypeError, "got a Linear", lambda: ConstantLR(1).apply(Linear(2, 2, rng=Generator(0)))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused(name: str) -> None:
    kind, words, make = REFUSED[name]
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize(("step", "kind"), [(-1, ValueError), (True, TypeError), (1.0, TypeError), ("1", TypeError)])
def test_a_step_is_an_integer_from_0_up(name: str, step: Any, kind: type[Exception]) -> None:
    schedule, _ = BY_HAND[name]
    with pytest.raises(kind, match=f"{type(schedule).__name__}: step must be"):
        schedule.lr_at(step)


class Falling(Schedule):
    """A schedule of one's own."""

    def rate(self, step: int) -> float:
        return self.base_lr * (3 - step)


def test_a_schedule_of_ones_own_is_checked_too_and_a_refused_rate_changes_nothing() -> None:
    optimizer = SGD(Linear(2, 2, rng=Generator(0)).parameters(), lr=0.5)
    Falling(2).apply(optimizer)
    assert optimizer.lr == 6
    optimizer.step_count = 4
    with pytest.raises(ValueError, match="Falling: the rate of step 4 must be 0 or more"):
        Falling(2).apply(optimizer)
    assert optimizer.lr == 6


def test_steps_of_any_size() -> None:
    far = 10**400  # over all floats
    assert CosineLR(1, 3).lr_at(far) == WarmupCosineLR(1, 1, 3).lr_at(far) == 0
    assert WarmupLR(2, 3).lr_at(far) == 2
    assert WarmupLR(2, 2 * far).lr_at(far - 1) == 1
    assert CosineLR(2, 2 * far).lr_at(far) == pytest.approx(1)
    assert StepLR(2, far, 0.5).lr_at(far) == 1
