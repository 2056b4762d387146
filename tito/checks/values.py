"""Plain values: the only thing that a check compares, and all that may cross to another process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Plain = Any  # None, bool, int, float, str, bytes, ndarray, numpy scalar, or a list, tuple or dict of these

DEPTH = 20
ITEMS = 100_000
NUMERIC = "biuf"  # kinds of dtype: bool, int, unsigned int, float
ATOMS = (bool, int, float, str, bytes, type(None))
KEYS = (str, int, float, bool)
NARROW = np.dtype(int).itemsize < 8  # in a browser NumPy chooses int32 where it takes int64 elsewhere
SCALARS = tuple({kind for kind in np.sctypeDict.values() if np.dtype(kind).kind in NUMERIC})


class Text(str):
    """A string that a probe returned: check takes it for a value, where a str is an expression."""


class NotPlain(TypeError):
    """A value that is no plain one; the text says what came, as in "a Linear, which is no plain value"."""


def plain(value: object, *, tensors: bool = True) -> Plain:
    """value -> a deep copy of plain values; with `tensors`, an object whose `.data` is an ndarray becomes that array.

    Raises NotPlain. Runs no method of the value but the lookup of `.data`: no comparison, no iteration, no repr.
    """
    return _Copy(tensors).of(value, ())


def is_any(kind: type, kinds: Iterable[type]) -> bool:
    """By identity: `in` would ask a metaclass of the student's whether it is equal."""
    return any(kind is one for one in kinds)


def is_number(value: Plain) -> bool:
    return is_any(type(value), (bool, int, float)) or is_any(type(value), SCALARS)


def marked(value: Plain) -> Plain:
    """The same plain value with every string in it as Text."""
    kind = type(value)
    if kind is str:
        return Text(value)
    if kind is dict:
        return {key: marked(item) for key, item in value.items()}
    return kind(marked(item) for item in value) if kind is list or kind is tuple else value


def a(name: str) -> str:
    """Linear -> a Linear, Adam -> an Adam."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


class _Copy:
    """One copying: counts the values, so that a huge or self-referring answer ends in a sentence."""

    def __init__(self, tensors: bool) -> None:
        self.tensors = tensors
        self.left = ITEMS

    def of(self, value: Any, inside: tuple[int, ...]) -> Plain:
        kind = type(value)
        self._count(value, inside)
        if is_any(kind, ATOMS) or is_any(kind, SCALARS):
            return _wide(value) if kind is np.int32 else value
        if kind is Text:
            return str(value)
        if is_any(kind, (list, tuple, dict)):
            return self._container(value, (*inside, id(value)))
        return _array(value) if issubclass(kind, np.ndarray) else self._tensor(value)

    def _count(self, value: object, inside: tuple[int, ...]) -> None:
        self.left -= 1
        if id(value) in inside:
            raise NotPlain(f"{a(type(value).__name__)} that holds itself")
        if len(inside) >= DEPTH:
            raise NotPlain(f"a value nested more than {DEPTH} deep")
        if self.left < 0:
            raise NotPlain(f"more than {ITEMS:,} values in lists, which belong in an array")

    def _container(self, value: Any, inside: tuple[int, ...]) -> Plain:
        if type(value) is dict:
            return {_key(key): self.of(item, inside) for key, item in value.items()}
        return type(value)([self.of(item, inside) for item in value])

    def _tensor(self, value: Any) -> Plain:
        data = getattr(value, "data", None) if self.tensors and not isinstance(value, type) else None
        if issubclass(type(data), np.ndarray):
            return _array(data)
        raise NotPlain(f"{a(type(value).__name__)}, which is no plain value")


def _key(key: object) -> object:
    if is_any(type(key), KEYS):
        return key
    raise NotPlain(f"a dict with {a(type(key).__name__)} as a key, which is no plain value")


def _array(value: Any) -> Plain:
    if type(value) is not np.ndarray:
        raise NotPlain(f"{a(type(value).__name__)}, a subclass of ndarray, where an ndarray itself is wanted")
    if value.dtype.kind not in NUMERIC:
        raise NotPlain(f"an array of dtype {value.dtype}, which holds no plain numbers")
    return _wide(np.array(value))


def _wide(value: Any) -> Plain:
    """int32 as the int64 that it would be where NumPy's whole numbers are not narrow."""
    return value.astype(np.int64) if NARROW and value.dtype == np.int32 else value
