"""Rows to grow a network on, refused where they cannot be meant. Supplied with lesson e1: trace it, don't write it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tinytorch.tensor import Tensor

__all__: list[str] = []  # the package hands on none of this

FEWEST = {"train": 4, "dev": 2, "val": 2}  # rows


class Rows(NamedTuple):
    """Features `x (N, D)`, targets `y (N,)`, and what each row counts `(N,)`, with mean 1, or None; float64."""

    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None


def rows_of(name: str, data: Any, features: int | None = None) -> Rows:
    """The rows of `data`, which is (x, y) or (x, y, weights) of arrays, lists or tensors.

    Raises TypeError or ValueError that names the part, and for a number that is not finite its row and column.
    """
    if not isinstance(data, (tuple, list)) or len(data) not in (2, 3):
        raise TypeError(f"{name} must be a pair (x, y) or (x, y, weights), got a {type(data).__name__}")
    x, y = features_of(name, data[0], features), numbers(f"{name} y", data[1])
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    require_column(f"{name} y", y, len(x))
    if len(x) < FEWEST[name]:
        raise ValueError(f"{name} has {len(x)} rows, and needs {FEWEST[name]} or more")
    if y.min() == y.max():
        raise ValueError(f"{name} y is {y[0]:g} in every row, so there is nothing to learn; give rows that differ")
    return Rows(x, y, weights_of(name, data[2] if len(data) == 3 else None, len(x)))


def features_of(name: str, x: Any, features: int | None) -> np.ndarray:
    """`x` as float64 `(N, D)`. Raises TypeError or ValueError; `features`, where given, is the D that is wanted."""
    found = numbers(f"{name} x", x)
    if found.ndim != 2:
        raise ValueError(f"{name} x must be rows of features (N, D), got shape {found.shape}")
    if features is None and found.shape[1] < 2:
        raise ValueError(f"{name} x has {found.shape[1]} features, and a unit needs two; add another column")
    if features is not None and found.shape[1] != features:
        raise ValueError(f"{name} x has {found.shape[1]} features, and the network was grown on {features}")
    return np.ascontiguousarray(found)


def numbers(name: str, values: Any) -> np.ndarray:
    """`values` as a float64 array. Raises TypeError for what is no number, ValueError where one is not finite."""
    try:
        found = np.asarray(values.data if isinstance(values, Tensor) else values)
    except ValueError as error:
        raise TypeError(f"{name} must be an array of numbers, got rows of unlike lengths") from error
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of numbers, got a {type(values).__name__} of dtype {found.dtype}")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        row, *column = (int(i) for i in np.argwhere(~np.isfinite(found))[0]) if found.ndim else (0,)
        place = f"row {row}" + (f", column {column[0]}" if column else "")
        raise ValueError(f"{name} has NaN or infinity in {place}; fill it in, or leave the row out")
    return found


def require_column(name: str, values: np.ndarray, count: int, of: str = "rows") -> None:
    """Raise ValueError unless there is one number a row."""
    if values.shape != (count,):
        raise ValueError(f"{name} must have one number for each of {count} {of}, got shape {values.shape}")


def weights_of(name: str, weights: Any, rows: int) -> np.ndarray | None:
    """What each row counts, brought to mean 1; None as it is. Raises TypeError or ValueError."""
    if weights is None:
        return None
    found = numbers(f"{name} weights", weights)
    require_column(f"{name} weights", found, rows)
    if found.min() < 0 or not found.sum() > 0:
        raise ValueError(f"{name} weights must be 0 or more, and not all 0")
    return found / found.mean()


def class_rows_of(given: dict[str, Any]) -> dict[str, Rows]:
    """The rows of each part, but of a val that is None; y are class numbers 0 to C - 1, and each part has all classes.

    Raises TypeError or ValueError that names the part and the class.
    """
    found: dict[str, Rows] = {}
    for name, data in given.items():
        if data is not None or name != "val":
            found[name] = rows_of(name, data, found["train"].x.shape[1] if found else None)
    most = int(found["train"].y.max())
    for name, rows in found.items():
        if (rows.y != np.floor(rows.y)).any() or rows.y.min() < 0:
            raise ValueError(f"{name} y must be class numbers 0, 1, 2, ..., got {rows.y[_odd(rows.y)]:g}")
        if rows.y.max() > most:
            raise ValueError(f"{name} has class {rows.y.max():g}, and the largest of train is {most}")
        missing = sorted(set(range(most + 1)) - set(rows.y.astype(int).tolist()))
        if missing:
            raise ValueError(f"{name} has no row of class {missing[0]}; split the rows class by class")
    return found


def weighed(net: Any, given: dict[str, Any], class_weights: Any) -> dict[str, Rows]:
    """The rows of each part for `net`, each row counting as its class does: by an array `(C,)`, or "balanced".

    Balanced, every class counts as much as every other on train. Raises TypeError or ValueError, as `rows_of` too.
    """
    if class_weights is None:
        features = rows_of("train", given["train"]).x.shape[1]
        return {name: rows_of(name, data, features) for name, data in given.items()}
    if not hasattr(net, "networks"):
        raise TypeError(f"class_weights needs a GMDHClassifier, for a {type(net).__name__} knows no classes")
    found = class_rows_of(given)
    counts = np.bincount(found["train"].y.astype(np.int64))
    is_balanced = isinstance(class_weights, str) and class_weights == "balanced"
    weights = counts.sum() / (len(counts) * counts) if is_balanced else _numbers_by_class(class_weights)
    require_column("class_weights", weights, len(counts), of="classes")
    if not (weights > 0).all():
        raise ValueError(f"class_weights must be above 0, got {weights.min():g}; leave out the rows of a class")
    return {name: _counting(name, rows, weights[rows.y.astype(np.int64)]) for name, rows in found.items()}


def _numbers_by_class(class_weights: Any) -> np.ndarray:
    try:
        return numbers("class_weights", class_weights)
    except (TypeError, ValueError) as error:
        wanted = "'balanced' or a number above 0 for each class"
        raise type(error)(f"class_weights must be {wanted}, got {class_weights!r:.80}") from error


def _counting(name: str, rows: Rows, weights: np.ndarray) -> Rows:
    """The rows with these weights, times their own."""
    own = 1.0 if rows.weights is None else rows.weights
    return rows._replace(weights=weights_of(name, weights * own, len(rows.y)))


def _odd(y: np.ndarray) -> int:
    """Where the first number stands that is no class."""
    return int(np.argmax((y != np.floor(y)) | (y < 0)))
