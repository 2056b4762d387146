"""The figures of lesson 01."""

import numpy as np

from tito.dev.figures import CELL, Chart, Sheet


def broadcast() -> Sheet:
    grid, row = np.array([[1, 2, 3], [4, 5, 6]]), np.array([10, 20, -30])
    sheet = Sheet(560, 170)
    sheet.grid(grid, 10, 50, "(2, 3)").words("+", 150, 95).grid(row, 180, 70, "(3,)")
    sheet.arrow(310, 90, 400, 90, "repeat the row")
    return sheet.grid(grid + row, 420, 50, "(2, 3)")


def growth() -> Chart:
    n = np.arange(1, 9)
    chart = Chart("Views cost nothing, copies grow with the tensor", "millions of numbers", "megabytes")
    lines = [*chart.axis.plot(n, 4 * n, label="a copy"), *chart.axis.plot(n, 0 * n, label="a view")]
    return chart.name_ends(lines)


FIGURES = {"01_broadcast": broadcast, "01_growth": growth}
