"""A classifier of networks that grow, one a class. Supplied with lesson e1: trace it, don't write it.

Begin at `GMDHClassifier.close_layer`. The networks grow one after the other, each on targets that are 1 for its class
and 0 for the rest; two classes need one network. Then the read-out learns how likely the scores make each class.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tinytorch.grown import Map
from tinytorch.grown_config import GMDHConfig
from tinytorch.grown_head import fit_head
from tinytorch.grown_readout import fit_read_out, linear, log_shares
from tinytorch.grown_rows import Rows, class_rows_of
from tinytorch.growing import GMDHNetwork
from tinytorch.settings import setting

__all__ = ["GMDHClassifier"]


class GMDHClassifier:
    """Grows like a `GMDHNetwork`, on targets that are class numbers 0 to C - 1; grown.py tells the steps.

    `penalty` keeps the read-out's weights small: see `fit_read_out`. Raises TypeError or ValueError for settings that
    cannot be meant.
    """

    grows: ClassVar[bool] = True  # for `load_model`

    def __init__(self, config: GMDHConfig | None = None, penalty: float = 1e-3) -> None:
        self.config, self.penalty = GMDHNetwork(config).config, setting("GMDHClassifier: penalty", penalty)
        if not self.penalty:
            raise ValueError("GMDHClassifier: penalty must be above 0, for separated classes ask for endless weights")
        self.forget()

    def forget(self) -> None:
        """Be as new."""
        self.networks: list[GMDHNetwork] = []
        self.classes = 0  # C
        self.read_out: np.ndarray | None = None  # (C, C + 1), for two classes (1, 2)
        self.rows: dict[str, Rows] = {}

    # Growing

    def fit(self, train: Any, dev: Any, val: Any = None) -> GMDHClassifier:
        """Grow every network to its end, then fit the read-out on train. Raises as `begin`."""
        self.begin(train, dev, val)
        while not self.finished:
            for kind in self.pending():
                self.fit_family(kind)
            self.close_layer()
        return self

    def begin(self, train: Any, dev: Any, val: Any = None) -> None:
        """Take the rows in, (x, classes) or (x, classes, weights) each, and open layer 0 of the first network.

        Raises TypeError or ValueError, in one sentence, for rows that cannot be meant; nothing has changed then.
        """
        rows = class_rows_of({"train": train, "dev": dev, "val": val})
        classes = int(rows["train"].y.max()) + 1
        networks = [GMDHNetwork(self.config) for _ in range(classes if classes > 2 else 1)]
        networks[0].begin(**_targets(rows, 1 if classes == 2 else 0))
        self.forget()
        self.rows, self.classes, self.networks = rows, classes, networks

    @property
    def finished(self) -> bool:
        """Whether all has grown and the read-out is fitted."""
        return self.read_out is not None

    @property
    def growing(self) -> int | None:
        """The number of the network that is growing; None when none is."""
        waiting = [number for number, network in enumerate(self.networks) if not network.finished]
        return waiting[0] if waiting else None

    @property
    def where(self) -> str | None:
        """What is open, for a log."""
        number = self.growing
        if number is None or not self.rows:
            return None
        return f"class {self._class(number)}, {self.networks[number].where}"

    def pending(self) -> tuple[str, ...]:
        """The families that the open layer has not tried yet, in order."""
        return () if self.growing is None else self.networks[self.growing].pending()

    def fit_family(self, kind: str, map: Map = map) -> None:
        """As `GMDHNetwork.fit_family`, on the network that is growing."""
        self._open().fit_family(kind, map)

    def close_layer(self) -> None:
        """As `GMDHNetwork.close_layer`; the next network follows when one has finished, after the last the read-out."""
        self._open().close_layer()
        self._go_on()

    def _open(self) -> GMDHNetwork:
        if self.growing is None or not self.rows:
            raise RuntimeError("GMDHClassifier: no layer is open; call begin(train, dev) first")
        return self.networks[self.growing]

    def _go_on(self) -> None:
        """Open what comes next, where nothing is."""
        number = self.growing
        if number is None:
            self._fit_read_out(self.rows["train"])
            self.rows = {}
        elif self.networks[number].opened is None:
            self.networks[number].begin(**_targets(self.rows, self._class(number)))

    def _fit_read_out(self, train: Rows) -> None:
        scores, classes = self.scores(train.x), train.y.astype(np.int64)
        self.read_out = fit_read_out(scores, classes, self.classes, train.weights, self.penalty)

    def fit_heads(self, train: Any, ridge: float) -> None:
        """Give each network a head, then fit the read-out anew: see `fit_head`. Raises as `begin`, and RuntimeError."""
        rows = class_rows_of({"train": train})
        if not self.finished:
            raise RuntimeError("fit_head: the classifier has not finished growing; call fit(train, dev) first")
        if int(rows["train"].y.max()) + 1 != self.classes:
            raise ValueError(f"fit_head: train must have all of {self.classes} classes, as the rows it was grown on")
        for number, network in enumerate(self.networks):
            fit_head(network, _targets(rows, self._class(number))["train"], ridge)
        self._fit_read_out(rows["train"])

    def _class(self, network: int) -> int:
        return 1 if self.classes == 2 else network

    # What was grown

    def scores(self, x: Any) -> np.ndarray:
        """What each network says, near 1 where its class is likely. `(N, D) -> (N, C)`, for two classes `(N, 1)`."""
        if not self.networks:
            raise RuntimeError("GMDHClassifier: nothing is grown yet; call fit(train, dev) first")
        return np.stack([network.predict(x) for network in self.networks], axis=1)

    def predict(self, x: Any) -> np.ndarray:
        """Logarithms of the chances, `(N, D) -> (N, C)`; for two classes the logit of class 1, `(N,)`. float64

        A row's bits do not depend on the rows beside it. Raises TypeError or ValueError for rows that are not `(N, D)`
        of finite numbers, RuntimeError before all has grown.
        """
        if self.read_out is None:
            raise RuntimeError("GMDHClassifier: the read-out is not fitted yet; let the growth finish first")
        logits = linear(self.scores(x), self.read_out)
        return log_shares(logits) if self.classes > 2 else logits[:, 0]

    def classify(self, x: Any) -> np.ndarray:
        """The likeliest class of each row, `(N, D) -> (N,)` int64; the first of equals. Raises as `predict`."""
        found = self.predict(x)
        return np.argmax(found, axis=1) if self.classes > 2 else (found > 0).astype(np.int64)

    @property
    def layer_errors(self) -> list[list[float]]:
        """For each network, the error of each layer."""
        return [network.layer_errors for network in self.networks]

    @property
    def val_errors(self) -> list[list[float]]:
        """For each network, the error of each layer on val."""
        return [network.val_errors for network in self.networks]

    def prune(self) -> None:
        """Drop in every network what its score does not depend on; predictions stay the same to the last bit."""
        for network in self.networks:
            network.prune()

    def active_features(self) -> list[int]:
        """The numbers of the features that a score depends on."""
        return sorted({feature for network in self.networks for feature in network.active_features()})

    def formula(self, names: Sequence[str] | None = None, digits: int = 4) -> str:
        """The networks' formulas one after the other; what network 2 says is `y2`."""
        parts = [(self._class(number), network.formula(names, digits)) for number, network in enumerate(self.networks)]
        return "\n".join(f"# class {of}\n{text}\ny{of} = y" for of, text in parts)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything grown so far: arrays by dotted name, those of network 2 as `networks.2.NAME`."""
        state: dict[str, np.ndarray] = {"classes": np.array(self.classes, dtype=np.int64)}
        state["read_out"] = np.empty((0, 0)) if self.read_out is None else self.read_out.copy()
        for number, network in enumerate(self.networks):
            state |= {f"networks.{number}.{name}": array for name, array in network.state_dict().items()}
        return state

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Go on from `state_dict`, as `GMDHNetwork.load_state_dict`. Raises ValueError, with nothing changed."""
        classes, read_out, parts = _parts(state)
        if self.rows and classes != self.classes:
            raise ValueError(f"load_state_dict: the state has {classes} classes, the rows of begin {self.classes}")
        networks = [GMDHNetwork(self.config) for _ in parts]
        for number, (network, part) in enumerate(zip(networks, parts)):
            if self.rows and "open.pairs" in part:
                network.begin(**_targets(self.rows, 1 if classes == 2 else number))
            network.load_state_dict(part)
        features = {network.features for network in networks} - {0}
        if len(features) > 1 or (read_out is not None and not all(network.finished for network in networks)):
            raise ValueError("load_state_dict: the networks are not of one classifier, or a read-out came too early")
        self.classes, self.networks, self.read_out = classes, networks, read_out
        if read_out is not None:
            self.rows = {}
        elif self.rows:
            self._go_on()


def _targets(rows: dict[str, Rows], of: int) -> dict[str, Any]:
    """The rows by name, with targets that are 1 for the class and 0 for the rest."""
    return {name: (r.x, np.equal(r.y, of), *(() if r.weights is None else (r.weights,))) for name, r in rows.items()}


def _parts(state: Any) -> tuple[int, np.ndarray | None, list[dict[str, np.ndarray]]]:
    """The number of classes, the read-out, and the state of each network. Raises ValueError."""
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise ValueError(f"load_state_dict: a state is a dict of arrays by name, got a {type(state).__name__}")
    classes, read_out = state.get("classes"), state.get("read_out")
    if not isinstance(classes, np.ndarray) or classes.shape != () or classes.dtype != np.int64 or classes < 2:
        raise ValueError("load_state_dict: this is no state of a classifier: classes must be an int64 from 2 on")
    count = int(classes) if classes > 2 else 1
    parts: list[dict[str, np.ndarray]] = [{} for _ in range(min(count, len(state)))]
    for name, array in state.items():
        part = re.fullmatch(r"networks\.(\d{1,6})\.(.+)", name)
        if part and int(part[1]) < len(parts):
            parts[int(part[1])][part[2]] = array
        elif name not in ("classes", "read_out"):
            raise ValueError(f"load_state_dict: {name!r:.60} belongs to no classifier of {classes} classes")
    shapes = (0, 0), (count, len(parts) + 1)
    if not isinstance(read_out, np.ndarray) or read_out.dtype != np.float64 or read_out.shape not in shapes:
        raise ValueError(f"load_state_dict: read_out must be an array of float64 of shape {shapes[1]}, or (0, 0)")
    if not np.isfinite(read_out).all() or len(parts) < count:
        raise ValueError("load_state_dict: read_out holds NaN or infinity, or a network is missing")
    return int(classes), read_out.copy() if read_out.size else None, parts
