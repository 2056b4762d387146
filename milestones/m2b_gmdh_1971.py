"""1971: the network that grew itself.

Two years after XOR had closed the book on one layer, Alexey Ivakhnenko of Kiev described networks of eight layers. No
gradient trains them: each unit is a polynomial of two inputs, fitted by least squares; a layer keeps the units that do
best on rows that nothing was fitted to, and the next layer is grown on top of these. Here your GMDHNetwork grows on
functions that are known, and on real tables of cars, flowers, wines, tumours and digits. ("Polynomial theory of complex
systems", IEEE Transactions on Systems, Man, and Cybernetics SMC-1(4), 1971.)

Expected: one unit is XOR, and no network finds the parity of three bits. With ten features, half of them noise, it
beats a polynomial of all of them. It reads 92 % of the digits, and the network of 1986 reads more.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from beside import both, compared, explained, right_in_1986
from exhibit import Row, at_least, below, judge, options, percent, report, waits
from growth_pictures import picture_beside, picture_layers, picture_network
from tables import Rows, Table, cubic, digits_table, friedman, load_table, split_table
from tinytorch import Generator, GMDHClassifier, GMDHConfig, GMDHNetwork

SEEDS, FEW = 20, 5  # how rows are split comes from so many seeds; from few for what takes its time
NUMBERS = GMDHConfig(kinds=("quadratic",))
CLASSES = GMDHConfig(kinds=("linear_cov",))  # the tables are small, so a unit has four coefficients, not six
DIGITS = GMDHConfig(kinds=("linear_cov",), keep=16, max_layers=4)
HAS_TRAINER = find_spec("tinytorch.training") is not None  # what lessons 06 to 08 make is shown, if they are exported


class Grown(NamedTuple):
    """A network and the rows that it grew on, was chosen by and is judged by."""

    net: GMDHNetwork
    train: Rows
    dev: Rows
    test: Rows


def grow(table: Any, seed: int) -> Grown:
    """A network on a table, or on one that is drawn; the test rows are measured layer by layer and decide nothing."""
    rng = Generator(seed)
    train, dev, test = split_table(table(rng) if callable(table) else table, rng)
    return Grown(GMDHNetwork(NUMBERS).fit(train, dev, test), train, dev, test)


def fine_tuned(grown: Grown) -> float:
    """R2 after all coefficients were trained together, by lessons 06 to 08."""
    from tinytorch import GrowthConfig, GrowthTrainer

    trainer = GrowthTrainer(GrowthConfig(quiet=True))
    trainer.train(GMDHNetwork(NUMBERS), grown.train, grown.dev)
    trainer.train_finetune()
    return explained(trainer.predict(grown.test[0]), grown.test[1])


def right(table: Table, config: GMDHConfig, seed: int) -> float:
    """The share of test rows of which the classifier names the class."""
    train, dev, test = split_table(table, Generator(seed))
    return float((GMDHClassifier(config).fit(train, dev).classify(test[0]) == test[1]).mean())


def show_bits() -> list[Row]:
    """Exclusive or, and the parity of three bits; every row is in train and in dev, for there are no others."""
    two, three = (np.array(list(np.ndindex(*[2] * bits)), dtype=np.float64) for bits in (2, 3))
    xor, odd = two.sum(axis=1) % 2, three.sum(axis=1) % 2
    net = GMDHNetwork(GMDHConfig(kinds=("linear_cov",))).fit((two, xor), (two, xor))
    net.prune()
    unit, units = net.layers[0], sum(len(layer) for layer in net.layers)
    product = float(unit.coefficients[0, 3] / unit.scale[0].prod() * net.target[1])
    fine = int(np.sum((net.predict(two) > 0.5) == (xor == 1)))
    said = GMDHNetwork(NUMBERS).fit((three, odd), (three, odd)).predict(three)
    return [
        judge("XOR, one unit: rows right", fine, "4 of 4", fine == 4 and units == 1, f"{fine} of 4"),
        judge("XOR: coefficient of the product", product, "-2", abs(product + 2) < 0.01, f"{product:.3f}"),
        Row("parity of three bits: said of each row", said[0], f"{said.min():.2f} to {said.max():.2f}", "one half"),
    ]


def show_numbers(r2: dict[str, dict[str, list[float]]]) -> list[Row]:
    """R2 on the three tables of numbers, by table and way, and what it is held against."""
    mean = {name: float(np.mean(ways["grown"])) for name, ways in r2.items()}
    ridge, plain = np.mean(r2["Friedman"]["all products"]), np.mean(r2["Auto MPG"]["weighted sum"])
    tuned = r2["Friedman"].get("fine-tuned")
    return [
        at_least("cubic: R2, mean", mean["cubic"], 0.95),
        at_least("Friedman: R2, mean", mean["Friedman"], 0.89),
        judge(
            "Friedman: all squares and products", ridge, "below the network", ridge < mean["Friedman"], f"{ridge:.3f}"
        ),
        at_least("Friedman: fine-tuned, mean", np.mean(tuned), 0.92) if tuned else waits("Friedman: fine-tuned, mean"),
        at_least("Auto MPG: R2, mean", mean["Auto MPG"], 0.81),
        below("Auto MPG: a weighted sum", plain, mean["Auto MPG"]),
        at_least("Auto MPG: R2, lowest run", min(r2["Auto MPG"]["grown"]), 0.60),
    ]


def show_classes(seed: int, quick: bool) -> list[Row]:
    """The share of right answers on the tables of classes."""
    rows = []
    for name, seeds, least in (("iris", SEEDS, 0.94), ("wine", SEEDS, 0.96), ("breast cancer", FEW, 0.94)):
        table = load_table(name.replace(" ", "_"))
        mean = np.mean([right(table, CLASSES, seed + run) for run in range(seeds)])
        rows.append(judge(f"{name}: right, mean", mean, f"at least {percent(least)}", mean >= least))
    return rows if quick else rows + show_digits(seed)


def show_digits(seed: int) -> list[Row]:
    """The digits, and how many the network of 1986 reads of the same."""
    table, seeds, name = digits_table(), range(seed, seed + FEW), "digits: the network of 1986, mean"
    mean = np.mean([right(table, DIGITS, each) for each in seeds])
    rows = [judge("digits: right, mean", mean, "at least 90.0 %", mean >= 0.90)]
    if not HAS_TRAINER:
        return [*rows, waits(name)]
    later = []
    for each in seeds:
        train, dev, test = split_table(table, Generator(each))
        later.append(right_in_1986(both(train, dev), test, each))
    return [*rows, judge(name, np.mean(later), "above the grown one", np.mean(later) > mean)]


def main() -> int:
    chosen = options(__doc__, quick="leave out the digits, which take half of the time")
    tables = {"cubic": cubic, "Friedman": friedman, "Auto MPG": load_table("auto_mpg")}
    seeds = range(chosen.seed, chosen.seed + SEEDS)
    runs = {name: [grow(table, seed) for seed in seeds] for name, table in tables.items()}
    r2 = {name: compared(found) for name, found in runs.items()}
    if HAS_TRAINER:
        r2["Friedman"]["fine-tuned"] = [fine_tuned(grown) for grown in runs["Friedman"][:FEW]]
    rows = [*show_bits(), *show_numbers(r2), *show_classes(chosen.seed, chosen.quick)]
    pictures = [
        picture_network(runs["Auto MPG"][0].net, tables["Auto MPG"].names),
        picture_layers({name: [grown.net for grown in found] for name, found in runs.items()}, chosen.seed),
        picture_beside(r2, chosen.seed),
    ]
    return report("m2b GMDH 1971", rows, pictures, chosen)


if __name__ == "__main__":
    sys.exit(main())
