"""Hands in every cell twice, a wrong one first, checks too."""

from __future__ import annotations

import json

HONEST = 0

EXERCISES = {
    "double": r"""
def double(x):
    return x
""",
}


def change(text: str) -> str:
    """The file that is handed in."""
    notebook = json.loads(text)
    right = "def double(x):\n    if isinstance(x, str):\n        raise ValueError('text')\n    return 2 * x\n"
    again = [{**cell, "source": right} if cell["id"] == "exercise-double" else cell for cell in notebook["cells"]]
    notebook["cells"] += again
    return json.dumps(notebook)
