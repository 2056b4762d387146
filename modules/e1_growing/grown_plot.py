"""Draws a grown network: features on the left, a column a layer, the read-out on the right. Supplied with lesson e1.

Trace it, don't write it: begin at `draw_network`. Only matplotlib's objects are used, not pyplot.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

__all__: list[str] = []  # the package hands on none of this

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8c8c8c"
HIGHER = 0.4  # by which features stand above the units, so that no line runs through a unit that does not read it

Places = dict[tuple[int, int], tuple[float, float]]  # (layer from -1 for the features, number) -> x, y


def draw_network(layers: Sequence[Any], features: int, head: Any, names: Any, path: str | PathLike[str]) -> None:
    """Write a picture of pruned layers to `path`. Raises ValueError for names that do not fit, OSError."""
    from matplotlib.figure import Figure

    from tinytorch.grown_formula import identifiers

    identifiers(names, features)
    called = [f"x{number}" for number in range(features)] if names is None else [str(name) for name in names]
    places = places_of(layers, features)
    figure = Figure(figsize=(2.2 + 1.3 * len(layers), max(2.4, 0.45 * _tallest(places))), layout="constrained")
    axis: Any = figure.subplots()
    for (x1, y1), (x2, y2) in edges_of(layers, features, places, head):
        axis.plot([x1, x2], [y1, y2], color=GREY, linewidth=0.8, zorder=1)
    for (layer, number), (x, y) in places.items():
        axis.scatter([x], [y], s=90, color=BLUE if layer < 0 else ORANGE, zorder=2)
        if layer < 0:
            axis.text(x - 0.12, y, called[number], ha="right", va="center", fontsize=9)
        else:
            axis.text(x, y + 0.22, f"{layers[layer].errors[number]:.3f}", ha="center", va="bottom", fontsize=7)
    axis.text(len(layers) + 0.12, 0, "y", va="center")
    title = f"{sum(map(len, layers))} units in {len(layers)} layers, each with its error"
    axis.set_title(title, fontsize=10, loc="left")
    axis.set_xlim(-1.2 - 0.08 * max(map(len, called)), len(layers) + 0.5)
    axis.axis("off")
    figure.savefig(path, dpi=120)


def places_of(layers: Sequence[Any], features: int) -> Places:
    """Where the features that are read, and all units, stand: a column each, its middle at height 0."""
    read = sorted({int(column) for layer in layers for column in layer.pairs.ravel() if column < features})
    columns = [(-1, read), *((number, list(range(len(layer)))) for number, layer in enumerate(layers))]
    return {
        (layer, member): (float(layer), (len(members) - 1) / 2 - row + (HIGHER if layer < 0 else 0.0))
        for layer, members in columns
        for row, member in enumerate(members)
    }


def edges_of(layers: Sequence[Any], features: int, places: Places, head: Any) -> list[tuple[Any, Any]]:
    """From what is read to who reads it, and from the last layer to the read-out."""
    found = []
    for number, layer in enumerate(layers):
        for unit, pair in enumerate(layer.pairs.tolist()):
            for column in pair:
                source = (-1, column) if column < features else (number - 1, column - features)
                found.append((places[source], places[number, unit]))
    last = len(layers) - 1
    units = [0] if head is None else range(len(layers[-1]))
    return [*found, *((places[last, unit], (last + 1.0, 0.0)) for unit in units)]


def _tallest(places: Places) -> int:
    return max(sum(1 for layer, _ in places if layer == each) for each, _ in places)
