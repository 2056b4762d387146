"""Returns an array of 4 TB that takes no memory, being one number repeated."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    return np.broadcast_to(np.float32(6), (2**40,))
""",
}
