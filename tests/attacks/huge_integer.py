"""Returns an integer of ten million digits, whose text alone takes minutes."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import sys
sys.set_int_max_str_digits(0)
def double(x):
    return 1 << 40_000_000
""",
}
