"""1969: what one layer cannot do.

Marvin Minsky and Seymour Papert proved that no perceptron computes XOR, true when exactly one of two inputs is. To fire
at (0, 1) and at (1, 0) it needs b + w2 > 0 and b + w1 > 0, so 2b + w1 + w2 > 0; to be still at (0, 0) and (1, 1) it
needs b <= 0 and b + w1 + w2 <= 0, so 2b + w1 + w2 <= 0. Here 100,000 settings of your own Linear try all the same, and
then two layers, set by hand, do it. How a machine finds such weights by itself is the third milestone.
(Minsky and Papert, "Perceptrons", MIT Press 1969.)

Expected: AND and OR are found among the settings; XOR never: 3 of 4 at best. The two layers: 4 of 4.
"""

from __future__ import annotations

import sys

import numpy as np
from exhibit import GREY, ORANGE, Row, canvas, judge, options, percent, regions, report, save
from tinytorch import Generator, Linear, Sequential, Sigmoid, Tensor

SETTINGS = 100_000  # drawn between -1 and 1, bias too: whether a unit fires depends on the proportions only
UNITS = 10_000  # settings tried at once, side by side as the outputs of one Linear
STEEP = 20.0  # hand-set weights: so large that the sigmoid is a switch, 0.00005 or 0.99995
INPUTS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
ANSWERS = {"AND": [0, 0, 0, 1], "OR": [0, 1, 1, 1], "XOR": [0, 1, 1, 0]}


def search(answers: list[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Try every setting: how many got 0, 1, 2, 3, 4 right `(5,)`, and the best one, w1 w2 b `(3,)`."""
    generator = Generator(seed)
    layer = Linear(2, UNITS, rng=generator)
    inputs, wanted = Tensor(INPUTS), Tensor(answers).reshape(4, 1)
    counts, best, most = np.zeros(5, dtype=int), np.zeros(3), -1
    for _ in range(SETTINGS // UNITS):
        settings = generator.uniform(-1, 1, (UNITS, 3))
        layer.weight.data[:], layer.bias.data[:] = settings[:, :2], settings[:, 2]
        fires = layer(inputs) > 0  # (4, UNITS)
        right = (fires == wanted).sum(dim=0).data  # (UNITS,), each 0 to 4
        counts += np.bincount(right, minlength=5)
        if right.max() > most:
            most, best = right.max(), settings[right.argmax()]
    return counts, best


def two_layers_by_hand() -> Sequential:
    """XOR as (first OR second) AND NOT (first AND second): three units, nine numbers."""
    hidden, output = Linear(2, 2, rng=Generator(0)), Linear(2, 1, rng=Generator(0))
    hidden.weight.data[:] = [[STEEP, STEEP], [-STEEP, -STEEP]]
    hidden.bias.data[:] = [-0.5 * STEEP, 1.5 * STEEP]  # fires from one input on; fires unless both are on
    output.weight.data[:] = [[STEEP, STEEP]]
    output.bias.data[:] = [-1.5 * STEEP]  # fires when both hidden units do
    return Sequential(hidden, Sigmoid(), output)


def one_layer(setting: np.ndarray) -> Linear:
    """A Linear of one unit with the weights w1, w2 and the bias b of `setting`."""
    unit = Linear(2, 1, rng=Generator(0))
    unit.weight.data[:], unit.bias.data[:] = setting[None, :2], setting[2:]
    return unit


def answers_of(model: Linear | Sequential, points: np.ndarray) -> np.ndarray:
    """What the model's only unit puts out at each point. `(N, 2) -> (N,)`"""
    return model(Tensor(points)).data[:, 0]


def picture_search(counts: dict[str, np.ndarray], seed: int) -> str:
    """How many settings got how many rows right, for each function."""
    figure, axes = canvas(3, f"Seed {seed}. {SETTINGS:,} settings drawn for each function.", sharey=True)
    for axis, (name, count), colour in zip(axes, counts.items(), (GREY, GREY, ORANGE), strict=True):
        axis.bar_label(axis.bar(np.arange(5), count, color=colour), fmt="{:,.0f}", fontsize=9)
        axis.set(title=f"{name}: {count[4]:,} settings get all four", xlabel="rows of the truth table that are right")
    axes[0].set(ylabel="settings")
    return save(figure, "m2_search")


def main() -> int:
    chosen = options(__doc__)
    found = {name: search(answers, chosen.seed) for name, answers in ANSWERS.items()}
    counts = {name: count for name, (count, _) in found.items()}
    best = {name: int(np.flatnonzero(count).max()) for name, count in counts.items()}
    single, double = one_layer(found["XOR"][1]), two_layers_by_hand()
    wanted = np.array(ANSWERS["XOR"]) == 1
    alone = int(np.sum((answers_of(single, np.array(INPUTS)) > 0) == wanted))
    by_hand = int(np.sum((answers_of(double, np.array(INPUTS)) > 0) == wanted))
    rows = [
        judge(f"{name}, one layer: best of {SETTINGS:,}", best[name], "4 of 4", best[name] == 4, f"{best[name]} of 4")
        for name in ("AND", "OR")
    ]
    share = counts["XOR"][3] / SETTINGS
    rows += [
        judge(f"XOR, one layer: best of {SETTINGS:,}", best["XOR"] / 4, "exactly 75 %", best["XOR"] == alone == 3),
        Row("XOR, one layer: settings with 3 of 4", share, percent(share)),
        judge("XOR, two layers set by hand", by_hand, "4 of 4", by_hand == 4, f"{by_hand} of 4"),
    ]
    shown = {
        f"Best of {SETTINGS:,} single layers: {alone} of 4": lambda points: answers_of(single, points),
        f"Two layers set by hand: {by_hand} of 4": lambda points: answers_of(double, points),
    }
    pictures = [picture_search(counts, chosen.seed), regions("m2_regions", f"Seed {chosen.seed}.", shown)]
    return report("m2 XOR 1969", rows, pictures, chosen)


if __name__ == "__main__":
    sys.exit(main())
