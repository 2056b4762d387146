"""The figures of lesson 01."""

import numpy as np

from tito.dev.figures import CELL, Chart, Sheet

GRID = np.array([[1, 2, 3], [4, 5, 6]])


def score() -> Sheet:
    picture = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]])
    left, top = np.zeros((3, 3)), np.zeros((3, 3))
    left[:, 0] = top[0] = 1
    sheet = Sheet(560, 330).grid(picture, 10, 110, "picture").words("x", 155, 175)
    for y, weights, name in ((40, left, "weights: left column"), (200, top, "weights: top row")):
        sheet.grid(weights, 190, y, name).arrow(325, y + 60, 425, y + 60, "multiply, add")
        sheet.grid([(picture * weights).sum()], 440, y + 40, "score")
    return sheet


def broadcast() -> Sheet:
    row = np.array([10, 20, -30])
    sheet = Sheet(560, 170)
    sheet.grid(GRID, 10, 50, "(2, 3)").words("+", 150, 95).grid(row, 180, 70, "(3,)")
    sheet.arrow(310, 90, 400, 90, "repeat the row")
    return sheet.grid(GRID + row, 420, 50, "(2, 3)")


def matmul() -> Sheet:
    right = np.array([[7, 8], [9, 1], [1, 2]])
    sheet = Sheet(470, 290).grid(right, 200, 50, "B (3, 2)").grid(GRID, 40, 180, "A (2, 3)")
    sheet.grid(GRID @ right, 200, 180).words("A @ B (2, 2)", 200, 200 + 2 * CELL)
    sheet.arrow(10, 200, 36, 200).arrow(220, 4, 220, 26)
    return sheet.words("1 * 7 + 2 * 9 + 3 * 1", 300, 198).words("= 28", 300, 216)


def fold() -> Sheet:
    sheet = Sheet(560, 210).grid(GRID, 10, 40, "(2, 3)")
    sheet.arrow(70, 124, 70, 152).words("sum(dim=0)", 82, 143).grid(GRID.sum(axis=0), 10, 160)
    sheet.words("(3,)", 140, 185)
    sheet.arrow(140, 80, 250, 80, "sum(dim=1)").grid(GRID.sum(axis=1), 260, 60, "(2,)")
    sheet.words("or, with keepdim,", 360, 85)
    return sheet.grid(GRID.sum(axis=1, keepdims=True), 490, 40, "(2, 1)")


def order() -> Sheet:
    sheet = Sheet(580, 300).grid(GRID.reshape(-1), 160, 40, "memory: six numbers, in this order")
    for x, grid, name, words in (
        (20, GRID, "(2, 3)", "reads on"),
        (240, GRID.reshape(3, 2), "reshape(3, 2)", "reads on"),
        (440, GRID.T, "transpose", "1, then 4: jumps"),
    ):
        sheet.arrow(280, 84, x + 40, 120).grid(grid, x, 150, name)
        sheet.words(words, x, 170 + len(grid) * CELL)
    return sheet


def square() -> Sheet:
    column, row = np.array([[1], [2], [3]]), np.array([1, 2, 3])
    sheet = Sheet(560, 190).grid(column, 10, 40, "(3, 1)").words("-", 70, 105).grid(row, 95, 80, "(3,)")
    sheet.arrow(225, 100, 300, 100, "repeat both").grid(column - row, 315, 40, "(3, 3)")
    return sheet.words("meant:", 450, 90).words("the diagonal", 450, 110)


def growth() -> Chart:
    n = np.arange(1, 9)
    chart = Chart("Views cost nothing, copies grow with the tensor", "millions of numbers", "megabytes")
    lines = [*chart.axis.plot(n, 4 * n, label="a copy"), *chart.axis.plot(n, 0 * n, label="a view")]
    return chart.name_ends(lines)


FIGURES = {
    "01_score": score,
    "01_broadcast": broadcast,
    "01_matmul": matmul,
    "01_fold": fold,
    "01_order": order,
    "01_square": square,
    "01_growth": growth,
}
