"""A file lock for where only one process runs: supplied modules import filelock when a run is kept in a folder.

The page has NumPy and the standard library, and nobody whom a lock would keep out.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class FileLock:
    """Nobody else can hold the file."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def acquire(self, timeout: float = -1) -> FileLock:
        """Always at once."""
        return self

    def release(self) -> None:
        """Nothing is held."""

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()


class Timeout(TimeoutError):
    """Never raised."""


def prepare() -> None:
    """Stand in for filelock where it is not installed."""
    if "filelock" not in sys.modules and find_spec("filelock") is None:
        module = ModuleType("filelock")
        vars(module).update(FileLock=FileLock, Timeout=Timeout)
        sys.modules["filelock"] = module
