"""Trains all coefficients of a grown network together, by lessons 06 to 08. Supplied with lesson e1.

Trace it, don't write it: begin at `tune`. The Trainer keeps this run in the folder `finetune` of the growth's own, so it
stops and goes on like any. Rows count here as they did in the growth, and a regression's error has the same unit: a
share of the target's variance on the training rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tinytorch.activations import LogSoftmax
from tinytorch.dataloader import DataLoader, TensorDataset
from tinytorch.grad_mode import no_grad
from tinytorch.grown_head import to_module
from tinytorch.grown_rows import Rows
from tinytorch.grown_run import save_last
from tinytorch.grown_workers import communicator, one_thread
from tinytorch.losses import LogisticLoss, Loss
from tinytorch.optimizers import Adam
from tinytorch.parallel import ranks_of
from tinytorch.progress import is_terminal
from tinytorch.runs import Run, load_model
from tinytorch.settings import integer
from tinytorch.tensor import Tensor
from tinytorch.training import Trainer

__all__: list[str] = []  # the package hands on none of this


class RowLoss(Loss):
    """Weighted mean of a loss of each row. `(N, ...), (N, 2) -> ()`; a target is what is wanted, and what it counts."""

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        wanted, weights = np.asarray(targets).T
        return (self.each(prediction, wanted) * Tensor.wrap(weights)).sum() / self.total_weight(targets)

    def total_weight(self, targets: Any) -> float:
        """The sum of the rows' weights."""
        return float(np.asarray(targets)[:, 1].sum())

    def each(self, prediction: Tensor, wanted: np.ndarray) -> Tensor:
        """The loss of each row. `(N, ...), (N,) -> (N,)`"""
        raise NotImplementedError


class SquaredShare(RowLoss):
    """Squared errors, as a share of a variance."""

    def __init__(self, variance: float) -> None:
        self.variance = variance

    def each(self, prediction: Tensor, wanted: np.ndarray) -> Tensor:
        return (prediction - Tensor.wrap(wanted)) ** 2 / self.variance


class TwoClasses(RowLoss):
    """Binary cross entropy of logits `(N,)`."""

    def each(self, prediction: Tensor, wanted: np.ndarray) -> Tensor:
        return LogisticLoss(wanted).apply(prediction)


class ManyClasses(RowLoss):
    """Cross entropy of scores `(N, C)`."""

    def each(self, prediction: Tensor, wanted: np.ndarray) -> Tensor:
        return -LogSoftmax().apply(prediction)[np.arange(len(wanted)), wanted.astype(np.int64)]


def tune(
    growth: Any,
    net: Any,
    optimizer: Callable[[Any], Any] | None,
    epochs: int,
    patience: int,
    batch_size: int | None,
    resume: bool,
) -> Run:
    """See `GrowthTrainer.train_finetune`."""
    integer("train_finetune: epochs", epochs, least=1)
    integer("train_finetune: patience", patience, least=1)
    if batch_size is not None:
        integer("train_finetune: batch_size", batch_size, least=1)
    if optimizer is not None and not callable(optimizer):
        raise TypeError(f"train_finetune: optimizer must be a function of parameters, got {optimizer!r:.80}")
    ranks = ranks_of(communicator(growth.workers))
    with ranks.together(), one_thread:
        run, told, state = None, "", None
        if ranks.rank == 0:
            module = to_module(net)
            loss, make = _loss_for(net), optimizer or partial(Adam, lr=0.01)
            trainer = Trainer(module, make(list(module.parameters())), loss)
            run, told = _trained(growth, trainer, epochs, patience, batch_size, resume)
            state = module.network().state_dict()
        told, state = ranks.from_first((told, state))
        net.load_state_dict(state)
    save_last(growth, told)
    return run or Run.unsaved({})


def _loss_for(net: Any) -> RowLoss:
    if hasattr(net, "networks"):
        return ManyClasses() if net.classes > 2 else TwoClasses()
    return SquaredShare(net.target[1] ** 2)


def _trained(
    growth: Any, trainer: Any, epochs: int, patience: int, batch_size: int | None, resume: bool
) -> tuple[Run, str]:
    """Train; leave the coefficients of the lowest loss on dev in the model, those from before included."""
    module, dev = trainer.model, _columns(growth.rows["dev"])
    train = _columns(growth.rows["train"])
    order = {"shuffle": True, "seed": growth.config.seed} if batch_size else {}
    loaders = (
        DataLoader(TensorDataset(*train), batch_size or len(train[0]), **order),
        DataLoader(TensorDataset(*dev), len(dev[0])),
    )
    lowest = [_loss_on(trainer, dev), module.state_dict()]
    before, grown = lowest

    def note(_: Any, row: dict[str, Any]) -> None:
        if row["val_loss"] < lowest[0]:
            lowest[:] = row["val_loss"], module.state_dict()

    told = None if growth.batch_callback is None else lambda _, row: growth.batch_callback(growth, row)
    run: Run = trainer.fit(
        *loaders,
        epochs=epochs,
        run_dir=growth.run.folder and growth.run.folder / "finetune",
        resume=resume and growth.run.folder is not None,
        early_stopping=patience,
        callbacks=[note],
        batch_callback=told,
        quiet=growth.config.quiet or not is_terminal(sys.stderr),  # elsewhere it would be a line an epoch
    )
    if run.folder is not None and run.best.exists():
        load_model(module, run, which="best")  # it may be of the time before a stop
    else:
        module.load_state_dict(lowest[1])
    after = _loss_on(trainer, dev)
    if not after < before:
        module.load_state_dict(grown)
    return run, f"fine-tuned for {trainer.epoch} epochs: error on dev {before:.4g} before, {min(before, after):.4g} now"


def _columns(rows: Rows) -> tuple[Tensor, Tensor]:
    """Features `(N, D)`, and targets `(N, 2)` for a RowLoss."""
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    return Tensor.wrap(rows.x), Tensor.wrap(np.stack([rows.y, weights], axis=1))


def _loss_on(trainer: Any, columns: tuple[Tensor, Tensor]) -> float:
    with no_grad():
        return float(trainer.loss_fn(trainer.model(columns[0]), columns[1]).data)
