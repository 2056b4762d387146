"""Hands in a pipe, on which a reader would wait for ever."""

from __future__ import annotations

HONEST = 0

EXERCISES = {}


import os
from pathlib import Path


def place(folder: Path) -> None:
    """What lies beside the notebook."""
    os.mkfifo(folder / "notes.txt")
