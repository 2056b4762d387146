"""Growths in which all that a run must keep matters; run as a program it grows one, and can be killed.

python grown_of.py RUN_DIR [--case NAME] [--resume] [--workers N] [--slow SECONDS] [--tune] [--die CALL NUMBER]

Prints `ready`, then the digest of the end; makes the file `waits` when it is slow. `--die` kills the process by SIGKILL
at its so many-th call of fsync or replace, which only the writer of a file makes: at fsync half of the file is written
by then.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

NAMES = [f"feature {letter}" for letter in "abcdefghijk"]
CASES = ("network", "two", "three")
EPOCHS = 12  # of fine-tuning

Rows = tuple[np.ndarray, np.ndarray]


def rows(case: str, seed: int = 0, count: int = 640) -> list[Rows]:
    """Train, dev and val of 11 features: numbers, or classes of which the last is rare."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, len(NAMES)))
    signal = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * x[:, 3] + 0.1 * rng.normal(size=count)
    edges = {"network": [], "two": [1.0], "three": [-0.5, 1.0]}[case]
    y = signal if case == "network" else np.digitize(signal, edges)
    ends = [count * 5 // 8, count * 13 // 16]
    return list(zip(np.split(x, ends), np.split(y, ends)))


def network(case: str, **settings: Any) -> Any:
    """Two families and up to three layers; the parts of the candidates divide evenly among nobody."""
    from tinytorch import GMDHClassifier, GMDHConfig, GMDHNetwork

    config = GMDHConfig(**{"kinds": ("linear_cov", "quadratic"), "keep": 4, "max_layers": 3, "width": 3, **settings})
    return GMDHNetwork(config) if case == "network" else GMDHClassifier(config)


def trainer(run_dir: Path | None, workers: Any = None, batch_callback: Any = None, **settings: Any) -> Any:
    """One that is quiet."""
    from tinytorch import GrowthConfig, GrowthTrainer

    config = GrowthConfig(**{"run_dir": run_dir, "names": NAMES, "quiet": True, **settings})
    return GrowthTrainer(config, workers, batch_callback)


def grow(case: str, run_dir: Path | None, resume: Any = False, **settings: Any) -> Any:
    """The trainer after its training."""
    made = trainer(run_dir, **settings)
    train, dev, val = rows(case)
    made.train(network(case), train, dev, resume, val)
    return made


def digest(net: Any) -> str:
    """Of all that was grown: equal only when every bit is."""
    found = hashlib.sha256()
    for name, array in sorted(net.state_dict().items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def tune(made: Any, resume: bool = False, **settings: Any) -> Any:
    """A head, then mini-batches of Adam; the run of it."""
    made.train_head()
    return made.train_finetune(**{"epochs": EPOCHS, "patience": EPOCHS, "batch_size": 64, "resume": resume, **settings})


def blas_threads(part: Any) -> int:
    """How many there are where a part is fitted."""
    from threadpoolctl import threadpool_info

    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def die_at(call: str, number: int) -> None:
    """Let the system kill this process at the so many-th call."""
    real, calls = getattr(os, call), iter(range(1, 10**9))

    def counted(*words: Any) -> Any:
        if next(calls) == number:
            if call == "fsync":
                with suppress(OSError):  # a folder
                    os.ftruncate(words[0], os.fstat(words[0]).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*words)

    setattr(os, call, counted)


def main() -> None:
    """Grow, and print the digest of the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--case", default="network")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--slow", type=float, default=0.0)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--die", nargs=2, default=[])
    chosen = parser.parse_args()
    if chosen.die:
        die_at(chosen.die[0], int(chosen.die[1]))

    def slow(trainer: Any, row: dict[str, Any]) -> None:
        (chosen.run_dir / "waits").touch()
        time.sleep(chosen.slow)

    print("ready", flush=True)
    callback = slow if chosen.slow else None
    made = grow(chosen.case, chosen.run_dir, chosen.resume, workers=chosen.workers, batch_callback=callback)
    if chosen.tune:
        tune(made, chosen.resume)
    print(digest(made.net), flush=True)


if __name__ == "__main__":
    if importlib.util.find_spec("tinytorch") is None:  # a test that starts this often has put it on the path
        from tito.course import Course
        from tito.dev.export import reference

        sys.path.insert(0, str(reference(Course.find())))
    main()
