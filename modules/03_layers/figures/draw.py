"""The figures of lesson 03."""

import numpy as np

from tito.dev.figures import Chart, Sheet


def affine() -> Sheet:
    """One sample through a layer: each row of weight makes one output."""
    x, weight, bias = np.array([1, 2, 3]), np.array([[1, 0, 2], [0, 1, 0]]), np.array([10, 20])
    sheet = Sheet(670, 165)
    sheet.grid(x, 10, 70, "x (1, 3)").words("@", 142, 95)
    sheet.grid(weight.T, 170, 30, "weight.T (3, 2)").words("+", 266, 95)
    sheet.grid(bias, 290, 70, "bias (2,)").words("=", 385, 95)
    return sheet.grid(x @ weight.T + bias, 410, 70, "out (1, 2)").words("one column, one output", 505, 95)


def tree() -> Sheet:
    """The module `outer` of the lesson: three attributes, two of them one module."""
    sheet = Sheet(640, 220)
    sheet.words("factor (Parameter), seen (buffer)", 185, 34).box("outer", 40, 10, 130)
    sheet.arrow(70, 50, 70, 140).words("inner", 60, 100, "end")
    sheet.arrow(140, 50, 140, 140, "").words("twin", 150, 100)
    sheet.box("a Scale", 40, 140, 130).words("factor (Parameter), seen (buffer)", 185, 164)
    for row, path in enumerate(("factor", "seen", "inner.factor", "inner.seen", "twin.factor", "twin.seen")):
        sheet.words(path, 450, 60 + 26 * row)
    return sheet.words("six names, four tensors", 450, 34, kind="title").words("two paths, one module", 185, 205)


def depth() -> Chart:
    """The size of 500 samples of 100 numbers after each of eight layers, by the size of the weights."""
    chart = Chart("Weights of size 1/sqrt(in) hold the size of numbers", "layers passed, of 100 numbers each; seed 0", "typical size", (7.6, 3.8))
    rng = np.random.default_rng(0)
    start, bound = rng.normal(size=(500, 100)), 100**-0.5
    draws = {
        "twice": lambda: rng.normal(0, 2 * bound, (100, 100)),
        "1/sqrt(in)": lambda: rng.normal(0, bound, (100, 100)),
        "PyTorch's": lambda: rng.uniform(-bound, bound, (100, 100)),
        "half": lambda: rng.normal(0, bound / 2, (100, 100)),
    }
    lines = []
    for label, weight in draws.items():
        sizes, h = [start.std()], start
        for _ in range(8):
            h = h @ weight().T
            sizes.append(h.std())
        lines += chart.axis.plot(range(9), sizes, label=label)
    chart.axis.set_yscale("log")
    chart.axis.yaxis.set_major_formatter("{x:g}")
    return chart.name_ends(lines)


def dropout() -> Sheet:
    """A grid of numbers, what is kept of it with p = 0.75, and what comes out."""
    x = np.array([[1, 2, 3, 1], [2, 1, 2, 3], [3, 2, 1, 3]])
    mask = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]])
    sheet = Sheet(620, 200)
    sheet.grid(x, 10, 40, f"x, sum {x.sum()}").words("*", 185, 105)
    sheet.grid(mask, 210, 40, "mask: one in four").words("* 4  =", 382, 105)
    y = 4 * x * mask
    return sheet.grid(y, 440, 40, f"out, sum {y.sum()}")


def memory() -> Chart:
    """Bytes of the digits network of the lesson, as the batch grows."""
    batch = np.array([1, 32, 64, 128, 256])
    title = "Activations grow with the batch, parameters do not"
    chart = Chart(title, "samples in a batch", "kilobytes", (7.6, 3.6))
    parameters = 4 * (64 * 32 + 32 + 32 * 10 + 10)
    lines = chart.axis.plot(batch, 4 * batch * (32 + 32 + 10) / 1000, label="activations")
    lines += chart.axis.plot(batch, 0 * batch + parameters / 1000, label="parameters")
    return chart.name_ends(lines)


FIGURES = {"03_affine": affine, "03_tree": tree, "03_depth": depth, "03_dropout": dropout, "03_memory": memory}
