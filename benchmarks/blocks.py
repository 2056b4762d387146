"""All peers in alternating blocks, in one process: run.py starts it, once for each number of threads.

Every round times one block of every peer, in an order that rotates and is reversed every second time. Ratios are of a
peer's block to the block of the first peer in the same round. Writes JSON to standard output.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from peers import Missing
from workloads import WORKS, Work

BLOCK = 0.02  # seconds that a block lasts at least
LARGE = 31 * 2**17  # float64 numbers, a little under glibc's limit of 32 MiB
SLOW = 1e-4  # of the rate: in thousands of steps a unit would die, and arithmetic on its last tiny momenta is slow
STEPS, TOLERANCE = 4, 1e-4  # after so many steps the loss must agree

Step = Callable[[], float]


def peers(modules: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, str]]:
    """What can be timed here, and why the rest cannot."""
    found, left_out = dict[str, Any](), dict[str, str]()
    for module in modules:
        try:
            found |= importlib.import_module(f"peers.{module}").PEERS
        except Missing as reason:
            left_out[module.rstrip("_")] = str(reason)
    return found, left_out


def trial(step: Step) -> list[float]:
    return [step() for _ in range(STEPS + 1)]


def steps_of(work: Work, found: dict[str, Any], left_out: dict[str, str]) -> dict[str, Step]:
    """One `step` for each peer that takes part, after the check that all of them compute the same.

    What is timed is made anew with a small rate, so that the numbers stay what they are, however often a peer steps.
    """
    steps, losses = dict[str, Step](), dict[str, list[float]]()
    for name, make in found.items():
        try:
            step = make(work)
        except Missing as reason:
            left_out[f"{name}, {work.name}"] = str(reason)
            continue
        if step is not None:
            losses[name], steps[name] = trial(step), make(replace(work, lr=work.lr * SLOW))
            trial(steps[name])  # what compiles does so now
    wanted = next(iter(losses.values()))
    for name, got in losses.items():
        if not np.allclose(got, wanted, rtol=TOLERANCE, atol=0):
            raise SystemExit(f"{work.name}, {name}: the losses are {got}, not {wanted}; mend the peer")
    return steps


def length(step: Step) -> int:
    """How many steps make a block."""
    count, took = 1, 0.0
    while took < BLOCK / 4:
        began = time.perf_counter()
        for _ in range(count):
            step()
        took = time.perf_counter() - began
        count *= 2
    return max(1, math.ceil(1.1 * BLOCK * (count // 2) / took))


def block(step: Step, count: int) -> tuple[float, float]:
    """Seconds of wall and of processor a step."""
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    return (time.perf_counter() - wall) / count, (time.process_time() - processor) / count


def rounds(steps: dict[str, Step], number: int) -> dict[str, np.ndarray]:
    """Peer -> `(number, 2)`."""
    names, lengths = list(steps), {name: length(step) for name, step in steps.items()}
    taken = {name: np.zeros((number, 2)) for name in names}
    gc.collect()
    gc.freeze()  # nobody's collector walks through what the others imported
    for i in range(number):
        order = names[i % len(names) :] + names[: i % len(names)]
        for name in order[:: -1 if i % 2 else 1]:
            taken[name][i] = block(steps[name], lengths[name])
    gc.unfreeze()
    return taken


def spread(values: Any) -> list[float]:
    """Median, lower and upper quartile, four digits."""
    return [float(f"{value:.4g}") for value in np.percentile(values, (50, 25, 75))]


def summary(taken: dict[str, np.ndarray]) -> dict[str, Any]:
    """Seconds a step and ratios to the first peer, each as [median, lower quartile, upper quartile]."""
    base, names = next(iter(taken.values())), ("wall", "cpu")
    return {
        name: {
            **{kind: spread(times[:, i]) for i, kind in enumerate(names)},
            **{f"{kind}_ratio": spread(times[:, i] / base[:, i]) for i, kind in enumerate(names)},
        }
        for name, times in taken.items()
    }


def kernel() -> str:
    """Which kernels NumPy's BLAS runs on, as OpenBLAS calls them."""
    from threadpoolctl import threadpool_info

    numpys = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and "numpy" in pool["filepath"].lower()]
    return " ".join(f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}" for pool in numpys)


def keep_memory() -> None:
    """After an array of 31 MiB was freed, glibc keeps what smaller ones leave. Else that hangs on what ran before."""
    np.ones(LARGE)


def main(works: list[str], number: int, modules: tuple[str, ...]) -> dict[str, Any]:
    found, left_out = peers(modules)
    results = dict[str, Any]()
    keep_memory()
    for name in works:
        print(f"  {name}", file=sys.stderr, flush=True)
        results[name] = summary(rounds(steps_of(WORKS[name](name), found, left_out), number))
    return {"kernel": kernel(), "left_out": left_out, "works": results}


if __name__ == "__main__":
    chosen = json.loads(sys.argv[1])
    print(json.dumps(main(chosen["works"], chosen["rounds"], tuple(chosen["modules"]))))
