"""What `np`, `math` and the built-ins mean in checks, whatever a student's cell did to the modules of these names.

A probe runs in the student's process, and code that takes this process over can give any answer. So a probe should
return numbers that are judged elsewhere. What is here keeps a patch of NumPy, meant or not, from deciding a comparison
that a probe makes all the same.
"""

from __future__ import annotations

import builtins
import math
from types import FunctionType, ModuleType
from typing import Any

import numpy as np


def _copied(module: ModuleType) -> ModuleType:
    copy = ModuleType(module.__name__)
    vars(copy).update(vars(module))
    return copy


NAMES: dict[str, Any] = {"__builtins__": dict(vars(builtins)), "np": _copied(np), "math": _copied(math)}

JUDGES = ("all", "allclose", "any", "array_equal", "array_equiv", "isclose", "isfinite", "isnan")
_functions = [getattr(getattr(np, name), "_implementation", None) for name in JUDGES]
_judges = [one for one in _functions if type(one) is FunctionType]
_codes = [(one, one.__code__, one.__defaults__) for one in _judges]
_names = [
    (one.__globals__, {name: one.__globals__[name] for name in one.__code__.co_names if name in one.__globals__})
    for one in _judges
]


def restore() -> None:
    """Put the functions by which NumPy compares back as they were, and the names that they use.

    Not all of NumPy: that would touch, and so copy, most of the memory that children share.
    """
    for function, code, defaults in _codes:
        function.__code__, function.__defaults__ = code, defaults
    for scope, names in _names:
        scope.update(names)
