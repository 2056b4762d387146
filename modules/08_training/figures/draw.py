"""The figures of lesson 08."""

import numpy as np

from tito.dev.figures import BLUE, ORANGE, Chart, Sheet


def schedule() -> Chart:
    epoch = np.linspace(0, 14, 141)
    done = np.minimum(epoch / 12, 1)
    chart = Chart("The cosine lingers near both ends, then stays at its floor", "epoch", "learning rate")
    lines = chart.axis.plot(epoch, 0.001 + 0.049 * (1 + np.cos(np.pi * done)) / 2, epoch, 0.05 - 0.049 * done)
    for line, name, place in zip(lines, ("half a cosine", "a straight line"), ((2.6, 0.0465), (0.2, 0.03))):
        chart.axis.annotate(name, place, color=line.get_color())
    return chart


def tail() -> Chart:
    last = np.arange(1, 9)
    averaged = (1 / 3 / last) / ((1 - 1 / 3) / 16)
    chart = Chart("Averaging batch means, a short last batch counts too much", "samples in the last batch", "")
    chart.axis.set_ylabel("weight of one of them,\nagainst one of the others")
    chart.axis.plot(last, averaged, "o-", last, np.ones(8), "o-")
    chart.axis.annotate("means of batches of 8, 8 and the last", (1.9, 6.0), color=ORANGE)
    chart.axis.annotate("by sample count", (3.2, 0.3), color=BLUE)
    chart.axis.set_ylim(0, 8.5)
    return chart


def clip() -> Chart:
    chart = Chart("One factor keeps the direction, many turn it", "first number", "second number", (5.6, 4.2))
    gradient, limit = np.array([3.0, 4.0]), 2.5
    scaled, cut = gradient * limit / np.hypot(*gradient), np.minimum(gradient, limit)
    arrows = (
        (gradient, "gray", "the gradient, 5 long", (1.75, 4.05)),
        (cut, BLUE, "each number cut at 2.5", (2.6, 2.45)),
        (scaled, ORANGE, "scaled to 2.5", (0.05, 2.15)),
    )
    for end, colour, name, place in arrows:
        chart.axis.annotate("", end, (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 2})
        chart.axis.annotate(name, place, color=colour)
    chart.axis.set(xlim=(0, 4.5), ylim=(0, 4.5), aspect="equal")
    return chart


def window() -> Sheet:
    x, limit, rate = np.array([1.0, 2.0, 3.0]), 2.0, 0.3
    each = 2 * x * x  # the gradient of (w x) squared by w, at w = 1
    first, second = each[:2], each[2:]
    mean = each.sum() / len(x)
    clipped = min(mean, limit)
    sheet = Sheet(700, 310)
    sheet.words("The window fills", 10, 20, kind="title").words("each sample's gradient", 100, 45)
    sheet.words("mean", 285, 45).words("grad", 508, 45)
    for top, part, so_far in ((55, first, first.sum()), (120, second, each.sum())):
        sheet.words(f"batch of {len(part)}", 10, top + 25).grid(part, 100, top)
        sheet.arrow(108 + 40 * len(part), top + 20, 275, top + 20).grid([part.mean()], 285, top)
        sheet.arrow(333, top + 20, 498, top + 20, f"backward(gradient={len(part)})").grid([so_far], 508, top)
    sheet.words(f"{first.mean():g} times 2", 560, 80).words(f"{first.sum():g} + {second.mean():g} times 1", 560, 145)
    sheet.words("The window ends, after 3 samples", 10, 215, kind="title")
    steps = (("divide by 3", each.sum(), "grad"), (f"clip to {limit:g}", mean, ""), ("step, rate 0.3", clipped, ""))
    for i, (name, value, label) in enumerate(steps):
        left = 10 + 165 * i
        sheet.grid([value], left, 255, label, ".2g").arrow(left + 48, 275, left + 157, 275, name)
    sheet.grid([1 - rate * clipped], 505, 255, "weight, was 1", ".2g")
    return sheet.arrow(553, 275, 612, 275, "clear").box("None", 622, 255, 60).words("grad", 622, 247)


FIGURES = {"08_tail": tail, "08_schedule": schedule, "08_clip": clip, "08_window": window}
