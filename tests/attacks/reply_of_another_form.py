"""Makes the child answer with other fields, and exceptions of no known form."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
from tito.teach.sealed import child
child._told = lambda answer: {"raised": {"bases": [], "text": 5, "where": "here"}}
def double(x):
    return x
""",
}
