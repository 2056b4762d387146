"""Pictures of the site to look at: home, a lesson, a failing check, a milestone; light and dark, desktop and phone.

`python tests/site/shots.py` writes build/site-shots/lesson-390-dark.png and so on. Begin at `main`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from built import ROOT, one_of_each, site
from chrome import Chrome, Visit
from inpage import Lesson
from playwright.sync_api import sync_playwright
from served import Server

from tito.course import Course
from tito.dev.mistakes import mistakes_of

FOLDER = ROOT / "build" / "site-shots"
MODES = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
FIRST = Course.find().lessons[0]


def main() -> int:
    """Take every picture; 0."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, Server(site()) as server:
        chrome = Chrome(playwright)
        for width, scheme in MODES:
            for kind in ("home", "lesson", "milestone"):
                with chrome.visit(server.url + one_of_each()[kind], width, scheme) as visit:
                    take(visit, f"{kind}-{width}-{scheme}")
            with chrome.visit(f"{server.url}lessons/{FIRST.stem}.html", width, scheme) as visit:
                fail(Lesson(visit))
                take(visit, f"failing-check-{width}-{scheme}")
    print(f"Wrote {len(MODES) * 4} pictures to {FOLDER.relative_to(ROOT)}.")
    return 0


def take(visit: Visit, name: str) -> None:
    """What the window shows, when colours have faded in."""
    visit.page.wait_for_timeout(400)
    visit.page.screenshot(path=FOLDER / f"{name}.png")


def fail(lesson: Lesson) -> None:
    """Give the first exercise a wrong answer, and check it."""
    cells = FIRST.cells()
    exercise = next(cell for cell in cells if cell.role == "exercise")
    check = next(cell for cell in cells if cell.role == "check" and cell.name == exercise.name)
    wrong = next(one for one in mistakes_of(FIRST) if one.exercise == exercise.name)
    lesson.write(exercise.id, wrong.apply(exercise.source))
    lesson.run(check.id)
    lesson.cell(check.id).locator(".run-bar").evaluate("one => one.scrollIntoView({block: 'start'})")
    lesson.page.mouse.wheel(0, -160)  # from below the page's head


if __name__ == "__main__":
    sys.exit(main())
