"""Training holds its memory: after the first steps nothing grows, with Python's garbage collector off.

Each measurement is a process of its own. TITO_LONG=1 measures 10,000 steps instead of 1,000.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import tinytorch

STEPS = 10_000 if os.environ.get("TITO_LONG") else 1_000
MEGABYTE = 2**20

TRAINING = """
import gc, json, sys
gc.disable()
sys.path.insert(0, sys.argv[1])
layers, clip, steps = sys.argv[2], float(sys.argv[3]) or None, int(sys.argv[4])
from tinytorch import (
    Adam, CrossEntropyLoss, DataLoader, Dropout, Generator, Linear, ReLU, Sequential, Tensor, TensorDataset, Trainer
)

class Cycle(ReLU):
    def apply(self, *inputs):
        self.result = ReLU.apply(self, *inputs)  # an operation and its tensor that hold each other
        return self.result

    def release(self):
        pass

class Hoard(ReLU):
    kept = []

    def forward(self, a):
        self.kept.append(len(self.kept) / 3)  # a number a step
        return ReLU.forward(self, a)

rng = Generator(0)
between = {
    "plain": [ReLU()],
    "dropout": [ReLU(), Dropout(0.2, rng=rng.split("dropout"))],
    "cycle": [Cycle()],
    "hoard": [Hoard()],
}[layers]
model = Sequential(Linear(64, 32, rng=rng), *between, Linear(32, 10, rng=rng))
dataset = TensorDataset(Tensor(rng.normal(0, 1, (320, 64))), Tensor(rng.integers(0, 10, (320,))))
loader = DataLoader(dataset, batch_size=32, shuffle=True)  # 10 batches an epoch
trainer = Trainer(model, Adam(model.parameters()), CrossEntropyLoss(), grad_clip_norm=clip)

def reading():
    if sys.platform == "win32":
        return 0, 0  # Windows tells neither without a package; the other two figures hold there as well
    import resource
    usage = resource.getrusage(resource.RUSAGE_SELF)
    if sys.platform != "linux":
        return usage.ru_minflt, usage.ru_maxrss  # in bytes on macOS, and the most so far
    with open("/proc/self/statm", encoding="ascii") as file:
        return usage.ru_minflt, int(file.read().split()[1]) * resource.getpagesize()

def train(steps):
    while trainer.step < steps:
        trainer.train_epoch(loader)

train(300)
gc.collect()  # what importing left; this also empties the interpreter's own stores of freed tuples and the like
blocks, before = sys.getallocatedblocks(), reading()
train(300 + steps)
after = reading()
unreachable = gc.collect()
blocks = sys.getallocatedblocks() - blocks
print(json.dumps(dict(faults=after[0] - before[0], bytes=after[1] - before[1], unreachable=unreachable, blocks=blocks)))
"""


def growth(layers: str, clip: float = 0.0) -> Mapping[str, int]:
    """What STEPS steps after the first 300 added: page faults, resident bytes, unreachable objects, Python's blocks."""
    package = str(Path(tinytorch.__file__).parent.parent)
    command = [sys.executable, "-c", TRAINING, package, layers, str(clip), str(STEPS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment, encoding="utf-8")
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(("layers", "clip"), [("plain", 0.0), ("plain", 1.0), ("dropout", 1.0)])
def test_memory_holds_flat(layers: str, clip: float) -> None:
    """Measured on Linux: 5 faults in 1,000 steps and 41 in 10,000, as many as the pages by which memory grew.

    What grows is the trainer's history: a list by a rate each step, and one block each epoch, its mean loss. Nothing is
    unreachable: no step leaves a cycle for the collector.
    """
    grown = growth(layers, clip)
    assert grown["unreachable"] == 0
    assert grown["blocks"] <= 0.5 * STEPS
    assert grown["bytes"] <= 2 * MEGABYTE
    assert grown["faults"] <= 0.1 * STEPS


def test_a_cycle_is_noticed() -> None:
    grown = growth("cycle")
    assert grown["unreachable"] >= STEPS
    if sys.platform != "win32":
        assert grown["bytes"] > 2 * MEGABYTE
        assert grown["faults"] > 0.1 * STEPS


def test_a_number_kept_a_step_is_noticed() -> None:
    assert growth("hoard")["blocks"] > 0.5 * STEPS
