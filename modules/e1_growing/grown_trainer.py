"""Grows a network in a run that can be left alone: a folder, a stop, going on, workers. Supplied with lesson e1.

Trace it, don't write it: begin at `GrowthTrainer.train`, then at `Growth` in grown_run.py. Runs are those of lesson 08,
so what keeps them is imported when a trainer is made: a package of lessons 01 and e1 alone grows by `net.fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from tinytorch.grown_head import fit_head
from tinytorch.grown_rows import Rows
from tinytorch.settings import integer

if TYPE_CHECKING:
    from tinytorch.runs import Run

__all__ = ["GrowthConfig", "GrowthTrainer"]


@dataclass(frozen=True)
class GrowthConfig:
    """How a growth is run; how the network grows is its own GMDHConfig's.

    `run_dir` is the folder of runs, None for none; each run's keeps the newest `keep_last_n` step checkpoints. `names`
    are the features', for log and formula. `class_weights`, an array `(C,)` or "balanced", weigh the squared errors and
    the read-out of a classifier. `seed` orders the rows when the network is fine-tuned. `quiet` prints nothing.

    Raises TypeError or ValueError, in one sentence, for a setting that cannot be meant.
    """

    run_dir: str | PathLike[str] | None = None
    keep_last_n: int = 3
    names: Sequence[str] | None = None
    class_weights: Any = None
    seed: int = 0
    quiet: bool = False

    def __post_init__(self) -> None:
        integer("GrowthConfig: keep_last_n", self.keep_last_n, least=1)
        integer("GrowthConfig: seed", self.seed)
        given = self.names  # may be an array, which has no truth value
        names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else given
        if names is not None and not (isinstance(names, tuple) and all(isinstance(name, str) for name in names)):
            raise TypeError(f"GrowthConfig: names must be texts, one a feature, got {given!r:.80}")
        object.__setattr__(self, "names", names)


class GrowthTrainer:
    """Grows a GMDHNetwork or a GMDHClassifier, keeps the run, and goes on with it to the same bits.

    `workers` fit the candidates: how many processes, an Executor, a Dask client, or an MPI communicator on whose ranks
    all of this program runs; None for this process alone. The bits are the same with any of them.
    `batch_callback(trainer, row)` is called for each part of the candidates that was fitted; a true answer ends the run
    after the family at hand. `net` and `run` are those of the last `train`.

    Raises RuntimeError without lesson 08 in the package, TypeError or ValueError for parts that cannot be meant.
    """

    def __init__(
        self,
        config: GrowthConfig | None = None,
        workers: Any = None,
        batch_callback: Callable[[GrowthTrainer, dict[str, Any]], Any] | None = None,
    ) -> None:
        if find_spec("tinytorch.training") is None:
            lessons = "lessons 01 to 08 in the package, whose runs it keeps"
            raise RuntimeError(f"GrowthTrainer: needs {lessons}; without them call net.fit(train, dev)")
        from tinytorch.grown_workers import require_workers

        if config is not None and not isinstance(config, GrowthConfig):
            raise TypeError(f"GrowthTrainer: config must be a GrowthConfig, got a {type(config).__name__}")
        if batch_callback is not None and not callable(batch_callback):
            raise TypeError(f"GrowthTrainer: batch_callback must be a function, got {batch_callback!r:.80}")
        require_workers(workers)
        self.config, self.workers, self.batch_callback = config or GrowthConfig(), workers, batch_callback
        self.net: Any = None
        self.run: Run | None = None
        self.rows: dict[str, Rows] = {}
        self.step = 0

    def train(self, net: Any, train: Any, dev: Any, resume: bool | str | PathLike[str] = False, val: Any = None) -> Run:
        """Grow `net` on rows (x, y) or (x, y, weights), or those of a loader; return the run.

        Fitted on `train`, chosen on `dev`, measured on `val`. In the run's folder are train.log, metrics.jsonl (a line a
        family and a layer), config.json, model_last.ckpt, and step_S.ckpt after each family of each layer: S counts
        families. `resume=True` goes on with the newest growth in `run_dir` that has one, a name with that run, and the
        end has the bits of a growth that was never stopped. Ctrl-C, and SIGTERM on POSIX, end the run after the family
        at hand, with a checkpoint; then KeyboardInterrupt or SystemExit is raised.

        Raises TypeError or ValueError for rows that cannot be meant, or a run of other rows or settings, FileNotFoundError
        for a run that is not there, CheckpointError when none of its checkpoints is whole.
        """
        from tinytorch.grown_run import grow

        if isinstance(net, type) or not hasattr(net, "fit_family"):
            raise TypeError(f"train: needs a GMDHNetwork() or a GMDHClassifier(), got {net!r:.80}")
        given = {"train": train, "dev": dev} | ({} if val is None else {"val": val})
        return grow(self, net, given, resume)

    def train_head(self, ridge: float = 1e-3) -> None:
        """Read the last layer by a weighted sum of all its units, or those of each class; see `fit_head`."""
        fit_head(self._grown("train_head"), self.rows["train"], ridge)
        self._keep(f"head fitted to {len(self.rows['train'].y)} rows")

    def train_finetune(
        self,
        optimizer: Callable[[Any], Any] | None = None,
        epochs: int = 300,
        patience: int = 30,
        batch_size: int | None = None,
        resume: bool = False,
    ) -> Run:
        """Train all coefficients together by gradients, and keep those of the lowest error on dev; return that run.

        `optimizer(parameters)` makes an optimizer, Adam at 0.01 unless told; a step takes `batch_size` rows, all of them
        for None. It ends after `epochs`, or `patience` of them without a lower error on dev. The run lies in the folder
        `finetune` of the growth's own and can be resumed like any. What the prediction does not depend on is pruned.
        `batch_callback` is told of each batch, by a row with epoch, step and loss. Where no error is lower than the one
        from before, the network stays as it was.
        """
        from tinytorch.grown_tuning import tune

        return tune(self, self._grown("train_finetune"), optimizer, epochs, patience, batch_size, resume)

    def prune(self) -> None:
        """Drop every unit that the prediction does not depend on; it stays the same to the last bit."""
        self._grown("prune").prune()
        self._keep(f"pruned; the prediction depends on {', '.join(self.active_names())}")

    def predict(self, loader: Any) -> np.ndarray:
        """What the network says of each row, in the loader's order, float64.

        `(N,)` values of a GMDHNetwork; of a GMDHClassifier logits `(N,)` for two classes, log-probabilities `(N, C)` for
        more. `loader` gives batches (x, y), and keeps its place; an array `(N, D)` is one batch. The batches do not
        change a bit. Raises RuntimeError before anything is grown, TypeError or ValueError for rows that don't fit.
        """
        net = self._grown("predict")
        if hasattr(loader, "shape"):
            return np.asarray(net.predict(loader))
        from tinytorch.batches import evaluation_pass

        with evaluation_pass(loader) as batches:
            return np.concatenate([net.predict(inputs) for inputs, _ in batches])

    def formula(self, digits: int = 4) -> str:
        """The prediction as lines of Python, by the names of the features."""
        return str(self._grown("formula").formula(self.config.names, digits))

    def names(self) -> list[str]:
        """The names of the features; x0, x1, ... where none were given."""
        return list(self.config.names or (f"x{column}" for column in range(self.rows["train"].x.shape[1])))

    def active_names(self) -> list[str]:
        """The names of the features that the prediction depends on."""
        return [self.names()[column] for column in self.net.active_features()]

    def _grown(self, asked: str) -> Any:
        if self.net is None:
            raise RuntimeError(f"{asked}: nothing is grown yet; call train(net, train, dev) first")
        if not self.net.finished:
            raise RuntimeError(f"{asked}: {self.net.where} is open; call train(..., resume=True) to go on")
        return self.net

    def _keep(self, told: str) -> None:
        """Note it, and save the network as it is now."""
        from tinytorch.grown_run import save_last

        save_last(self, told)
