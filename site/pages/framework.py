"""The finished framework, in full: a page for each file of the package, and the known mistakes with their code.

Only the self-study edition has these pages; site/text/framework.md leads to them, by the calls that stand below
"Pieces". Begin at `write`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from html import escape
from pathlib import Path

from pages import html
from pages.site import Site
from tito import diagnosis, links
from tito.course import Lesson
from tito.dev.mistakes import Mistake, mistakes_of
from tito.dev.size import code_lines
from tito.percent import Cell

DESCRIBED = '---\nmyst:\n  html_meta:\n    description: "{}"\n---\n\n'
SUPPLIED = " Supplied with lesson"  # begins what a finished file says of itself


def write(site: Site) -> None:
    """A page a file, and the mistakes; nothing in the class edition."""
    if site.class_edition:
        return
    for lesson in site.solved.everything:
        for path in _files(site, lesson):
            site.tree.write(f"framework/{path.stem}.md", _page(lesson, path))
    site.tree.write("framework/mistakes.md", _mistakes(site))


def _files(site: Site, lesson: Lesson) -> list[Path]:
    """What a lesson gives to the package: its own file first."""
    package = site.reference / "tinytorch"
    return [package / f"{lesson.name}.py", *(package / path.name for path in lesson.supplied)]


def purpose(tree: ast.Module) -> str:
    """What a file says of itself, in a sentence: the first of its docstring."""
    first = (ast.get_docstring(tree) or "").partition("\n\n")[0]
    return " ".join(first.split()).partition(SUPPLIED)[0]


# A page a file


def _page(lesson: Lesson, path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    own = path.stem == lesson.name
    about = f"The source of tinytorch/{path.name}, {_whose(lesson, own)}, as it is in the package."
    return (
        f"{DESCRIBED.format(about)}# {path.name}\n\n{_told(lesson, source, own)}\n\n"
        f"```{{code-block}} python\n:linenos:\n\n{source.rstrip()}\n```\n"
    )


def _whose(lesson: Lesson, own: bool) -> str:
    return f"{'exported by' if own else 'supplied with'} lesson {lesson.id} of TinyTorch"


def _told(lesson: Lesson, source: str, own: bool) -> str:
    size = f"{len(code_lines(source))} lines of code."
    link = f"[lesson {lesson.id}, {lesson.title}](../lessons/{lesson.stem}.ipynb)"
    if own:
        return f"Exported by {link}; its [API](../reference/{lesson.name}.md). {size}"
    return f"{purpose(ast.parse(source))} A finished file, supplied with {link}. {size}"


# The mistakes


def _mistakes(site: Site) -> str:
    parts = [_of_lesson(lesson) for lesson in site.solved.everything]
    return "\n\n".join([MISTAKES, *parts]) + "\n"


MISTAKES = f"""\
{DESCRIBED.format("Every known wrong answer: its exercise, what it looks like, the check that catches it.")}\
# Known mistakes

Each is a small change of a solution. A test puts every one of them into its solution and sees the named check fail.
*Named* says whether `tito test` can tell the mistake by what it gives at the visible checks alone; where something else
gives the same, nothing is said. The change itself is folded: it shows a line of the solution."""


def _of_lesson(lesson: Lesson) -> str:
    exercises = {cell.name: cell for cell in lesson.cells() if cell.role == "exercise"}
    known = {
        (name, each["says"]): "" if each["unsure"] else "yes"
        for name, table in diagnosis.load(lesson).items()
        for each in table["mistakes"]
    }
    rows = [("", _row(lesson, exercises[one.exercise], one, known)) for one in mistakes_of(lesson)]
    head = ("exercise", "looks like: it", "caught by", "named", "change")
    return f"## {lesson.id} {lesson.title}\n\n{html.table(f'Mistakes of lesson {lesson.id}', head, rows)}"


def _row(lesson: Lesson, exercise: Cell, one: Mistake, known: dict[tuple[str, str], str]) -> list[str]:
    page = f"../lessons/{lesson.stem}.html"
    says = html.ticked(one.says)
    place = links.anchor(one.exercise, one.says)
    return [
        f'<a href="{page}#{exercise.id}">{one.exercise}</a>',
        f'<a href="{page}#{place}">{says}</a>' if (one.exercise, one.says) in known else says,
        f'<a href="{page}#{links.of_check(one.check)}">{one.check}</a>',
        known.get((one.exercise, one.says), ""),
        f"<details><summary>show</summary><pre>{_change(one)}</pre></details>",
    ]


def _change(one: Mistake) -> str:
    """Both texts as a diff, in one line of HTML: a blank one would end the table."""
    lines = [f"- {line}" for line in one.old.split("\n")] + [f"+ {line}" for line in one.new.split("\n")]
    return "&#10;".join(escape(line) for line in lines)


# Pieces for framework.md


def contents(site: Site) -> str:
    """The files in reading order: name, what for, lines of code."""
    rows = [row for lesson in site.solved.everything for row in _listed(site, lesson)]
    return html.table("Files of the package", ("lesson", "file", "what it is", "lines of code"), rows)


def _listed(site: Site, lesson: Lesson) -> Iterable[tuple[str, list[str]]]:
    for path in _files(site, lesson):
        source, own = path.read_text(encoding="utf-8"), path.stem == lesson.name
        label = f"<strong>{path.name}</strong>" if own else path.name
        told = f"{lesson.title}, as the lesson exports it" if own else html.ticked(purpose(ast.parse(source)))
        link = f'<a href="framework/{path.stem}.html">{label}</a>'
        yield "", [lesson.id if own else "", link, told, str(len(code_lines(source)))]


def caught(site: Site) -> str:
    """By lesson how many mistakes are known, by which kind of check they are caught, how many can be named."""
    rows = [("", _counted(lesson)) for lesson in site.solved.everything]
    head = ("lesson", "mistakes", "caught by a visible check", "by a hidden one", "named by tito test")
    return html.table("Mistakes by lesson", head, rows)


def _counted(lesson: Lesson) -> list[str]:
    found = mistakes_of(lesson)
    hidden = {cell.name for cell in lesson.cells() if cell.role == "check" and cell.hidden}
    unseen = sum(one.check in hidden for one in found)
    named = sum(not each["unsure"] for table in diagnosis.load(lesson).values() for each in table["mistakes"])
    return [f"{lesson.id} {lesson.name}", *map(str, (len(found), len(found) - unseen, unseen, named))]


def toctree(site: Site) -> str:
    """The pages below this one, for the menu."""
    files = [f"framework/{path.stem}" for lesson in site.solved.everything for path in _files(site, lesson)]
    return "\n".join(["```{toctree}", ":hidden:", "", "framework/mistakes", *files, "```"])


def link(site: Site) -> str:
    """A sentence that leads to the source where this edition has it."""
    return "" if site.class_edition else "[The finished framework](framework.md) is on this site, in full."
