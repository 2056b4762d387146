"""A lesson's questions for reflection as an instructor grades them: by hand, in nbgrader's formgrader.

In the lesson their answers are folded text. `graded` makes of each two cells: the question, which nobody edits, and one
for the student's answer; the lesson's own answer stands there as the solution, so that a release clears it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tito.percent import Cell

QUESTION = re.compile(r"(?P<text>.*?)\n<details><summary>Answer</summary>(?P<answer>.*?)</details>\n*", re.DOTALL)


def graded(cells: Iterable[Cell], points: int) -> tuple[Cell, ...]:
    """The cells, with every folded answer as a cell that is graded by hand, worth `points`."""
    made: list[Cell] = []
    for cell in cells:
        asked = list(QUESTION.finditer(cell.source)) if cell.role == "prose" else []
        first = 1 + sum(other.role == "answer" for other in made)
        pairs = (_pair(cell, match, f"think {first + i}", points) for i, match in enumerate(asked))
        made += [part for pair in pairs for part in pair] if asked else [cell]
    return tuple(made)


def _pair(cell: Cell, match: re.Match[str], name: str, points: int) -> Iterator[Cell]:
    solution = f"### BEGIN SOLUTION\n{match['answer'].strip()}\n### END SOLUTION"
    yield Cell("markdown", {"question": name}, match["text"], cell.line, cell.number)
    yield Cell("markdown", {"answer": name, "points": points}, solution, cell.line, cell.number)
