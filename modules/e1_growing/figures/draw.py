"""The figures of lesson e1. The networks in them are grown by the lesson's own solutions, in a process of their own."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tito.course import Course
from tito.dev import export
from tito.dev.figures import CELL, Chart, Sheet

ROOT = Path(__file__).parents[3]
PROGRAM = """
import json
import numpy as np
from itertools import combinations
from tinytorch.generator import Generator
from tinytorch.growing import GMDHConfig, GMDHNetwork, expand, fit_candidates, regularity, respond

rng = Generator(0)
x = rng.uniform(0, 1, (800, 10)).astype(float)
y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
y = y + rng.normal(0, 1, 800)
train, dev, test = zip(np.split(x, [400, 600]), np.split(y, [400, 600]))
pairs = np.array(list(combinations(range(10), 2)))
terms, seen = (expand(rows[0].T[pairs[:, 0]], rows[0].T[pairs[:, 1]], "quadratic") for rows in (train, dev))
errors = regularity(respond(seen, fit_candidates(terms, train[1], 1e-6)), dev[1])
net, free = (GMDHNetwork(GMDHConfig(clamp=clamp)) for clamp in (True, False))
net.fit(train, dev, test), free.fit(train, dev)
times = np.linspace(0, 3, 61)
moved = test[0][7] * times[:, None]
small = GMDHNetwork(GMDHConfig(keep=4, max_layers=4)).fit(train, dev)
small.prune()
print(json.dumps({
    "pairs": pairs.tolist(), "errors": errors.tolist(), "dev": net.layer_errors, "test": net.val_errors,
    "times": times.tolist(), "clamped": net.predict(moved).tolist(), "free": free.predict(moved).tolist(),
    "layers": [[layer.pairs.tolist(), layer.errors.tolist()] for layer in small.layers],
}))
"""


@cache
def grown() -> dict[str, Any]:
    """What the lesson's networks are like, seed 0."""
    course = Course.load(ROOT)
    lesson = course.lesson("e1")
    inputs = [export.fold_input(each) for each in (*course.needs_of(lesson), lesson)]
    command = [sys.executable, "-c", PROGRAM]
    told = subprocess.run(command, cwd=export._kept(course, inputs), capture_output=True, check=True, encoding="utf-8")
    return dict(json.loads(told.stdout))


def network() -> Sheet:
    """The pruned network of four layers: a unit is a box with its error on dev."""
    layers, sheet = grown()["layers"], Sheet(720, 250)
    columns = [column for pairs, _ in layers for pair in pairs for column in pair]
    read = list(dict.fromkeys(column for column in columns if column < 10))  # in the order in which layers read them
    places = {(-1, column): (40.0, 45.0 + 45 * row) for row, column in enumerate(read)}
    for column in read:
        sheet.words(f"x{column}", 15, places[-1, column][1] + 5)
    for number, (pairs, errors) in enumerate(layers):
        for unit, (pair, error) in enumerate(zip(pairs, errors)):
            x, y = 150.0 + 130 * number, 67.0 + 45 * number + 55 * unit
            places[number, unit] = x + 70, y
            sheet.box(f"{error:.3f}", x, y - CELL / 2, 70)
            sources = [places[(-1, column) if column < 10 else (number - 1, column - 10)] for column in pair]
            for side, source in enumerate(sorted(sources, key=lambda place: place[1])):
                sheet.arrow(*source, x, y - 8 + 16 * side)
    end = places[len(layers) - 1, 0]
    sheet.words("each unit with its error on dev", 240, 52)
    return sheet.arrow(*end, 650, end[1]).words("y", 660, end[1] + 5)


def pairs() -> Sheet:
    """Every pair of the first layer, how much of the target it explains in percent."""
    table = np.zeros((10, 10))
    for (i, j), error in zip(grown()["pairs"], grown()["errors"]):
        table[i, j] = table[j, i] = round(100 * max(0.0, 1 - error))
    sheet = Sheet(470, 470).grid(table, 50, 50, "explained on dev, % (seed 0)")
    for number in range(10):
        sheet.words(f"x{number}", 42, 50 + number * CELL + CELL / 2 + 5, "end")
    return sheet


def layers() -> Chart:
    chart = Chart("Most is found in the first three layers", "layer (seed 0)", "error, share of the mean's")
    for name in ("dev", "test"):
        chart.axis.plot(grown()[name], "o-", markersize=4, label=name)
    chart.axis.set(ylim=(0, 0.65))
    chart.axis.legend(frameon=False)
    return chart


def clamp() -> Chart:
    chart = Chart("One row moved outward: with limits its prediction stays", "times as far out (seed 0)", "prediction")
    for name, label in (("free", "without limits"), ("clamped", "with limits")):
        chart.axis.plot(grown()["times"], np.clip(grown()[name], -1e6, 1e6), label=label)
    chart.axis.set(ylim=(-40, 60))
    chart.axis.legend(frameon=False, loc="upper left")
    return chart


FIGURES = {"e1_network": network, "e1_pairs": pairs, "e1_layers": layers, "e1_clamp": clamp}
