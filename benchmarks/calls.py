"""How many Python functions a step calls: by hand, and by TinyTorch. Why small steps take longer than NumPy by hand.

tito dev export && python benchmarks/calls.py     writes calls.json in seconds; the products want an idle machine

The products are W3's first: by hand weights lie as `(in, out)`, in the lessons as in PyTorch as `(out, in)`.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"
for chosen in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # as run.py: the kernel is the machine's own
    os.environ.pop(chosen, None)

import numpy as np  # noqa: E402
from peers import by_hand, ours  # noqa: E402
from workloads import WORKS  # noqa: E402

STEPS = 4  # the first few make what later ones have


def called(step: Callable[[], float]) -> int:
    """Python functions that one step calls, itself left out; a generator counts each time it goes on."""
    for _ in range(STEPS):
        step()
    count = 0

    def hear(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(hear)
    step()
    sys.setprofile(None)
    return count - 1


def products() -> dict[str, float]:
    """Microseconds of `(64, 784) @ (784, 128)`, the weight once as it lies by hand and once as in the lessons."""
    x, weight = np.random.default_rng(0).random((2, 784, 128), dtype=np.float32)
    x, turned = np.ascontiguousarray(x[:, :64].T), np.ascontiguousarray(weight.T)
    ways = {"x @ w": lambda: x.dot(weight), "x @ w.T": lambda: x.dot(turned.T)}
    rounds = [{name: timeit.timeit(way, number=100) for name, way in ways.items()} for _ in range(50)]
    return {name: round(1e4 * min(each[name] for each in rounds), 1) for name in ways}


def main() -> None:
    found: dict[str, dict[str, int]] = {}
    for name, make in WORKS.items():
        steps = {peer: of(make(name)) for peer, of in {**by_hand.PEERS, **ours.PEERS}.items()}
        found[name] = {peer: called(step) for peer, step in steps.items() if step is not None}
        print(f"{name:<6} {found[name]}")
    told = {"python": platform.python_version(), "numpy": np.__version__, "calls": found, "products": products()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
