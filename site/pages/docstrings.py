"""A Sphinx extension: the house's plain docstrings as reStructuredText, each with a link to the cell that defines it.

In a docstring text between single backticks is code, the first paragraph is the contract, a sentence that begins with
"Raises" tells the errors, one that begins with "Source:" the paper; nothing else is markup. The links come from
reference/defined_in.json, which pages/reference.py writes. Begin at `setup`; `converted` is the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PLACES = "reference/defined_in.json"
CODE = re.compile(r"(\s?)(`+)(.+?)\2", re.DOTALL)
PART = re.compile(r"(?<=[.)\]]) (?=(?:Raises|Source:|The method:) ?)")
KINDS = {"Raises": "raises", "Source:": "source", "The method:": "source"}
SPECIAL = re.compile(r"""([\\*|_<>`"'])""")


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    places = Path(app.srcdir) / PLACES
    app.env.note_dependency(str(places))
    where = json.loads(places.read_text(encoding="utf-8")).get(name, [])
    lines[:] = [*converted("\n".join(lines)), *where, ""]


def converted(docstring: str) -> Iterator[str]:
    """The docstring's lines as reStructuredText."""
    first = "contract"
    for paragraph in re.split(r"\n\s*\n", docstring.strip("\n")):
        if all(line.startswith("    ") for line in paragraph.split("\n")):
            yield from ["::", "", *paragraph.split("\n"), ""]
            continue
        for part in PART.split(" ".join(paragraph.split())):
            yield from classed(first or _kind(part), text(part))
            first = ""


def classed(name: str, *lines: str) -> list[str]:
    """Lines that Sphinx gives a class: inside the directive, for within MyST nothing waits for what follows it."""
    return [f".. rst-class:: {name}", "", *(f"   {line}" for line in lines), ""]


def _kind(part: str) -> str:
    return next((kind for start, kind in KINDS.items() if part.startswith(start)), "told")


def text(plain: str) -> str:
    """Plain text in which what stands between backticks is code."""
    out, end = "", 0
    for found in CODE.finditer(plain):
        out += _escaped(plain[end : found.start()]) + (found[1] or "\\ ") + f"``{found[3]}``\\ "
        end = found.end()
    out += _escaped(plain[end:])
    return out.removeprefix("\\ ") if out.startswith("\\ ``") else _begun(out)


def _escaped(plain: str) -> str:
    return SPECIAL.sub(r"\\\1", plain)


def _begun(line: str) -> str:
    """The line, kept from being taken for a list, a field or a numbered point."""
    return f"\\{line}" if re.match(r"[-+:•.=#~^\"']|\(?\w{1,4}[.)] ", line) else line
