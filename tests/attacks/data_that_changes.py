"""Returns an object whose .data is another array each time, and a list that changes while it is read."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
class Shifty:
    n = 0
    @property
    def data(self):
        Shifty.n += 1
        return np.float32([Shifty.n, 6])
class Grows(list):
    def __iter__(self):
        while True:
            yield 1
def double(x):
    return Shifty() if len(x) < 5 else Grows()
""",
}
