"""The page of a lesson: its cells with what they show, and around them what a reader wants to know of the lesson.

The page is written as a notebook with outputs. Begin at `page`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from pages import about, execute, failures, html, pictures, proofs, text
from pages.site import TEXT, Site
from tito import release
from tito.course import Lesson
from tito.dev.demo import answer
from tito.percent import Cell

IMAGE = re.compile(r"!\[([^\]]*)\]\((figures/([^)]+)\.svg)\)")

INDEX = """---
myst:
  html_meta:
    description: The eight lessons of TinyTorch, what you write in each, how long it takes and which milestone it opens.
---

# Lessons

Each is a notebook: text, small cells that run, exercises, and a check below each of them. Read it here, run it in the
page, or work in a workspace of your own with `tito`. All of them take about {minutes} minutes.

{table}
{electives}
```{{toctree}}
:hidden:

{tree}
```
"""

ELECTIVES = """
## Electives

Beside the course: a lesson to take if you like, when what it needs is exported. Nothing waits for it, and it counts in
nothing.

{table}
"""
HEAD = ("lesson", "you build", "exercises", "minutes", "difficulty", "opens")


def write(site: Site) -> None:
    """A page and the figures of every lesson, electives too, and the page that lists them."""
    site.tree.write("lessons/index.md", _index(site))
    for lesson in site.course.everything:
        site.tree.write(f"lessons/{lesson.stem}.ipynb", json.dumps(page(site, lesson), ensure_ascii=False, indent=1))
        for figure in lesson.figures:
            _write_figure(site, figure.name, figure.read_text(encoding="utf-8"))
        site.tree.write(f"extra/_static/notebooks/{lesson.stem}.ipynb", release.notebook_text(lesson))


def page(site: Site, lesson: Lesson) -> dict[str, Any]:
    """The page as nbformat 4.5."""
    cells = [*_head(site, lesson), *_body(site, lesson), *_tail(site, lesson)]
    numbered = [{**cell, "id": f"part-{number}"} for number, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _head(site: Site, lesson: Lesson) -> Iterator[dict[str, Any]]:
    """Title, the box of facts, what is written, and how to run it here."""
    (title, first), *_ = _first_heading(lesson)
    described = f"```{{eval-rst}}\n.. meta::\n   :description: {_written(site, lesson)['']}\n```"
    yield _markdown(f"{described}\n\n# {title}\n\n{about.box(site, lesson)}\n\n{_manifest(lesson)}\n\n{first}")
    yield _markdown(f"## What you write\n\n{about.exercises(site, lesson)}")


def _first_heading(lesson: Lesson) -> list[tuple[str, str]]:
    """The lesson's title and the text below it, which its first cell holds."""
    title, _, rest = lesson.cells()[0].source.partition("\n")
    return [(title.removeprefix("# "), rest.strip())]


def _body(site: Site, lesson: Lesson) -> Iterator[dict[str, Any]]:
    """The lesson's own cells, solutions cleared, with what they put out when solved."""
    shown, outputs = release.student_cells(lesson), execute.outputs(site, lesson)
    solved = {cell.id: cell for cell in lesson.cells()}
    for cell in shown[1:]:
        if cell.kind != "code":
            yield _markdown(_with_figures(cell.source))
        elif not cell.hidden:
            yield from _code(cell, outputs.get(cell.id, []))
            if "local" in cell.marks:
                yield _markdown(_local_reason(cell))
            if cell.role == "exercise" and not site.class_edition:
                yield _markdown(_solution(solved[cell.id]))


def _code(cell: Cell, outputs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The cell, named so that a link finds it and a script knows it."""
    if cell.name or cell.role == "imports":
        yield _markdown(f'<span id="{cell.id}"></span>')
    tags = [f"cell-{cell.id}", *(["local"] if "local" in cell.marks else [])]
    source = {"cell_type": "code", "execution_count": None, "source": cell.source}
    yield {**source, "metadata": {"tags": tags}, "outputs": outputs}


def _local_reason(cell: Cell) -> str:
    """Why the cell has no button: site/run/src/cell.js makes none."""
    words = f"This cell runs in a workspace only: {escape(cell.marks['local'])}."
    return f'<p class="local-reason" data-cell="{cell.id}">{words}</p>'


def _solution(cell: Cell) -> str:
    code = f"```{{code-block}} python\n{answer(cell.source)}\n```"
    return f'<details class="solution"><summary>A solution</summary>\n\n{code}\n\n</details>'


def _tail(site: Site, lesson: Lesson) -> Iterator[dict[str, Any]]:
    """What stands below the lesson."""
    written = _written(site, lesson)
    parts = {
        "How you know it works": proofs.checks(site, lesson),
        "When it fails": failures.table(site, lesson),
        "What you are not building": written["What you are not building"],
        "Yours beside PyTorch": about.beside_pytorch(site, lesson),
        "Where it is used": about.uses(site, lesson),
        "Why it is built this way": written["Why it is built this way"],
        "Further reading": written["Further reading"],
    }
    yield from (_markdown(f"## {title}\n\n{body}") for title, body in parts.items())


def _written(site: Site, lesson: Lesson) -> dict[str, str]:
    """What the page says beyond the lesson, by heading; under "" its description."""
    return text.sections(text.filled(site, TEXT / "lessons" / f"{lesson.stem}.md"))


def _index(site: Site) -> str:
    """The page that lists the lessons, and below them the electives where there are any."""
    more = ELECTIVES.format(table=_table(site, "Electives", site.course.electives)) if site.course.electives else ""
    tree = "\n".join(lesson.stem for lesson in site.course.everything)
    minutes = sum(each.minutes for each in site.course.lessons)
    return INDEX.format(table=_table(site, "Lessons", site.course.lessons), electives=more, minutes=minutes, tree=tree)


def _table(site: Site, name: str, lessons: Iterable[Lesson]) -> str:
    return html.table(name, HEAD, [("", about.summary(site, lesson)) for lesson in lessons])


def _manifest(lesson: Lesson) -> str:
    """What the script on the page knows of the cells."""
    code = [cell for cell in release.student_cells(lesson) if cell.kind == "code" and not cell.hidden]
    cells = [{"id": c.id, "role": c.role, "name": c.name, "local": c.marks.get("local", "")} for c in code]
    told = json.dumps({"lesson": lesson.id, "stem": lesson.stem, "cells": cells}).replace("</", "<\\/")
    return f'<script type="application/json" id="in-page">{told}</script>'


def _with_figures(source: str) -> str:
    """Each figure twice, for a light and for a dark page."""
    return IMAGE.sub(r"![\1](figures/\3.light.svg){.only-light} ![\1](figures/\3.dark.svg){.only-dark}", source)


def _write_figure(site: Site, name: str, drawn: str) -> None:
    """A figure follows the reader's system; on a page it must follow the page."""
    stem = name.removesuffix(".svg")
    site.tree.write(f"lessons/figures/{stem}.light.svg", pictures.light(drawn))
    site.tree.write(f"lessons/figures/{stem}.dark.svg", pictures.dark(drawn))


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}
