"""Pictures of the site to look at: home, a lesson, a failing check, a milestone; light and dark, desktop and phone.

They are written to build/site-shots as lesson-390-dark.png and so on, by this alone, too:
`pytest tests/site/test_pages_shots.py`.
"""

from __future__ import annotations

import pytest
from built import ROOT, one_of_each
from chrome import Chrome, Visit
from inpage import Lesson
from playwright.sync_api import Locator
from served import Server

from tito.course import Course
from tito.dev.mistakes import mistakes_of

FOLDER = ROOT / "build" / "site-shots"
MODES = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
FIRST = Course.find().lessons[0]


@pytest.mark.parametrize("kind", ["home", "lesson", "milestone"])
def test_the_beginning_of_a_page(kind: str, chrome: Chrome, server: Server) -> None:
    with chrome.visit(server.url + one_of_each()[kind]) as visit:
        take(visit, kind)


def test_a_failing_check(chrome: Chrome, server: Server) -> None:
    with chrome.visit(f"{server.url}lessons/{FIRST.stem}.html") as visit:
        take(visit, "failing-check", fail(Lesson(visit)))


def take(visit: Visit, name: str, part: Locator | None = None) -> None:
    """What the window shows in each mode: the page's beginning, else this part below the page's head.

    No two are alike: what looks the same on a phone or in the dark was not shown there.
    """
    taken = set()
    for width, scheme in MODES:
        visit.page.set_viewport_size({"width": width, "height": 844 if width < 600 else 900})
        visit.page.emulate_media(color_scheme=scheme)
        if part:
            part.evaluate("one => { one.style.scrollMarginTop = '10rem'; one.scrollIntoView(); }")
        visit.page.wait_for_timeout(400)  # until colours have faded in
        taken.add(visit.page.screenshot(path=FOLDER / f"{name}-{width}-{scheme}.png"))
    assert len(taken) == len(MODES)


def fail(lesson: Lesson) -> Locator:
    """Give the first exercise a wrong answer, and check it -> the bar of buttons above what the check says."""
    cells = FIRST.cells()
    exercise = next(cell for cell in cells if cell.role == "exercise")
    check = next(cell for cell in cells if cell.role == "check" and cell.name == exercise.name)
    wrong = next(one for one in mistakes_of(FIRST) if one.exercise == exercise.name)
    lesson.write(exercise.id, wrong.apply(exercise.source))
    lesson.run(check.id)
    return lesson.cell(check.id).locator(".run-bar")
