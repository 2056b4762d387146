"""Says why a saved state does not fit a model. Supplied with lesson 03: trace it, don't write it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__: list[str] = []  # the package hands on none of this


def misfit(name: str, have: Any, want: Any) -> str | None:
    """Say what keeps the value `have` from being loaded into the tensor `want`: nothing, its shape or its dtype."""
    array = np.asarray(have)
    if array.shape != want.shape:
        return f"{name} has shape {array.shape}, not {want.shape}"
    if array.dtype != want.dtype:
        return f"{name} has dtype {array.dtype}, not {want.dtype}"
    return None
