"""A whole run: epochs with evaluation, a folder of checkpoints, a way to stop and to go on. Supplied with lesson 08.

Trace it, don't write it: begin at `fit`, then `Fit.train`. A run's folder is runs.py's business, what a step is made of
watch.py's, several processes parallel.py's. A step checkpoint is written at a boundary within an epoch, or behind an
epoch that is counted and evaluated, so that whoever goes on from it does what the run would have done next.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from tinytorch.batches import batches_in, position_of, require_loader_of_batches
from tinytorch.class_weights import weighing
from tinytorch.interrupts import Interrupts
from tinytorch.parallel import Alone, ranks_of
from tinytorch.progress import progress
from tinytorch.resuming import load_newest, opened
from tinytorch.run_config import configuration
from tinytorch.runs import Run
from tinytorch.settings import integer
from tinytorch.steps import within_epoch
from tinytorch.watch import Watch, not_finite

__all__: list[str] = []  # the package hands on none of this


@dataclass(frozen=True)
class Options:
    """What `fit` was asked for, checked. Raises TypeError or ValueError that names the argument."""

    epochs: int
    accumulation_steps: int = 1
    save_interval: int = 100
    keep_last_n: int = 3
    early_stopping: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "accumulation_steps", "save_interval", "keep_last_n"):
            integer(f"fit: {name}", getattr(self, name), least=1)
        if self.early_stopping is not None:
            integer("fit: early_stopping", self.early_stopping, least=1)


class StopRun(BaseException):
    """Ends an epoch at a step boundary, through the student's loop, whatever that catches."""


def fit(
    trainer: Any,
    train: Any,
    val: Any,
    options: Options,
    run_dir: Any,
    resume: bool | str | PathLike[str],
    callbacks: Iterable[Callable[..., Any]],
    batch_callback: Callable[..., Any] | None,
    class_weights: Any,
    quiet: bool,
    comm: Any,
) -> Run:
    """See `Trainer.fit`."""
    if options.early_stopping is not None and val is None:
        raise ValueError("fit: early_stopping watches the validation loss; pass val=")
    if run_dir is None and resume:
        raise ValueError("fit: resume needs run_dir=, the folder that holds the runs")
    for name, loader in [("train", train)] + ([] if val is None else [("val", val)]):
        require_loader_of_batches(f"fit: {name}", loader)
    called, ranks = functions(callbacks, batch_callback), ranks_of(comm)
    with ExitStack() as inside:
        inside.enter_context(ranks.together())
        inside.enter_context(weighing(trainer, class_weights, train))
        told = {**asdict(options), "class_weights": class_weights, "ranks": ranks.size}
        config = configuration(trainer, train, val, told)
        run = opened(run_dir, resume, config) if ranks.rank == 0 else Run.unsaved(config)
        inside.enter_context(run)
        inside.enter_context(run.locked())
        interrupts = inside.enter_context(Interrupts())
        Fit(trainer, train, val, options, run, ranks, interrupts, called, batch_callback).train(resume, quiet)
    interrupts.raise_requested()  # out here, where it is no rank's failure
    return run


def functions(callbacks: Any, batch_callback: Any) -> tuple[Callable[..., Any], ...]:
    """The callbacks as a tuple. Raises TypeError unless all of them can be called."""
    called = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    if callable(callbacks) or not all(map(callable, called)):
        raise TypeError(f"fit: callbacks must be functions in a list, got {callbacks!r:.80}")
    if batch_callback is not None and not callable(batch_callback):
        raise TypeError(f"fit: batch_callback must be a function or None, got {batch_callback!r:.80}")
    return called


@dataclass
class Fit:
    """One call of `fit`, from where the trainer stands to the last epoch."""

    trainer: Any
    train_loader: Any
    val: Any
    options: Options
    run: Run
    ranks: Alone
    interrupts: Interrupts
    callbacks: tuple[Callable[..., Any], ...]
    batch_callback: Callable[..., Any] | None

    def train(self, resume: Any, quiet: bool) -> None:
        """Go on from the run's checkpoint where there is one, then epoch by epoch; a file holds the end."""
        self.asked_to_stop, self.saved, self.losses = False, self.trainer.step, list[float]()
        notes = self.go_on() if resume and self.ranks.rank == 0 else []
        self.losses = self.ranks.from_first(self.losses)
        self.ranks.same_start(self.trainer)
        self.watch = Watch(self.trainer, self.ranks, self)
        self.run.log(_rate_told(self.trainer))
        Run.current = self.run if self.run.folder else Run.current
        steps = _steps_an_epoch(self.train_loader, self.options.accumulation_steps)
        with progress(self.options.epochs, steps, self.trainer.epoch, quiet or self.ranks.rank > 0) as self.shown:
            for note in notes:
                self.note(note)
            self.all_epochs()

    def go_on(self) -> list[str]:
        """Load the newest whole checkpoint of the run, if it has one; return what there is to say."""
        self.run.clean()
        if not self.run.step_files():
            self.run.rewind(self.trainer.step)
            return [f"nothing to resume: run {self.run.name} begins"]
        loader = None if position_of(self.train_loader) is None else self.train_loader
        path, damaged = load_newest(self.run, lambda path: self.trainer.load_checkpoint(path, loader))
        self.run.rewind(self.trainer.step)
        self.saved, self.losses = self.trainer.step, _validation_losses(self.run)
        notes = [f"{name} is damaged and set aside, so an older checkpoint is taken" for name in damaged]
        return [
            *notes,
            f"run {self.run.name} goes on from {path.name}: epoch {self.trainer.epoch}, step {self.trainer.step}",
        ]

    def all_epochs(self) -> None:
        """Train until the last epoch, or until somebody wishes to stop; an error leaves the last good checkpoint."""
        trainer = self.trainer
        if trainer.epoch >= self.options.epochs:
            self.note(f"run {self.run.name} has its {trainer.epoch} epochs; more of them train it on")
            return None if self.run.step_files() else self.save_end()
        trainer.watch = self.watch
        try:
            while trainer.epoch < self.options.epochs and not self.ended():
                self.one_epoch()
        except StopRun:
            pass
        except Exception as error:
            self.note(f"stopped at step {trainer.step}: {error}")
            name = not_finite(trainer.model)
            if name is None or not isinstance(error, ValueError):
                raise
            raise ValueError(f"{error}; {name} holds NaN or infinity already: lower the rate") from error
        finally:
            trainer.watch = None
        self.save_end()

    def ended(self) -> bool:
        """Whether there was a wish to stop, or the validation loss has not fallen for long enough."""
        patience = self.options.early_stopping
        if patience is not None and len(self.losses) - _best(self.losses) >= patience:
            self.note(f"stopped early: the validation loss has not fallen for {patience} epochs")
            return True
        return self.asked_to_stop

    def one_epoch(self) -> None:
        """Train, evaluate, note, keep, tell."""
        trainer, began = self.trainer, time.perf_counter()
        self.watch.begin_epoch()
        loss = trainer.train_epoch(self.train_loader, self.options.accumulation_steps)
        trained = time.perf_counter() - began
        val_loss, accuracy = self.evaluate()
        row = {"kind": "epoch", "epoch": trainer.epoch, "step": trainer.step, "train_loss": loss, "val_loss": val_loss}
        row |= {"accuracy": accuracy, "lr": trainer.optimizer.lr, "grad_norm": self.watch.norm, "seconds": trained}
        row["samples_per_second"] = self.watch.seen / max(trained, 1e-9)
        self.keep(row)
        self.shown.epoch(row)
        self.asked_to_stop |= any([bool(callback(trainer, row)) for callback in self.callbacks])
        self.asked_to_stop |= self.watch.stop or self.wishes_to_stop()
        self.asked_to_stop = self.ranks.any(self.asked_to_stop)

    def evaluate(self) -> tuple[float | None, float | None]:
        """Loss and accuracy on `val`, which the first rank measures for all."""
        if self.val is None:
            return None, None
        found = self.ranks.from_first(self.trainer.evaluate(self.val) if self.ranks.rank == 0 else None)
        if self.ranks.rank > 0:
            for name, value in zip(("eval_loss", "accuracy"), found):
                self.trainer.history[name].append(value)
        return found

    def keep(self, row: dict[str, Any]) -> None:
        """Note the epoch; save the best, the last, and a step where one is due: who is killed between goes on before."""
        self.run.record(row)
        self.run.log(", ".join(f"{name} {value:.6g}" for name, value in row.items() if isinstance(value, (int, float))))
        if row["val_loss"] is not None:
            self.losses.append(row["val_loss"])
            if _best(self.losses) == len(self.losses):
                self.save("best.ckpt")
        self.save("model_last.ckpt")
        if self.is_due():
            self.save_step()

    # What the watch tells

    def after_batch(self, loss: float) -> None:
        """Tell the user's callback, whose true answer ends the run."""
        if self.batch_callback is not None:
            row = {"epoch": self.trainer.epoch + 1, "step": self.trainer.step, "loss": loss}
            self.asked_to_stop |= bool(self.batch_callback(self.trainer, row))

    def wishes_to_stop(self) -> bool:
        """Whether this process would stop at the next boundary."""
        return self.asked_to_stop or self.interrupts.requested is not None

    def after_step(self, row: dict[str, Any]) -> None:
        """Note the step; within an epoch, save where it is due, and stop where that is wished for."""
        self.run.record(row)
        self.shown.step(row)
        if not within_epoch(self.train_loader):
            return
        if self.is_due():
            self.save_step()
        if self.watch.stop:
            raise StopRun

    # Files

    def is_due(self) -> bool:
        """Whether a multiple of save_interval lies between the last saved step and this one."""
        return self.trainer.step // self.options.save_interval > self.saved // self.options.save_interval

    def save_end(self) -> None:
        """Leave the run where it stands."""
        self.note(f"run {self.run.name} ends at epoch {self.trainer.epoch}, step {self.trainer.step}")
        self.save("model_last.ckpt")
        self.save_step()

    def save_step(self) -> None:
        """Save this step, and keep the newest few."""
        self.saved = self.trainer.step
        self.save(f"step_{self.trainer.step}.ckpt")
        self.run.keep_last(self.options.keep_last_n)

    def save(self, name: str) -> None:
        """Write a checkpoint into the run's folder, where there is one. Raises ValueError for weights that are NaN."""
        if self.run.folder is None:
            return
        broken = not_finite(self.trainer.model)
        if broken is not None:
            raise ValueError(f"step {self.trainer.step} made {broken} NaN or infinite; lower the rate, or clip")
        self.trainer.save_checkpoint(self.run.folder / name)

    def note(self, text: str) -> None:
        """Into the log, and onto the screen."""
        self.run.log(text)
        self.shown.note(text)


def _rate_told(trainer: Any) -> str:
    unit, optimizer = trainer.scheduled_by, trainer.optimizer
    return f"{type(trainer.scheduler).__name__} sets the rate before each {unit}" if unit else f"the rate is {optimizer.lr}"


def _validation_losses(run: Run) -> list[float]:
    """The validation loss of each epoch that had one; NaN is kept as null."""
    losses = (row["val_loss"] for row in run.rows_with("val_loss"))
    return [math.nan if loss is None else float(loss) for loss in losses]


def _best(losses: list[float]) -> int:
    """The number, from 1, of the epoch with the lowest loss; the first of equals; NaN never; 0 where there is none."""
    finite = [(loss, number) for number, loss in enumerate(losses, start=1) if not math.isnan(loss)]
    return min(finite)[1] if finite else 0


def _steps_an_epoch(loader: Any, accumulation_steps: int) -> int | None:
    batches = batches_in(loader)
    return None if batches is None else math.ceil(batches / accumulation_steps)
