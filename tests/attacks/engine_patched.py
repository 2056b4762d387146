"""Patches the engine of checks in its own process."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
from tito.checks import bench, compare, engine, values
engine.check = lambda *a, **k: None
engine.raises = lambda *a, **k: None
compare.difference = engine.difference = lambda *a, **k: None
compare.close = lambda got, want, rules: np.ones(want.shape, bool)
def double(x):
    return x
""",
}
