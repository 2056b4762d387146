"""Defines check, raises, draw and probe anew in cells of its own."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def check(*a, **k):
    pass
raises = probe = check
class Draw:
    def normal(self, shape):
        return np.zeros(shape)
draw = Draw()
def double(x):
    return x
""",
}
