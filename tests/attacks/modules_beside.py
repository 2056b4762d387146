"""Hands in numpy.py, tito.py and a package tinytorch beside the notebook, to be imported in their place."""

from __future__ import annotations

from pathlib import Path

HONEST = 0

EXERCISES = {}


def place(folder: Path) -> None:
    """What lies beside the notebook."""
    for name in ("numpy.py", "tito.py", "sitecustomize.py", "conftest.py", "json.py"):
        (folder / name).write_text("raise SystemExit(0)", encoding="utf-8")
    (folder / "tinytorch").mkdir()
    (folder / "tinytorch" / "__init__.py").write_text("import os; os._exit(0)", encoding="utf-8")
