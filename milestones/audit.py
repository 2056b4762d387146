"""What an accuracy cannot show. Networks learn in spite of a gradient that is half or twice what it should be, and of a
Trainer that loses count, so the 1986 milestone looks at both on their own."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

import numpy as np
from exhibit import Row, judge
from tinytorch.dataloader import DataLoader, TensorDataset
from tinytorch.optimizers import SGD
from tinytorch.training import CosineSchedule, Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tinytorch import Module, Tensor

    Loss = Callable[[Tensor, Tensor], Tensor]

NUDGE = 0.02  # large enough that float32 sees the difference, small enough that the slope is straight


def gradient_row(*cases: tuple[Module, Loss, Tensor, Tensor]) -> Row:
    """Is `backward` right? Two forward passes a weight find what it finds at once. Case: model, loss, inputs, targets.

    Judged is the part by which a parameter's gradient differs from the slopes found by nudging each of its weights, at
    worst. 0.001 is rounding in float32; 0.5 is a gradient of half the size, 2 one of the wrong sign.
    """
    error = max(gradient_error(*case) for case in cases)
    return judge("backward against nudging each weight", error, "within 1 %", error < 0.01, f"{100 * error:.2f} % off")


def gradient_error(model: Module, loss_fn: Loss, inputs: Tensor, targets: Tensor) -> float:
    """The worst difference between a parameter's gradient and its slopes, as a part of these."""
    loss_fn(model(inputs), targets).backward()
    errors = []
    for parameter in model.parameters():
        slopes = np.zeros(parameter.shape)
        for index in np.ndindex(parameter.shape):
            start, ends = parameter.data[index], []
            for nudge in (NUDGE, -NUDGE):
                parameter.data[index] = start + nudge
                ends.append(loss_fn(model(inputs), targets).item())
            parameter.data[index] = start
            slopes[index] = (ends[0] - ends[1]) / (2 * NUDGE)
        errors.append(float(np.linalg.norm(parameter.grad - slopes) / np.linalg.norm(slopes)))
    model.zero_grad()
    return max(errors)


def step_row(model: Module, loss_fn: Loss, inputs: Tensor, targets: Tensor) -> Row:
    """Does a Trainer step as it should? 13 rows in batches of 3, three batches a step: the last step has 3 + 1 rows.

    Judged is the part by which its epochs differ from the same steps taken here, rate times gradient, at worst. It must
    set the epoch's rate, add up a window's gradients, divide by the window's rows, clip, step, and clear.
    """
    error = max(step_error(copy.deepcopy(model), loss_fn, inputs, targets, longest) for longest in (0.05, 50.0))
    return judge("the Trainer's steps against our own", error, "within 1 %", error < 0.01, f"{100 * error:.2f} % off")


def step_error(model: Module, loss_fn: Loss, inputs: Tensor, targets: Tensor, longest: float) -> float:
    """The worst of two epochs, all of whose gradients are clipped for a small `longest`, and none for a large one."""
    loader, schedule, errors = DataLoader(TensorDataset(inputs, targets), batch_size=3), CosineSchedule(0.1, 0.0, 2), []
    trainer = Trainer(model, SGD(model.parameters(), lr=1.0), loss_fn, schedule, grad_clip_norm=longest)
    for rate in (0.1, 0.05):
        before, twin = flat(model, "data"), copy.deepcopy(model)
        trainer.train_epoch(loader, accumulation_steps=3)
        for window in (slice(0, 9), slice(9, 13)):
            twin.zero_grad()
            loss_fn(twin(inputs[window]), targets[window]).backward()
            length = np.linalg.norm(flat(twin, "grad"))
            for parameter in twin.parameters():
                parameter.data -= rate * min(1.0, longest / length) * parameter.grad
        wanted = flat(twin, "data")
        errors.append(float(np.linalg.norm(flat(model, "data") - wanted) / np.linalg.norm(wanted - before)))
    return max(errors)


def flat(model: Module, name: str) -> np.ndarray:
    """`data` or `grad` of all parameters in one row."""
    return np.concatenate([getattr(parameter, name).ravel() for parameter in model.parameters()])


def history_row(trainer: Trainer, rate: float, epochs: int, accuracy: float) -> Row:
    """Does a Trainer's history tell what was set, a cosine from `rate` to 0, and what was counted, `accuracy`?"""
    faults = history_faults(trainer, [rate * (1 + math.cos(math.pi * i / epochs)) / 2 for i in range(epochs)], accuracy)
    text = ", ".join(faults) or "agrees"
    return judge("the Trainer's history", len(faults), "as set and counted", not faults, text)


def history_faults(trainer: Trainer, rates: list[float], accuracy: float) -> list[str]:
    """Which of epochs, rates, loss and accuracy are not as they must be."""
    history = trainer.history
    lengths = [len(history[name]) for name in ("train_loss", "learning_rates", "eval_loss", "accuracy")]
    if {trainer.epoch, *lengths} != {len(rates)}:
        return ["epochs"]
    good = {
        "rates": np.allclose(history["learning_rates"], rates, atol=1e-6),
        "loss": history["train_loss"][-1] < history["train_loss"][0] / 10,
        "accuracy": abs(history["accuracy"][-1] - accuracy) < 1e-6,
    }
    return [name for name, true in good.items() if not true]
