"""Cuts and edits source text at the positions that `ast` gives, so that comments and formatting stay.

Positions are ast's: lines count from 1, columns are bytes of UTF-8 from 0.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef

_SOLUTION_MARK = re.compile(r"\s*### (BEGIN|END) SOLUTION\s*$")
_PROMISE = re.compile(r'"""(?P<rest>(?:(?!""").)*?)\s*About \d+ lines?\b[^"\n]*\.(?P<end>\s*)"""', re.DOTALL)
_LONG_STRING = re.compile(r"""'''|\"{3}|\\$|\b[rR]?[fFtT][rR]?['"]""")
_STRING_OPENS = (getattr(tokenize, "FSTRING_START", None), getattr(tokenize, "TSTRING_START", None))
_STRING_CLOSES = (getattr(tokenize, "FSTRING_END", None), getattr(tokenize, "TSTRING_END", None))


@dataclass
class Chunk:
    """One statement's text with its comments; `gap` is what stands between it and the one before."""

    gap: list[str]
    text: list[str]
    line: int  # how many lines come before the text

    @property
    def apart(self) -> bool:
        """Whether a blank line stands before it."""
        return any(not line.strip() for line in self.gap)


def split(lines: Sequence[str], nodes: Sequence[ast.stmt], start: int = 0) -> list[Chunk]:
    """Cut lines from index `start` on into one chunk a statement. Comments directly above belong to it."""
    chunks: list[Chunk] = []
    floor = start
    for i, node in enumerate(nodes):
        first, end = first_line(node) - 1, node.end_lineno or node.lineno
        following = first_line(nodes[i + 1]) - 1 if i + 1 < len(nodes) else len(lines)
        if first < floor or following < end:  # several statements on one line
            chunks.append(Chunk([], _segment(lines, node), first))
            floor = max(floor, end)
            continue
        top = _comments_above(lines, first, floor)
        bottom = _comments_below(lines, end, following, node)
        chunks.append(Chunk(list(lines[floor:top]), list(lines[top:bottom]), top))
        floor = bottom
    return chunks


def first_line(node: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _segment(lines: Sequence[str], node: ast.stmt) -> list[str]:
    return (ast.get_source_segment("\n".join(lines), node) or "").split("\n")


def _comments_above(lines: Sequence[str], first: int, floor: int) -> int:
    while first > floor and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first


def _comments_below(lines: Sequence[str], end: int, limit: int, node: ast.stmt) -> int:
    """Where a definition ends when the comments at the end of its body are counted in."""
    if not isinstance(node, Definition):
        return end
    bottom = end
    for i in range(end, limit):
        code = lines[i].lstrip()
        if code and not (code.startswith("#") and len(lines[i]) - len(code) > node.col_offset):
            break
        bottom = i + 1 if code else bottom
    return bottom


def cut_head(lines: Sequence[str], node: ast.ClassDef) -> tuple[list[str], int, str]:
    """A class's lines up to its colon, the index at which its body begins, and the body's indent."""
    first = first_line(node.body[0]) - 1
    before = _cut(lines[first], node.body[0].col_offset)
    if before.strip():  # class A: pass
        return [*lines[:first], before.rstrip()], first + 1, "    "
    start = first
    while start and (not lines[start - 1].strip() or lines[start - 1].lstrip().startswith("#")):
        start -= 1
    return list(lines[:start]), start, before


def as_method(lines: Sequence[str], node: Function, patch: ast.expr, wrapper: str, prefix: str) -> list[str]:
    """A patched function's text as it stands in its class: no `patch`, no annotation on self, indented."""
    first = [*node.args.posonlyargs, *node.args.args][0]
    result = _replace(lines, first, first.arg)
    decorator = [f"@{wrapper}"] if wrapper else []
    result[patch.lineno - 1 : patch.end_lineno] = decorator
    return indent(result, prefix, _may_span_lines(_without_docstring(lines, node)))


def _without_docstring(lines: Sequence[str], node: Function) -> Sequence[str]:
    first = node.body[0]
    return _replace(lines, first.value, "") if isinstance(first, ast.Expr) and is_docstring(first) else lines


def as_attribute(lines: Sequence[str], target: ast.Attribute, prefix: str) -> list[str]:
    """`Tensor.grad = None` as it stands in the class: `grad = None`."""
    return indent(_replace(lines, target, target.attr), prefix, _may_span_lines(lines))


def _may_span_lines(lines: Sequence[str]) -> bool:
    """Whether a string may begin in one of these lines and end in another: only then are all tokens looked at.

    An f-string may have the end of a line in its braces.
    """
    return any(map(_LONG_STRING.search, lines))


def _replace(lines: Sequence[str], node: ast.arg | ast.expr, new: str) -> list[str]:
    """The lines with the node's own text replaced."""
    start, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    after = lines[end].encode("utf-8")[node.end_col_offset or 0 :].decode("utf-8")
    return [*lines[:start], _cut(lines[start], node.col_offset) + new + after, *lines[end + 1 :]]


def _cut(line: str, column: int) -> str:
    return line.encode("utf-8")[:column].decode("utf-8")


def indent(lines: Sequence[str], prefix: str, spanning: bool = True) -> list[str]:
    """The lines moved to the right, all but those inside a string: they are data. Docstrings move with the code.

    Without `spanning`, no string but a docstring goes over lines.
    """
    fixed = _fixed_lines(tuple(lines)) if spanning else set()
    moved = [prefix + line if line.strip() else "" for line in lines]
    return [line if i in fixed else moved[i] for i, line in enumerate(lines)]


@lru_cache(maxsize=4096)
def _fixed_lines(lines: tuple[str, ...]) -> set[int]:
    return _string_lines(lines) - _docstring_lines(lines)


def _string_lines(lines: Sequence[str]) -> set[int]:
    """Indexes of the lines that begin inside a string."""
    opened: list[int] = []
    inside: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        if token.type == tokenize.STRING:
            inside.update(range(token.start[0], token.end[0]))
        elif token.type in _STRING_OPENS:
            opened.append(token.start[0])
        elif token.type in _STRING_CLOSES:
            inside.update(range(opened.pop(), token.end[0]))
    return inside


def _docstring_lines(lines: Sequence[str]) -> set[int]:
    nodes = ast.walk(ast.parse("\n".join(lines)))
    return {i for node in nodes if isinstance(node, Definition) for i in _docstring_range(node.body[0])}


def _docstring_range(node: ast.stmt) -> range:
    if is_docstring(node):
        return range(node.lineno, node.end_lineno or node.lineno)
    return range(0)


def is_docstring(node: ast.stmt) -> bool:
    """Whether the statement is a bare string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def without_marks(lines: Sequence[str]) -> Iterator[str]:
    """The lines as a package holds them: no marks around a solution, no promised size of the answer."""
    text = "\n".join(line for line in lines if not _SOLUTION_MARK.match(line))
    return iter(_PROMISE.sub(_unpromised, text).split("\n"))


def _unpromised(docstring: re.Match[str]) -> str:
    """The docstring without its last sentence; one line where one line is left."""
    rest = docstring["rest"]
    return f'"""{rest}{docstring["end"] if chr(10) in rest else ""}"""'
