"""Where the course's site explains what `tito test` found: an address, and the anchor of a row on a lesson's page.

The pages are made with the same functions: `anchor` for a known mistake, `of_message` for an error's text, `of_check`
for a check. An anchor is made of words alone, so it stays while the sentence stays; a test holds it unique in each
lesson. `place` says which row explains a failure best, `address` is the link to it. Standard library only: this runs in
the reader's browser, too.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tito.errors import UserError

if TYPE_CHECKING:
    from tito.course import Course, Lesson
    from tito.testing import Outcome

VARIABLE = "TITO_SITE"
SMALL = frozenset(("a", "an", "the", "of", "is", "it", "its", "to"))  # words that tell no two sentences apart
MISTAKE_WORDS, MESSAGE_WORDS = 6, 12  # as many as keep all of the course's sentences apart
WELL_FORMED = re.compile(r"(https?|file)://[!-~]+")


def anchor(exercise: str, says: str) -> str:
    """The anchor of a known mistake: `matmul-multiplies-element-by-element`."""
    return "-".join([*_words(exercise), *_telling(says, MISTAKE_WORDS)])


def of_check(name: str) -> str:
    """The anchor of a check: `proves-matmul-batches`."""
    return "-".join(["proves", *_words(name)])


def of_message(text: str) -> str:
    """The anchor of a message, in which `…` stands for what varies: `says-matmul-inner-sizes-differ`."""
    return "-".join(["says", *_telling(text, MESSAGE_WORDS)])


def address(course: Course, lesson: Lesson, outcome: Outcome) -> str:
    """The link that explains a failure, or "" where there is no site or nothing on it that does."""
    base = site(course)
    found = place(course, lesson, outcome) if base else None
    return f"{base}/lessons/{found[0].stem}.html#{found[1]}" if found else ""


def site(course: Course) -> str:
    """The site's address without a slash at its end: TITO_SITE, else the course's, else the site that was built here.

    "" where there is none; an empty TITO_SITE wants no links. Raises UserError for what is no address.
    """
    told = os.environ.get(VARIABLE)
    base = course.site if told is None else told.strip()
    if base and not WELL_FORMED.fullmatch(base):
        where = "course.toml" if told is None else VARIABLE
        raise UserError(f"the site in {where} is {base!r}, no https://... address; drop links by: export {VARIABLE}=")
    built = course.root / "build" / "site"
    if not base and told is None and (built / "lessons").is_dir():
        base = built.as_uri()
    return base.rstrip("/")


def place(course: Course, lesson: Lesson, outcome: Outcome) -> tuple[Lesson, str] | None:
    """The lesson and the anchor that explain a failure best: the mistake it looks like, else the error's message, which
    an earlier lesson may have raised, else the check."""
    if outcome.looks_like:
        return lesson, anchor(outcome.exercise, outcome.looks_like)
    return _of_error(course, lesson, outcome) or _of_cell(lesson, outcome.check)


def _of_error(course: Course, lesson: Lesson, outcome: Outcome) -> tuple[Lesson, str] | None:
    from tito import messages  # parses the lessons' code, which only an error makes worth its time

    for each in (lesson, *reversed(course.needs_of(lesson))) if outcome.error else ():
        said = messages.said(each, *outcome.error) if outcome.error else ""
        if said:
            return each, of_message(said)
    return None


def _of_cell(lesson: Lesson, name: str) -> tuple[Lesson, str] | None:
    """The check of that name, else the cell that failed before all checks; None for a cell of the learner's own."""
    cells = lesson.cells()
    if any(cell.role == "check" and cell.name == name for cell in cells):
        return lesson, of_check(name)
    return next(((lesson, cell.id) for cell in cells if name in (cell.name, cell.id)), None) if name else None


def _telling(sentence: str, most: int) -> list[str]:
    """The first words that tell the sentence from others."""
    return [word for word in _words(sentence) if word not in SMALL][:most]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+", text.lower().replace("'", ""))
