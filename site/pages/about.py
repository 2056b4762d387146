"""What stands around a lesson on its page: facts, exercises with their promised sizes, and where its names are used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from pages import html, pytorch
from pages.site import Site
from tito import release
from tito.course import Course, Lesson, Milestone
from tito.percent import Cell

PROMISE = re.compile(r"About (\d+) lines?(?: each)?\.")
LEVELS = {1: "easy", 2: "medium", 3: "demanding"}


def box(site: Site, lesson: Lesson) -> str:
    """Minutes, difficulty, what it needs, what comes out."""
    needs = ", ".join(f"[{need.id} {need.name}]({need.stem}.ipynb)" for need in site.course.needs_of(lesson))
    supplied = ", ".join(f"`{path.name}`" for path in lesson.supplied)
    module = f"[`tinytorch/{lesson.name}.py`](../reference/{lesson.name}.md)"
    rows = {
        "Elective": "take it if you like; nothing waits for it" if lesson.elective else "",
        "Time": f"about {lesson.minutes} minutes",
        "Difficulty": LEVELS[lesson.difficulty],
        "Needs": needs or "no lesson before it",
        "Exports": module + (f", and supplied: {supplied}" if supplied else ""),
        "Opens": opens(site, lesson),
    }
    lines = "\n".join(f"{name}\n: {value}\n" for name, value in rows.items() if value)
    return f"::::{{container}} facts\n{lines}\n::::"


def opens(site: Site, lesson: Lesson) -> str:
    """Links to the milestones that need this lesson last."""
    return ", ".join(f"[{label}](../milestones/{link}.md)" for label, link in milestones(site, lesson))


def milestones(site: Site, lesson: Lesson) -> list[tuple[str, str]]:
    """Label and page of the milestones that need this lesson last."""
    mine = [one for one in site.course.every_milestone if site.course.needs_of(one)[-1].id == lesson.id]
    return [(f"{one.title} {one.year}", Path(one.file).stem) for one in mine]


def summary(site: Site, lesson: Lesson) -> list[str]:
    """A row of the table of lessons."""
    cells = [cell for cell in release.student_cells(lesson) if cell.role == "exercise"]
    opened = ", ".join(f'<a href="../milestones/{link}.html">{label}</a>' for label, link in milestones(site, lesson))
    names = [f"<code>{name}</code>" for cell in cells for name in defined(cell) if "." not in name]
    first = f'<a href="{lesson.stem}.html">{lesson.id} {lesson.title}</a>'
    return [first, ", ".join(names), str(len(cells)), str(lesson.minutes), LEVELS[lesson.difficulty], opened]


def exercises(site: Site, lesson: Lesson) -> str:
    """A table of the exercises: what is written, how many lines it is about, what it is worth."""
    cells = [cell for cell in release.student_cells(lesson) if cell.role == "exercise"]
    rows = [("", _exercise(cell)) for cell in cells]
    total = (
        f"{len(cells)} exercises, about {sum(map(lines_of, cells))} lines in all. An answer that looks different and"
    )
    head = ("exercise", "you write", "lines, about", "points")
    return f"{total} passes is as good as ours.\n\n{html.table('Exercises', head, rows)}"


def _exercise(cell: Cell) -> list[str]:
    names = ", ".join(f"<code>{name}</code>" for name in defined(cell))
    return [f'<a href="#{cell.id}">{cell.name}</a>', names, str(lines_of(cell)), str(cell.points)]


def lines_of(cell: Cell) -> int:
    """How many lines the docstrings of an exercise promise in all."""
    found = list(PROMISE.finditer(cell.source))
    return sum(int(each[1]) for each in found)


def defined(cell: Cell) -> list[str]:
    """The functions, methods and classes that a cell defines: `Tensor.sum` for a patched method."""
    return [name for node in ast.parse(cell.source).body for name in _named(node)]


def _named(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    if not isinstance(node, ast.FunctionDef):
        return []
    patched = any("patch" in ast.unparse(each) for each in node.decorator_list)
    owner = _class_of(node.args.args[0].annotation) if patched and node.args.args else ""
    return [f"{owner}.{node.name}" if owner else node.name]


def _class_of(annotation: ast.expr | None) -> str:
    """`self: Tensor`, `cls: type[Tensor]`"""
    text = ast.unparse(annotation) if annotation else ""
    return text.removeprefix("type[").removesuffix("]").strip("'\"")


def uses(site: Site, lesson: Lesson) -> str:
    """Which later lessons and milestones import which names of this lesson's files."""
    modules = {lesson.name, *(path.stem for path in lesson.supplied)}
    names = exported(lesson)
    rows = []
    for label, link, sources in _later(site.course, lesson):
        found = sorted({name for text in sources for name in imported(text, modules, names)})
        if found:
            rows.append(("", [f'<a href="{link}">{label}</a>', ", ".join(f"<code>{name}</code>" for name in found)]))
    if not rows:
        return "Nothing imports it by name: it is what the others led to."
    return html.table("Where it is used", ("used by", "what it imports of this lesson"), rows)


def _later(course: Course, lesson: Lesson) -> Iterable[tuple[str, str, list[str]]]:
    """Label, link and sources of the lessons behind this one, electives too, and of the milestones."""
    for other in course.everything[course.everything.index(lesson) + 1 :]:
        cells = [cell.source for cell in release.student_cells(other) if cell.role == "imports"]
        sources = [*cells, *(path.read_text(encoding="utf-8") for path in other.supplied)]
        yield f"{other.id} {other.name}", f"{other.stem}.html", sources
    for milestone in course.every_milestone:
        yield _milestone(course, milestone)


def _milestone(course: Course, milestone: Milestone) -> tuple[str, str, list[str]]:
    path = course.root / "milestones" / milestone.file
    link = f"../milestones/{path.stem}.html"
    return f"{milestone.title} {milestone.year}", link, [path.read_text(encoding="utf-8")]


def imported(source: str, modules: set[str], names: set[str]) -> list[str]:
    """The names that a source imports from one of the modules, or by the package from among `names`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        package, _, module = (node.module or "").partition(".") if isinstance(node, ast.ImportFrom) else ("", "", "")
        if isinstance(node, ast.ImportFrom) and package == "tinytorch":
            asked = [alias.name for alias in node.names]
            found += asked if module in modules else [name for name in asked if not module and name in names]
    return found


def exported(lesson: Lesson) -> set[str]:
    """The names that the lesson's exported cells define."""
    cells = [cell for cell in release.student_cells(lesson) if cell.role in ("exercise", "twin", "supplied")]
    return {name.partition(".")[0] for cell in cells for name in defined(cell)}


def beside_pytorch(site: Site, lesson: Lesson) -> str:
    """The lesson's part of the PyTorch map."""
    return pytorch.table(site, lesson.stem)
