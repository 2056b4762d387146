"""Checks the numbers that a constructor is given. Supplied with lesson 01: trace it, don't write it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this


def setting(name: str, value: Any, below: float = math.inf) -> float:
    """`value` as a Python float. Raises TypeError when it is no number, ValueError unless 0 <= value < below."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 <= value < below:
        limit = "finite" if below == math.inf else f"below {below}"
        raise ValueError(f"{name} must be 0 or more and {limit}, got {value}")
    return float(value)


def integer(name: str, value: Any, least: int = 0) -> int:
    """`value` as a Python int. Raises TypeError when it is no integer (True is none), ValueError when under `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more, got {value}")
    return int(value)


def pair(name: str, value: Any, below: float = math.inf) -> tuple[float, float]:
    """`value` as two Python floats, each as in `setting`. Raises TypeError when it is no pair."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name} must be two numbers, got {value!r}")
    return setting(f"{name}[0]", value[0], below), setting(f"{name}[1]", value[1], below)
