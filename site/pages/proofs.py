"""How you know it works: every check of a lesson, what it asks, and which known mistakes it refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from html import escape

from pages import html
from pages.site import Site
from tito import diagnosis, links
from tito.course import Lesson
from tito.percent import Cell

SHOWN = 3  # questions of a check; the rest is counted


def checks(site: Site, lesson: Lesson) -> str:
    """A row for every check; of a hidden one name, purpose and points."""
    found = [cell for cell in lesson.cells() if cell.role == "check"]
    rows = [(links.of_check(cell.name), _row(lesson, cell)) for cell in found]
    hidden = sum(cell.hidden for cell in found)
    intro = (
        f"{len(found)} checks, {len(found) - hidden} of them here and in `tito test`; {hidden} are hidden and run when "
        "a class is graded. A check evaluates what it asks beside your code and compares plain values."
    )
    return f"{intro}\n\n{html.table('Checks', ('check', 'what it proves', 'points'), rows)}"


def _row(lesson: Lesson, check: Cell) -> list[str]:
    if check.hidden:
        return [f"{check.name} <em>(hidden)</em>", html.ticked(purpose(check)), str(check.points)]
    link = f'<a href="#{check.id}">{check.name}</a>'
    return [link, f"{_asked(check)}{_refused(lesson, check)}", str(check.points)]


def purpose(check: Cell) -> str:
    """What a hidden check says of itself: its visible comment."""
    lines = [line for line in check.source.splitlines() if line.startswith("# ")]
    return " ".join(line.removeprefix("# ") for line in lines)


def _asked(check: Cell) -> str:
    asked = list(questions(check))
    more = len(asked) - SHOWN
    shown = ", ".join(f"<code>{escape(text)}</code>" for text in asked[:SHOWN])
    return f"Asks {shown}{f' and {more} more' if more > 0 else ''}."


def questions(check: Cell) -> Iterator[str]:
    """The expressions of a check, and the names of its probes with what they are given."""
    for node in ast.walk(ast.parse(check.source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("check", "raises"):
            asked = node.args[0] if node.args else None
            if isinstance(asked, ast.Constant):
                yield str(asked.value)
            elif asked is not None:
                yield ast.unparse(asked)


def _refused(lesson: Lesson, check: Cell) -> str:
    """The sentences of the known mistakes that this check sees."""
    says = refused(lesson, check)
    items = "".join(f"<li>{html.ticked(sentence)}</li>" for sentence in says)
    return f" Refuses an answer that<ul>{items}</ul>" if says else ""


def refused(lesson: Lesson, check: Cell) -> list[str]:
    """The known mistakes at which the check gives something else than at the solution."""
    known = diagnosis.load(lesson).get(check.name.split()[0], {}).get("mistakes", [])
    return [one["says"] for one in known if any(entry[0] == check.name for entry in one["wrong"])]
