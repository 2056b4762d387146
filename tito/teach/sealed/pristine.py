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

_functions = [getattr(one, "_implementation", one) for one in vars(np).values()]
_modules = {module: dict(vars(module)) for module in (np._core.numeric, np._core.fromnumeric, np.linalg)}
_functions += [getattr(one, "_implementation", one) for names in _modules.values() for one in names.values()]
_codes = {one: (one.__code__, one.__defaults__, one.__kwdefaults__) for one in _functions if type(one) is FunctionType}


def restore() -> None:
    """Put NumPy's own functions back as they were."""
    for module, names in _modules.items():
        vars(module).update(names)
    for function, (code, defaults, keywords) in _codes.items():
        if function.__code__ is not code:
            function.__code__ = code
        function.__defaults__, function.__kwdefaults__ = defaults, keywords
