"""Finds answers in what is about to be given away: lines of solutions, of answers to questions, of hidden checks.

Looked for is every such line that says something: at least `SHORTEST` characters once spaces are left out, and not a
line that students are shown anyway. What is searched is the text as it will arrive, escapes of JSON undone.
Begin at `secrets_of` and `found`.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

SHORTEST = 12
TEXT = (".py", ".ipynb", ".json", ".toml", ".md", ".txt", ".csv", ".svg", ".cfg", "")


def secrets_of(sources: Iterable[str], shown: Iterable[str] = ()) -> frozenset[str]:
    """The telling lines in sources of cells that students never see; `shown` is text that they see elsewhere."""
    parts = [_parted(source) for source in sources]
    public = {line for text in (*(text for text, _ in parts), *shown) for line in lines(text)}
    every = {line for _, text in parts for line in lines(text)}
    return frozenset(line for line in every - public if len(line) >= SHORTEST)


def found(files: Iterable[tuple[str, str]], secrets: frozenset[str], least: int = 1) -> list[tuple[str, str]]:
    """Each file that holds so many secrets, as whole lines or a long one within: its name, and one of them."""
    hits = []
    for name, text in files:
        told = sorted(secrets & {*lines(text)} | _within(text, secrets))
        hits += [(name, told[0])] if len(told) >= least else []
    return hits


def archive(path: Path) -> Iterator[tuple[str, str]]:
    """The texts in a zip file, a wheel for example: name and content."""
    with zipfile.ZipFile(path) as opened:
        for name in opened.namelist():
            if Path(name).suffix in TEXT:
                yield name, _readable(name, opened.read(name).decode("utf-8"))


def lines(text: str) -> list[str]:
    """Its lines without any spaces, so that layout does not matter."""
    return [re.sub(r"\s+", "", line) for line in text.splitlines()]


def _within(text: str, secrets: frozenset[str]) -> set[str]:
    """Long secrets anywhere in the text; a short one would be found by chance in longer words."""
    squeezed = re.sub(r"\s+", "", text)
    return {line for line in secrets if len(line) >= 2 * SHORTEST and line in squeezed}


def _readable(name: str, text: str) -> str:
    """JSON with its strings as they are, one below the other."""
    if not name.endswith((".ipynb", ".json")):
        return text
    return "\n".join(_strings(json.loads(text)))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        together = "".join(value) if all(isinstance(each, str) for each in value) else ""
        yield from (together,) if together else (text for each in value for text in _strings(each))
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for each in pair for text in _strings(each))


def _parted(source: str) -> tuple[str, str]:
    """What stands outside the marks of a solution or hidden check, and what stands inside."""
    outside: list[str] = []
    inside: list[str] = []
    hidden = False
    for line in source.splitlines():
        mark = re.search("(BEGIN|END) (SOLUTION|HIDDEN TESTS)", line)
        hidden = mark[1] == "BEGIN" if mark else hidden
        if not mark:
            (inside if hidden else outside).append(line)
    return "\n".join(outside), "\n".join(inside)
