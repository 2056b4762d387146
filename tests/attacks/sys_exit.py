"""Calls sys.exit(0), as if all had gone well."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import sys
def double(x):
    sys.exit(0)
""",
}
