"""What an accuracy cannot show. Networks learn in spite of a gradient that is half or twice what it should be, and of a
Trainer that loses count, so the 1986 milestone looks at both on their own."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from tinytorch.dataloader import DataLoader, TensorDataset
from tinytorch.optimizers import SGD
from tinytorch.training import Trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tinytorch import Module, Tensor


def slope_error(model: Module, loss_fn: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, targets: Tensor) -> float:
    """By which part of it the loss's slope differs from what `backward` says, walking along each gradient; the worst.

    A step along a gradient raises the loss by the step times the gradient's length, so the slope between two points
    0.04 apart is that length. 0.001 is rounding; 1 is a gradient of half the size, 2 one of the wrong sign.
    """
    loss_fn(model(inputs), targets).backward()
    errors, step = [], 0.02
    for parameter in model.parameters():
        start, promised, ends = parameter.data.copy(), max(float(np.linalg.norm(parameter.grad)), 1e-30), []
        for way in (step, -step):
            parameter.data[:] = start + way * parameter.grad / promised
            ends.append(loss_fn(model(inputs), targets).item())
        parameter.data[:] = start
        errors.append(abs((ends[0] - ends[1]) / (2 * step) / promised - 1))
    return max(errors)


def step_error(model: Module, loss_fn: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, targets: Tensor) -> float:
    """By which part of it a Trainer's step differs from rate times gradient of the mean loss, at worst.

    Each step is one window of a batch of three rows and a shorter one, so it is right only when the gradients of both
    are added up, divided by the rows of both, clipped and, after the step, cleared. Three steps are clipped, three not.
    """
    loader, rate, errors = DataLoader(TensorDataset(inputs, targets), batch_size=3), 0.1, []
    for longest in (0.05, 50.0):
        trainer = Trainer(model, SGD(model.parameters(), lr=rate), loss_fn, grad_clip_norm=longest)
        for _ in range(3):
            twin = copy.deepcopy(model)  # the Trainer finds the model's own gradients as it left them
            twin.zero_grad()
            loss_fn(twin(inputs), targets).backward()
            gradient, before = flat(twin, "grad"), flat(model, "data")
            gradient *= min(1.0, longest / np.linalg.norm(gradient))
            trainer.train_epoch(loader, accumulation_steps=4)
            moved = (before - flat(model, "data")) / rate
            errors.append(float(np.linalg.norm(moved - gradient) / np.linalg.norm(gradient)))
    return max(errors)


def flat(model: Module, name: str) -> np.ndarray:
    """`data` or `grad` of all parameters in one row."""
    return np.concatenate([getattr(parameter, name).ravel() for parameter in model.parameters()])


def history_faults(trainer: Trainer, rates: list[float], accuracy: float) -> list[str]:
    """What in a Trainer's history is not as it was set (an epoch a rate) or counted: epochs, rates, loss, accuracy."""
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
