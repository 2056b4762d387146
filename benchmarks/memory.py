"""How many bytes training keeps: measured beside estimated, one process for each optimizer.

    tito dev export && python benchmarks/memory.py

Measured is by how much what Python and NumPy hold (tracemalloc) grew. Estimated is 4 bytes a number, by the shapes. Not
estimated: the most held at once in the second step, and the growth of the largest resident memory. Not for Windows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tracemalloc import get_traced_memory, reset_peak, start

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "build" / "reference"))

SIZES, BATCH = (512, 1024, 512, 10), 256  # 1,055,242 parameters
MOMENTS = {"SGD": 0, "momentum": 1, "Adam": 2}  # arrays that the optimizer keeps for each parameter
PARTS = ("parameters", "activations", "gradients", "moments", "most at once", "resident")


def estimate(optimizer: str) -> dict[str, int]:
    """Bytes by the shapes. Kept for backward: what goes into each ReLU and what comes out, the scores and the loss."""
    parameters = 4 * sum((inputs + 1) * outputs for inputs, outputs in zip(SIZES, SIZES[1:]))
    activations = 4 * (BATCH * (2 * sum(SIZES[1:-1]) + SIZES[-1]) + 1)
    return dict(zip(PARTS, (parameters, activations, parameters, MOMENTS[optimizer] * parameters)))


def measure(optimizer: str) -> dict[str, int]:
    """Bytes in this process."""
    from tinytorch import SGD, Adam, CrossEntropyLoss, Generator, Linear, ReLU, Sequential, Tensor

    rng, loss_of, resident = Generator(0), CrossEntropyLoss(), largest_resident()
    x, y = Tensor(rng.normal(0, 1, (BATCH, SIZES[0]))), Tensor(rng.integers(0, SIZES[-1], (BATCH,)))
    start()
    first, second, third = (Linear(inputs, outputs, rng=rng) for inputs, outputs in zip(SIZES, SIZES[1:]))
    model = Sequential(first, ReLU(), second, ReLU(), third)
    made = Adam(model.parameters()) if optimizer == "Adam" else SGD(model.parameters(), 0.01, 0.9 * MOMENTS[optimizer])
    built = get_traced_memory()[0]
    loss = loss_of(model(x), y)
    forward = get_traced_memory()[0]
    loss.backward()
    backward = get_traced_memory()[0]
    made.step()
    parts = built, forward - built, backward - built, get_traced_memory()[0] - backward
    made.zero_grad()
    reset_peak()
    loss_of(model(x), y).backward()
    made.step()
    parts += get_traced_memory()[1], largest_resident() - resident
    return dict(zip(PARTS, parts))


def largest_resident() -> int:
    """Bytes of memory that this process had at its largest."""
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if len(sys.argv) > 1:
    print(json.dumps(measure(sys.argv[1])))
else:
    found = {name: json.loads(subprocess.check_output([sys.executable, __file__, name])) for name in MOMENTS}
    print(" " * 12 + "".join(f"{name:>22}" for name in MOMENTS))
    print(f"{'bytes':<12}" + f"{'measured':>11}{'estimate':>11}" * len(MOMENTS))
    for part in PARTS:
        pairs = [(found[name][part], estimate(name).get(part)) for name in MOMENTS]
        print(f"{part:<12}" + "".join(f"{one:>11,}{'' if two is None else f'{two:,}':>11}" for one, two in pairs))
