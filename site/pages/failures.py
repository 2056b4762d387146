"""When it fails: every known mistake with what it gives beside what is wanted, and every message with its reason.

A mistake's row has the anchor that `tito test` links to. What it gives is not written anywhere: each mistake is put
into the solution and tested, and of the verdict the question and both values are shown, never the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from pages import html
from pages.site import Site
from tito import diagnosis, links, release
from tito.course import Lesson
from tito.dev import trials, variants
from tito.dev.export import needs_of
from tito.messages import template
from tito.percent import Cell

Verdict = dict[str, Any]


def table(site: Site, lesson: Lesson) -> str:
    """The known mistakes by exercise, and the messages."""
    return f"{_mistakes(site, lesson)}\n\n{_messages(site, lesson)}\n\n{_said(lesson)}"


def _mistakes(site: Site, lesson: Lesson) -> str:
    known, given = diagnosis.load(lesson), evidence(site, lesson)
    total = sum(len(each["mistakes"]) for each in known.values())
    intro = (
        f"{total} mistakes are known by what they give at the visible checks. When yours gives the same, `tito test` "
        "names it in a line that begins with *looks like*, unless something else looks the same, too."
    )
    return "\n\n".join([intro, *(_of_exercise(name, each["mistakes"], given) for name, each in known.items())])


def _of_exercise(name: str, mistakes: Iterable[Verdict], given: dict[str, Verdict]) -> str:
    rows = _unique(_row(name, one["says"], given.get(f"{name}: {one['says']}", {})) for one in mistakes)
    head = ("looks like: it", "asked", "want", "got")
    return f"### {name}\n\n{html.table(f'Known mistakes in {name}', head, rows)}" if rows else ""


def _row(exercise: str, says: str, verdict: Verdict) -> tuple[str, list[str]]:
    got = verdict.get("got") or ": ".join(filter(None, verdict.get("error") or ()))
    cells = [html.ticked(says), html.code(verdict.get("expression") or ""), html.code(verdict.get("want") or "")]
    return links.anchor(exercise, says), [*cells, html.code(got or verdict.get("says") or "")]


def evidence(site: Site, lesson: Lesson) -> dict[str, Verdict]:
    """By exercise and sentence, the first visible check that FAILs with this mistake in the solution."""
    whole = site.whole(lesson)
    needs = [need.folder for need in (*site.solved.needs_of(whole), whole)]
    made: dict[str, Verdict] = site.results.of(f"{lesson.stem}-mistakes", needs, lambda: _tried(site, whole))
    return made


def _tried(site: Site, lesson: Lesson) -> dict[str, Verdict]:
    mistaken = variants.mistaken(lesson)
    jobs = [variants.visible(lesson, one) for one in mistaken]
    verdicts = trials.run_all(jobs, needs_of(site.solved, lesson))
    found = ((one, _first_failure(tried)) for one, tried in zip(mistaken, verdicts))
    return {f"{one.exercise}: {one.says}": _shown(verdict) for one, verdict in found if verdict}


def _first_failure(verdicts: dict[str, Verdict]) -> Verdict | None:
    return next((each for each in verdicts.values() if each["status"] == "FAIL"), None)


def _shown(verdict: Verdict) -> Verdict:
    """The question and both values; not the line that gave it, which is the mistake's code."""
    return {name: verdict.get(name) for name in ("check", "expression", "want", "got", "says", "error")}


def _messages(site: Site, lesson: Lesson) -> str:
    """What the lesson's code says when it refuses; where solutions are not shown, what is supplied says."""
    found = list(messages(site, lesson))
    if not found:
        return ""
    rows = [(links.of_message(text), [html.ticked(text), _code(error), html.ticked(why)]) for text, error, why in found]
    return "### Messages\n\n" + html.table("Messages", ("message", "error", "when"), _unique(rows))


def _code(text: str) -> str:
    return f"<code>{text}</code>"


def messages(site: Site, lesson: Lesson) -> Iterator[tuple[str, str, str]]:
    """Text, error and reason of each `raise` in the lesson's own and supplied code."""
    cells = lesson.cells() if not site.class_edition else release.student_cells(lesson)
    sources = [cell.source for cell in cells if cell.exported]
    for source in [*sources, *(path.read_text(encoding="utf-8") for path in lesson.supplied)]:
        yield from _raised(ast.parse(source), "", "")


def _raised(node: ast.AST, name: str, why: str) -> Iterator[tuple[str, str, str]]:
    for child in ast.iter_child_nodes(node):
        inside, reason = name, why
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inside = f"{name}.{child.name}".lstrip(".")
            reason = _raises(ast.get_docstring(child) or "") or why
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call) and child.exc.args:
            text = template(child.exc.args[0])
            if text:
                yield text, ast.unparse(child.exc.func), f"`{inside}`: {reason}" if reason else f"`{inside}`"
        yield from _raised(child, inside, reason)


def _raises(docstring: str) -> str:
    """The sentence of a docstring that says when it refuses."""
    sentences = " ".join(docstring.split()).split(". ")
    return next((each.rstrip(".") for each in sentences if each.startswith("Raises")), "")


def _said(lesson: Lesson) -> str:
    """What visible checks add to a failure."""
    checks = [cell for cell in lesson.cells() if cell.role == "check" and not cell.hidden]
    found = [(check, text) for check in checks for text in _says(ast.parse(check.source))]
    rows = [(links.of_message(text), [html.ticked(text), _link(check)]) for check, text in found]
    title = "What a check adds"
    return f"### {title}\n\n{html.table(title, ('it says', 'check'), _unique(rows))}" if rows else ""


def _link(check: Cell) -> str:
    return f'<a href="#{check.id}">{check.name}</a>'


def _says(tree: ast.AST) -> Iterator[str]:
    named = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "says":
            value = named.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
            yield from [template(value)] if value is not None and template(value) else []


def _unique(rows: Iterable[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """One row for an anchor."""
    return list({id: (id, cells) for id, cells in reversed(list(rows))}.values())[::-1]
