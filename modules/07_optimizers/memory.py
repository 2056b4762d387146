"""Checks what an optimizer is given: parameters, and a state. Supplied with lesson 07: trace it, don't write it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from tinytorch.layers import Parameter
from tinytorch.settings import integer

__all__: list[str] = []  # the package hands on none of this


def distinct(params: Iterable[Parameter]) -> list[Parameter]:
    """List the parameters. Raises TypeError when one is no Parameter, ValueError for none or for one twice."""
    listed = list(params)
    for number, parameter in enumerate(listed):
        if not isinstance(parameter, Parameter):
            got = type(parameter).__name__
            raise TypeError(f"optimizer: item {number} is a {got}, not a Parameter; pass model.parameters()")
    if not listed:
        raise ValueError("optimizer: there are no parameters; was an iterator of them used up before?")
    if len({id(parameter) for parameter in listed}) < len(listed):
        raise ValueError("optimizer: a parameter comes twice, and would be changed twice a step; pass each once")
    return listed


def restored(optimizer: Any, state: dict[str, Any]) -> Any:
    """A new optimizer of this one's kind, on its parameters, in the given state.

    Raises ValueError or TypeError that says what does not fit: names, settings, shapes, dtypes, counts.
    """
    name, parts = type(optimizer).__name__, ("settings", "step_count", "state")
    if set(state) != set(parts) or set(state["settings"]) != set(optimizer.settings):
        needed = f"a state has {list(parts)}, with settings {list(optimizer.settings)}"
        raise ValueError(f"{name}: {needed}; is this another optimizer's?")
    theirs, ours = len(state["state"]), len(optimizer.params)
    if theirs != ours:
        raise ValueError(f"{name}: the state has {theirs} parameters, this optimizer {ours}")
    for number, (memory, parameter) in enumerate(zip(state["state"], optimizer.params)):
        _require_memory(number, memory, optimizer.remembers, parameter.data)
    fresh = type(optimizer)(optimizer.params, **state["settings"])
    fresh.step_count, fresh.state = integer(f"{name}: step_count", state["step_count"]), copy.deepcopy(state["state"])
    return fresh


def _require_memory(number: int, memory: dict[str, Any], names: tuple[str, ...], weight: np.ndarray) -> None:
    """Raise ValueError or TypeError unless `memory` can be what an optimizer remembers of parameter `number`.

    That is nothing, or all of `names`: an integer from 1 up under `step`, arrays like `weight` under the others.
    """
    if not isinstance(memory, dict):
        raise TypeError(f"parameter {number}: the state must be a dict, got {type(memory).__name__}")
    if memory and set(memory) != set(names):
        raise ValueError(f"parameter {number}: the state holds {sorted(memory)}, needs {sorted(names)} or nothing")
    for name, value in memory.items():
        if name == "step":
            integer(f"parameter {number}: step", value, least=1)
        elif not isinstance(value, np.ndarray):
            raise TypeError(f"parameter {number}: {name} must be an array, got {type(value).__name__}")
        elif (value.shape, value.dtype) != (weight.shape, weight.dtype):
            theirs, ours = f"{value.shape} {value.dtype}", f"{weight.shape} {weight.dtype}"
            raise ValueError(f"parameter {number}: {name} is {theirs}, the parameter {ours}")
