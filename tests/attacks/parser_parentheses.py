"""A source of 200,000 parentheses, at which parsers fall over; the other exercise is right."""

from __future__ import annotations

HONEST = 5
FLOOR = 5

EXERCISES = {
    "Stack": r"""
class Stack:
    def __init__(self):
        self.items = []
    def push(self, item):
        self.items.append(item)
    def pop(self):
        return self.items.pop()
"""
}


EXERCISES["double"] = "x = " + "(" * 200_000 + ")" * 200_000
