"""The base of a network that grows: all but the lesson's own steps. Supplied with lesson e1: trace it, don't write it.

Whoever drives the growth (`fit`, or a trainer that saves in between) does it family by family, layer by layer:

    net.begin(train, dev, val=None)   checks and keeps the rows, opens layer 0; each is (x, y) or (x, y, weights)
    while not net.finished:
        for kind in net.pending():    the families that the open layer has not tried yet, in order
            net.fit_family(kind)      fit every pair, score it, keep the best so far; map=pool.map splits the pairs
        net.close_layer()             the kept units become a layer; opens the next one, or finishes

    net.state_dict()                  at any time: arrays by dotted name, as `save_npz` and checkpoints hold them
    net.load_state_dict(state)        after `begin` with the same rows: goes on bit for bit as if never stopped;
                                      without `begin`: a network to predict with
    net.where                         what is open, for a log: "layer 2"; None when nothing is
    net.layer_errors, net.val_errors  a number a closed layer; val selects nothing
    net.finished, net.layers          when finished, the layers behind the last improvement are cut off

`GMDHNetwork` (lesson) and `GMDHClassifier` (grown_classes.py) both have these, and `predict`, `prune`, `formula`,
`active_features`. `map` is called as `map(family, parts)`: `family` is a picklable callable that holds the open layer's
rows, `parts` a list of arrays of pairs `(p, 2)`; it gives `family(part)` of each, in order. Every candidate is fitted
by itself, so the bits do not depend on how the pairs are split, or on who computes a part.

Everything is float64. With the same rows, settings, NumPy build and count of BLAS threads the same bits come out;
`exact_threads(1)` around the growth makes the count the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from tinytorch.grown_config import GMDHConfig
from tinytorch.grown_formula import formula_of
from tinytorch.grown_open import Opened
from tinytorch.grown_rows import Rows, features_of, rows_of
from tinytorch.grown_state import gathered, restored
from tinytorch.grown_units import outputs_of

__all__: list[str] = []  # the package hands on none of this

Map = Callable[[Callable[[np.ndarray], Any], Sequence[np.ndarray]], Iterable[Any]]


class Grown:
    """What a network has before and after it grows. The lesson's `GMDHNetwork` adds the steps of growing.

    `layers` are tables of units, each with the lowest error first; `head` is None, or the weights `(K,)` and the bias
    by which `fit_head` reads the last layer. Without a head the prediction is unit 0 of the last layer.
    """

    grows: ClassVar[bool] = True  # for `load_model`
    table: ClassVar[type[Any]]  # the lesson's GMDHLayer
    new_rule: Callable[[], Any]  # the lesson's, each gives a GrowthRule
    kept: Callable[[], list[tuple[np.ndarray, np.ndarray]]]  # the lesson's, by its prune

    def __init__(self, config: GMDHConfig | None = None) -> None:
        if config is not None and not isinstance(config, GMDHConfig):
            raise TypeError(f"{type(self).__name__}: needs a GMDHConfig, got a {type(config).__name__}")
        self.config = config or GMDHConfig()
        self.forget()

    def forget(self) -> None:
        """Be as new."""
        self.features = 0  # D; 0 before anything is grown
        self.target = 0.0, 1.0  # mean and deviation of y on the training rows
        self.layers: list[Any] = []
        self.layer_errors: list[float] = []
        self.val_errors: list[float] = []
        self.head: tuple[np.ndarray, float] | None = None
        self.finished = False
        self.rows: dict[str, Rows] = {}
        self.opened: Any = None
        self.rule = self.new_rule()

    # Growing

    def begin(self, train: Any, dev: Any, val: Any = None) -> None:
        """Take the rows in, forget what was grown before, open layer 0.

        Raises TypeError or ValueError, in one sentence, for rows that cannot be meant; nothing has changed then.
        """
        given = {"train": rows_of("train", train)}
        features = given["train"].x.shape[1]
        given["dev"] = rows_of("dev", dev, features)
        if val is not None:
            given["val"] = rows_of("val", val, features)
        mean, deviation = float(given["train"].y.mean()), float(given["train"].y.std())
        rows = {name: Rows(r.x, (r.y - mean) / deviation, r.weights) for name, r in given.items()}
        opened = self.open_on(rows, {name: np.empty((len(r.x), 0)) for name, r in rows.items()})
        if not len(opened.pairs):
            raise ValueError("train x has fewer than two features that vary, and a unit needs two; add another column")
        self.forget()
        self.features, self.target, self.rows, self.opened = features, (mean, deviation), rows, opened

    def open_on(self, rows: dict[str, Rows], below: dict[str, np.ndarray]) -> Opened:
        """A layer above these outputs."""
        return Opened(rows, below, self.config, self.table)

    def open_above(self, outputs: dict[str, np.ndarray]) -> None:
        """Open a layer on top; finish where no two of its columns vary."""
        self.opened = self.open_on(self.rows, outputs)
        if not len(self.opened.pairs):
            self.finish()

    def require_open(self, kind: str | None = None) -> Opened:
        """The open layer. Raises RuntimeError where there is none, or where it is not the turn of family `kind`."""
        if self.opened is None:
            raise RuntimeError(f"{type(self).__name__}: no layer is open; call begin(train, dev) first")
        pending = self.pending()
        if kind is not None and kind not in pending[:1]:
            waits = f"waits for {', '.join(pending)}" if pending else "has tried every family"
            raise RuntimeError(f"{self.where} {waits}, not for {kind}; take the families in the order of pending()")
        opened: Opened = self.opened
        return opened

    def pending(self) -> tuple[str, ...]:
        """The families that the open layer has not tried yet, in order; none when nothing is open."""
        return () if self.opened is None else tuple(k for k in self.config.kinds if k not in self.opened.tried)

    @property
    def where(self) -> str | None:
        """What is open, for a log."""
        return None if self.opened is None else f"layer {len(self.layers)}"

    def add_layer(self) -> dict[str, np.ndarray]:
        """Close the open layer; return its outputs by name of the rows, `(N, K)` each.

        Raises RuntimeError while a family is pending, ValueError when no candidate has a finite error.
        """
        opened, pending = self.require_open(), self.pending()
        if pending:
            raise RuntimeError(f"{self.where} has not tried {', '.join(pending)}; call fit_family first")
        if not len(opened.best):
            raise ValueError(f"{self.where}: no pair of columns has a finite error; bring features to a smaller range")
        layer = opened.best
        if self.config.clamp:
            layer = layer.limited(layer.forward(opened.columns["train"]), self.config.margin)
        self.layers.append(layer)
        self.layer_errors.append(float(layer.errors[0]))
        return {name: layer.forward(columns) for name, columns in opened.columns.items()}

    def finish(self) -> None:
        """Cut off the layers behind the last improvement, and let go of the rows."""
        self.layers = self.accepted()
        self.finished, self.opened, self.rows = True, None, {}

    def accepted(self) -> list[Any]:
        """The layers up to the last improvement."""
        return self.layers if self.finished else self.layers[: self.rule.kept + 1]

    # What was grown

    def require_grown(self) -> list[Any]:
        """The layers to predict with. Raises RuntimeError where there is none."""
        if not self.layers:
            raise RuntimeError(f"{type(self).__name__}: nothing is grown yet; call fit(train, dev) first")
        return self.accepted()

    def outputs(self, x: Any) -> np.ndarray:
        """What the units of the last layer give, in deviations of the target. `(N, D) -> (N, K)`

        Raises TypeError or ValueError for rows that are not `(N, D)` of finite numbers, RuntimeError before any layer.
        """
        layers = self.require_grown()
        return outputs_of(layers, features_of("predict:", x, self.features))

    def predict(self, x: Any) -> np.ndarray:
        """One value a row, `(N, D) -> (N,)` float64. Raises as `outputs`.

        A row's bits do not depend on the rows beside it.
        """
        mean, deviation = self.target
        return mean + deviation * self.read(self.outputs(x))

    def read(self, outputs: np.ndarray) -> np.ndarray:
        """The read-out, by unit 0 or by the head. `(N, K) -> (N,)`"""
        if self.head is None:
            return outputs[:, 0]
        weights, bias = self.head
        return np.einsum("nk,k->n", outputs, weights) + bias

    def wanted(self) -> tuple[int, ...]:
        """The units of the last layer that the read-out reads."""
        return (0,) if self.head is None else tuple(range(len(self.require_grown()[-1])))

    def prune(self) -> None:
        """Drop every unit that the prediction does not depend on; it stays the same to the last bit.

        Raises RuntimeError while a layer is open: the next one may still need what is dropped.
        """
        if self.opened is not None:
            raise RuntimeError(f"{type(self).__name__}: {self.where} is open; prune when the growth has finished")
        self.layers, self.finished = self.pruned_layers(), True

    def pruned_layers(self) -> list[Any]:
        """The layers as `prune` would leave them."""
        kept, layers = self.kept(), self.require_grown()
        above = layers[len(layers) - len(kept) :]
        return [layer.take(units, np.asarray(pairs, dtype=np.int64)) for layer, (units, pairs) in zip(above, kept)]

    def active_features(self) -> list[int]:
        """The numbers of the features that the prediction depends on."""
        read = np.concatenate([np.ravel(pairs) for _, pairs in self.kept()])
        return sorted({int(column) for column in read if column < self.features})

    def formula(self, names: Sequence[str] | None = None, digits: int = 4) -> str:
        """The prediction as lines of Python, features called `names` (x0, x1, ...), with so many digits a number.

        A line for every unit, `clip(value, low, high)` around it, and one for `y`. What no identifier can hold in a
        name becomes `_`. Raises ValueError unless there are D names, all different.
        """
        return formula_of(self.pruned_layers(), self.features, self.target, self.head, names, digits)

    def plot(self, path: str | PathLike[str], names: Sequence[str] | None = None) -> None:
        """Draw the units that the prediction depends on to a PNG or SVG file. Raises as `formula`, and OSError."""
        from tinytorch.grown_plot import draw_network

        draw_network(self.pruned_layers(), self.features, self.head, names, path)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything grown so far, an open layer's best units included: arrays by dotted name."""
        return gathered(self)

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from `state_dict`. After `begin` the rows must be those of then, and the growth goes on bit for bit.

        Raises ValueError, with nothing changed, for what is no state, or one of other rows or settings.
        """
        restored(self, state)
