"""Finds the first difference between what came and what was wanted: kind, then shape, dtype, values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tito.checks import text
from tito.checks.values import Plain, is_number

KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}
DEFAULT = {"bool": np.dtype(np.bool_), "int": np.dtype(np.int64), "float": np.dtype(np.float32)}


@dataclass(frozen=True)
class Rules:
    """How near is near enough. Without a dtype, arrays of floats are float32 and arrays of integers int64."""

    rtol: float = 1e-5
    atol: float = 1e-6
    dtype: np.dtype | None = None
    equal_nan: bool = False


class Pair(NamedTuple):
    """The arrays that were compared, and where they are the same; None where their shapes differ."""

    want: np.ndarray
    got: np.ndarray
    same: np.ndarray | None


class Difference(NamedTuple):
    kind: str  # "value", "shape", "dtype" or "type"
    want: str
    got: str
    pair: Pair | None = None


def difference(got: Plain, want: Plain, rules: Rules) -> Difference | None:
    """Two plain values -> what differs first, or None.

    A list of numbers as `want` serves for an array and for a list; a number serves for an array of shape ().
    """
    if type(got) is np.ndarray:
        wanted = _as_array(want)
        return _type(got, want) if wanted is None else _array(got, wanted, rules, dtype=_dtype(want, wanted, rules))
    if is_number(got) and is_number(want):
        return _number(got, want, rules)
    if type(got) is not type(want):
        return _type(got, want)
    if isinstance(want, (list, tuple, dict)):
        return _whole(_items(got, want, rules), got, want)
    return None if got == want else Difference("value", text.brief(want), text.brief(got))


def close(got: np.ndarray, want: np.ndarray, rules: Rules) -> np.ndarray:
    """Where |got - want| <= atol + rtol |want|, both infinite alike, or both NaN when that is asked for."""
    if not {got.dtype.kind, want.dtype.kind} & {"f"}:
        return np.asarray(got == want)
    got, want = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        near = (np.abs(got - want) <= rules.atol + rules.rtol * np.abs(want)) & np.isfinite(want)
    both_nan = np.isnan(got) & np.isnan(want) if rules.equal_nan else np.False_
    return np.asarray(near | (got == want) | both_nan)


def _as_array(want: Plain) -> np.ndarray | None:
    """An array, a number, or a list that is nothing but numbers in rows of one length; None for all else."""
    if not (isinstance(want, (list, np.ndarray)) or is_number(want)):
        return None
    try:
        array = np.array(want)
    except ValueError:  # rows of different lengths
        return None
    return array if array.dtype.kind in KINDS else None


def _dtype(want: Plain, array: np.ndarray, rules: Rules) -> np.dtype | None:
    """The dtype that an array must have; None for want=[], which says nothing about it."""
    if rules.dtype is None and isinstance(want, list) and array.size == 0:
        return None
    return rules.dtype or DEFAULT[KINDS[array.dtype.kind]]


def _array(got: np.ndarray, want: np.ndarray, rules: Rules, dtype: np.dtype | None) -> Difference | None:
    if got.shape != want.shape:
        return Difference("shape", f"shape {want.shape}", f"shape {got.shape}", Pair(want, got, None))
    if dtype is not None and got.dtype != dtype:
        return Difference("dtype", f"dtype {dtype}", f"dtype {got.dtype}")
    same = close(got, want, rules)
    return None if same.all() else Difference("value", *text.arrays(want, got, same), Pair(want, got, same))


def _number(got: Plain, want: Plain, rules: Rules) -> Difference | None:
    one, other = np.asarray(got), np.asarray(want)
    if rules.dtype is not None and not (isinstance(got, np.generic) and got.dtype == rules.dtype):
        name = f"dtype {got.dtype}" if isinstance(got, np.generic) else f"a Python {type(got).__name__}"
        return Difference("dtype", f"dtype {rules.dtype}", name)
    if rules.dtype is None and _number_kind(got) != _number_kind(want):
        return _type(got, want)
    floats = "float" in (_number_kind(got), _number_kind(want))
    same = bool(close(one, other, rules)) if floats else int(got) == int(want)
    return None if same else Difference("value", *text.numbers(want, got))


def _number_kind(value: Plain) -> str:
    return KINDS[value.dtype.kind] if isinstance(value, np.generic) else type(value).__name__


def _type(got: Plain, want: Plain) -> Difference:
    wanted = _as_array(want) if isinstance(want, list) else None
    return Difference("type", _named(want if wanted is None else wanted), _named(got))


def _named(value: Plain) -> str:
    """`3.0 (float)`: text that tells 3 from 3.0 and "3"."""
    name = "array" if isinstance(value, np.ndarray) else type(value).__name__
    words = text.brief(value)
    return words if value is None or "\n" in words else f"{words} ({name})"


def shown(want: Plain) -> str:
    """What was wanted, with a list of numbers as the array that it stands for."""
    array = _as_array(want) if isinstance(want, list) else None
    return text.brief(want if array is None else array)


def _items(got: Plain, want: Plain, rules: Rules) -> Difference | None:
    """The first item of a list, tuple or dict that differs."""
    if isinstance(want, dict) and got.keys() != want.keys():
        return Difference("value", f"keys {list(want)}", f"keys {list(got)}")
    if len(got) != len(want):
        return Difference("shape", f"length {len(want)}", f"length {len(got)}")
    keys: Iterable[Hashable] = want if isinstance(want, dict) else range(len(want))
    for key in keys:
        found = difference(got[key], want[key], rules)
        if found:
            return Difference(found.kind, f"at [{key!r}]: {found.want}", f"at [{key!r}]: {found.got}", found.pair)
    return None


def _whole(found: Difference | None, got: Plain, want: Plain) -> Difference | None:
    """Short containers are shown whole: the eye finds the place."""
    one, other = text.brief(want), text.brief(got)
    if found is None or found.kind in ("dtype", "type") or one == other or max(len(one), len(other)) >= text.VALUE:
        return found
    return Difference(found.kind, one, other, found.pair)
