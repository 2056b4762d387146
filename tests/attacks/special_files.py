"""Hands in a pipe, on which a reader would wait for ever."""

from __future__ import annotations

import os
from pathlib import Path

HONEST = 0

EXERCISES = {}


def place(folder: Path) -> None:
    """What lies beside the notebook."""
    os.mkfifo(folder / "notes.txt")
