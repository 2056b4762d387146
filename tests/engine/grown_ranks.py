"""What several ranks grow together; mpirun starts this file.

mpirun -n N python grown_ranks.py cases FOLDER        grown_of.py's cases by all ranks, told in FOLDER/RANK.json
mpirun -n N python grown_ranks.py fails KIND          a growth for which rank 1 has other rows, or fails
mpirun -n N python grown_ranks.py run FOLDER          one that is slow, and goes on where it was stopped
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from grown_of import CASES, digest, grow, network, rows, trainer, tune
from mpi4py import MPI

COMM = MPI.COMM_WORLD
LAST = COMM.Get_size() - 1


def cases(folder: Path) -> dict[str, Any]:
    """The digest of each case, and of others: weighed, stopped by the last rank and gone on with, tuned."""
    found: dict[str, Any] = {case: digest(grow(case, None, workers=COMM).net) for case in CASES}
    found["weighed"] = digest(grow("three", None, workers=COMM, class_weights="balanced").net)
    grow("three", folder / "runs", workers=COMM, batch_callback=lambda made, row: COMM.Get_rank() == LAST)
    made = grow("three", folder / "runs", workers=COMM, resume=True)
    found["gone on"] = digest(made.net)
    said = made.predict(rows("three")[2][0]).tobytes()
    tune(made)
    made.prune()
    assert made.predict(rows("three")[2][0]).tobytes() != said
    made.config = type(made.config)(quiet=False)
    made.train_head()  # one line on the screen, whatever the number of ranks
    return {**found, "tuned": digest(made.net)}


def fails(kind: str) -> None:
    """Grow while rank 1 has something else."""
    train, dev, _ = rows("network")
    settings: dict[str, Any] = {}
    if COMM.Get_rank() == 1:
        if kind == "other rows":
            train[0][3, 3] += 1e-12
        elif kind == "NaN":
            train[0][3, 3] = np.nan
        elif kind == "other features":
            train, dev = ((x[:, 1:], y) for x, y in (train, dev))
        elif kind == "other settings":
            settings = {"seed": 4}
        elif kind == "a callback":
            settings = {"batch_callback": refuse}
    made = trainer(None, workers=COMM, **{"names": None, **settings})
    made.train(network("network"), train, dev)
    print("grown", flush=True)


def refuse(made: Any, row: dict[str, Any]) -> None:
    raise OSError("rank 1 gives up")


def main() -> None:
    """Do what the command line says."""
    kind, word = sys.argv[1:]
    if kind == "cases":
        found = cases(Path(word))
        (Path(word) / f"{COMM.Get_rank()}.json").write_text(json.dumps(found), encoding="utf-8")
    elif kind == "fails":
        fails(word)
    else:
        slow = Path(word).exists() or (lambda made, row: time.sleep(0.05))
        made = grow("three", Path(word), True, workers=COMM, batch_callback=None if slow is True else slow)
        print("state", digest(made.net), flush=True)


if __name__ == "__main__":
    main()
