"""Counts instructions a training step, by which a slower engine is noticed on any machine, however busy.

    tito dev export && python benchmarks/guard.py             compare with guard.json; 1 when a count grew by over 5 %
    python benchmarks/guard.py --record                       write the counts to guard.json, a change made on purpose
    python benchmarks/guard.py --package DIR                  of another build: the folder that holds tinytorch

A run of 100 steps and one of 300 go through `valgrind --tool=callgrind`; the difference, by 200, is a step. Valgrind
counts the same for the same program: two runs differ by less than 0.1 %. Another Python, NumPy or kernel of the BLAS is
another program, so counts stand in guard.json for each; for one that is not there the counts are printed, and pass.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RECORD = HERE / "guard.json"
SHORT, LONG = 100, 300  # steps
GROWTH = 0.05
# Nothing may depend on the order of a set, on what lies in a cache, or on how many cores there are.
FIXED = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
# The kernel is the one that OpenBLAS takes for the processor that valgrind shows, whatever is under it.
LEFT_OUT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONPATH")
MISSING = "valgrind is not installed; install it with: sudo apt-get install valgrind"


def xor() -> tuple[Any, ...]:
    """W1: XOR by 2-4-1, sigmoid and mean squared error, four samples at once, plain SGD."""
    import tinytorch as tt

    rng = tt.Generator(0)
    model = tt.Sequential(tt.Linear(2, 4, rng=rng), tt.Sigmoid(), tt.Linear(4, 1, rng=rng))
    rows, answers = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.0], [1.0], [1.0], [0.0]]
    return model, tt.MSELoss(), tt.SGD(model.parameters(), 0.5), tt.Tensor(rows), tt.Tensor(answers)


def digits() -> tuple[Any, ...]:
    """W2: 64-32-10, ReLU and cross entropy, batches of 32, SGD with momentum; numbers in place of handwriting."""
    import tinytorch as tt

    rng = tt.Generator(0)
    model = tt.Sequential(tt.Linear(64, 32, rng=rng), tt.ReLU(), tt.Linear(32, 10, rng=rng))
    rows, answers = tt.Tensor(rng.normal(0, 1, (32, 64))), tt.Tensor(rng.integers(0, 10, (32,)))
    return model, tt.CrossEntropyLoss(), tt.SGD(model.parameters(), 0.1, momentum=0.9), rows, answers


WORKLOADS = {"W1": xor, "W2": digits}


def train(workload: str, steps: int) -> None:
    """The program that is counted; it tells what it ran on."""
    model, loss_of, optimizer, rows, answers = WORKLOADS[workload]()
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model(rows), answers).backward()
        optimizer.step()
    print(kind())


def kind() -> str:
    """What the count depends on: Python, NumPy, and the kernel of its BLAS."""
    import numpy as np
    from threadpoolctl import threadpool_info

    kernels = [found.get("architecture", found["internal_api"]) for found in threadpool_info()]
    python = ".".join(map(str, sys.version_info[:2]))
    return f"Python {python}, NumPy {np.__version__}, {kernels[0] if kernels else 'no kernel'}"


def counted(package: Path, workload: str, steps: int) -> tuple[int, str]:
    """Instructions of a whole run, and what it ran on."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        sys.exit(MISSING)
    tool = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    run = [sys.executable, "-s", __file__, "--package", str(package), "--train", workload, str(steps)]
    kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
    done = subprocess.run([*tool, *run], env={**kept, **FIXED}, capture_output=True, encoding="utf-8", check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or found is None:
        sys.exit(f"{workload} did not run under valgrind: {done.stderr[-2000:]}")
    return int(found[1]), done.stdout.strip()


def a_step(package: Path, workload: str) -> tuple[int, str]:
    (short, kind), (long, _) = (counted(package, workload, steps) for steps in (SHORT, LONG))
    return round((long - short) / (LONG - SHORT)), kind


def judged(counts: dict[str, int], before: dict[str, int]) -> tuple[list[str], bool]:
    """A line about each count, and whether none grew too much over those before; what was never counted passes."""
    lines = [f"{name}  {now:>12,} instructions a step, {told(now, before.get(name))}" for name, now in counts.items()]
    return lines, all(now <= (1 + GROWTH) * before.get(name, now) for name, now in counts.items())


def told(now: int, before: int | None) -> str:
    if before is None:
        return "nothing recorded to compare with"
    return f"{now / before - 1:+.1%}" + f", over {GROWTH:.0%}" * (now > (1 + GROWTH) * before)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--package", type=Path, default=HERE.parent / "build" / "reference")
    options.add_argument("--record", action="store_true")
    options.add_argument("--train", nargs=2, metavar=("WORKLOAD", "STEPS"), help=argparse.SUPPRESS)
    chosen = options.parse_args()
    sys.path.insert(0, str(chosen.package))
    if chosen.train:
        train(chosen.train[0], int(chosen.train[1]))
        return 0
    found = {name: a_step(chosen.package, name) for name in WORKLOADS}
    counts, kind = {name: count for name, (count, _) in found.items()}, found["W1"][1]
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    lines, passed = judged(counts, recorded.get(kind, {}))
    print("\n".join([kind, *lines]))
    if chosen.record:
        RECORD.write_text(json.dumps({**recorded, kind: counts}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    elif not passed:
        print("Find the change that did it; if it was meant, record it: python benchmarks/guard.py --record")
    return 0 if passed or chosen.record else 1


if __name__ == "__main__":
    sys.exit(main())
