"""A grown network as arrays by name, and back. Supplied with lesson e1: trace it, don't write it.

    features, finished    ()                 D; whether the growth is over
    target                (2,)               mean and deviation of y on the training rows
    layer_errors          (L,)               of all closed layers, those that were cut off included
    val_errors            (L,) or (0,)
    layers.J.NAME         of layer J, the arrays of `Units`
    open.NAME             of the open layer, the best units so far
    tried                 (T,)               families that it has tried, by place in FAMILIES
    head                  (K + 1,) or (0,)   weights of the read-out, then its bias

A state may come from a file of anybody's, so `restored` compares every array before it changes the network.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np

from tinytorch.grown_units import FAMILIES, Units, outputs_of

__all__: list[str] = []  # the package hands on none of this

NAMES = tuple(field.name for field in fields(Units))
WIDTHS = {"pairs": (2,), "coefficients": (8,), "center": (2,), "scale": (2,)}  # behind the K of the other arrays
UNBOUNDED = {"errors", "low", "high", "val_errors"}  # may hold infinity
OTHERS = {"features", "finished", "target", "layer_errors", "val_errors", "tried", "head"}


def gathered(net: Any) -> dict[str, np.ndarray]:
    """The state, in new arrays."""
    opened = net.opened
    tried = [] if opened is None else [FAMILIES.index(kind) for kind in opened.tried]
    head = np.empty(0) if net.head is None else np.append(net.head[0], net.head[1])
    state = {
        "features": np.array(net.features, dtype=np.int64),
        "finished": np.array(net.finished),
        "target": np.array(net.target),
        "layer_errors": np.array(net.layer_errors, dtype=np.float64),
        "val_errors": np.array(net.val_errors, dtype=np.float64),
        "tried": np.array(tried, dtype=np.int64),
        "head": head,
    }
    tables = {f"layers.{number}": layer for number, layer in enumerate(net.layers)}
    if opened is not None:
        tables["open"] = opened.best
    return state | {f"{place}.{name}": a.copy() for place, t in tables.items() for name, a in t.arrays().items()}


def restored(net: Any, state: Any) -> None:
    """Put a state into the network. Raises ValueError, with nothing changed, where it does not fit."""
    found = _arrays(state)
    features, finished = int(found["features"]), bool(found["finished"])
    layers = _layers(net, found, features)
    if finished and "open.pairs" in found:
        _refuse("a layer is open in a network that is finished")
    if not finished and len(layers) != len(found["layer_errors"]):
        _refuse("it has not one error for each layer")
    best = _table(net, found, "open", features + (len(layers[-1]) if layers else 0)) if "open.pairs" in found else None
    head = _head(found["head"], layers)
    opened = None if finished else _opened(net, found, layers, best)
    rows = {} if finished else net.rows
    net.forget()
    net.features, net.finished, net.layers, net.head = features, finished, layers, head
    net.target = float(found["target"][0]), float(found["target"][1])
    net.layer_errors, net.val_errors = found["layer_errors"].tolist(), found["val_errors"].tolist()
    net.rows, net.opened = rows, opened
    for number, error in enumerate(net.layer_errors):
        net.rule.update(number, error)


def _opened(net: Any, found: dict[str, np.ndarray], layers: list[Any], best: Any) -> Any:
    """The open layer on the network's rows; None without rows."""
    if net.opened is None:
        return None
    tried = [FAMILIES[code] for code in found["tried"].tolist() if 0 <= code < len(FAMILIES)]
    if best is None:
        _refuse("it has no open layer to go on with")
    if int(found["features"]) != net.features or tuple(found["target"]) != net.target:
        _refuse("it comes from other training rows than those of begin")
    if len(tried) != len(found["tried"]) or tried != list(net.config.kinds[: len(tried)]):
        _refuse(f"it has tried {', '.join(tried)}, and the config says {', '.join(net.config.kinds)}")
    opened = net.open_on(net.rows, {name: outputs_of(layers, rows.x) for name, rows in net.rows.items()})
    opened.best, opened.tried = best, tried
    return opened


def _arrays(state: Any) -> dict[str, np.ndarray]:
    """The state's arrays, each of the dtype and number of dimensions that it must have."""
    if not isinstance(state, dict):
        _refuse(f"it is a {type(state).__name__}, no dict of arrays")
    for name in sorted(OTHERS - state.keys()):
        _refuse(f"{name} is missing")
    for name, array in state.items():
        wanted = _form(name)
        if not isinstance(array, np.ndarray) or (array.dtype, array.ndim) != wanted:
            _refuse(f"{name} must be an array of {wanted[0]} with {wanted[1]} dimensions")
        if name.rpartition(".")[2] not in UNBOUNDED and not np.isfinite(array).all():
            _refuse(f"{name} holds NaN or infinity")
    if state["target"].shape != (2,) or not state["target"][1] > 0 or state["features"] < 0:
        _refuse("target must be a mean and a deviation above 0, and features a count")
    return dict(state)


def _form(name: Any) -> tuple[np.dtype, int]:
    """The dtype and the number of dimensions of the array of this name."""
    if name in OTHERS:
        kinds = {"features": (np.int64, 0), "finished": (np.bool_, 0), "tried": (np.int64, 1)}
        kind, dimensions = kinds.get(name, (np.float64, 1))
        return np.dtype(kind), dimensions
    part = re.fullmatch(r"(?:layers\.\d{1,6}|open)\.(\w+)", name) if isinstance(name, str) else None
    array = part[1] if part else ""
    if array not in NAMES:
        _refuse(f"{name!r:.60} belongs to no network")
    return np.dtype(np.int64 if array in ("pairs", "families") else np.float64), 1 + len(WIDTHS.get(array, ()))


def _layers(net: Any, found: dict[str, np.ndarray], features: int) -> list[Any]:
    """The tables of all layers, in order; each may read the features and the layer below."""
    numbers = {int(name.split(".")[1]) for name in found if name.startswith("layers.")}
    if numbers != set(range(len(numbers))):
        _refuse("a layer is missing between others")
    layers: list[Any] = []
    for number in range(len(numbers)):
        layers.append(_table(net, found, f"layers.{number}", features + (len(layers[-1]) if layers else 0)))
        if not len(layers[-1]):
            _refuse(f"layer {number} has no unit")
    return layers


def _table(net: Any, found: dict[str, np.ndarray], place: str, columns: int) -> Any:
    """The table of one layer, which reads so many columns."""
    missing = [name for name in NAMES if f"{place}.{name}" not in found]
    if missing:
        _refuse(f"{place}.{missing[0]} is missing")
    arrays = {name: found[f"{place}.{name}"].copy() for name in NAMES}
    count = len(arrays["pairs"])
    for name, array in arrays.items():
        if array.shape != (count, *WIDTHS.get(name, ())):
            _refuse(f"{place}.{name} has shape {array.shape}, beside {count} pairs")
    for name, most in (("pairs", columns), ("families", len(FAMILIES))):
        if count and not 0 <= arrays[name].min() <= arrays[name].max() < most:
            _refuse(f"{place}.{name} must be numbers from 0 to {most - 1}")
    if not (arrays["scale"] > 0).all() or not (arrays["low"] <= arrays["high"]).all():
        _refuse(f"{place} has a deviation that is not above 0, or a range that ends before it begins")
    return net.table(**arrays)


def _head(head: np.ndarray, layers: list[Any]) -> tuple[np.ndarray, float] | None:
    if not head.size:
        return None
    if not layers or len(head) != len(layers[-1]) + 1:
        _refuse(f"head has {len(head)} numbers, and needs one for each unit of the last layer and a bias")
    return head[:-1].copy(), float(head[-1])


def _refuse(why: str) -> Any:
    raise ValueError(f"load_state_dict: this is no state of this network: {why}")
