"""The reference: a page for each module that a lesson exports, an index of all names, and the maps beside them.

autodoc writes the entries; which names and members there are, and what is said of where they come from, is written
here. Begin at `write`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator

from pages import cli, defined_in, docstrings, facts, framework, html, pytorch
from pages.defined_in import Definition, Member, Name, Package
from pages.site import Site
from tito.course import Lesson
from tito.percent import Cell

WORDS = {"exercise": "You write it", "twin": "Solved as an example", "supplied": "Given"}
DESCRIBED = '---\nmyst:\n  html_meta:\n    description: "{}"\n---\n\n'
INDEX = "API of tinytorch, the framework that you write: shapes, errors, sources, and the cell that defines each name."


def write(site: Site) -> None:
    """Pages of the modules, the index, the command line's, and the PyTorch map."""
    package = defined_in.of(site)
    for lesson in site.course.everything:
        site.tree.write(f"reference/{lesson.name}.md", page(site, package, lesson))
    site.tree.write("reference/defined_in.json", json.dumps(dict(places(site, package)), indent=1))
    site.tree.write("reference/index.md", index(site, package))
    site.tree.write("reference/cli.md", cli.page(site))
    site.tree.write("reference/pytorch.md", pytorch.page(site))


# The pages


def index(site: Site, package: Package) -> str:
    """All names with their contracts, module by module."""
    parts = [_listed(package, lesson) for lesson in site.course.everything]
    toctree = "\n".join([*(lesson.name for lesson in site.course.everything), "cli", "pytorch"])
    head = DESCRIBED.format(INDEX) + INTRO.format(count=facts.names(site))
    return "\n\n".join([head, *parts, f"```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"])


def _listed(package: Package, lesson: Lesson) -> str:
    rows = [("", [_linked(name), html.ticked(name.contract)]) for name in package.names(lesson)]
    beside = "\n\nOf an elective, beside the course." if lesson.elective else ""
    table = html.table(lesson.title, ("name", "what it is"), rows)
    return f"## [tinytorch.{lesson.name}]({lesson.name}.md){beside}\n\n{table}"


def _linked(name: Name) -> str:
    return f'<a href="{name.lesson.name}.html#tinytorch.{name.name}"><code>{name.name}</code></a>'


def page(site: Site, package: Package, lesson: Lesson) -> str:
    """The entries of one module: those of the lesson, then those of finished files, file by file."""
    names = package.names(lesson)
    own = [_entry(package, name) for name in names if not name.supplied]
    files = dict.fromkeys(name.file for name in names if name.supplied)
    parts = [_file(site, package, lesson, file, [n for n in names if n.file == file]) for file in files]
    return "\n\n".join([_head(site, lesson), *own, *parts]) + "\n"


def _head(site: Site, lesson: Lesson) -> str:
    about = f"API of tinytorch.{lesson.name}, which lesson {lesson.id} of TinyTorch exports: shapes, errors, sources."
    where = f"[lesson {lesson.id}, {lesson.title}](../lessons/{lesson.stem}.ipynb)"
    source = "" if site.class_edition else f" Its source: [{lesson.name}.py](../framework/{lesson.name}.md)."
    first = f"What {where} adds to the package, to be imported from `tinytorch`.{source}"
    return f"{DESCRIBED.format(about)}# tinytorch.{lesson.name}\n\n{first}"


def _file(site: Site, package: Package, lesson: Lesson, file: str, names: Iterable[Name]) -> str:
    """What a finished file offers, under its own heading."""
    told = framework.purpose(package.tree(file))
    entries = (_entry(package, name) for name in names)
    label = f"`{file}.py`" if site.class_edition else f"[{file}.py](../framework/{file}.md)"
    return "\n\n".join([f"## Supplied: {file}.py", f"{told} A finished file of lesson {lesson.id}: {label}.", *entries])


def _entry(package: Package, name: Name) -> str:
    """What autodoc is asked for."""
    kind = "class" if isinstance(name.node, ast.ClassDef) else "function"
    members = ", ".join(member.name for member in package.members(name))
    options = [f"   :members: {members}"] if members else []
    options += ["   :show-inheritance:"] if getattr(name.node, "bases", None) else []
    body = "\n".join([f".. auto{kind}:: tinytorch.{name.name}", *options])
    return f"```{{eval-rst}}\n{body}\n```"


INTRO = """\
# Reference

Every public name of `tinytorch`, {count} of them: what it takes and gives, with shapes, what it raises, and after whom.
An entry ends with a link to the cell that defines it, and says whether you write it, see it solved or are given it. All
of it is made from the docstrings of the lessons.

Beside it: [the command line](cli.md), and [each name beside PyTorch's](pytorch.md).

Shapes are written as `(N, D) -> (N, H)`: B is a batch, N rows, D features, H hidden, C classes, `...` any dimensions,
`()` a single number."""


# Where things are defined


def places(site: Site, package: Package) -> Iterator[tuple[str, list[str]]]:
    """For each name that autodoc writes, what is said below it, as reStructuredText."""
    for lesson in site.course.everything:
        for name in package.names(lesson):
            yield f"tinytorch.{name.name}", _said(package, name)
            for member in package.members(name):
                yield f"tinytorch.{name.name}.{member.name}", _said_of_member(package, name, member)


def _said(package: Package, name: Name) -> list[str]:
    found = package.cell(name.file, name.node)
    if found is None:
        return []  # the heading above says whose it is
    return [*_paragraph(*found), *_elsewhere(package, name)]


def _said_of_member(package: Package, name: Name, member: Member) -> list[str]:
    """Nothing where it stands in the cell of its class."""
    found = package.cell(member.file, member.node)
    if found is None:
        return [] if member.file == name.file else _class(f"Inherited from ``{member.file}.py``.")
    return [] if found == package.cell(name.file, name.node) else _paragraph(*found)


def _elsewhere(package: Package, name: Name) -> list[str]:
    """The methods without a docstring of their own, cell by cell, where that is not the cell of the class."""
    shown = {member.name for member in package.members(name)}
    cells: dict[str, list[str]] = {}
    for node in _methods(name.node):
        found = package.cell(name.file, node)
        if node.name not in shown and found and found != package.cell(name.file, name.node):
            cells.setdefault(f"lesson {found[0].id}, {_link(*found)}", []).append(f"``{node.name}``")
    points = [f"- {', '.join(methods)}: {where}" for where, methods in cells.items()]
    return _class(*points) if points else []


def _methods(node: Definition) -> list[ast.FunctionDef]:
    return list(defined_in.methods(node)) if isinstance(node, ast.ClassDef) else []


def _paragraph(lesson: Lesson, cell: Cell) -> list[str]:
    return _class(f"{WORDS[cell.role]} in lesson {lesson.id}: {_link(lesson, cell)}.")


def _class(*lines: str) -> list[str]:
    return docstrings.classed("defined-in", *lines)


def _link(lesson: Lesson, cell: Cell) -> str:
    return f"`{cell.role} {cell.name} <../lessons/{lesson.stem}.html#{cell.id}>`__"
