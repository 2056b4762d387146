"""The pictures of the network that grew itself: what it looks like, its errors by layer, and what it stands beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from exhibit import BLUE, GREY, ORANGE, canvas, place, save

if TYPE_CHECKING:
    from tinytorch import GMDHNetwork

COLOURS = {"weighted sum": GREY, "all products": BLUE, "grown": ORANGE, "fine-tuned": ORANGE}


def picture_network(net: GMDHNetwork, names: tuple[str, ...]) -> str:
    """The units that one network's prediction depends on."""
    path = place("m2b_network")
    net.plot(path, names)
    return path.as_posix()


def picture_layers(nets: dict[str, list[GMDHNetwork]], seed: int) -> str:
    """Error by layer, on the rows that choose and on those that do not, as a mean over the runs."""
    caption = f"Means over splits, seeds from {seed} on; a network that has stopped keeps its error."
    figure, axes = canvas(len(nets), caption, sharey=True)
    for axis, (name, found) in zip(axes, nets.items(), strict=True):
        most = max(len(net.layers) for net in found)
        dev, test = (mean_by_layer(errors, found, most) for errors in ("layer_errors", "val_errors"))
        for line, colour, label in ((dev, BLUE, "dev, which chooses"), (test, ORANGE, "test, which does not")):
            axis.plot(np.arange(1, most + 1), line, color=colour, marker="o", label=label)
        axis.set(title=f"{name}: in the end {dev[-1]:.2f} on dev, {test[-1]:.2f} on test", xlabel="layers")
    axes[0].set(ylabel="share of the spread that is left", ylim=(0, None))
    axes[0].legend(frameon=False)
    return save(figure, "m2b_layers")


def mean_by_layer(errors: str, nets: list[GMDHNetwork], most: int) -> np.ndarray:
    """The mean over networks of an error by layer, up to the last layer that was kept. `-> (most,)`"""
    kept = [getattr(net, errors)[: len(net.layers)] for net in nets]
    return np.array([line + line[-1:] * (most - len(line)) for line in kept]).mean(axis=0)


def picture_beside(r2: dict[str, dict[str, list[float]]], seed: int) -> str:
    """R2 of every run, a dot each, by table and way."""
    figure, axes = canvas(len(r2), f"A dot a split, seeds from {seed} on; a bar at their mean.")
    for axis, (name, ways) in zip(axes, r2.items(), strict=True):
        for at, (way, found) in enumerate(ways.items()):
            spread = np.linspace(-0.2, 0.2, len(found))
            axis.scatter(at + spread, found, s=14, color=COLOURS[way], alpha=0.7)
            axis.plot([at - 0.3, at + 0.3], [np.mean(found)] * 2, color="black")
            axis.annotate(f"{np.mean(found):.2f}", (at + 0.34, np.mean(found)), va="center", fontsize=9)
        best = max(ways, key=lambda way: np.mean(ways[way]))
        axis.set(
            title=f"{name}: most by {best}, {np.mean(ways[best]):.2f}",
            xticks=range(len(ways)),
            xlim=(-0.5, len(ways) - 0.3),
        )
        axis.set_xticklabels([way.replace(" ", "\n") for way in ways])
    axes[0].set(ylabel="R2 on the test rows")
    return save(figure, "m2b_beside")
