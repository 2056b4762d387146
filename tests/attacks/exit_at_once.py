"""Ends the process while the cell is run."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import os
os._exit(0)
""",
}
