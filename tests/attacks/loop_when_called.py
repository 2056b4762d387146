"""Never returns; the other exercise is right."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
def double(x):
    while True:
        pass
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
