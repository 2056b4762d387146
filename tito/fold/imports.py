"""Import lines: taken apart into names, pruned elsewhere, and written again in the order that ruff's isort wants."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

PACKAGE = "tinytorch"
LINE_LENGTH = 120


@dataclass(frozen=True)
class Import:
    """One imported name. `import numpy as np` has no `name`; `alias` is empty where nothing is renamed."""

    module: str
    name: str = ""
    alias: str = ""

    @property
    def bound(self) -> str:
        """The name that the file gets."""
        return self.alias or self.name or self.module.split(".")[0]

    @property
    def inside(self) -> str:
        """The file of our own package that it comes from, without an ending; empty for anything else."""
        return self.module.removeprefix(f"{PACKAGE}.") if self.module.startswith(f"{PACKAGE}.") else ""

    @property
    def root(self) -> str:
        """The package that must be installed."""
        return self.module.split(".")[0]


def read(node: ast.Import | ast.ImportFrom) -> list[Import]:
    """The names that an import statement brings; a relative module begins with its dots."""
    module = "." * getattr(node, "level", 0) + (getattr(node, "module", "") or "")
    if isinstance(node, ast.Import):
        return [Import(item.name, alias=item.asname or "") for item in node.names]
    return [Import(module, item.name, _renamed(item)) for item in node.names]


def inside(body: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a body, wherever in its blocks."""
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            if isinstance(statements := getattr(node, block, None), list):
                yield from inside(statements)


def _renamed(item: ast.alias) -> str:
    return item.asname if item.asname and item.asname != item.name else ""


def write(imports: Iterable[Import]) -> list[str]:
    """Lines for these imports: standard library, others, our own, with a blank line before each group."""
    lines: list[str] = []
    chosen = set(imports)
    for section in range(3):
        group = [item for item in chosen if _section(item) == section]
        lines += ["", *_plain_lines(group), *_from_lines(group)] if group else []
    return lines


def _section(item: Import) -> int:
    if item.root == PACKAGE:
        return 2
    return 0 if item.root in sys.stdlib_module_names else 1


def _plain_lines(group: Iterable[Import]) -> Iterator[str]:
    for item in sorted((i for i in group if not i.name), key=lambda i: (_natural(i.module), i.alias)):
        yield f"import {item.module} as {item.alias}" if item.alias else f"import {item.module}"


def _from_lines(group: Iterable[Import]) -> Iterator[str]:
    """`from` lines; a renamed name has a line of its own."""
    lines: dict[tuple[str, str], list[Import]] = {}
    for item in sorted((i for i in group if i.name), key=_member_key):
        lines.setdefault((item.module, item.alias and item.name), []).append(item)
    for items in sorted(lines.values(), key=lambda items: (_natural(items[0].module), _member_key(items[0]))):
        yield from listing(f"from {items[0].module} import ", [_member(item) for item in items], "()", always=False)


def _member(item: Import) -> str:
    return f"{item.name} as {item.alias}" if item.alias else item.name


def _member_key(item: Import) -> tuple[Any, ...]:
    """isort's order by type: CONSTANTS, Classes, then functions."""
    constant = len(item.name) > 1 and item.name.isupper()
    kind = 0 if constant else 1 if item.name[0].isupper() else 2
    return kind, _natural(item.name), item.name, item.alias


def _natural(name: str) -> list[tuple[int, int, str]]:
    """An order in which `log2` comes before `log10`."""
    parts: list[str] = re.findall(r"\d+|\D", name.lower())
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def listing(start: str, items: list[str], brackets: str, always: bool = True) -> list[str]:
    """`start` and the items: on one line if they fit (in brackets if `always`), else in brackets, one a line."""
    opening, closing = (brackets[0], brackets[1]) if always else ("", "")
    line = f"{start}{opening}{', '.join(items)}{closing}"
    if len(line) <= LINE_LENGTH:
        return [line]
    return [f"{start}{brackets[0]}", *(f"    {item}," for item in items), brackets[1]]
