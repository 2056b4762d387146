"""Leaves things under the names of probes, and a patched globals() dict."""

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

def popped(items):
    return items[::-1], True
globals()["__builtins__"] = {"__import__": __import__, "all": lambda *a: True, "len": lambda *a: 0}
""",
}
