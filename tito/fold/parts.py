"""What a file of the package is made of: definitions, values, and classes that take in patched members."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from tito.fold import names, places, text
from tito.fold.names import Uses
from tito.fold.places import Place, Row
from tito.fold.statements import Statement


@dataclass
class Part:
    """A definition or value, at the top level of a file or in a class.

    kind: "def" for functions and classes, "value", "doc" for a class's docstring, "pass" for what only fills a body.
    """

    kind: str
    names: tuple[str, ...]
    text: list[str]
    uses: Uses
    origin: Statement
    node: ast.stmt
    gap: list[str] = field(default_factory=list)
    patched: bool = False
    added: bool = False  # by the student: exported if something uses it
    start: int = 0  # how many lines of its statement come before its text

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return self.names[0] if self.names else self.kind

    @property
    def apart(self) -> bool:
        """Whether its author left a blank line before it."""
        return any(not line.strip() for line in self.gap)

    def rows(self) -> list[Row]:
        """Its text in the file, and where each line came from."""
        lines, origin = list(text.without_marks(self.text)), self.origin
        first = origin.above + origin.line + 1
        indexes = places.found(lines, origin.lines, self.start)
        return [Row(line, Place(origin.lesson, origin.cell, first + i)) for line, i in zip(lines, indexes)]

    def pieces(self) -> list[Part]:
        """Itself, and its members where it is a class."""
        return [self]


@dataclass
class ClassPart(Part):
    """A class: `text` is its head, `uses` are those of its bases and decorators."""

    members: list[Part] = field(default_factory=list)
    indent: str = "    "

    def rows(self) -> list[Row]:
        """The head and all members, one blank line around each method."""
        rows = super().rows()
        for i, member in enumerate(self.members):
            rows += map(Row, _between(self.members[i - 1] if i else None, member))
            rows += member.rows()
        return rows

    def pieces(self) -> list[Part]:
        """The head and every member."""
        return [self, *self.members]

    def put(self, member: Part) -> None:
        """Take in a patched member: in its namesake's place, else a value below the values, a method at the end."""
        old = [m for m in self.members if m.names == member.names]
        place = self.members.index(old[0]) if old and old[0].kind == member.kind else self._place(member)
        member.gap = old[0].gap if old else []
        rest = [m for m in self.members[place:] if m not in old and m.kind != "pass"]
        self.members = [m for m in self.members[:place] if m not in old and m.kind != "pass"] + [member, *rest]

    def _place(self, member: Part) -> int:
        if member.kind == "def":
            return len(self.members)
        head = (i for i, m in enumerate(self.members) if m.kind not in ("doc", "value"))
        return next(head, len(self.members))


def _between(before: Part | None, member: Part) -> list[str]:
    """The lines between two members: blank ones, and comments that belong to neither."""
    comments = "\n".join(member.gap).strip("\n").split("\n") if any(line.strip() for line in member.gap) else []
    apart = before is not None and (member.apart or before.kind in ("def", "doc") or member.kind == "def")
    return [*([""] if apart else []), *comments, *([""] if comments else [])]


def from_statement(statement: Statement) -> Part:
    """The part that a definition or assignment makes in its own lesson's file."""
    if isinstance(statement.node, ast.ClassDef):
        return _from_class(statement, statement.node)
    kind = "def" if isinstance(statement.node, text.Definition) else "value"
    gap = [""] if statement.apart else []
    node, lines = statement.node, list(statement.lines)
    return Part(kind, names.bound_by(node), lines, names.uses(node), statement, node, gap, added=statement.added)


def _from_class(statement: Statement, node: ast.ClassDef) -> ClassPart:
    head, start, indent = text.cut_head(statement.lines, node)
    bare = copy.copy(node)
    bare.body = [ast.Pass()]
    own = frozenset(name for child in node.body for name in names.bound_by(child)) | {"__class__"}
    chunks = text.split(statement.lines, node.body, start)
    chunks[-1].text += _after(statement.lines, chunks[-1])
    members = [_member(statement, child, chunk, indent, own) for child, chunk in zip(node.body, chunks, strict=True)]
    part = ClassPart("def", (node.name,), head, names.uses(bare), statement, node, added=statement.added)
    part.members, part.indent = members, indent
    return part


def _after(lines: Sequence[str], last: text.Chunk) -> list[str]:
    """Comments at the end of a class, below its last member."""
    return list(lines[last.line + len(last.text) :])


def _member(origin: Statement, node: ast.stmt, chunk: text.Chunk, indent: str, own: frozenset[str]) -> Part:
    uses = names.uses(node)
    uses = Uses(uses.early - own, uses.late - {"__class__"}, uses.hints - own)
    lines = chunk.text if chunk.text[0].startswith(indent) else [indent + line for line in chunk.text]
    return Part(_kind(node), names.bound_by(node), lines, uses, origin, node, chunk.gap, start=chunk.line)


def _kind(node: ast.stmt) -> str:
    if isinstance(node, text.Definition):
        return "def"
    if text.is_docstring(node):
        return "doc"
    filler = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return "pass" if filler or isinstance(node, ast.Pass) else "value"
