"""How a training step scales over processes: measured here for 1, 2 and 4, and a model of 8 to 512.

    tito dev export && python benchmarks/scaling.py    starts mpirun, writes scaling.json; wants an idle machine

A step is one of `Trainer.fit` with Adam, on one BLAS thread a rank. The model, for gradients of `size` float64 bytes:

    step(N) = fixed + update + row * rows / N  [+ copy + latency * 2 (N - 1) + 2 size (N - 1) / N / bandwidth, N > 1]

The all_reduce is an Alltoallv, in which each rank writes to N - 1 others, and an Allgatherv, in MPICH a ring of N - 1
hops: 2 (N - 1) latencies, where a tree would have 2 log2 N. `copy` fills and empties the buffer. The constants are of
steps of 8 rows, `row` of 1,024 too. Overlap, which the runtime lacks, hides the all_reduce behind two thirds of `row`.

A rank that waits polls, and MPICH gives its core away only every 1,000 polls: with more ranks than cores each message
costs time slices of others. `MPIR_CVAR_POLLS_BEFORE_YIELD=10 mpirun ...`, as here, yields sooner: see the last line.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "build" / "reference"))

BLOCKS = 15
NETWORKS = {"784-128-10": (784, 128, 10), "1024-1024-10": (1024, 1024, 10)}
STEPS = {8: 10, 64: 10, 1024: 2}  # rows of a batch -> steps in a block
YIELDING, ONE_THREAD = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "10"}, {"OPENBLAS_NUM_THREADS": "1"}
MANY = [8, 16, 32, 64, 128, 256, 512]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(ends: list[float], block: int) -> list[float]:
    """Seconds a call, by when each ended: median and quartiles of the blocks, of which the first warms up."""
    return [float(value) for value in np.percentile(np.diff(ends[block - 1 :: block]) / block, (50, 25, 75))]


def timed(action: Any, block: int) -> list[float]:
    return spread([(action(), time.perf_counter())[1] for _ in range(block * (BLOCKS + 1))], block)


def clocked(owner: Any, name: str, spent: list[float]) -> None:
    """From now on, note the seconds of every call of the method."""
    action = getattr(owner, name)

    def call(*arguments: Any) -> Any:
        began = time.perf_counter()
        result = action(*arguments)
        spent.append(time.perf_counter() - began)
        return result

    setattr(owner, name, call)


def step(comm: Any, sizes: tuple[int, int, int], rows: int, parts: dict[str, list[float]]) -> dict[str, Any]:
    """Seconds a step of `fit`, and the median of what its parts take; bytes of the buffer."""
    import tinytorch as tt

    rng, ends = tt.Generator(0), list[float]()
    batch = tt.Tensor(rng.normal(0, 1, (rows, sizes[0]))), tt.Tensor(rng.integers(0, sizes[2], (rows,)))
    model = tt.Sequential(tt.Linear(*sizes[:2], rng=rng), tt.ReLU(), tt.Linear(*sizes[1:], rng=rng))
    trainer = tt.Trainer(model, tt.Adam(model.parameters()), tt.CrossEntropyLoss())
    options = {"batch_callback": lambda trainer, row: ends.append(time.perf_counter()), "comm": comm, "quiet": True}
    for seconds in parts.values():
        seconds.clear()
    trainer.fit([batch] * (STEPS[rows] * (BLOCKS + 1)), epochs=1, **options)
    found = {name: float(np.median(seconds)) for name, seconds in parts.items() if seconds}
    return {"step": spread(ends, STEPS[rows]), "size": 8 * sum(p.data.size for p in model.parameters()), **found}


def measure() -> None:
    from mpi4py import MPI
    from tinytorch import Adam
    from tinytorch.parallel import Ranks

    ranks, small = Ranks(MPI.COMM_WORLD), np.ones(16)
    found: dict[str, Any] = {"small": timed(lambda: ranks.all_reduce(small), 50)}
    if "--small" not in sys.argv:
        parts: dict[str, list[float]] = {"reduce": [], "all_reduce": [], "update": []}
        for name, (owner, method) in zip(parts, [(Ranks, "reduce"), (Ranks, "all_reduce"), (Adam, "step")]):
            clocked(owner, method, parts[name])
        for name, sizes in NETWORKS.items():
            found[name] = {rows: step(ranks.comm, sizes, rows, parts) for rows in STEPS}
    if ranks.rank == 0:
        print(json.dumps(found))


def started(ranks: int, *options: str, **environment: str) -> dict[str, Any]:
    command = [Path(sys.executable).with_name("mpirun"), "-n", str(ranks), sys.executable, __file__, "--rank", *options]
    env = {**os.environ, **ONE_THREAD, **environment}
    return dict(json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True, timeout=900).stdout))


def constants(one: dict[str, Any], two: dict[str, Any], small: float) -> dict[str, float]:
    """The model's of a network, by its steps. Of two ranks, 2 latencies and `size` bytes make an all_reduce."""
    few, many, update, parts = one["8"]["step"][0], one["1024"]["step"][0], one["8"]["update"], two["8"]
    row, size, wire = (many - few) / (1024 - 8), parts["size"], parts["all_reduce"] - small
    alone = {"fixed": max(few - 8 * row - update, 0.0), "update": update, "copy": parts["reduce"] - parts["all_reduce"]}
    return {**alone, "row": row, "size": size, "latency": small / 2, "bandwidth": size / wire}


def predicted(of: dict[str, float], rows: int, ranks: int, overlap: bool = False) -> float:
    compute, alone = of["row"] * rows / ranks, of["fixed"] + of["update"] + of["copy"] * (ranks > 1)
    wire = of["latency"] * 2 * (ranks - 1) + 2 * of["size"] * (ranks - 1) / ranks / of["bandwidth"]
    return alone + (compute / 3 + max(compute * 2 / 3, wire) if overlap else compute + wire)


def show_measured(found: dict[int, Any], model: dict[str, Any]) -> None:
    heads = [f"{ranks}{', oversubscribed' * (ranks > CORES)}" for ranks in found] + ["the model's 2"]
    print(f"{'ms a step (quartiles), ranks:':<30}" + "".join(f"{head:>24}" for head in heads))
    for name, rows in [(name, rows) for name in NETWORKS for rows in STEPS]:
        times = [[1e3 * seconds for seconds in found[ranks][name][str(rows)]["step"]] for ranks in found]
        cells = [f"{median:.2f} ({low:.2f}-{high:.2f})" for median, low, high in times]
        cells.append(f"{1e3 * predicted(model[name], rows, 2):.2f}")
        print(f"{f'{name}, {rows} rows':<30}" + "".join(f"{cell:>24}" for cell in cells))


def show_model(model: dict[str, Any]) -> dict[str, list[float]]:
    print("\nA model, whose constants were measured on this one machine by shared memory: speed-up (efficiency)")
    print(f"{'ranks':<34}" + "".join(f"{ranks:>13}" for ranks in MANY))
    gains = {}
    for name, rows, overlap in [(n, r, o) for n in NETWORKS for r in (64, 1024, 65536) for o in (False, True)]:
        case, alone = f"{name}, {rows} rows{', overlap' * overlap}", predicted(model[name], rows, 1)
        gains[case] = [alone / predicted(model[name], rows, ranks, overlap) for ranks in MANY]
        print(f"{case:<34}" + "".join(f"{f'{gain:.1f} ({gain / n:.0%})':>13}" for gain, n in zip(gains[case], MANY)))
    return gains


def main() -> None:
    told = {"machine": platform.machine(), "cores": CORES, "load_before": os.getloadavg()[0], "numpy": np.__version__}
    told |= {"python": platform.python_version(), "system": platform.system(), "date": str(datetime.date.today())}
    found = {ranks: started(ranks, **YIELDING) for ranks in (1, 2, 4)}
    plain = started(4, "--small")["small"]
    model = {name: constants(found[1][name], found[2][name], found[2]["small"][0]) for name in NETWORKS}
    show_measured(found, model)
    told |= {"measured": found, "small_as_mpich_comes": plain, "model": model, "ranks": MANY, "gain": show_model(model)}
    print(f"small all_reduce of 4 ranks: {1e6 * plain[0]:.0f} us, yielding {1e6 * found[4]['small'][0]:.0f} us")
    Path(__file__).with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    measure() if "--rank" in sys.argv else main()
