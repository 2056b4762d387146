"""The Trainer's base: what stands around the methods that you write. Supplied with lesson 08: trace it, don't write it.

Begin at `train_epoch`, which calls your `run_epoch`, and `evaluate`, which calls your `run_evaluation`. Every method
here is short and leads to a file of its own: steps.py around each step, snapshot.py and checkpoint.py for the file of a
run, fit.py for whole runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

import numpy as np

from tinytorch.batches import evaluating, evaluation_pass
from tinytorch.checkpoint import read_checkpoint, write_checkpoint
from tinytorch.generator import Generator
from tinytorch.runs import Run
from tinytorch.settings import integer
from tinytorch.snapshot import gather, restore
from tinytorch.steps import Boundary, boundary, training_pass
from tinytorch.tensor import Tensor

__all__: list[str] = []  # the package hands on none of this


class TrainingLoop:
    """Epochs, evaluation and checkpoints of a Trainer, which brings `model`, `optimizer` and the student's methods."""

    model: Any
    optimizer: Any
    scheduler: Any
    history: dict[str, list[Any]]
    epoch: int
    loss_sum: float
    weight_sum: float
    run_epoch: Callable[[Iterable[Any], int], float]
    run_evaluation: Callable[[Iterable[Any]], tuple[float, float | None]]

    loader: Any = None  # the one last trained on
    position: int | None = None  # out of a checkpoint, waiting for a loader
    expected_loader: dict[str, Any] | None = None  # what that loader was like
    boundary: Boundary | None = None  # of the epoch that is under way; None between epochs
    in_epoch: bool = False  # train_epoch runs
    streams: Iterable[Generator] = ()  # that the model draws from in this epoch
    window_open: bool = False  # batches were seen that no step has used yet
    watch: Any = None  # what looks on while `fit` runs

    @property
    def scheduled_by(self) -> str | None:
        """How the rate is set: "epoch" by `get_lr(epoch)`, "step" by `lr_at(step)`, None where it stays."""
        if self.scheduler is None:
            return None
        return "epoch" if hasattr(self.scheduler, "get_lr") else "step"

    def begin_epoch(self, loader: Any, resumes: bool) -> None:
        """Set this epoch's rate and train mode, forget gradients; sums begin at 0 unless it resumes an epoch."""
        if self.scheduled_by == "epoch":
            self.optimizer.lr = self.scheduler.get_lr(self.epoch)
        self.forget_gradients()
        if not resumes:
            self.loss_sum = self.weight_sum = 0.0
        self.loader, self.position = loader, None
        self.model.train()

    def forget_gradients(self) -> None:
        """Clear the gradients of the optimizer's parameters, and of the model's where it has others."""
        self.optimizer.zero_grad()
        self.model.zero_grad()

    def train_epoch(self, loader: Any, accumulation_steps: int = 1) -> float:
        """Train on every batch of `loader`, any iterable of (inputs, targets); return the mean loss over the samples.

        `accumulation_steps` batches make one step. Raises TypeError or ValueError for wrong arguments, before anything
        changes. An error at batch g begins `batch g:`; model, optimizer, `step` and the loader's position are then as
        after the last whole step, the epoch is not counted, and the next call goes on with it.
        """
        accumulation_steps = integer("train_epoch: accumulation_steps", accumulation_steps, least=1)
        with training_pass(self, loader, accumulation_steps) as (batches, steps):
            return self.run_epoch(batches, steps)

    def before_update(self, sample_count: float) -> float:
        """Set the coming step's rate where the schedule goes by steps; return what the gradients are divided by."""
        if self.scheduled_by == "step":
            self.scheduler.apply(self.optimizer)
        return sample_count if self.watch is None else self.watch.before_update(sample_count)

    def after_update(self) -> None:
        """Note the step's rate, and that the run is whole here."""
        self.history["step_learning_rates"].append(self.optimizer.lr)
        self.boundary, self.window_open = boundary(self), False
        if self.watch is not None:
            self.watch.after_update()

    def evaluate(self, loader: Any) -> tuple[float, float | None]:
        """Mean loss over the samples and the share of right answers on all of `loader`, without training.

        The accuracy is None where the loss has no right or wrong. Looking leaves no trace: modes and the loader's
        position are as before, also after an error; one at batch g begins `batch g:` and leaves `history` as it was.
        """
        with evaluation_pass(loader) as batches:
            return self.run_evaluation(batches)

    def predict(self, loader: Any) -> tuple[Tensor, Tensor]:
        """Predictions and targets of all of `loader`, in its order: `(N, ...)` each, in eval mode, without a trace.

        Raises ValueError when batches differ in more than their number of rows.
        """
        with evaluation_pass(loader) as batches, evaluating(self.model):
            pairs = [(self.model(inputs).data, targets.data) for inputs, targets in batches]
        predictions, targets = (Tensor.wrap(np.concatenate(column)) for column in zip(*pairs))
        return predictions, targets

    def fit(
        self,
        train: Any,
        val: Any = None,
        *,
        epochs: int,
        run_dir: str | PathLike[str] | None = None,
        resume: bool | str | PathLike[str] = False,
        accumulation_steps: int = 1,
        save_interval: int = 100,
        keep_last_n: int = 3,
        early_stopping: int | None = None,
        callbacks: Iterable[Callable[..., Any]] = (),
        batch_callback: Callable[..., Any] | None = None,
        class_weights: Any = None,
        quiet: bool = False,
        comm: Any = None,
    ) -> Run:
        """Train until `epochs` epochs are counted, evaluate on `val` after each, and return the run.

        With `run_dir`, everything is kept in a new folder there: train.log, metrics.jsonl, config.json, model_last.ckpt,
        best.ckpt (lowest validation loss), and step_S.ckpt every `save_interval` steps, of which the newest
        `keep_last_n` stay. `resume=True` goes on with the newest run that has a step checkpoint, a name with that one.
        Ctrl-C, and SIGTERM on POSIX, end the run at the next step, with a checkpoint; then KeyboardInterrupt or
        SystemExit is raised. `early_stopping` ends it after so many epochs without a lower validation loss. Callbacks
        are called with (trainer, row): `callbacks` after each epoch, `batch_callback` after each batch; a true answer
        ends the run. A loader without a `position`, such as a list, is one that nothing can go on with in the middle:
        then the run is saved and ended between epochs only. `class_weights` is an array (C,) or "balanced". With an MPI communicator as `comm`, each process
        trains on its rows of every window, and the first keeps the run.

        Raises ValueError that names batch and parameter when a loss or gradient is not finite, the last good checkpoint
        being left; ValueError for a run of another configuration, FileNotFoundError for a run that isn't there.
        """
        from tinytorch.fit import Options, fit  # and all that keeps a run, which a bare loop never needs

        options = Options(epochs, accumulation_steps, save_interval, keep_last_n, early_stopping)
        extras = callbacks, batch_callback, class_weights, quiet, comm
        return fit(self, train, val, options, run_dir, resume, *extras)

    def save_checkpoint(self, path: str | PathLike[str], extra: dict[str, int | str] | None = None) -> None:
        """Write the run to `path`, whole or not at all; `extra` holds integers and text of your own.

        Raises OSError when that fails, RuntimeError when batches wait for their step: call it between two steps.
        """
        if self.window_open:
            raise RuntimeError("save_checkpoint: a window is open, its gradients would be lost; save after the step")
        write_checkpoint(path, gather(self, extra))

    def load_checkpoint(self, path: str | PathLike[str], loader: Any = None) -> dict[str, int | str]:
        """Go on from `path` as if the run had never stopped; `loader`, else the next train_epoch's, gets its position.

        Returns `extra`. Raises FileNotFoundError without a file, CheckpointError (a ValueError) when it is damaged or
        another run's, TypeError when the loader has no position, RuntimeError while an epoch runs, whose batches would go
        on; nothing has changed then.
        """
        if self.in_epoch:
            raise RuntimeError(
                "load_checkpoint: an epoch is running; load between two, as from a function of callbacks="
            )
        extra = restore(self, read_checkpoint(path), loader)
        self.forget_gradients()
        return extra
