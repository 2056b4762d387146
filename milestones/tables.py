"""The small tables of data/ and two that are drawn, as NumPy arrays, and how their rows are split in three.

Where the real ones come from: data/README.md.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from digits import load_digits

if TYPE_CHECKING:
    from tinytorch.generator import Generator

Rows = tuple[np.ndarray, np.ndarray]  # x (N, D), y (N,)

FOLDER = Path(__file__).resolve().parent / "data"
CLASSES = {  # by label; a table that is not here has a number as its target
    "iris": ("setosa", "versicolor", "virginica"),
    "wine": ("cultivar 1", "cultivar 2", "cultivar 3"),
    "breast_cancer": ("malignant", "benign"),
}


class Table(NamedTuple):
    """Features `x` `(N, D)`, float64, with their `names`, and the target `y` `(N,)`.

    The target is an int64 label where there are `classes`, their names, and a float64 number where there are none.
    """

    x: np.ndarray
    y: np.ndarray
    names: tuple[str, ...]
    classes: tuple[str, ...] = ()


def load_table(name: str) -> Table:
    """One of "auto_mpg", "iris", "wine" and "breast_cancer", in the file's order."""
    with gzip.open(FOLDER / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        rows = np.loadtxt(file, delimiter=",")
    classes = CLASSES.get(name, ())
    target = rows[:, -1].astype(np.int64) if classes else rows[:, -1]
    return Table(rows[:, :-1], target, tuple(names[:-1]), classes)


def digits_table() -> Table:
    """The 1,797 digits, a feature a pixel, named by row and column."""
    pixels, labels = load_digits()
    names = tuple(f"p{row}{column}" for row in range(8) for column in range(8))
    return Table(pixels.astype(np.float64), labels, names, tuple("0123456789"))


def friedman(rng: Generator, rows: int = 800) -> Table:
    """Friedman's first problem: five features of ten count, and the noise has deviation 1.

    `y = 10 sin(pi a b) + 20 (c - 1/2)^2 + 10 d + 5 e + noise`, all features even between 0 and 1. (J. Friedman,
    "Multivariate adaptive regression splines", The Annals of Statistics 19(1), 1991.)
    """
    x = rng.uniform(0.0, 1.0, (rows, 10)).astype(np.float64)
    a, b, c, d, e = x[:, :5].T
    y = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e + rng.normal(0.0, 1.0, rows)
    return Table(x, y, tuple("abcdefghij"))


def cubic(rng: Generator, rows: int = 400) -> Table:
    """A polynomial of degree three, of which no two features say much: four of six count, the noise has deviation 0.1.

    `y = 1 + 2 a b - c^2 + 1.5 a b c + 0.5 d + noise`, all features even between -1 and 1.
    """
    x = rng.uniform(-1.0, 1.0, (rows, 6)).astype(np.float64)
    a, b, c, d = x[:, :4].T
    y = 1 + 2 * a * b - c**2 + 1.5 * a * b * c + 0.5 * d + rng.normal(0.0, 0.1, rows)
    return Table(x, y, tuple("abcdef"))


def split_rows(table: Table, rng: Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers to train on (half), to select by (dev, a quarter) and to test on (the rest), in drawn order.

    Each class has its share of all three, to a row.
    """
    shuffled = rng.permutation(len(table.y))
    lined_up = shuffled[np.argsort(table.y[shuffled], kind="stable")] if table.classes else shuffled
    place = np.empty(len(shuffled), dtype=np.int64)
    place[lined_up] = np.arange(len(shuffled)) % 4
    train, dev, test = (np.isin(place[shuffled], which) for which in ((0, 2), (1,), (3,)))
    return shuffled[train], shuffled[dev], shuffled[test]


def split_table(table: Table, rng: Generator) -> tuple[Rows, Rows, Rows]:
    """Half of the rows to train on, a quarter for dev, a quarter to test; see `split_rows`."""
    train, dev, test = ((table.x[rows], table.y[rows]) for rows in split_rows(table, rng))
    return train, dev, test
