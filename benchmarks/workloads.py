"""What is timed: the data, sizes and settings, the same for every peer. Begin at `Work`.

A peer module in peers/ has `PEERS`: a name in the table -> a function that takes a `Work` and gives a function `step`,
or None where the peer does not take part. `step()` is one training step (or one evaluation) on the peer's own state; it
returns the loss from before the step as a Python float, as a loop that reports its loss needs it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
EPS = 1e-5  # added to the variance, as in PyTorch's layer norm
BETAS, ADAM_EPS = (0.9, 0.999), 1e-8


@dataclass
class Work:
    """One workload. Arrays are float32, labels int64; who changes an array takes a copy of it first.

    `weights` holds (weight `(out, in)`, bias `(out,)`) a layer, in PyTorch's layout; of W6 its one pair is the scale
    and the shift `(1024,)`. `optimizer` is "sgd", "momentum", "adam" or "" (evaluate only).
    """

    name: str
    kind: str  # "xor", "classes", "norm" or "epoch"
    x: np.ndarray
    y: np.ndarray
    weights: list[tuple[np.ndarray, np.ndarray]]
    optimizer: str
    lr: float


def stream(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def layers(*sizes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """First weights as PyTorch draws them: uniform within 1 / sqrt(in)."""
    rng = stream(1)

    def draw(inputs: int, *shape: int) -> np.ndarray:
        return ((rng.random(shape, dtype=np.float32) * 2 - 1) / np.float32(inputs**0.5)).astype(np.float32)

    return [(draw(i, o, i), draw(i, o)) for i, o in zip(sizes, sizes[1:])]


def digits() -> tuple[np.ndarray, np.ndarray]:
    """All 1,797 of them, `(1797, 64)` and `(1797,)`, as the third milestone reads them."""
    sys.path.insert(0, str(ROOT / "milestones"))
    from digits import load_digits

    return load_digits()


def drawn(rows: int, *sizes: int) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Normal inputs, random labels, first weights."""
    rng = stream(0)
    x = rng.standard_normal((rows, sizes[0]), dtype=np.float32)
    return x, rng.integers(0, sizes[-1], rows), layers(*sizes)


def w1(name: str) -> Work:
    """XOR: 2-4-1, sigmoids, mean squared error."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    y = np.array([[0], [1], [1], [0]], np.float32)
    return Work(name, "xor", x, y, layers(2, 4, 1), "sgd", 0.5)


def w2(name: str, optimizer: str = "momentum") -> Work:
    """Digits: 64-32-10, ReLU, cross entropy."""
    pixels, labels = digits()
    return Work(name, "classes", pixels[:32].copy(), labels[:32].copy(), layers(64, 32, 10), optimizer, 0.05)


def w3(name: str, optimizer: str = "adam") -> Work:
    return Work(name, "classes", *drawn(64, 784, 128, 10), optimizer, 1e-3)


def w4(name: str) -> Work:
    return Work(name, "classes", *drawn(256, 1024, 1024, 1024, 10), "adam", 1e-3)


def w6(name: str) -> Work:
    """Layer norm, softmax, and the mean over the rows of the sum of shares times `y`.

    `x` is learned too, so that the loss shows a wrong gradient of it; the rate is large because the shares are small.
    """
    rng = stream(0)
    x, y = (rng.standard_normal((256, 1024), dtype=np.float32) for _ in range(2))
    scale, shift = rng.standard_normal((2, 1024), dtype=np.float32) / 10
    return Work(name, "norm", x, y, [(1 + scale, shift)], "sgd", 300.0)


def w8(name: str) -> Work:
    pixels, labels = digits()
    return Work(name, "epoch", pixels, labels, layers(64, 32, 10), "momentum", 0.05)


WORKS = {
    "W1": w1,
    "W2": w2,
    "W3": w3,
    "W4": w4,
    "W6": w6,
    "W7/W2": lambda name: w2(name, ""),
    "W7/W3": lambda name: w3(name, ""),
    "W8": w8,
}
TITLES = {
    "W1": "XOR MLP 2-4-1, sigmoid, mean squared error, 4 samples, SGD",
    "W2": "digits MLP 64-32-10, ReLU, cross entropy, batch 32, SGD with momentum",
    "W3": "MLP 784-128-10, ReLU, cross entropy, batch 64, Adam",
    "W4": "MLP 1024-1024-1024-10, ReLU, cross entropy, batch 256, Adam",
    "W6": "layer norm and softmax on (256, 1024), forward, backward and SGD",
    "W7/W2": "W2, forward and loss only",
    "W7/W3": "W3, forward and loss only",
    "W8": "an epoch of W2 over 1,797 digits, shuffled, by DataLoader and Trainer, beside the bare loop",
}
