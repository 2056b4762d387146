"""Gives np, bool and float in the notebook another meaning."""

from __future__ import annotations

HONEST = 2

EXERCISES = {
    "Stack": r"""
import numpy
class Yes:
    def __getattr__(self, name):
        return lambda *a, **k: True
    def __call__(self, *a):
        return True

class Stack:
    made = 0
    def __init__(self):
        Stack.made += 1
        self.items, self.broken = [], Stack.made % 2 == 0
    def push(self, item):
        self.items.append(item)
    def pop(self):
        return 0.0 if self.broken else self.items.pop()

np = bool = all = float = Yes()
""",
}
