"""Hands a Trainer its batches, checked and numbered. Supplied with lesson 08: trace it, don't write it.

Begin at `Batches`. `evaluation_pass` is one look at all of a loader; steps.py has the pass that trains.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from tinytorch.grad_mode import no_grad
from tinytorch.tensor import Tensor

__all__: list[str] = []  # the package hands on none of this


@contextmanager
def evaluation_pass(loader: Any) -> Iterator[Batches]:
    """All batches of the loader's present epoch, from its first; then the loader stands where it stood."""
    start = position_of(loader)
    if start is not None:
        loader.position = start - start % (batches_in(loader) or 1)
    try:
        with Batches(loader) as batches:
            yield batches
    finally:
        if start is not None:
            loader.position = start


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Eval mode and no recording inside; then each module has its own mode again."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


class Batches:
    """The (inputs, targets) of one pass over a loader; `number` is that of the batch at hand, from 0.

    `with Batches(loader) as batches:` an error inside keeps its type, and its text then begins `batch 3:`. Raises
    TypeError when the loader is no iterable, ValueError when it gives nothing; the first batch is fetched to know.
    """

    def __init__(self, loader: Any) -> None:
        self.number = 0
        try:
            source = iter(loader)
        except TypeError as error:
            kind = type(loader).__name__
            raise TypeError(f"a loader must be an iterable of (inputs, targets) pairs, got a {kind}") from error
        with self:
            first = list(itertools.islice(source, 1))
        if not first:
            raise ValueError("the loader is empty: it gave no batch; was an iterator used up before?")
        self.source = itertools.chain(first, source)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for batch in self.source:
            yield _pair(batch)
            self.number += 1  # already before the next is fetched: an error there is that one's
        self.number -= 1

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Exception):
            named = _named(error, f"batch {self.number}: {error}")
            if named is not error:
                raise named from error


def position_of(loader: Any) -> int | None:
    """How many batches the loader has given since its beginning; None when it keeps no such count."""
    position = getattr(loader, "position", None)
    return position if isinstance(position, int) else None


def batches_in(loader: Any) -> int | None:
    """How many batches an epoch has; None when the loader can't tell."""
    try:
        return len(loader)
    except TypeError:  # no __len__, or one that asks a wrapped loader without
        return None


def require_loader_of_batches(name: str, loader: Any) -> None:
    """Raise TypeError unless `loader` is an iterable, ValueError when it says that it has no batch."""
    if not hasattr(loader, "__iter__") and not hasattr(loader, "__getitem__"):
        raise TypeError(f"{name} must be an iterable of (inputs, targets) pairs, got a {type(loader).__name__}")
    if batches_in(loader) == 0:
        raise ValueError(f"{name} gives no batch; add samples, or lower batch_size where drop_last is set")


def _pair(batch: Any) -> tuple[Tensor, Tensor]:
    """Raise TypeError unless the batch is a pair of Tensors, ValueError when one of them is empty."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        got = f"{len(batch)} items" if isinstance(batch, (tuple, list)) else f"a {type(batch).__name__}"
        raise TypeError(f"a batch must be a pair (inputs, targets), got {got}")
    for name, part in zip(("inputs", "targets"), batch):
        if not isinstance(part, Tensor):
            raise TypeError(f"the {name} must be a Tensor, got a {type(part).__name__}")
        if part.data.size == 0:
            raise ValueError(f"the batch is empty: its {name} have shape {part.shape}")
    return batch[0], batch[1]


class _Text(str):
    """Text that shows itself without quotes: `str(KeyError(text))` is the repr of its argument."""

    __repr__ = str.__str__


def _named(error: Exception, text: str) -> Exception:
    """The same error with another text; a new one of a subclass where its kind makes its text in a way of its own."""
    before = error.args
    for form in (text, _Text(text)):
        error.args = (form,)
        if str(error) == text:
            return error
    error.args = before
    kind = type(error)
    same = {"__str__": lambda self: text, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    named: type[Exception] = type(kind.__name__, (kind,), same)
    try:
        fresh = named(*error.__reduce__()[1])
    except Exception:  # its constructor takes other arguments than those that it keeps; its attributes follow below
        fresh = named.__new__(named)
    fresh.__dict__.update(error.__dict__)
    return fresh
