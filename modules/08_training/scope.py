"""Shows what a step keeps for backward, and lets go of it at the step's end. Supplied with lesson 08.

Trace it, don't write it: begin at `activation_scope`, then `Scope.live`. Nothing in the engine knows of it: tensors and
operations are found where Python's garbage collector lists them.

There is no pool that hands a step's buffers to the next one. Measured, it gained nothing, since NumPy and the system's
allocator hand freed memory on by themselves; and a layer used twice in one step would write over what backward needs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from tinytorch.tensor import Operation, Tensor

__all__ = ["activation_scope"]

MOST = 10  # rows of a printed table; with its head and its total 12 lines


class Row(NamedTuple):
    """What one kind of operation keeps."""

    operation: str
    arrays: int
    bytes: int


@contextmanager
def activation_scope() -> Iterator[Scope]:
    """Look at a step's memory, and free its graph at the end: `with activation_scope() as scope:`

    Belongs to the scope: what is recorded inside, scopes inside it included. At the end, also after an error, each
    tensor that it recorded is detached: its `data` and `grad` stay, it has no operation and requires no gradient.
    Parameters, and graphs that were there before, stay as they are. For one thread: what another one records in the
    meantime is taken for the scope's. Entering and leaving each cost a search through all of Python's objects.
    """
    scope = Scope()
    try:
        yield scope
    finally:
        scope.close()


class Scope:
    """The memory of what is recorded while the scope is open. `peak` is the largest total seen so far, in bytes.

    It is seen by `live()`, by printing the scope, and at the end of the scope, and at no other time: backward frees as
    it goes, so look before it.
    """

    def __init__(self) -> None:
        self.before: WeakSet[Any] = WeakSet(recorded()[1])
        self.open = True
        self.rows: list[Row] = []  # of the largest look
        self.peak = 0

    def live(self) -> list[Row]:
        """What is in memory now: (operation, arrays, bytes), largest first. Nothing once the scope has ended.

        Counted are the results of recorded operations, arrays that operations saved besides, and, as `input`, tensors
        without a gradient that came in (the batch, a mask of dropout). Memory that several share is counted once, under
        the first. Not counted: parameters and whatever else was there before and requires a gradient, gradients, and
        what `no_grad` kept from being recorded.
        """
        return self.look(*self.inside()) if self.open else []

    def close(self) -> None:
        """Look a last time, then free what was recorded inside."""
        tensors, operations = self.inside()
        self.look(tensors, operations)
        self.open = False
        for operation in operations:
            operation.release()
        for tensor in tensors:
            tensor.operation, tensor.requires_grad = None, False

    def inside(self) -> tuple[list[Any], list[Any]]:
        """Tensors and operations recorded since the scope began."""
        tensors, operations = recorded()
        new = [operation for operation in operations if operation not in self.before]
        return [tensor for tensor in tensors if tensor.operation not in self.before], new

    def look(self, tensors: list[Any], operations: list[Any]) -> list[Row]:
        """The rows of these, kept if they are the most so far."""
        graph = sorted((each for each in operations if each.inputs), key=lambda operation: operation.number)
        inputs = [tensor for operation in graph for tensor in operation.inputs if tensor.requires_grad]
        outside = [tensor.data for tensor in inputs if tensor.operation is None or tensor.operation in self.before]
        rows = tabulate(kept(graph, tensors), outside)
        if total(rows).bytes > self.peak:
            self.rows, self.peak = rows, total(rows).bytes
        return rows

    def __repr__(self) -> str:
        """A table of the largest look so far, this one included: at most 12 lines, the last with the total."""
        self.live()
        few = len(self.rows) <= MOST
        rows = self.rows if few else [*self.rows[: MOST - 1], total(self.rows[MOST - 1 :], "others")]
        lines = [f"{name:<24}{arrays:>8,}{size:>16,}" for name, arrays, size in [*rows, total(self.rows)]]
        return "\n".join([f"{'kept for backward':<24}{'arrays':>8}{'bytes':>16}", *lines])


def recorded() -> tuple[list[Any], set[Any]]:
    """Every tensor in memory that an operation made and recorded, and all such operations, freed ones included.

    Works with the garbage collector off as well.
    """
    # type() and no isinstance(): that asks for __class__, which some objects answer by running code of their own
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), (Tensor, Operation))]
    tensors = [thing for thing in found if isinstance(thing, Tensor) and thing.operation is not None]
    operations = {thing for thing in found if isinstance(thing, Operation) and thing.inputs}
    return tensors, operations.union(tensor.operation for tensor in tensors)


def kept(operations: list[Any], tensors: list[Any]) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays that the operations, in this order, and then the tensors hold on to, each with the name of its row."""
    for operation in operations:
        for value in vars(operation).values():
            for part in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(part, Tensor) and not part.requires_grad:
                    yield "input", part.data
                elif isinstance(part, np.ndarray):
                    yield type(operation).__name__, part
    for tensor in tensors:  # whose operations backward may have freed by now
        yield type(tensor.operation).__name__, tensor.data


def tabulate(named: Iterable[tuple[str, np.ndarray]], outside: list[np.ndarray]) -> list[Row]:
    """A row for each name, largest first; memory that came before, or is that of `outside`, is left out."""
    seen = {address(owner(array)) for array in outside}
    rows: dict[str, Row] = {}
    for name, array in named:
        whole = owner(array)
        if address(whole) not in seen:
            seen.add(address(whole))
            rows[name] = total([rows.get(name, Row(name, 0, 0)), Row(name, 1, whole.nbytes)], name)
    return sorted(rows.values(), key=lambda row: (-row.bytes, row.operation))


def total(rows: list[Row], name: str = "total") -> Row:
    """All rows in one."""
    return Row(name, sum(row.arrays for row in rows), sum(row.bytes for row in rows))


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory this one is a view of, or itself. A view keeps all of it."""
    base: Any = array
    while base is not None:
        array = base if isinstance(base, np.ndarray) else array
        base = getattr(base, "base", None)  # not every step between is an array: see as_strided
    return array


def address(array: np.ndarray) -> int:
    """Where the array's memory begins."""
    return int(array.__array_interface__["data"][0])
