"""The notebook itself is a link to another student's."""

from __future__ import annotations

import os
from pathlib import Path

HONEST = 0

EXERCISES = {}


def place(folder: Path) -> None:
    """What lies beside the notebook."""
    (folder / "01_toy.ipynb").unlink()
    os.symlink("../../other/01_toy/01_toy.ipynb", folder / "01_toy.ipynb")
