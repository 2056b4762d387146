"""A notebook of 100,000 cells."""

from __future__ import annotations

import json

HONEST = 0

EXERCISES = {}


def change(text: str) -> str:
    """The file that is handed in."""
    notebook = json.loads(text)
    notebook["cells"] += [
        {"cell_type": "code", "metadata": {}, "source": "1", "outputs": [], "execution_count": None}
    ] * 100_000
    return json.dumps(notebook)
