"""A grown network as a Module whose parameters are its coefficients. Supplied with lesson e1: trace it, don't write it.

Begin at `GrownModule`, then `Step`, which is a whole layer in one operation. Means, deviations and limits stay as the
growth left them; only the coefficients, and the weights of a read-out, are learned. Everything is float64.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from tinytorch.grown_config import TERMS
from tinytorch.grown_units import FAMILIES, MOST_TERMS, Units
from tinytorch.layers import Module, Parameter
from tinytorch.tensor import Operation, Tensor

__all__: list[str] = []  # the package hands on none of this: see `to_module`


class Beside(Operation):
    """Columns of two tensors, those of the first in front. `(N, n), (N, m) -> (N, n + m)`"""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.concatenate([a, b], axis=1)

    def backward(self, grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each its own columns."""
        width = self.inputs[0].data.shape[1]
        return grad[:, :width], grad[:, width:]


class Step(Operation):
    """All units of a layer. `(N, n), (Q,) -> (N, K)`; the Q coefficients are those of unit 0, then of unit 1, ..."""

    def __init__(self, units: Units) -> None:
        self.units, self.real = units, real_terms(units)

    def forward(self, columns: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        self.u, self.v = (side.T for side in self.units.inputs(columns, np.arange(len(self.units))))  # (N, K)
        self.c = unpacked(coefficients, self.real)
        u, v, c = self.u, self.v, self.c
        answer = c[0] + u * (c[1] + u * (c[4] + u * c[6])) + v * (c[2] + v * (c[5] + v * c[7])) + c[3] * u * v
        self.inside = (answer >= self.units.low) & (answer <= self.units.high)
        return np.clip(answer, self.units.low, self.units.high)

    def backward(self, grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nothing passes where the answer was clamped; the rest by the slopes of the polynomial."""
        u, v, c = self.u, self.v, self.c
        grad = grad * self.inside
        terms = [np.ones_like(u), u, v, u * v, u * u, v * v, u**3, v**3]
        to_coefficients = np.stack([(grad * term).sum(axis=0) for term in terms], axis=1)[self.real]
        slopes = (c[1] + u * (2 * c[4] + 3 * c[6] * u) + c[3] * v, c[2] + v * (2 * c[5] + 3 * c[7] * v) + c[3] * u)
        to_columns = np.zeros(self.inputs[0].data.shape)
        for side, slope in enumerate(slopes):
            shares = grad * slope / self.units.scale[:, side]
            for unit, column in enumerate(self.units.pairs[:, side]):
                to_columns[:, column] += shares[:, unit]
        return to_columns, to_coefficients


def real_terms(units: Units) -> np.ndarray:
    """Which of the 8 coefficients each unit's family has. `(K, 8)`"""
    counts = np.array([TERMS[FAMILIES[code]] for code in units.families])
    return np.arange(MOST_TERMS) < counts[:, None]


def unpacked(coefficients: np.ndarray, real: np.ndarray) -> np.ndarray:
    """One row a term, with zeros where a family has none. `(Q,) -> (8, K)`"""
    table = np.zeros(real.shape)
    table[real] = coefficients
    return table.T


class GrownLayer(Module):
    """A layer of units with their coefficients as one parameter, `(Q,)`."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.coefficients = Parameter(units.coefficients[real_terms(units)], dtype=np.float64)

    def forward(self, columns: Tensor) -> Tensor:
        """`(N, n) -> (N, K)`"""
        return Step(self.units).apply(columns, self.coefficients)

    def learned(self) -> Any:
        """The units with the coefficients as they are now."""
        table = unpacked(self.coefficients.data, real_terms(self.units)).T
        return type(self.units)(**{**self.units.arrays(), "coefficients": table})


class GrownModule(Module):
    """A pruned network, `(N, D) -> (N,)`, in the target's own units. Layer 0 is the attribute `layer0`."""

    def __init__(self, net: Any) -> None:
        self.grown = copy.copy(net)
        self.grown.layers = net.pruned_layers()
        for number, units in enumerate(self.grown.layers):
            setattr(self, f"layer{number}", GrownLayer(units))
        if net.head is not None:
            self.weights, self.bias = (Parameter(part, dtype=np.float64) for part in net.head)

    def layers(self) -> list[GrownLayer]:
        """The layers, first to last."""
        return [getattr(self, f"layer{number}") for number in range(len(self.grown.layers))]

    def forward(self, x: Tensor) -> Tensor:
        """`(N, D) -> (N,)`"""
        first, *others = self.layers()
        answer = first(x)
        for layer in others:
            answer = layer(Beside().apply(x, answer))
        mean, deviation = self.grown.target
        if self.grown.head is None:
            return answer[:, 0] * deviation + mean
        return ((answer * self.weights).sum(dim=1) + self.bias) * deviation + mean

    def network(self) -> Any:
        """A network of its own with the coefficients as they are now, to predict with, or to write as a formula."""
        found = copy.copy(self.grown)
        found.layers = [layer.learned() for layer in self.layers()]
        if found.head is not None:
            found.head = self.weights.data.copy(), float(self.bias.data)
        return found


class GrownClasses(Module):
    """A classifier's pruned networks and its read-out, `(N, D) -> (N, C)` scores; of two classes the logits `(N,)`.

    For `CrossEntropyLoss` or `BCEWithLogitsLoss`. Network 0 is the attribute `network0`.
    """

    def __init__(self, classifier: Any) -> None:
        self.grown = copy.copy(classifier)
        for number, net in enumerate(classifier.networks):
            setattr(self, f"network{number}", GrownModule(net))
        self.read_out = Parameter(classifier.read_out, dtype=np.float64)

    def networks(self) -> list[GrownModule]:
        """The networks, class by class."""
        return [getattr(self, f"network{number}") for number in range(len(self.grown.networks))]

    def forward(self, x: Tensor) -> Tensor:
        """`(N, D) -> (N, C)` or `(N,)`"""
        scores, *others = (network(x).reshape(-1, 1) for network in self.networks())
        for more in others:
            scores = Beside().apply(scores, more)
        logits = scores @ self.read_out[:, :-1].T + self.read_out[:, -1]
        return logits if self.grown.classes > 2 else logits[:, 0]

    def network(self) -> Any:
        """A classifier of its own with the coefficients and the read-out as they are now."""
        found = copy.copy(self.grown)
        found.networks = [module.network() for module in self.networks()]
        found.read_out = self.read_out.data.copy()
        return found
