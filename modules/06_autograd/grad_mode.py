"""Whether operations are recorded, thread by thread. Supplied with lesson 06: trace it, don't write it."""

from __future__ import annotations

import itertools
import threading
from contextlib import ContextDecorator

__all__ = ["is_grad_enabled", "no_grad"]

creation = itertools.count()  # every recorded operation takes the next number; the walk goes by it


class _Mode(threading.local):
    """The switch of one thread; every thread starts with recording on."""

    enabled = True


_mode = _Mode()


def is_grad_enabled() -> bool:
    """Whether this thread records what it computes."""
    return _mode.enabled


class no_grad(ContextDecorator):
    """Record nothing inside: `with no_grad():`, or `@no_grad()` above a function. Holds for the present thread."""

    def __init__(self) -> None:
        self.before: list[bool] = []

    def __enter__(self) -> None:
        self.before.append(_mode.enabled)
        _mode.enabled = False

    def __exit__(self, *error: object) -> None:
        _mode.enabled = self.before.pop()
