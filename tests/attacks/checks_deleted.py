"""Hands in no checks and no imports, and is right."""

from __future__ import annotations

import json

HONEST = 5
FLOOR = 5

EXERCISES = {
    "double": r"""
def double(x):
    if isinstance(x, str):
        raise ValueError("text cannot be doubled")
    return 2 * x
""",
}


def change(text: str) -> str:
    """The file that is handed in."""
    notebook = json.loads(text)
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] == "exercise-double"]
    return json.dumps(notebook)
