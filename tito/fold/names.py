"""Which names a statement takes from outside itself. Python's own symbol table decides, so every scope rule holds."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_MANGLED = re.compile(r"\b__(?!\w*__\b)\w")
_AT_ONCE = ("listcomp", "setcomp", "dictcomp", "genexpr")


@dataclass(frozen=True)
class Uses:
    """Names by the moment at which they are looked up."""

    early: frozenset[str]  # where the statement stands: decorators, defaults, bases, values
    late: frozenset[str]  # when a function's body runs
    hints: frozenset[str]  # never: annotations, which type checkers read

    def all(self) -> frozenset[str]:
        """Every name, whenever it is looked up."""
        return self.early | self.late | self.hints

    def without(self, names: frozenset[str]) -> Uses:
        """The same, where these names are known at the place of the statement (a class's own scope)."""
        return Uses(self.early - names, self.late, self.hints - names)


@lru_cache(maxsize=4096)  # an export of all lessons builds the package as often as there are lessons
def uses(node: ast.stmt) -> Uses:
    """The names that a statement looks up outside itself."""
    annotations = list(_annotations(node))
    annotated = frozenset(name for *_, annotation in annotations for name in _hint_names(annotation))
    with _away(annotations):
        source = ast.unparse(node)
    early: set[str] = set()
    late: set[str] = set()
    bound: set[str] = set()
    table = symtable.symtable(source, "cell", "exec")
    early.update(s.get_name() for s in table.get_symbols() if s.is_referenced())
    for child in table.get_children():
        _collect(child, early, late, bound)
    return Uses(_written(early), _written(late), annotated - bound)


def _collect(table: symtable.SymbolTable, early: set[str], late: set[str], bound: set[str]) -> None:
    at_once = str(table.get_type()) == "class" or table.get_name() in _AT_ONCE
    found = early if at_once else late
    for symbol in table.get_symbols():
        (found if symbol.is_global() else bound).add(symbol.get_name())
    for child in table.get_children():
        _collect(child, found, late, bound)


def _written(names: set[str]) -> frozenset[str]:
    """Names that stand in the text: the symbol table has others of its own, such as `.0`."""
    return frozenset(name for name in names if name.isidentifier())


def _annotations(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """Every annotation, and where it stands: the node and its field."""
    for child in ast.walk(node):
        for field in ("annotation", "returns"):
            if (annotation := getattr(child, field, None)) is not None:
                yield child, field, annotation


@contextmanager
def _away(annotations: Iterable[tuple[ast.AST, str, ast.expr]]) -> Iterator[None]:
    """Meanwhile the tree has no annotations: exported files never evaluate them."""
    try:
        for node, field, _ in annotations:
            setattr(node, field, ast.Constant(None) if isinstance(node, ast.AnnAssign) else None)
        yield
    finally:
        for node, field, annotation in annotations:
            setattr(node, field, annotation)


def _hint_names(node: ast.AST) -> Iterator[str]:
    """Names in an annotation, those in quotes included; what stands inside Literal[...] is no name."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _hint_names(_parsed(node.value))
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
        yield from _hint_names(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _hint_names(child)


def _parsed(annotation: str) -> ast.AST:
    try:
        return ast.parse(annotation, mode="eval")
    except SyntaxError:
        return ast.Constant(None)


def line_of(node: ast.stmt, name: str) -> int:
    """The first line of a statement's text on which the name is used, else the statement's own."""
    lines = [child.lineno for child in ast.walk(node) if isinstance(child, ast.Name) and child.id == name]
    return min(lines, default=node.lineno)


def bound_by(node: ast.stmt) -> tuple[str, ...]:
    """The names that a definition or assignment gives."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    names = [child for target in targets(node) for child in ast.walk(target) if isinstance(child, ast.Name)]
    return tuple(name.id for name in names if isinstance(name.ctx, ast.Store))


def targets(node: ast.stmt) -> list[ast.expr]:
    """What an assignment assigns to; nothing for other statements."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []


def is_literal(node: ast.expr) -> bool:
    """Whether the expression is a number, string, None, or a container of such."""
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def mangled(node: ast.AST, text: str) -> str | None:
    """A name such as `__x`, which would be another one inside a class; None when there is none in the node's text."""
    if text.isascii() and not _MANGLED.search(text):  # other letters may be underscores to Python
        return None
    return next((name for name in map(_identifier, ast.walk(node)) if _is_mangled(name)), None)


def _identifier(node: Any) -> str:
    for field in ("id", "attr", "arg", "name"):
        if isinstance(value := getattr(node, field, None), str):
            return value
    return ""


def _is_mangled(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")
