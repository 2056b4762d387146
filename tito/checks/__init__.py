"""The engine of checks: compares plain values with what a lesson wants. NumPy and the standard library only.

How to read it: values.py says what a plain value is, compare.py finds the first difference, text.py and failure.py
put it into words, bench.py runs an expression or probe beside the student's code, locate.py finds the student's line,
and engine.py joins them to check, probe and raises.
"""

from __future__ import annotations

from tito.checks.drawing import Draw, draw
from tito.checks.engine import check, probe, raises
from tito.checks.failure import CheckFailed

__all__ = ["CheckFailed", "Draw", "check", "draw", "probe", "raises"]
