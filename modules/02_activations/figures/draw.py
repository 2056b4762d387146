"""The figures of lesson 02."""

import math

import numpy as np

from tito.dev.figures import Chart, Sheet


def collapse() -> Sheet:
    x, first, second = np.array([[1, 2]]), np.array([[1, 0, 2], [3, 1, -1]]), np.array([[2], [1], [5]])
    sheet = Sheet(560, 300)
    sheet.grid(x, 10, 60, "x (1, 2)").words("@", 103, 85).grid(first, 130, 40, "first (2, 3)")
    sheet.words("@", 263, 85).grid(second, 290, 20 + 4).words("second (3, 1)", 340, 85)
    sheet.words("=", 445, 85).grid(x @ first @ second, 480, 60)
    sheet.grid(x, 10, 220, "x (1, 2)").words("@", 103, 245).grid(first @ second, 130, 200, "first @ second (2, 1)")
    return sheet.words("=", 445, 245).grid(x @ (first @ second), 480, 220)


def hinges() -> Chart:
    x = np.array([-2.0, 0.0, 2.0])
    right, left = np.maximum(x, 0), np.maximum(-x, 0)
    chart = Chart("Two hinges make a V", "x", "result")
    chart.axis.plot(x, right + left, linewidth=6, alpha=0.35)
    lines = [*chart.axis.plot(x, right, label="relu(x)"), *chart.axis.plot(x, left, "--", label="relu(-x)")]
    chart.axis.annotate("their sum", (-1.2, 1.2), (8, 4), textcoords="offset points")
    chart.axis.set_aspect("equal")
    return chart.name_ends(lines)


def single(a: np.ndarray) -> np.ndarray:
    """Rounded to float32, infinite above it. Not computed in float32, which differs from processor to processor."""
    with np.errstate(over="ignore"):
        return a.astype(np.float32)


def errors() -> Chart:
    x = np.arange(-92, 21) + np.arange(8)[:, None] / 8  # (8, N): eight scores from each number to the next
    exact, one = 1 / (1 + np.exp(-x)), np.float32(1)
    up, down = single(np.exp(np.minimum(x, 0))), single(np.exp(-np.abs(x)))
    formulas = {
        "1 / (1 + exp(-x))": one / (one + single(np.exp(-x))),
        "0.5 (1 + tanh(x / 2))": np.float32(0.5) * (one + single(np.tanh(x / 2))),
        "yours": up / (one + down),
    }
    chart = Chart("Two formulas lose small chances, one keeps them", "score x", "right digits, in float32")
    places = ((-86, 1.2), (-20, 2.2), (-55, 7.9))
    colours = ("#0072b2", "#e69f00", "#009e73")
    for (name, got), place, colour in zip(formulas.items(), places, colours, strict=True):
        worst = np.abs(got / exact - 1).max(axis=0)
        chart.axis.plot(x[0], np.clip(-np.log10(worst), 0, None), "--" if name == "yours" else "-", color=colour)
        chart.axis.text(*place, name, color=colour, ha="right" if "tanh" in name else "left")
    return chart


def curves() -> Chart:
    x = np.linspace(-4, 4, 161)
    gelu = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    chart = Chart("Hinges keep what is large, squeezes go flat", "x", "result", (6.4, 4.2))
    named = {"ReLU": np.maximum(x, 0), "Sigmoid": 1 / (1 + np.exp(-x)), "GELU": gelu, "Tanh": np.tanh(x)}
    places = {"ReLU": (1.6, 2.6), "GELU": (2.9, 2.2), "Tanh": (-3.9, -0.85), "Sigmoid": (2.5, 0.6)}
    for name, y in named.items():
        [line] = chart.axis.plot(x, y, "--" if name == "GELU" else "-")
        chart.axis.text(*places[name], name, color=line.get_color())
    return chart


def softmax() -> Sheet:
    exps = np.array([1, 2, 5])
    sheet = Sheet(620, 150)
    for i, words in enumerate(("log 1", "log 2", "log 5")):
        sheet.box(words, 10 + i * 50, 50, 50)
    sheet.words("scores", 10, 42).arrow(170, 70, 240, 70, "exp").grid(exps, 250, 50, "above 0")
    sheet.arrow(380, 70, 450, 70, "/ 8").grid(exps / 8, 460, 50, "shares")
    return sheet.words("the sum is 8", 250, 60 + 50).words("the sum is 1", 460, 110)


FIGURES = {
    "02_collapse": collapse,
    "02_hinges": hinges,
    "02_errors": errors,
    "02_curves": curves,
    "02_softmax": softmax,
}
