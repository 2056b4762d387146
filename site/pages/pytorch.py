"""Yours beside PyTorch: what of each name is the same, differs, or is missing on one side.

Written by hand in site/pytorch/NN_name.toml; tests/oracle proves what can be proved of it. Begin at `rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from pages import html
from pages.site import ROOT, Site
from tito.course import Lesson, _read_toml

FOLDER = ROOT / "site" / "pytorch"
MEANS = {
    "same": "the same arguments, the same numbers, the same errors where it matters",
    "differs": "what is asked for is the same, and something about it is not",
    "absent": "one of the two has no such name",
}
HEAD = ("yours, then PyTorch's", "verdict", "how")


class Row(NamedTuple):
    """A name of ours (or "") beside one of PyTorch's (or ""), the verdict and a sentence."""

    ours: str
    torch: str
    verdict: str
    how: str


def rows(stem: str) -> list[Row]:
    """The entries of a lesson, by its stem: `01_tensor`. Raises RuntimeError for one that cannot be meant."""
    path = FOLDER / f"{stem}.toml"
    found = _read_toml(path)["name"] if path.is_file() else []
    return [_row(stem, **entry) for entry in found]


def _row(stem: str, ours: str, torch: str, verdict: str, how: str = "") -> Row:
    if verdict not in MEANS or not (ours or torch) or verdict == "absent" and ours and torch:
        raise RuntimeError(f"site/pytorch/{stem}.toml: {ours or torch} is {verdict!r}; see MEANS in pages/pytorch.py")
    return Row(ours, torch, verdict, how)


def table(site: Site, stem: str) -> str:
    """The part of the map that a lesson's page shows."""
    found = rows(stem)
    if not found:
        return "PyTorch has nothing that it could be laid beside."
    shown = _table(site.course.lesson(stem), found)
    return f"{_counted(found)}\n\n{shown}\n\nAll lessons: [the PyTorch map](../reference/pytorch.md)."


def _counted(found: Sequence[Row]) -> str:
    counts = [f"{sum(row.verdict == verdict for row in found)} {said}" for verdict, said in SAID.items()]
    return f"Of {len(found)} names {', '.join(counts[:-1])} and {counts[-1]}."


SAID = {"same": "are the same", "differs": "differ", "absent": "stand on one side only"}


def _table(lesson: Lesson, found: Iterable[Row]) -> str:
    cells = [("", [f"{_dotted(row.ours)}<br>{_dotted(row.torch)}", row.verdict, html.ticked(row.how)]) for row in found]
    return html.table(f"Lesson {lesson.id} beside PyTorch", HEAD, cells)


def _dotted(name: str) -> str:
    """A name that may go on in the next line behind a dot; a dash for none."""
    return f"<code>{escape(name).replace('.', '.<wbr>')}</code>" if name else "&mdash;"


def page(site: Site) -> str:
    """The whole map as Markdown, lesson by lesson."""
    every = [row for lesson in site.course.everything for row in rows(lesson.stem)]
    means = "\n".join(f"{verdict}\n: {meaning}\n" for verdict, meaning in MEANS.items())
    parts = [_part(lesson, found) for lesson in site.course.everything if (found := rows(lesson.stem))]
    return "\n\n".join([INTRO.format(counted=_counted(every), means=means), *parts]) + "\n"


def _part(lesson: Lesson, found: Sequence[Row]) -> str:
    link = f"[The lesson](../lessons/{lesson.stem}.ipynb)."
    return f"## {lesson.id} {lesson.title}\n\n{_counted(found)} {link}\n\n{_table(lesson, found)}"


INTRO = """\
---
myst:
  html_meta:
    description: Each name of TinyTorch beside PyTorch's - the same, differs, or absent, and how.
---

# The PyTorch map

Who has written TinyTorch reads PyTorch's manual with other eyes. Here stands each name of yours beside PyTorch's, with
what you must know when you move code from one to the other. {counted}

{means}"""
