"""The figures of lesson 07."""

from collections.abc import Callable

import numpy as np

from tito.dev.figures import BLUE, ORANGE, Chart, Sheet

Slope = Callable[[np.ndarray, int], np.ndarray]
START, SLOPES = np.array([5.0, 1.0]), np.array([1.0, 100.0])


def descent(lr: float, momentum: float, steps: int) -> np.ndarray:
    """Places on the way down the valley, (steps + 1, 2)."""
    place, velocity, path = START.copy(), np.zeros(2), [START]
    for _ in range(steps):
        velocity = momentum * velocity + SLOPES * place
        place = place - lr * velocity
        path.append(place)
    return np.array(path)


def adam(lr: float, steps: int, slope: Slope, start: np.ndarray, decay: float = 0.0, beside: float = 0.0) -> np.ndarray:
    """Places under Adam with decay in the gradient, or beside it, (steps + 1, n)."""
    place, mean, square, path = start, np.zeros_like(start), np.zeros_like(start), [start]
    for t in range(1, steps + 1):
        gradient = slope(place, t) + decay * place
        place = place * (1 - lr * beside)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        place = place - lr * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        path.append(place)
    return np.array(path)


def valley() -> Chart:
    chart = Chart("In 30 steps momentum is down, plain descent is not", "gentle weight", "steep weight")
    x, y = np.meshgrid(np.linspace(-1.5, 5.5, 100), np.linspace(-1.2, 1.2, 100))
    chart.axis.contour(x, y, x**2 + 100 * y**2, levels=[1, 8, 25, 50, 90], colors="#999999", linewidths=0.6)
    for momentum, colour, name in ((0.0, ORANGE, "plain"), (0.8, BLUE, "momentum")):
        path = descent(0.0175, momentum, 30)
        chart.axis.plot(*path.T, "o-", color=colour, markersize=3, linewidth=1, label=name)
    chart.axis.legend(frameon=False, loc="upper left", ncols=2)
    chart.axis.set(ylim=(-1.2, 1.4))
    return chart


def steps() -> Chart:
    chart = Chart("Momentum takes a seventh of plain descent's steps", "steps", "larger of the two weights")
    paths = {"plain": descent(0.0175, 0.0, 500), "momentum": descent(0.0175, 0.8, 80)}
    paths["Adam"] = adam(0.3, 160, lambda place, t: SLOPES * place, START)
    for name, path in paths.items():
        largest = np.abs(path).max(axis=1)
        needed = int(np.argmax(largest <= 0.001))
        chart.axis.semilogy(largest[: needed + 1], label=f"{name}, {needed} steps")
    ticks = [0.001, 0.01, 0.1, 1, 10]
    chart.axis.set(ylim=(0.001, 10), yticks=ticks, yticklabels=ticks)
    chart.axis.legend(frameon=False, loc="upper right")
    return chart


def correction() -> Chart:
    t = np.arange(1, 51)
    chart = Chart("Corrected, a mean is whole from the first step", "steps", "mean of a steady gradient of 1")
    lines = chart.axis.plot(t, np.ones(50), label="corrected")
    lines += chart.axis.plot(t, 1 - 0.9**t, label="\n\nbeta 0.9")
    lines += chart.axis.plot(t, 1 - 0.999**t, label="beta 0.999")
    chart.axis.set(ylim=(0, 1.1))
    return chart.name_ends(lines)


def decay() -> Chart:
    sizes = np.array([1.0, 100.0])
    chart = Chart("Beside large gradients Adam's decay vanishes", "steps", "weight")
    shrinking = [
        adam(0.01, 200, lambda place, t: sizes * (-1) ** t, np.array([8.0, 8.0]), **settings)
        for settings in ({"decay": 0.5}, {"beside": 0.5})
    ]
    lines = chart.axis.plot(shrinking[0][:, 1], label="Adam, gradients of 100")
    lines += chart.axis.plot(shrinking[0][:, 0], label="Adam, gradients of 1")
    lines += chart.axis.plot(shrinking[1][:, 0], label="AdamW, either")
    chart.axis.set(ylim=(0, 8.5))
    return chart.name_ends(lines)


def forgotten() -> Chart:
    chart = Chart("Without zero_grad the weight never comes to rest", "steps", "weight")
    kept, cleared, total = [5.0], [5.0], 0.0
    for _ in range(40):
        total += 2 * kept[-1]
        kept.append(kept[-1] - 0.1 * total)
        cleared.append(cleared[-1] - 0.1 * 2 * cleared[-1])
    return chart.name_ends([*chart.axis.plot(kept, label="forgotten"), *chart.axis.plot(cleared, label="cleared")])


def bytes_kept() -> Sheet:
    parts = {"SGD": ["weight", "gradient"]}
    parts["SGD, momentum"] = [*parts["SGD"], "momentum_buffer"]
    parts["Adam, AdamW"] = [*parts["SGD"], "exp_avg", "exp_avg_sq"]
    sheet = Sheet(720, 170)
    for row, (name, arrays) in enumerate(parts.items()):
        sheet.words(name, 10, 35 + 50 * row)
        for column, array in enumerate(arrays):
            sheet.box(array, 130 + 130 * column, 10 + 50 * row, 126)
        sheet.words(f"{len(arrays)} x", 140 + 130 * len(arrays), 35 + 50 * row, kind="title")
    return sheet


FIGURES = {
    "07_valley": valley,
    "07_steps": steps,
    "07_correction": correction,
    "07_decay": decay,
    "07_forgotten": forgotten,
    "07_bytes": bytes_kept,
}
