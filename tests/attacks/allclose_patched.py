"""Makes np.allclose and its kin say yes, so that a probe which compares would say so."""

from __future__ import annotations

HONEST = 2

EXERCISES = {
    "Stack": r"""
class Stack:
    made = 0
    def __init__(self):
        Stack.made += 1
        self.items, self.broken = [], Stack.made % 2 == 0
    def push(self, item):
        self.items.append(item)
    def pop(self):
        return 0.0 if self.broken else self.items.pop()

np.allclose = np.isclose = np.array_equal = lambda *a, **k: True
""",
}
