"""Makes mutants of a solution: its text with one small change, inside the lines of the solution only.

Begin at `mutants`. The changes come from `operators.py`; messages, annotations and docstrings are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tito.dev.operators import OPERATORS, Change, Text


@dataclass(frozen=True)
class Mutant:
    """An exercise's cell with one change: on which of its lines, what stood there, what stands there now."""

    exercise: str
    line: int
    old: str
    new: str
    operator: str
    source: str

    def below(self, lines: int) -> Mutant:
        """The same, where so many lines stand above the cell."""
        return replace(self, line=self.line + lines)


def mutants(exercise: str, source: str) -> list[Mutant]:
    """Every mutant of the cell that is another program than the cell and than the mutants before it."""
    text = Text(source)
    inside = solution_lines(source)
    seen, found = {ast.dump(text.tree)}, []
    for operator, change in _changes(text, inside):
        mutated = source[: change[0]] + change[2] + source[change[1] :]
        form = ast.dump(ast.parse(mutated))
        if form not in seen:
            seen.add(form)
            found.append(_mutant(exercise, text, change, operator, mutated))
    return found


def solution_lines(source: str) -> set[int]:
    """The numbers of the lines between the marks of solutions."""
    inside, found = False, set()
    for number, line in enumerate(source.split("\n"), start=1):
        inside = inside and "### END SOLUTION" not in line
        if inside:
            found.add(number)
        inside = inside or "### BEGIN SOLUTION" in line
    return found


def _changes(text: Text, inside: set[int]) -> Iterator[tuple[str, Change]]:
    for node in _nodes(text.tree):
        for operator in OPERATORS:
            for change in operator(text, node):
                first, last = (text.source.count("\n", 0, place) + 1 for place in change[:2])
                if inside.issuperset(range(first, last + 1)):
                    yield operator.__name__, change


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes in the order of the text, but for what is in messages and annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        quiet = name in ("annotation", "returns", "decorator_list") or isinstance(node, (ast.Raise, ast.JoinedStr))
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not quiet:
                yield from _nodes(child)


def _mutant(exercise: str, text: Text, change: Change, operator: str, mutated: str) -> Mutant:
    """The whole lines around the change, before and after, each as one line without indentation."""
    start = text.source.rfind("\n", 0, change[0]) + 1
    end = text.source.find("\n", change[1]) % (len(text.source) + 1)
    old, new = text.source[start:end], mutated[start : end + len(mutated) - len(text.source)]
    line = text.source.count("\n", 0, start) + 1
    return Mutant(exercise, line, " ".join(old.split()), " ".join(new.split()), operator, mutated)
