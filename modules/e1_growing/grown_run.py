"""One growth as a run: family by family, each with a checkpoint. Supplied with lesson e1: trace it, don't write it.

Begin at `grow`, then `begun` and `Growth.all_layers`. Folders are those of runs.py, ranks those of parallel.py. A step
is a family of a layer; its checkpoint is written when the layer is closed, where that was its last family, so whoever
goes on from it does what the run would have done next. What `Run` calls a step is counted over all networks of a
classifier.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tinytorch.batches import evaluation_pass
from tinytorch.checkpoint import CheckpointError, read_checkpoint, write_checkpoint
from tinytorch.grown import Map
from tinytorch.grown_formula import identifiers
from tinytorch.grown_rows import Rows, weighed
from tinytorch.grown_units import FAMILIES
from tinytorch.grown_workers import communicator, one_thread, spread
from tinytorch.interrupts import Interrupts
from tinytorch.parallel import Alone, ranks_of
from tinytorch.progress import Progress, progress
from tinytorch.resuming import load_newest, opened
from tinytorch.run_config import listed
from tinytorch.runs import Run

__all__: list[str] = []  # the package hands on none of this

TRAINER = "GrowthTrainer"  # in config.json and in checkpoints


def grow(trainer: Any, net: Any, given: dict[str, Any], resume: bool | str | PathLike[str]) -> Run:
    """See `GrowthTrainer.train`."""
    if trainer.config.run_dir is None and resume:
        raise ValueError("train: resume needs a run_dir in GrowthConfig, the folder that holds the runs")
    ranks = ranks_of(communicator(trainer.workers))
    with ExitStack() as inside:
        inside.enter_context(ranks.together())  # before the rows are looked at: one rank's may be refused
        inside.enter_context(one_thread)
        before = [(changed, dict(vars(changed))) for changed in (net, trainer)]
        try:
            growth = begun(trainer, net, given, resume, ranks, inside)
        except BaseException:
            for changed, values in before:
                vars(changed).update(values)  # what is refused changes nothing
            raise
        growth.all_layers()
    growth.interrupts.raise_requested()  # out here, where it is no rank's failure
    return growth.run


def begun(trainer: Any, net: Any, given: dict[str, Any], resume: Any, ranks: Alone, inside: ExitStack) -> Growth:
    """The growth of `net` on the rows that are given, in its run, from where that stands."""
    trainer.net = net
    trainer.rows = weighed(net, {n: rows_in(data) for n, data in given.items()}, trainer.config.class_weights)
    net.begin(**trainer.rows)
    config = configuration(trainer)
    require_same_rows(ranks, config)
    run = opened(trainer.config.run_dir, resume, config) if ranks.rank == 0 else Run.unsaved(config)
    trainer.run = inside.enter_context(run)
    inside.enter_context(run.locked())
    fit_map = inside.enter_context(spread(trainer.workers))
    interrupts = inside.enter_context(Interrupts())
    shown = inside.enter_context(progress(0, None, quiet=trainer.config.quiet or ranks.rank > 0))
    growth = Growth(trainer, net, run, ranks, interrupts, fit_map, shown)
    growth.start(bool(resume))
    Run.current = run if run.folder else Run.current
    return growth


def rows_in(data: Any) -> Any:
    """The rows of a loader, in its order; anything else as it is."""
    if isinstance(data, (tuple, list)) or hasattr(data, "shape") or not isinstance(data, Iterable):
        return data
    with evaluation_pass(data) as batches:
        parts = [(inputs.data, targets.data) for inputs, targets in batches]
    return tuple(np.concatenate(column) for column in zip(*parts))


def configuration(trainer: Any) -> dict[str, Any]:
    """What decides every bit of the growth, in plain values, and the names of the features."""
    net, chosen = trainer.net, trainer.config
    names = None if chosen.names is None else list(chosen.names)
    identifiers(names, trainer.rows["train"].x.shape[1])  # raises where the formula would
    return {
        "trainer": TRAINER,
        "net": type(net).__name__,
        "grows": listed(asdict(net.config)),
        "penalty": getattr(net, "penalty", None),
        **{name: described(trainer.rows[name]) if name in trainer.rows else None for name in ("train", "dev", "val")},
        "class_weights": listed(chosen.class_weights),
        "seed": int(chosen.seed),
        "names": names,
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }


def described(rows: Rows) -> dict[str, Any]:
    """How many rows and features, and a digest of their bits."""
    digest = hashlib.sha256()
    for array in rows:
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return {"rows": len(rows.y), "features": rows.x.shape[1], "sha256": digest.hexdigest()}


def require_same_rows(ranks: Alone, config: dict[str, Any]) -> None:
    """Raise ValueError unless all ranks grow alike: each fits its part of the same candidates."""
    if ranks.any(config != ranks.from_first(config)):
        raise ValueError("train: the ranks have other rows or settings; load and split the data alike on each of them")


@dataclass
class Growth:
    """One call of `train`, from where the network stands until it has grown."""

    trainer: Any
    net: Any
    run: Run
    ranks: Alone
    interrupts: Interrupts
    fit_map: Map
    shown: Progress

    def start(self, resume: bool) -> None:
        """Go on from the run's checkpoint where there is one."""
        self.step, self.asked_to_stop = 0, False
        if resume and self.ranks.rank == 0:
            self.go_on()
        self.step, state = self.ranks.from_first((self.step, self.net.state_dict() if self.step else None))
        if self.ranks.rank > 0 and state is not None:
            self.net.load_state_dict(state)

    def go_on(self) -> None:
        """Load the newest whole checkpoint of the run, where it has one."""
        self.run.clean()
        if not self.run.step_files():
            self.run.rewind(0)
            return
        path, damaged = load_newest(self.run, self.load)
        self.run.rewind(self.step)
        for name in damaged:
            self.note(f"{name} is damaged and set aside, so an older checkpoint is taken")
        self.note(f"run {self.run.name} goes on from {path.name}: {self.net.where or 'all layers are grown'}")

    def load(self, path: Path) -> None:
        """Raises CheckpointError for a file that is damaged, or no growth's."""
        content = read_checkpoint(path)
        step, state = content.get("step"), content.get("model")
        if content.get("trainer") != TRAINER or type(step) is not int or step < 1:
            raise CheckpointError(f"{path.name} is no checkpoint of a growth", "refused")
        try:
            self.net.load_state_dict(state)
        except ValueError as error:
            raise CheckpointError(f"{path.name}: {error}", "refused") from error
        if not self.net.finished and not self.net.pending():
            raise CheckpointError(f"{path.name} has a layer that is open and tried every family", "refused")
        self.step = step

    def all_layers(self) -> None:
        """Grow to the end, or until somebody wishes to stop; an error leaves the last good checkpoint."""
        try:
            while not self.net.finished and not self.ranks.any(self.wishes_to_stop()):
                self.one_family()
        except Exception as error:
            self.note(f"stopped at {self.net.where}: {error}")
            if self.interrupts.requested is None or self.ranks.size > 1:
                raise  # else workers heard the signal too, and ended before this process
        if self.net.finished:
            features = ", ".join(self.trainer.active_names())
            self.note(f"run {self.run.name} has grown: the prediction depends on {features}")
        else:
            self.note(f"run {self.run.name} stops before {', '.join([self.net.where, *self.net.pending()[:1]])}")
        self.trainer.step = self.step
        if self.last_saved() != self.step:
            save(self.run, "model_last.ckpt", self.content())

    def last_saved(self) -> int:
        """The step of model_last.ckpt: where all is grown it may hold what came after, a head or a fine-tuned network."""
        try:
            return int(read_checkpoint(self.run.model_last).get("step", -1)) if self.run.folder else -1
        except (FileNotFoundError, CheckpointError):
            return -1

    def wishes_to_stop(self) -> bool:
        """Whether this process would stop here."""
        return self.asked_to_stop or self.interrupts.requested is not None

    def one_family(self) -> None:
        """Fit, keep the best so far, close the layer where all families were tried; note it and save it."""
        kind, where, began = self.net.pending()[0], self.net.where, time.perf_counter()
        self.tried = 0
        self.net.fit_family(kind, self.told(where, kind))
        self.step += 1
        row = {"kind": "family", "step": self.step, "place": where, "family": kind, "candidates": self.tried}
        self.record({**row, "seconds": time.perf_counter() - began})
        if not self.net.pending():
            self.close(where)
        save(self.run, f"step_{self.step}.ckpt", self.content())
        self.run.keep_last(self.trainer.config.keep_last_n)

    def told(self, where: str, kind: str) -> Map:
        """The workers' `map`, of whose answers the user's callback is told."""
        callback: Callable[..., Any] | None = self.trainer.batch_callback

        def counted(family: Any, parts: Sequence[np.ndarray]) -> Iterator[Any]:
            total = sum(map(len, parts))
            for part, found in zip(parts, self.fit_map(family, parts)):
                self.tried += len(part)
                yield found
                if callback is not None:
                    row = {"place": where, "family": kind, "step": self.step, "done": self.tried, "candidates": total}
                    self.asked_to_stop |= bool(callback(self.trainer, row))

        return counted

    def close(self, where: str) -> None:
        """Close the layer; tell its error, and what its best unit reads."""
        number = getattr(self.net, "growing", None)
        network = self.net if number is None else self.net.networks[number]
        row = {"kind": "layer", "step": self.step, "place": where, "best": self.best_of(network)}
        self.net.close_layer()
        row["dev_error"] = network.layer_errors[-1]
        row["val_error"] = network.val_errors[-1] if network.val_errors else None
        self.record(row)
        if number is None or network.finished:
            self.shown.note(_told(row))

    def best_of(self, network: Any) -> str:
        """`quadratic of weight and unit 3 below`: the best unit of the open layer."""
        best = network.opened.best
        if not len(best):
            return "none"
        names = self.trainer.names()
        reads = [names[at] if at < len(names) else f"unit {at - len(names)} below" for at in best.pairs[0].tolist()]
        return f"{FAMILIES[best.families[0]]} of {reads[0]} and {reads[1]}"

    def record(self, row: dict[str, Any]) -> None:
        """Into the metrics and the log."""
        self.run.record(row)
        self.run.log(_told(row))

    def note(self, text: str) -> None:
        """Into the log, and onto the screen."""
        self.run.log(text)
        self.shown.note(text)

    def content(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return content_of(self.net, self.step)


def _told(row: dict[str, Any]) -> str:
    """`layer 2: dev_error 0.104, val_error 0.12, best quadratic of weight and unit 3 below`"""
    shown = ("family", "candidates", "dev_error", "val_error", "best", "seconds")
    values = {name: row[name] for name in shown if row.get(name) is not None}
    parts = (f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items())
    return f"{row['place']}: {', '.join(parts)}"


def content_of(net: Any, step: int) -> dict[str, Any]:
    """A checkpoint: the step that it follows, and the network's arrays by name."""
    return {"trainer": TRAINER, "net": type(net).__name__, "step": step, "model": net.state_dict()}


def save(run: Run, name: str, content: dict[str, Any]) -> None:
    """Write a file into the run's folder, where there is one."""
    if run.folder is not None:
        write_checkpoint(run.folder / name, content)


def save_last(trainer: Any, told: str) -> None:
    """Tell what was done to the grown network, save it as it is now, and let `load_model` find it."""
    with trainer.run as run, run.locked():
        run.log(told)
        save(run, "model_last.ckpt", content_of(trainer.net, trainer.step))
    Run.current = run if run.folder else Run.current
    with progress(0, None, quiet=trainer.config.quiet or ranks_of(communicator(trainer.workers)).rank > 0) as shown:
        shown.note(told)
