"""Whole numbers of 64 bits, which the lessons speak of, where NumPy's own have 32: in a browser.

There NumPy makes int32 of `[1, 2, 3]`, and `a.take(indices)` refuses int64. `prepare` wraps the functions and methods
that choose the size of whole numbers, or that want indices in NumPy's own size, so that they do what they do
everywhere else. What still comes as int32 (`mask * 1`) counts as int64 in checks: see tito/checks/values.py.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import numpy as np

from tito.checks.values import NARROW

Function = Callable[..., Any]

SMALL, WIDE = np.dtype(np.int32), np.dtype(np.int64)
CHOOSING = (
    *("append", "arange", "array", "asarray", "asanyarray", "ascontiguousarray", "concatenate", "digitize", "empty"),
    *("eye", "flatnonzero", "full", "hstack", "identity", "indices", "issubdtype", "ones", "stack", "tile", "unique"),
    *("bincount", "ravel_multi_index", "unravel_index", "vstack", "where", "zeros"),
)
METHODS = (
    *("argmax", "argmin", "argsort", "astype", "cumprod", "cumsum", "nonzero", "prod", "put", "repeat"),
    *("searchsorted", "sum", "take", "trace"),
)
INDEXED = ("bincount", "put", "ravel_multi_index", "repeat", "take", "unravel_index")  # want indices of NumPy's size


def prepare() -> None:
    """Wrap them, once, where NumPy's whole numbers are small."""
    if not NARROW or hasattr(np.array, "__wrapped__"):
        return
    for name in CHOOSING:
        setattr(np, name, _wrapped(name, getattr(np, name), first=0))
    methods = {name: _wrapped(name, getattr(np.ndarray, name), first=1) for name in METHODS}
    _add_methods(np.ndarray, methods)
    setattr(np, "int_", np.int64)  # noqa: B010  # mypy refuses the plain assignment
    printing: Any = import_module("numpy._core.arrayprint")
    printing._typelessdata = [*printing._typelessdata, np.int64]  # which arrays are printed without their dtype


def _wrapped(name: str, function: Function, first: int) -> Function:
    return widened(indexed(function, first) if name in INDEXED else function)


def _add_methods(kind: type, methods: dict[str, Function]) -> None:
    """Replace methods of a class that is written in C; Python allows it only behind its back."""
    import ctypes

    table = next(found for found in gc.get_referents(vars(kind)) if isinstance(found, dict))
    table.update(methods)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def widened(function: Function) -> Function:
    """The function, with int64 for what it made int32 by itself; int32 that is given or asked for stays."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        given = (*args, *named.values())
        if any(one is int for one in given):
            args = tuple(np.int64 if one is int else one for one in args)
            named = {name: np.int64 if one is int else one for name, one in named.items()}
        result = function(*args, **named)
        return _wide(result) if _holds_small(result) and not _asks_small(given) else result

    return call


def indexed(function: Function, first: int) -> Function:
    """The function, with indices that come as int64 in the size that it wants, from its argument `first` on."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        return function(*args[:first], *map(_index, args[first:]), **{name: _index(one) for name, one in named.items()})

    return call


def _index(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_index, value))
    return value.astype(np.intp) if isinstance(value, np.ndarray) and value.dtype == WIDE else value


def _holds_small(result: Any) -> bool:
    return any(map(_is_small, result)) if type(result) is tuple else _is_small(result)


def _is_small(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype == SMALL


def _asks_small(values: Iterable[Any]) -> bool:
    """Whether int32 is among the values: arrays, dtypes, or lists of arrays."""
    return any(
        _is_small(value)
        or value is np.int32
        or (isinstance(value, str) and value == SMALL.name)
        or (isinstance(value, np.dtype) and value == SMALL)
        or (isinstance(value, (list, tuple)) and any(map(_is_small, value)))
        for value in values
    )


def _wide(result: Any) -> Any:
    if type(result) is tuple:
        return tuple(map(_wide, result))
    return result.astype(WIDE) if _is_small(result) else result
