"""The figures of lesson 04."""

import numpy as np

from tito.dev.figures import CELL, Chart, Sheet


def errors() -> Chart:
    """The two losses of one error."""
    off = np.linspace(-4, 4, 81)
    chart = Chart("A square lets the far errors rule", "prediction minus target", "loss", (7.2, 3.6))
    lines = [*chart.axis.plot(off, off**2, label="squared"), *chart.axis.plot(off, np.abs(off), label="absolute")]
    return chart.name_ends(lines)


def logistic() -> Chart:
    """The loss of a logit whose truth is no, by both formulas in float32."""
    z = np.linspace(-5, 30, 351, dtype=np.float32)
    with np.errstate(divide="ignore"):
        plain = -np.log(1 - 1 / (1 + np.exp(-z)))
    stable = np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))
    end = np.flatnonzero(np.isfinite(plain))[-1]
    title = "The plain formula ends in inf, the rearranged one goes on"
    chart = Chart(title, "logit, where the truth is no", "loss in float32", (7.2, 3.8))
    chart.axis.plot(z, stable)
    chart.axis.plot(z[: end + 1], plain[: end + 1], linewidth=4, alpha=0.7)
    chart.axis.annotate("rearranged", (z[-1], stable[-1]), (4, 0), textcoords="offset points", va="center")
    chart.axis.annotate("plain: inf from here on", (z[end], plain[end]), (12, -14), textcoords="offset points")
    return chart


def kept() -> Sheet:
    """Rows that a mask of the targets keeps."""
    scores, targets = np.arange(1, 10).reshape(3, 3), np.array([[2], [-100], [0]])
    mask = targets[:, 0] != -100
    sheet = Sheet(620, 180)
    sheet.grid(scores, 10, 40, "scores (3, 3)").grid(targets, 170, 40, "targets")
    for row, keep in enumerate(mask):
        y = 40 + CELL * row + CELL / 2
        sheet.words("True" if keep else "False", 232, y + 5)
    sheet.words("!= -100", 232, 32)
    sheet.arrow(290, 100, 370, 100)
    return sheet.grid(scores[mask], 390, 60, "scores (2, 3)").grid(targets[mask], 550, 60, "targets")


def fused() -> Sheet:
    """The loss of two rows of logits, step by step."""
    z, targets = np.array([[5.0, 7.0, 4.0], [1.0, -2.0, 0.0]]), np.array([1, 2])
    shifted = z - z.max(axis=1, keepdims=True)
    sums = np.exp(shifted).sum(axis=1, keepdims=True)
    picked = shifted[np.arange(2), targets][:, None]
    sheet = Sheet(660, 290)
    sheet.grid(z, 10, 40, "z (2, 3)").arrow(140, 80, 195, 80).words("- max", 148, 70)
    sheet.grid(shifted, 205, 40, "shifted, at most 0").arrow(335, 80, 390, 80).words("exp", 348, 70)
    sheet.grid(np.exp(shifted), 400, 40, "at most 1", ".2f").arrow(530, 80, 585, 80).words("sum", 543, 70)
    sheet.grid(sums, 595, 40, "(2, 1)", ".2f")
    sheet.words("the loss of a row:", 10, 225).grid(np.log(sums), 205, 180, "log sum", ".2f").words("-", 268, 225)
    sheet.grid(picked, 300, 180, "shifted at the targets 1 and 2").words("=", 365, 225)
    return sheet.grid(np.log(sums) - picked, 400, 180, "", ".2f")


def smoothing() -> Sheet:
    """One-hot rows of two targets, and what a share of 0.3 makes of them."""
    hot = (np.array([2, 0])[:, None] == np.arange(3)).astype(float)
    sheet = Sheet(560, 140)
    sheet.grid(hot, 10, 40, "targets 2 and 0, one-hot").arrow(150, 80, 370, 80, "* (1 - 0.3)  + 0.3 / 3")
    return sheet.grid(0.7 * hot + 0.3 / 3, 390, 40, "smoothed", ".1f")


FIGURES = {
    "04_errors": errors,
    "04_logistic": logistic,
    "04_kept": kept,
    "04_fused": fused,
    "04_smoothing": smoothing,
}
