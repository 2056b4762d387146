"""The figures of lesson 06."""

from typing import Any

import numpy as np

from tito.dev.figures import Chart, Sheet


def digits() -> Chart:
    def error(dtype: Any, steps: np.ndarray, back: int) -> np.ndarray:
        up, down = dtype(2) + steps.astype(dtype), dtype(2) - back * steps.astype(dtype)
        return np.abs((up * up * up - down * down * down) / ((1 + back) * steps.astype(dtype)) - 12).astype(float)

    steps, coarse = 10.0 ** np.arange(-1, -12, -0.25), 10.0 ** np.arange(-1, -6.6, -0.25)
    chart = Chart("Both sides are best near 1e-5; float32 is never good", "step", "error of the slope of the cube at 2")
    chart.axis.loglog(coarse, error(np.float32, coarse, 1), steps, error(np.float64, steps, 0))
    chart.axis.loglog(steps, error(np.float64, steps, 1))
    chart.axis.invert_xaxis()
    for axis in (chart.axis.xaxis, chart.axis.yaxis):
        axis.set_major_formatter("{x:.0e}")
    for text, place in (
        ("float32, to both sides", (2e-7, 0.4)),
        ("to one side", (4e-6, 1e-4)),
        ("to both sides", (6e-2, 1e-8)),
    ):
        chart.axis.annotate(text, place)
    return chart


def chain() -> Sheet:
    x = 3
    a, b = 2 * x, 2 * x + 1
    forward, backward = [x, a, b, b**2], [2 * 2 * b, 2 * b, 2 * b, 1]
    sheet = Sheet(610, 190)
    sheet.words("forward", 5, 65, kind="title").words("backward", 5, 155, kind="title")
    for i, name in enumerate(("x", "a", "b", "y")):
        left = 90 + 155 * i
        sheet.grid([forward[i]], left, 40).words(name, left + 20, 25, "middle")
        sheet.grid([backward[i]], left, 130)
    for i, (go, back) in enumerate((("2 x", "times 2"), ("a + 1", "times 1"), ("b squared", f"times 2 b = {2 * b}"))):
        left = 135 + 155 * i
        sheet.arrow(left, 60, left + 105, 60, go).arrow(left + 105, 150, left, 150, back)
    return sheet


def unbroadcast() -> Sheet:
    grad = np.array([[1, 2, 3], [4, 5, 6]])
    sheet = Sheet(520, 230)
    sheet.grid(grad, 10, 70, "gradient (2, 3)")
    sheet.arrow(145, 90, 255, 55).words("add the rows", 150, 55)
    sheet.arrow(145, 130, 255, 165).words("add the columns", 145, 182)
    sheet.grid(grad.sum(axis=0), 270, 35, "to a row (3,)")
    return sheet.grid(grad.sum(axis=1, keepdims=True), 270, 130, "to a column (2, 1)")


def walk() -> Sheet:
    sheet = Sheet(620, 210)
    sheet.box("x", 10, 95, 60).box("y = x + x", 190, 20, 100).box("z = y + x", 420, 95, 100)
    sheet.arrow(420, 105, 292, 48).words("1", 360, 70).arrow(420, 120, 74, 120).words("1", 250, 140)
    sheet.arrow(190, 35, 50, 93).words("1", 100, 60).arrow(190, 50, 72, 100).words("1", 140, 88)
    sheet.words("First z's operation, the newest: 1 to y, 1 to x.", 10, 175)
    return sheet.words("Then y's, with the 1 that waited: 1 to x, twice. x has 3.", 10, 198)


def matmul() -> Sheet:
    b, grad = np.arange(12).reshape(3, 4), np.array([[1, 0, 2, 0], [0, 3, 0, 1]])
    sheet = Sheet(520, 210)
    sheet.grid(grad, 10, 80, "gradient (2, 4)").words("@", 185, 125)
    sheet.grid(b.T, 215, 40, "b turned (4, 3)").words("=", 350, 125)
    return sheet.grid(grad @ b.T, 380, 80, "a's gradient (2, 3)")


def beliefs() -> Sheet:
    believed, true = np.array([0.2, 0.7, 0.1]), np.array([0, 1, 0])
    sheet = Sheet(500, 90)
    sheet.grid(believed, 10, 35, "believed").words("-", 146, 60).grid(true, 170, 35, "true").words("=", 304, 60)
    return sheet.grid(believed - true, 330, 35, "gradient of the logits")


FIGURES = {
    "06_digits": digits,
    "06_chain": chain,
    "06_unbroadcast": unbroadcast,
    "06_walk": walk,
    "06_matmul": matmul,
    "06_beliefs": beliefs,
}
