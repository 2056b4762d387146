"""Cells in the page, beyond the way of test_drive.py: what goes with a run.

Python takes seconds to start, so most tests go on in one visit, in their order. How long a reader waits:
test_pages_times.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from chrome import Chrome
from inpage import Lesson, ended
from playwright.sync_api import expect
from served import Server

from tito.course import Course
from tito.inpage.saved import solutions

COURSE = Course.find()
FIRST = COURSE.lessons[0]
ANSWERS = solutions(FIRST)
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('It rises');"


@pytest.fixture(scope="module")
def visited(chrome: Chrome, server: Server) -> Iterator[Lesson]:
    """The page of lesson 01, open for all tests of this file."""
    with chrome.visit(f"{server.url}lessons/{FIRST.stem}.html") as visit:
        yield Lesson(visit)


@pytest.fixture
def lesson(visited: Lesson) -> Iterator[Lesson]:
    """That page; whatever is done there, nothing goes wrong in the console and no other host is asked."""
    yield visited
    assert visited.visit.errors == [] and visited.visit.elsewhere() == []


@pytest.fixture
def fresh(chrome: Chrome, server: Server) -> Iterator[Lesson]:
    """The page of lesson 01 as nobody has seen it yet."""
    with chrome.visit(f"{server.url}lessons/{FIRST.stem}.html") as visit:
        yield Lesson(visit)
        assert visit.errors == [] and visit.elsewhere() == []


def test_run_all_above_runs_what_the_cell_needs(lesson: Lesson) -> None:
    assert lesson.run("cell-73").startswith("Failed")
    assert "imports" in lesson.shown("cell-73") and "has not run" in lesson.shown("cell-73")
    lesson.cell("cell-73").locator(".run-output").get_by_role("button", name="Run all above").click()
    said = lesson.cell("cell-73").locator(".run-status")
    expect(said).to_have_text(re.compile(r"^Ran \d+ cells above"), timeout=60_000)
    lesson.run("cell-73")
    assert "create is still to be written" in lesson.shown("cell-73")  # the exercise that nobody wrote, by its name


def test_two_shift_enters_end_nothing(lesson: Lesson) -> None:
    lesson.run("imports")
    lesson.write("cell-3", "import time\ntime.sleep(0.5)\n'slept'")
    lesson.page.keyboard.press("Shift+Enter")
    lesson.page.keyboard.press("Shift+Enter")
    assert ended(lesson.cell("cell-3")).startswith("Done")
    assert lesson.shown("cell-3") == "'slept'"


def test_a_figure_has_words_and_is_announced_while_it_loads(lesson: Lesson) -> None:
    lesson.run("imports")
    lesson.write("cell-3", DRAW)
    lesson.page.evaluate("""window.said = []; new MutationObserver(() =>
        window.said.push(document.querySelector('.tag_cell-cell-3 .run-status').textContent)
    ).observe(document.querySelector('.tag_cell-cell-3 .run-status'), {childList: true})""")
    lesson.run("cell-3")
    image = lesson.cell("cell-3").locator(".run-output img")
    expect(image).to_have_attribute("alt", "It rises")
    assert any("matplotlib" in words for words in lesson.page.evaluate("window.said"))


def test_a_solution_is_used_at_a_press(lesson: Lesson) -> None:
    details = lesson.page.locator("details.solution").first
    details.locator("summary").press("Enter")  # whatever editors come and move it meanwhile
    details.get_by_role("button", name="Use this solution").click()
    assert lesson.source("exercise-create") == ANSWERS["exercise-create"]
    assert lesson.run("check-create").startswith("ok")


def test_progress_is_kept_and_an_edit_makes_it_old(lesson: Lesson) -> None:
    lesson.write("exercise-create", ANSWERS["exercise-create"])
    lesson.run("check-create")
    progress = lesson.page.locator(".run-progress")
    expect(progress).to_contain_text(re.compile(r"^\s*1 of 12 checks ok\."))
    lesson.page.reload()
    expect(progress).to_contain_text(re.compile(r"^\s*1 of 12 checks ok\."))
    lesson.write("exercise-create", ANSWERS["exercise-create"] + "\n# once more")
    expect(progress).to_contain_text("0 of 12 checks ok, 1 to check again")


def test_an_editor_is_left_by_escape_and_tab(lesson: Lesson) -> None:
    content = lesson.cell("cell-3").locator(".cm-content")
    described = content.get_attribute("aria-describedby")
    assert "Escape, then Tab, leaves" in (lesson.page.locator(f"#{described}").text_content() or "")
    content.focus()
    before = lesson.source("cell-3")
    lesson.page.keyboard.press("Tab")  # without Escape it indents
    assert lesson.source("cell-3") == f"    {before}"
    lesson.page.keyboard.press("Escape")
    lesson.page.keyboard.press("Tab")
    assert lesson.page.evaluate("document.activeElement.className") == "run-run"
    assert lesson.source("cell-3") == f"    {before}"


def test_start_over_gives_everything_back(lesson: Lesson) -> None:
    lesson.write("exercise-create", "x = 1")
    lesson.write("cell-3", "2")
    lesson.page.on("dialog", lambda dialog: dialog.accept())
    lesson.page.get_by_role("button", name="Start over").click()
    lesson.page.wait_for_timeout(500)  # longer than edits take to be kept
    kept = lesson.page.evaluate("JSON.stringify(localStorage)")
    assert not [key for key in json.loads(kept) if key.startswith("tinytorch:")]
    assert "raise NotImplementedError" in lesson.source("exercise-create")


def test_stop_says_what_to_run_again_and_python_comes_back(fresh: Lesson) -> None:
    fresh.run("imports")
    fresh.write("cell-3", "while True: pass")
    cell = fresh.start("cell-3")
    waiting = fresh.start("cell-7")
    expect(waiting.locator(".run-status")).to_have_text("Waits for the cell before it")
    waiting.locator(".run-run").click()  # taken out of the line; the loop goes on
    expect(waiting.locator(".run-run")).to_have_text("Run")
    expect(cell.locator(".run-run")).to_have_text("Stop")
    cell.locator(".run-run").click()
    expect(cell.locator(".run-status")).to_have_text("Stopped. Python starts anew. Run again what you need: imports.")
    assert fresh.run("imports").startswith("Done")


def test_a_cell_that_cannot_run_here_says_why(chrome: Chrome, server: Server) -> None:
    local = [(each, cell) for each in COURSE.lessons for cell in each.cells() if "local" in cell.marks]
    for stem, cells in {each.stem: [cell for one, cell in local if one == each] for each, _ in local}.items():
        with chrome.visit(f"{server.url}lessons/{stem}.html") as visit:
            for cell in cells:
                place = visit.page.locator(f".tag_cell-{cell.id}")
                assert place.get_by_role("button", name="Run").count() == 0
                reason = visit.page.locator(".local-reason", has_text=str(cell.marks["local"]))
                assert reason.count() >= 1
