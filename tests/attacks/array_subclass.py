"""Returns a subclass of ndarray whose comparisons hold."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
class Near(np.ndarray):
    def __array_ufunc__(self, *a, **k): return np.True_
    def __array_function__(self, *a, **k): return np.True_
    def __eq__(self, other): return np.True_
def double(x):
    return np.asarray(x).view(Near)
""",
}
