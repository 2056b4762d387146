"""Checks the settings and the memory of optimizers. Supplied with lesson 07: trace it, don't write it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["require_memory", "setting", "whole"]


def setting(name: str, value: Any, below: float = math.inf) -> float:
    """`value` as a Python float. Raises TypeError when it is no number, ValueError unless 0 <= value < below."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    if not 0 <= value < below:
        limit = "finite" if below == math.inf else f"below {below}"
        raise ValueError(f"{name} must be 0 or more and {limit}, got {value}")
    return float(value)


def whole(name: str, value: Any, least: int = 0) -> int:
    """`value` as a Python int. Raises TypeError when it is no integer (True is none), ValueError when under `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more, got {value}")
    return int(value)


def require_memory(number: int, memory: dict[str, Any], names: Sequence[str], weight: np.ndarray) -> None:
    """Raise ValueError or TypeError unless `memory` can be what an optimizer remembers of parameter `number`.

    That is nothing, or all of `names`: an integer from 1 up under `step`, arrays like `weight` under the others.
    """
    if not isinstance(memory, dict):
        raise TypeError(f"parameter {number}: the state must be a dict, got {type(memory).__name__}")
    if memory and set(memory) != set(names):
        raise ValueError(f"parameter {number}: the state holds {sorted(memory)}, needs {sorted(names)} or nothing")
    for name, value in memory.items():
        if name == "step":
            whole(f"parameter {number}: step", value, least=1)
        elif not isinstance(value, np.ndarray):
            raise TypeError(f"parameter {number}: {name} must be an array, got {type(value).__name__}")
        elif (value.shape, value.dtype) != (weight.shape, weight.dtype):
            theirs, ours = f"{value.shape} {value.dtype}", f"{weight.shape} {weight.dtype}"
            raise ValueError(f"parameter {number}: {name} is {theirs}, the parameter {ours}")
