"""What several processes train; mpirun starts this file, and a test calls its `CASES` in one process to compare.

mpirun -n N python ranks_of.py cases FOLDER                 every case twice, told in FOLDER/RANK.json
mpirun -n N python ranks_of.py fails KIND                   a run in which rank 1 fails
mpirun -n N python ranks_of.py run RUN_DIR [--resume] ...   runs_of.py's run, by all ranks
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import runs_of
import tinytorch as tt
from tinytorch.parallel import Ranks

BATCH, SAMPLES = 4, 22  # with four batches to a step: windows of 16 and 6 rows
SKIP = -100  # CrossEntropyLoss leaves rows of this class out


def rank_of(comm: Any) -> int:
    return 0 if comm is None else int(comm.Get_rank())


def is_last(comm: Any) -> bool:
    return comm is None or comm.Get_rank() == comm.Get_size() - 1


def rows(samples: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    """Inputs `(samples, 4)` and classes from 0 to 2 `(samples,)`."""
    return tt.Generator(9).normal(0, 1, (samples, 4)), tt.Generator(8).integers(0, 3, (samples,))


def network(*between: Any, seed: int = 3) -> tt.Sequential:
    """4-8-3, with further modules between the layers."""
    rng = tt.Generator(seed)
    return tt.Sequential(tt.Linear(4, 8, rng=rng.split("a")), tt.Tanh(), *between, tt.Linear(8, 3, rng=rng.split("b")))


def loader(data: tuple[np.ndarray, np.ndarray], batch_size: int = BATCH, shuffle: bool = False) -> tt.DataLoader:
    return tt.DataLoader(tt.TensorDataset(*map(tt.Tensor, data)), batch_size=batch_size, shuffle=shuffle, seed=5)


def momentum(params: Any) -> tt.Optimizer:
    return tt.SGD(params, lr=0.1, momentum=0.9)


def told(trainer: Any, **more: Any) -> dict[str, Any]:
    """What is compared: weights, history, and a digest of all that a checkpoint would hold."""
    weights = {name: np.asarray(array).tolist() for name, array in trainer.model.state_dict().items()}
    return {"weights": weights, "history": trainer.history, "state": runs_of.state(trainer), **more}


def train(
    comm: Any,
    train: Any,
    optimizer: Any = momentum,
    model: Any = None,
    loss: Any = None,
    parts: Any = None,
    **options: Any,
) -> Any:
    """A new Trainer after three epochs, or as many as the options say."""
    model = network() if model is None else model
    trainer = tt.Trainer(model, optimizer(model.parameters()), loss or tt.CrossEntropyLoss(), **(parts or {}))
    trainer.fit(train, comm=comm, **{"epochs": 3, "quiet": True, **options})
    return trainer


# What one process does too, to 1e-5


def ragged(comm: Any) -> Any:
    """Each rank begins with weights of its own; the first one's are taken."""
    return told(train(comm, loader(rows(), shuffle=True), model=network(seed=3 + rank_of(comm)), accumulation_steps=4))


def fewer_rows_than_ranks(comm: Any) -> Any:
    return told(train(comm, loader(rows(5), batch_size=3)))  # batches of 3 and 2


def one_row(comm: Any) -> Any:
    return told(train(comm, loader(rows(1))))


def class_weights(comm: Any) -> Any:
    return told(train(comm, loader(rows(), shuffle=True), accumulation_steps=4, class_weights=[1.0, 2.0, 4.0]))


def balanced_classes(comm: Any) -> Any:
    return told(train(comm, loader(rows()), class_weights="balanced"))


def ignored_rows(comm: Any) -> Any:
    """The later half of every batch is left out: of two ranks the second has nothing that counts, of four two."""
    inputs, targets = rows(16)
    targets[2::4] = targets[3::4] = SKIP
    return told(train(comm, loader((inputs, targets))))


def classes_that_weigh_nothing(comm: Any) -> Any:
    inputs, targets = rows(16)
    targets[:] = [0, 2, 1, 1] * 4
    return told(train(comm, loader((inputs, targets)), class_weights=[1.0, 0.0, 3.0]))


def clipped(comm: Any) -> Any:
    return told(train(comm, loader(rows(), shuffle=True), tt.Adam, parts={"grad_clip_norm": 0.05}))


def by_the_step(comm: Any) -> Any:
    parts = {"scheduler": tt.WarmupCosineLR(0.05, 3, 18)}
    return told(
        train(comm, loader(rows(), shuffle=True), tt.AdamW, parts=parts, loss=tt.CrossEntropyLoss(label_smoothing=0.1))
    )


def a_loss_of_means(comm: Any) -> Any:
    """A function without total_weight: rows weigh 1."""
    inputs, targets = rows()
    data = inputs, targets[:, None] * np.ones((1, 3), dtype=np.float32)
    return told(train(comm, loader(data), loss=lambda prediction, wanted: ((prediction - wanted) ** 2).mean()))


class Branches(tt.Module):
    """A layer for every row, one for rows whose first number is above 0, and one for nobody."""

    def __init__(self) -> None:
        rng = tt.Generator(3)
        self.all, self.some, self.none = (tt.Linear(4, 3, rng=rng.split(name)) for name in ("all", "some", "none"))

    def forward(self, inputs: tt.Tensor) -> tt.Tensor:
        chosen = (inputs.data[:, :1] > 0).astype(np.float32)
        return self.all(inputs) + self.some(inputs) * tt.Tensor(chosen) if chosen.any() else self.all(inputs)


def reached_by_some(comm: Any) -> Any:
    """Batches in which the first row alone chooses the branch, and, every other time, none: momentum must rest then."""
    inputs, targets = rows(16)
    inputs[:, 0] = -1.0
    inputs[::8, 0] = 1.0
    trainer = train(comm, loader((inputs, targets)), tt.Adam, model=Branches())
    counts = [len(state) for state in trainer.optimizer.state]
    return told(trainer, remembered=counts, grads=[p.grad is None for p in trainer.optimizer.params])


def evaluated(comm: Any) -> Any:
    looks: list[int] = []

    def accuracy(prediction: Any, targets: Any) -> float:
        looks.append(len(targets))
        return float((prediction.data.argmax(axis=1) == targets.data).mean())

    trainer = train(comm, loader(rows()), parts={"accuracy": accuracy}, val=loader(rows(30), batch_size=7))
    assert bool(looks) == (rank_of(comm) == 0), looks  # the first rank looks for all
    return told(trainer)


def stopped_early(comm: Any) -> Any:
    def still(params: Any) -> tt.Optimizer:
        return tt.SGD(params, lr=0.0)

    data = loader(rows())
    return told(train(comm, data, still, val=data, epochs=50, early_stopping=3))


def ended_by_a_callback(comm: Any) -> Any:
    """The first rank's callback ends the run after its second epoch."""
    ends = [lambda trainer, row: rank_of(comm) == 0 and row["epoch"] == 2]
    return told(train(comm, loader(rows()), epochs=9, callbacks=ends))


def wishes_at(step: int, comm: Any, trainer: Any, row: Any) -> bool:
    """Whether this is the last rank, and this step."""
    return is_last(comm) and bool(trainer.step == step)


def ended_by_a_batch(comm: Any) -> Any:
    """The last rank's wish at its third batch ends the run of all at the fourth step."""
    trainer = train(comm, loader(rows()), batch_callback=partial(wishes_at, 3, comm))
    return told(trainer, steps=trainer.step)


def ended_by_an_epoch_s_last_batch(comm: Any) -> Any:
    """The last rank's wish comes when no step of the epoch is left to tell it."""
    trainer = train(comm, loader(rows()), batch_callback=partial(wishes_at, 6, comm))
    return told(trainer, steps=trainer.step)


def ended_by_the_last_rank_s_callback(comm: Any) -> Any:
    """After its second epoch."""
    ends = [lambda trainer, row: is_last(comm) and row["epoch"] == 2]
    return told(train(comm, loader(rows()), epochs=9, callbacks=ends))


ALIKE: dict[str, Callable[[Any], Any]] = {
    case.__name__: case
    for case in (
        ragged, fewer_rows_than_ranks, one_row, class_weights, balanced_classes, ignored_rows,
        classes_that_weigh_nothing, clipped, by_the_step, a_loss_of_means, reached_by_some, evaluated, stopped_early,
        ended_by_a_callback, ended_by_a_batch, ended_by_an_epoch_s_last_batch, ended_by_the_last_rank_s_callback,
    )
}  # fmt: skip


# What depends on the number of ranks, by its dropout


class Seen(tt.Module):
    """Hands on its input, and keeps which of it were dropped."""

    def __init__(self) -> None:
        self.masks: list[list[list[bool]]] = []

    def forward(self, inputs: tt.Tensor) -> tt.Tensor:
        self.masks.append((inputs.data == 0).tolist())
        return inputs


def dropped(comm: Any) -> Any:
    """Two steps of 16 rows: which units each rank dropped of its own rows."""
    seen = Seen()
    model = network(tt.Dropout(0.5, rng=tt.Generator(6)), seen)
    trainer = train(comm, loader(rows(32), batch_size=16), model=model, epochs=1)
    return told(trainer, masks=comm.allgather(seen.masks))


def gone_on(comm: Any) -> Any:
    """Runs that the last rank stops within and behind an epoch, gone on with: where they stopped, and how they end."""
    options: dict[str, Any] = {"epochs": 3, "accumulation_steps": 2, "quiet": True, "comm": comm}
    straight, *data = runs_of.build()
    straight.fit(*data, **options)
    stops, states = [], []
    for wish in (1, 2, 4, 7):
        trainer, *data = runs_of.build()
        wishes = partial(wishes_at, wish, comm)
        trainer.fit(*data, run_dir=f"stopped_{wish}", batch_callback=wishes, **options)
        stops.append(trainer.step)
        trainer, *data = runs_of.build(seed=4)
        trainer.fit(*data, run_dir=f"stopped_{wish}", resume=True, **options)
        states.append(runs_of.state(trainer))
    return told(straight, stops=stops, states=states)


def summed(comm: Any) -> Any:
    """Sums that come out otherwise in any other order, of one number to a hundred."""
    mine = [1e16, 1.0, -1e16, 1.0][comm.Get_rank()]
    return [Ranks(comm).all_reduce(np.full(n, mine)).tolist() for n in (1, 2, 3, 4, 5, 100)]


OWN: dict[str, Callable[[Any], Any]] = {case.__name__: case for case in (dropped, gone_on, summed)}


# Starts


def cases(comm: Any, folder: str) -> None:
    """Run every case twice, and tell both. Runs that are kept lie in the folder too."""
    os.chdir(folder)
    found = [{name: case(comm) for name, case in {**ALIKE, **OWN}.items()} for _ in range(2)]
    Path(f"{comm.Get_rank()}.json").write_text(json.dumps(found), encoding="utf-8")


def fails(comm: Any, kind: str) -> None:
    """Train for ever; rank 1 fails at its fifth batch, has rows that are not finite, or no rank has one that counts."""
    inputs, targets = rows()
    if kind == "nan":
        inputs[6] = np.nan  # the third row of batch 1
    if kind == "weightless":
        targets[8:12] = SKIP  # all of batch 2

    def fail(trainer: Any, row: Any) -> None:
        if comm.Get_rank() == 1 and trainer.step == 5:
            if kind == "raises":
                raise RuntimeError("rank 1 gives up")
            if kind == "leaves":
                sys.exit("rank 1 leaves")
            if kind == "killed":
                os.kill(os.getpid(), signal.SIGKILL)

    train(comm, loader((inputs, targets)), epochs=10**6, batch_callback=fail)


def run(comm: Any, run_dir: str, *options: str) -> None:
    """runs_of.py's run; "--slow" makes each batch last a fiftieth of a second."""
    trainer, data, val = runs_of.build()
    print("ready", flush=True)
    trainer.fit(
        data,
        val,
        epochs=runs_of.EPOCHS,
        run_dir=run_dir,
        resume="--resume" in options,
        accumulation_steps=runs_of.ACCUMULATION,
        batch_callback=lambda trainer, row: time.sleep(0.02 * ("--slow" in options)),
        comm=comm,
    )
    print("state", trainer.step, runs_of.state(trainer), flush=True)


if __name__ == "__main__":
    from mpi4py import MPI

    {"cases": cases, "fails": fails, "run": run}[sys.argv[1]](MPI.COMM_WORLD, *sys.argv[2:])
