"""Draws a training run: loss, rate and gradient norm by step. Supplied with lesson 08: trace it, don't write it.

Begin at `draw_run`. Only matplotlib's objects are used, not pyplot: the reader's backend and settings stay as they are.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#595959"
STYLES: dict[str, dict[str, Any]] = {
    "each step": {"color": GREY, "linewidth": 0.6, "alpha": 0.7},
    "training": {"color": BLUE, "linewidth": 2.0},
    "validation": {"color": ORANGE, "linewidth": 2.0, "linestyle": (0, (3, 1))},  # dashed: often they lie on each other
}
LINES = {  # name -> kind of row, entry
    "each step": ("step", "loss"),
    "training": ("epoch", "train_loss"),
    "validation": ("epoch", "val_loss"),
    "learning rate": ("step", "lr"),
    "gradient norm": ("step", "grad_norm"),
}
MOST = 1000  # points of a line: of more, each block shows its lowest and highest
WIDE = 50  # highest / lowest value from which on an axis is logarithmic
GAP = 0.1  # between two labels, in heights of the picture of the loss

Line = tuple[np.ndarray, np.ndarray]  # steps and values, (N,) each
NOTHING = np.empty(0), np.empty(0)


def draw_run(rows: Iterable[dict[str, Any]], path: Path, caption: str) -> None:
    """Write a PNG of the rows of metrics.jsonl to `path`. Raises ValueError when no row has a loss, OSError."""
    from matplotlib.figure import Figure

    lines = lines_of(rows)
    losses, others = ({name: lines[name] for name in lines if (name in STYLES) is wanted} for wanted in (True, False))
    title, count = headline(losses), 1 + len(others)
    figure = Figure(figsize=(7.2, 2.2 + 1.5 * count), layout="constrained")
    axes: Any = figure.subplots(count, 1, sharex=True, squeeze=False, height_ratios=[2.4, 1, 1][:count])[:, 0]
    _draw_losses(axes[0], losses)
    for axis, (name, line) in zip(axes[1:], others.items()):
        _draw_line(axis, line, color=BLUE, linewidth=0.8)
        _dress(axis, name, [line], math.inf if name == "learning rate" else WIDE)
    axes[0].set_title(title, loc="left", fontsize=12)
    axes[-1].set_xlabel("steps of the optimizer")
    axes[-1].set_xlim(0, 1.01 * max(line[0].max() for line in [*losses.values(), *others.values()]) or 1)
    figure.align_ylabels()
    figure.supxlabel(caption, fontsize=8, color=GREY, x=0.01, ha="left", parse_math=False)
    figure.savefig(path, format="png", dpi=120)


def lines_of(rows: Iterable[dict[str, Any]]) -> dict[str, Line]:
    """The LINES that have a point, which is a finite number. Only 16 bytes a point are kept: a run has millions."""
    flat = {name: array("d") for name in LINES}
    for row in rows:
        for name, (kind, entry) in LINES.items():
            if row.get("kind") == kind and _is_number(row.get(entry)):
                flat[name].extend((row["step"], row[entry]))
    points = {name: np.frombuffer(values).reshape(-1, 2) for name, values in flat.items() if values}
    return {name: (columns[:, 0], columns[:, 1]) for name, columns in points.items()}


def thinned(line: Line) -> Line:
    """At most MOST points, the lowest and the highest of each block of steps: no peak is lost."""
    steps, values = line
    if len(steps) <= MOST:
        return line
    blocks = np.array_split(np.arange(len(steps)), MOST // 2)
    kept = [sorted((block[values[block].argmin()], block[values[block].argmax()])) for block in blocks]
    chosen = np.unique(kept)
    return steps[chosen], values[chosen]


def headline(losses: dict[str, Line]) -> str:
    """What the picture says: by epochs where there are two, else by steps. Raises ValueError when there is no loss."""
    values, unit = losses.get("training", NOTHING)[1], "epoch"
    if len(values) < 2 and "each step" in losses:
        values, unit = losses["each step"][1], "step"
    if not len(values):
        raise ValueError("there is no loss to draw yet; train for a step first")
    many = f"{len(values):,} {unit}{'' if len(values) == 1 else 's'}"
    start, end = _short(values[0]), _short(values[-1])
    if start == end:
        return f"Loss is {end} after {many}"
    return f"Loss {'falls' if values[-1] < values[0] else 'rises'} from {start} to {end} in {many}"


def _is_number(value: Any) -> bool:
    """Whether this is a finite number that a picture can hold: the file may say 1e999, true, or 400 digits."""
    return type(value) in (int, float) and abs(value) < 1e300


def _short(value: float) -> str:
    return f"{value:.2f}" if 0.1 <= abs(value) < 10_000 or value == 0 else f"{value:.2g}"


def _draw_losses(axis: Any, losses: dict[str, Line]) -> None:
    for name, line in losses.items():
        _draw_line(axis, line, **STYLES[name])
    _dress(axis, "loss (mean of the samples)", list(losses.values()), WIDE)
    ends = {name: float(values[-1]) for name, (_, values) in losses.items()}
    for (name, end), height in zip(ends.items(), _apart([_height(axis, end) for end in ends.values()])):
        axis.plot([1.01, 1.04], [height, height], transform=axis.transAxes, clip_on=False, **STYLES[name])
        axis.text(1.05, height, f"{name} {_short(end)}", va="center", transform=axis.transAxes)


def _draw_line(axis: Any, line: Line, **style: Any) -> None:
    """A line; a point where there is only one, not cut by the picture's edge."""
    alone = {"marker": "o", "clip_on": False} if len(line[0]) == 1 else {}
    axis.plot(*thinned(line), **alone, **style)


def _dress(axis: Any, name: str, lines: list[Line], wide: float) -> None:
    axis.set_ylabel(name, fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    low, high, logarithmic = _limits([values for _, values in lines], wide)
    if logarithmic:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
    axis.set_ylim(low, high)


def _limits(lines: list[np.ndarray], wide: float) -> tuple[float, float, bool]:
    """Lower and upper end of an axis, and whether it is logarithmic.

    They go by the medians of 50 blocks a line: one odd batch leaves the picture, and does not press the rest flat.
    """
    blocks = [block for values in lines for block in np.array_split(values, min(50, len(values)))]
    middles, values = [float(np.median(block)) for block in blocks], np.concatenate(lines)
    low, high = min(middles), max(middles)
    if values.min() > 0 and high > wide * low:
        return max(low / 4, values.min() / 1.2), min(high * 4, values.max() * 1.2), True
    room = high - low or abs(high) or 1.0
    return max(low - 2 * room, values.min() - room / 20), min(high + 2 * room, values.max() + room / 20), False


def _height(axis: Any, value: float) -> float:
    """Where a value stands between the lower end 0 and the upper end 1 of the axis."""
    low, high, at = axis.yaxis.get_transform().transform(np.array([*axis.get_ylim(), value]))
    return float(np.clip((at - low) / (high - low), 0, 1))


def _apart(heights: list[float]) -> list[float]:
    """The heights of labels, moved apart until no two touch, then together to between 0 and 1."""
    order, placed = np.argsort(heights, kind="stable"), np.array(heights, dtype=np.float64)
    for lower, upper in list(zip(order, order[1:])) * 50:
        push = max(0.0, GAP - placed[upper] + placed[lower]) / 2
        placed[lower], placed[upper] = placed[lower] - push, placed[upper] + push
    return list(placed - min(placed.min(), 0.0) - max(placed.max() - 1.0, 0.0))
