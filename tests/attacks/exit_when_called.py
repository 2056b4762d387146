"""Ends the process when it is asked; the other exercise is right."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
def double(x):
    import os
    os._exit(0)
""",
    "Stack": r"""
class Stack:
    def __init__(self):
        self.items = []
    def push(self, item):
        self.items.append(item)
    def pop(self):
        return self.items.pop()
""",
}
