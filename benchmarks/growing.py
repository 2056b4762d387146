"""The network of 1971 beside TorchSONN: the same rows, the same settings, R2 on the test rows and seconds of a fit.

    make bench-growing      installs TorchSONN beside everything else, runs this, writes growing.json

TorchSONN (github.com/kvoyager/torchsonn) grows the same kind of network, and fits its candidates by gradient descent;
here a unit is a least squares fit. Both have one thread and rows that are standardised, both are timed without imports
and start, fit by fit in turn, after a fit that is not counted. Two ways to set its optimizer: as its own quickstart
does, and in few steps, which lose little. `python benchmarks/growing.py PYTHON` takes the Python that has it.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "build" / "reference"), str(HERE.parent / "milestones")]

from beside import explained  # noqa: E402
from tables import Rows, cubic, friedman, load_table, split_table  # noqa: E402
from tinytorch import Generator, GMDHConfig, GMDHNetwork, exact_threads  # noqa: E402

RESULT, SEEDS = HERE / "growing.json", 5
SHARED = {"keep": 8, "max_layers": 8, "width": 2, "eps": 1e-3}
TASKS: list[tuple[str, Any, str]] = [
    ("cubic", cubic, "quadratic"),
    ("Friedman", friedman, "quadratic"),
    ("Friedman", friedman, "linear_cov"),
    ("Auto MPG", load_table("auto_mpg"), "linear_cov"),
]
WAYS = {  # to fit TorchSONN's candidates
    "theirs": {"steps": 500, "lr": 0.1, "precompute_features": False},
    "hasty": {"steps": 40, "lr": 1.0, "precompute_features": True},
}
SIDES = ("ours", *WAYS)
NEARER, FASTER = 0.01, 50  # what is asked for: R2 less by this at most, and so many times faster

Ask = Callable[[dict[str, Any]], dict[str, Any]]


def standardised(parts: tuple[Rows, ...]) -> list[Rows]:
    """Features and target by mean and deviation of the first part."""
    x, y = parts[0]
    return [((each - x.mean(axis=0)) / x.std(axis=0), (target - y.mean()) / y.std()) for each, target in parts]


@contextmanager
def other(python: str, folder: Path) -> Iterator[Ask]:
    """A process that fits TorchSONN networks, a task at a time. Raises SystemExit with what it said when it ends."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with open(folder / "said.txt", "w+", encoding="utf-8") as said:
        process = subprocess.Popen([python, HERE / "torchsonn_fit.py"], stderr=said, **pipes)

        def ask(task: dict[str, Any]) -> dict[str, Any]:
            print(json.dumps(task), file=process.stdin, flush=True)
            answer = process.stdout.readline() if process.stdout else ""
            if not answer:
                said.seek(0)
                raise SystemExit(f"{python} torchsonn_fit.py ended: {said.read()[-1000:]}")
            return dict(json.loads(answer))

        try:
            yield ask
        finally:
            process.kill()
            process.wait()


def compared(table: Any, kind: str, seed: int, ask: Ask, folder: Path) -> dict[str, Any]:
    """R2, seconds and layers of all on one split."""
    rng = Generator(seed)
    rows = standardised(split_table(table(rng) if callable(table) else table, rng))
    file, (x, y) = folder / "rows.npz", rows[2]
    parts = zip(("train", "dev", "test"), rows, strict=True)
    np.savez(file, **{f"{part}_{name}": array for part, both in parts for name, array in zip("xy", both, strict=True)})
    asked = {"rows": str(file), "kind": kind, "seed": seed, **SHARED}
    answers = {name: ask({**asked, **way}) for name, way in WAYS.items()}
    began = time.perf_counter()
    net = GMDHNetwork(GMDHConfig(kinds=(kind,), min_delta=0.0, **SHARED)).fit(rows[0], rows[1])
    seconds = time.perf_counter() - began
    answers["ours"] = {"said": net.predict(x), "seconds": seconds, "layers": len(net.layers)}
    return {
        side: {"r2": explained(np.array(told.pop("said")), y), **told}
        for side, told in ((side, answers[side]) for side in SIDES)
    }


def summed_up(name: str, kind: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of R2, medians of seconds, and the smallest ratio of these, by side."""
    r2 = {side: float(np.mean([run[side]["r2"] for run in runs])) for side in SIDES}
    seconds = {side: float(np.median([run[side]["seconds"] for run in runs])) for side in SIDES}
    least = {way: min(run[way]["seconds"] / run["ours"]["seconds"] for run in runs) for way in WAYS}
    return {"set": name, "family": kind, "r2": r2, "seconds": seconds, "least_ratio": least, "runs": runs}


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    found = []
    with tempfile.TemporaryDirectory() as place, other(sys.argv[1], Path(place)) as ask, exact_threads(1):
        compared(cubic, "quadratic", 0, ask, Path(place))  # the first of all is slower on both sides
        for name, table, kind in TASKS:
            runs = [compared(table, kind, seed, ask, Path(place)) for seed in range(SEEDS)]
            found.append(summed_up(name, kind, runs))
            print(line(found[-1]), flush=True)
        versions = ask({"versions": True})
    about = {"date": str(datetime.date.today()), "processor": platform.processor() or platform.machine()}
    about |= {
        "cores": os.cpu_count(),
        "versions": {"numpy": np.__version__, **versions},
        "settings": SHARED,
        "ways": WAYS,
    }
    RESULT.write_text(json.dumps({**about, "sets": found}, indent=1) + "\n", encoding="utf-8")
    return 0 if all(map(holds, found)) else 1


def holds(row: dict[str, Any]) -> bool:
    """Whether R2 is near enough to both, or better, and every fit faster as asked."""
    near = all(row["r2"]["ours"] >= row["r2"][way] - NEARER for way in WAYS)
    return near and min(row["least_ratio"].values()) >= FASTER


def line(row: dict[str, Any]) -> str:
    """A row of the table that is printed."""
    sides = (f"{side} R2 {row['r2'][side]:.4f} {row['seconds'][side]:.3f} s" for side in SIDES)
    least = " and ".join(f"{row['least_ratio'][way]:.0f}" for way in WAYS)
    return f"{row['set']:9} {row['family']:11} {'; '.join(sides)}; at least {least} times"


if __name__ == "__main__":
    sys.exit(main())
