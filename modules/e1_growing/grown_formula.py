"""A grown network as lines of Python. Supplied with lesson e1: trace it, don't write it.

    x0_ = (x0 - 0.5) / 0.2886                             a feature, standardised
    z0_0 = clip(0.11 + 0.5*x0_ - 0.2*x0_*x3_, -2, 3.1)    layer 0, unit 0, standardised for the layer above
    y = clip(14.4 + 4.9*z0_0 + ..., 1.2, 28)              the read-out, in the target's own units

The standardising of an output is a step like the polynomial's own, so it is folded into the coefficients and limits.
Begin at `formula_of`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this

TERMS = ("", "*{u}", "*{v}", "*{u}*{v}", "*{u}**2", "*{v}**2", "*{u}**3", "*{v}**3")
OURS = re.compile(r"y|clip|z\d+_\d+")


def formula_of(
    layers: Sequence[Any], features: int, target: tuple[float, float], head: Any, names: Any, digits: int
) -> str:
    """The lines, in the order in which they can be run. Layers are pruned: every unit is read by something."""
    called = identifiers(names, features)
    lines = [
        f"{called[column]}_ = ({called[column]} - {_number(center, digits)}) / {_number(scale, digits)}"
        for column, (center, scale) in sorted(_read(layers, range(features)).items())
    ]
    for number, layer in enumerate(layers):
        columns = [f"{name}_" for name in called] + [f"z{number - 1}_{unit}" for unit in range(_below(layers, number))]
        outer = _read(layers[number + 1 : number + 2], range(features, features + len(layer)))
        for unit in range(len(layer)):
            is_last = number == len(layers) - 1
            name = "y" if is_last and head is None else f"z{number}_{unit}"
            step = _target_step(target, head) if is_last else outer[features + unit]
            lines.append(f"{name} = {_unit(layer, unit, columns, step, digits)}")
    return "\n".join([*lines, *_head(layers, target, head, digits)])


def identifiers(names: Sequence[str] | None, features: int) -> list[str]:
    """A name for each feature that Python takes for one. Raises ValueError unless there are D, all different."""
    given = [f"x{number}" for number in range(features)] if names is None else [str(name) for name in names]
    if len(given) != features:
        raise ValueError(f"formula: needs {features} names, one a feature, got {len(given)}")
    found = [_identifier(name) for name in given]
    twice = [name for place, name in enumerate(found) if name in found[:place]]
    if twice:
        raise ValueError(f"formula: two features would be called {twice[0]}; give them other names")
    return found


def _identifier(name: str) -> str:
    word = re.sub(r"\W+", "_", name).strip("_") or "x"
    word = f"x{word}" if word[0].isdigit() else word
    return f"{word}_" if keyword.iskeyword(word) or OURS.fullmatch(word) else word


def _below(layers: Sequence[Any], number: int) -> int:
    return len(layers[number - 1]) if number else 0


def _read(layers: Sequence[Any], columns: range) -> dict[int, tuple[float, float]]:
    """Center and scale of each of the columns that these layers read."""
    return {
        int(column): (float(center), float(scale))
        for layer in layers
        for column, center, scale in zip(layer.pairs.ravel(), layer.center.ravel(), layer.scale.ravel())
        if column in columns
    }


def _target_step(target: tuple[float, float], head: Any) -> tuple[float, float]:
    """As center and scale: from deviations of the target to its own units; a head reads deviations."""
    mean, deviation = target
    return (-mean / deviation, 1 / deviation) if head is None else (0.0, 1.0)


def _unit(layer: Any, unit: int, columns: Sequence[str], step: tuple[float, float], digits: int) -> str:
    center, scale = step
    weights = layer.coefficients[unit] / scale
    weights[0] -= center / scale
    low, high = ((float(limit) - center) / scale for limit in (layer.low[unit], layer.high[unit]))
    u, v = (columns[column] for column in layer.pairs[unit])
    polynomial = _sum(weights, [term.format(u=u, v=v) for term in TERMS], digits)
    return polynomial if np.isinf(high) else f"clip({polynomial}, {_number(low, digits)}, {_number(high, digits)})"


def _head(layers: Sequence[Any], target: tuple[float, float], head: Any, digits: int) -> Iterator[str]:
    """The last line, where a head reads several units."""
    if head is not None:
        (weights, bias), (mean, deviation) = head, target
        numbers = np.append(mean + deviation * bias, deviation * weights)
        terms = ["", *(f"*z{len(layers) - 1}_{unit}" for unit in range(len(weights)))]
        yield f"y = {_sum(numbers, terms, digits)}"


def _sum(weights: np.ndarray, terms: Sequence[str], digits: int) -> str:
    """The terms that count at so many digits, joined by signs."""
    least = 0.5 * 10.0**-digits * np.abs(weights).max()
    parts = [(weight, term) for weight, term in zip(weights.tolist(), terms) if abs(weight) > least]
    text = "".join(f" {'-' if weight < 0 else '+'} {_number(abs(weight), digits)}{term}" for weight, term in parts)
    return text.removeprefix(" + ").replace(" - ", "-", 1) if text.startswith(" -") else text.removeprefix(" + ") or "0"


def _number(value: float, digits: int) -> str:
    return format(value, f".{digits}g")
