"""The figures of lesson 05."""

import numpy as np

from tito.dev.figures import CELL, Chart, Sheet


def learned(order: np.ndarray) -> list[float]:
    """The number learned after each batch of 100, as in the lesson's second cell."""
    targets, path = np.repeat([0.0, 1.0], 500), [0.5]
    for batch in order.reshape(-1, 100):
        path.append(path[-1] + 0.3 * float(targets[batch].mean() - path[-1]))
    return path


def order() -> Chart:
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.permutation(1000) for _ in range(3)])
    chart = Chart(
        "In the file's order the model forgets what came first", "batches of 100 (seed 0)", "the number learned"
    )
    lines = chart.axis.plot(learned(np.tile(np.arange(1000), 3)), label="file's order")
    lines += chart.axis.plot(learned(drawn), label="drawn order")
    chart.axis.set(ylim=(0, 1), xticks=[0, 10, 20, 30])
    return chart.name_ends(lines)


def gather() -> Sheet:
    rows = np.array([[10 * i, 10 * i + 1] for i in range(6)])
    picked = np.array([4, 0, 3])
    sheet = Sheet(500, 290).grid(rows, 30, 40, "all rows (6, 2)")
    for number in range(6):
        sheet.words(str(number), 22, 40 + number * CELL + CELL / 2 + 5, "end")
    sheet.grid(picked, 160, 140, "row numbers (3,)").arrow(300, 160, 375, 160, "pick")
    return sheet.grid(rows[picked], 390, 100, "batch (3, 2)")


def epochs() -> Sheet:
    orders = [[3, 6, 0, 5, 1, 4, 2], [5, 2, 4, 6, 3, 0, 1]]
    sheet = Sheet(520, 190)
    for epoch, numbers in enumerate(orders):
        y = 40 + 90 * epoch
        sheet.words(f"epoch {epoch}", 10, y + 25)
        for i, x in enumerate((90, 240, 390)):
            sheet.grid(numbers[3 * i : 3 * i + 3], x, y, f"batch {3 * epoch + i}")
    return sheet


def seen() -> Chart:
    epochs, rng = 2, np.random.default_rng(0)
    draws = rng.integers(0, 1000, epochs * 1000)
    alone = [100 * len(set(draws[:n].tolist())) / 1000 for n in range(0, epochs * 1000 + 1, 50)]
    x = np.linspace(0, epochs, len(alone))
    chart = Chart(
        "Drawn with replacement, a third waits for a later epoch", "epochs (seed 0)", "samples seen at least once, %"
    )
    lines = chart.axis.plot(x, np.minimum(100 * x, 100), label="permutation")
    lines += chart.axis.plot(x, alone, label="with replacement")
    chart.axis.set(xticks=range(epochs + 1))
    return chart.name_ends(lines)


def noise() -> Chart:
    values, sizes = np.random.default_rng(1).normal(size=65_536), 2 ** np.arange(0, 11, 2)
    spread = [values.reshape(-1, size).mean(axis=1).std() for size in sizes]
    chart = Chart("Four times the batch halves the noise", "samples in a batch (seed 1)", "spread of the batch means")
    lines = chart.axis.loglog(sizes, spread, "o", base=2, label="\n measured")
    lines += chart.axis.loglog(sizes, sizes**-0.5, base=2, label=" 1 / sqrt(B)\n")
    halves = 2 ** np.arange(6)
    chart.axis.set(xticks=sizes, xticklabels=sizes, yticks=1 / halves, yticklabels=[f"1/{n}" for n in halves])
    chart.axis.set_ylim(1 / 50, 1.2)
    return chart.name_ends(lines)


FIGURES = {"05_order": order, "05_gather": gather, "05_epochs": epochs, "05_seen": seen, "05_noise": noise}
