"""A lying __exit__ and __exit__-like hooks swallow what a check would raise."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import contextlib, sys
class Swallow:
    def __enter__(self): return self
    def __exit__(self, *error): return True
contextlib.suppress = contextlib.redirect_stdout = lambda *a, **k: Swallow()
from tito.checks import engine, failure
class Quiet(Exception):
    def __new__(cls, *a, **k): return Exception.__new__(cls)
failure.CheckFailed = engine.CheckFailed = Quiet
engine.difference = lambda *a, **k: None
def double(x):
    with Swallow():
        raise ValueError("text cannot be doubled")
""",
}
