"""Returns NaN everywhere, which differs from nothing by less than anything."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    return np.full_like(x, np.nan)
""",
}
