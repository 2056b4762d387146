"""A reader's way through the site: search, copying, dark mode, and lesson 01 done in the page. Stop: test_pages_run.py.

Every test ends by asking that nothing was requested from another host, and that the console saw no error.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from chrome import Chrome, Visit
from inpage import Lesson, ended
from playwright.sync_api import Page, expect
from served import Server

from tito.course import Course
from tito.dev.mistakes import mistakes_of
from tito.inpage.saved import solutions

COURSE = Course.find()
FIRST, SECOND = COURSE.lessons[:2]
ANSWERS = solutions(FIRST)
EXERCISE = next(cell for cell in FIRST.cells() if cell.role == "exercise")
CHECK = next(cell.id for cell in FIRST.cells() if cell.role == "check" and cell.name == EXERCISE.name)
IMPORTS = next(cell.id for cell in FIRST.cells() if cell.role == "imports")
DEMO = next(cell.id for cell in FIRST.cells() if cell.role == "demo" and cell.kind == "code")
MOST_TABS = 150


class Reader:
    """Opens pages, all in one browser profile."""

    def __init__(self, chrome: Chrome, server: Server) -> None:
        self.chrome, self.server = chrome, server

    @contextmanager
    def at(self, page: str, **more: Any) -> Iterator[Visit]:
        """A page of the site, and at the end what must hold on every page."""
        with self.chrome.visit(self.server.url + page, **more) as visit:
            yield visit
            assert visit.elsewhere() == [] and visit.errors == []

    @contextmanager
    def lesson(self, **more: Any) -> Iterator[Lesson]:
        """The page of lesson 01."""
        with self.at(f"lessons/{FIRST.stem}.html", **more) as visit:
            yield Lesson(visit)


@pytest.fixture
def reader(chrome: Chrome, server: Server) -> Reader:
    return Reader(chrome, server)


def test_search_finds_broadcasting(reader: Reader) -> None:
    with reader.at("index.html") as visit:
        visit.page.keyboard.press("Control+K")
        visit.page.keyboard.type("broadcasting")
        visit.page.keyboard.press("Enter")
        found = visit.page.locator(f"#search-results a[href*='lessons/{FIRST.stem}.html']").first
        expect(found).to_be_visible()


def test_copy_button_copies_the_exact_code(reader: Reader) -> None:
    with reader.at("start.html", permissions=["clipboard-read", "clipboard-write"]) as visit:
        block = visit.page.locator("div.highlight:has(button.copybtn)").first
        block.hover()
        block.locator("button.copybtn").click()
        copied = visit.page.evaluate("navigator.clipboard.readText()")
        assert copied.strip() and copied.rstrip("\n") == block.locator("pre").inner_text().rstrip("\n")


def test_dark_mode_is_switched_and_kept(reader: Reader) -> None:
    with reader.lesson() as lesson:
        page, colours = lesson.page, []
        lesson.cell(DEMO)
        for mode in ("light", "dark"):
            switch_to(page, mode)
            colours.append([background(page, where) for where in ("body", ".cm-editor", ".run-panel")])
        assert all(light != dark for light, dark in zip(*colours))
        page.reload()
        assert background(page, "body") == colours[1][0]


def switch_to(page: Page, mode: str) -> None:
    """Choose light or dark in the menu of the page's head."""
    page.locator(".theme-switch-button:visible").click()
    page.locator(f".theme-change-button[data-mode='{mode}']:visible").click()
    expect(page.locator("html")).to_have_attribute("data-theme", mode)


def background(page: Page, where: str) -> str:
    script = """one => { for (; one; one = one.parentElement) {
        const colour = getComputedStyle(one).backgroundColor; if (colour !== 'rgba(0, 0, 0, 0)') return colour; } }"""
    return str(page.locator(where).first.evaluate(script))


def test_lesson_01_in_the_page(reader: Reader) -> None:
    """One visit, since Python takes seconds to start: the steps follow below."""
    with reader.lesson() as lesson:
        reach_and_run_cells_by_the_keyboard_alone(lesson)
        answer_wrongly_and_then_rightly(lesson)
        reload_and_reset(lesson)


def reach_and_run_cells_by_the_keyboard_alone(lesson: Lesson) -> None:
    page = lesson.page
    tab_to(page, f".tag_cell-{IMPORTS} .cm-content")
    page.keyboard.press("Shift+Enter")
    assert ended(lesson.cell(IMPORTS)).startswith("Done")
    page.keyboard.press("Escape")  # after it, Tab leaves the editor
    tab_to(page, f".tag_cell-{DEMO} .run-run")
    page.keyboard.press("Enter")
    ended(lesson.cell(DEMO))
    assert "array([[3, 1]])" in lesson.shown(DEMO)


def answer_wrongly_and_then_rightly(lesson: Lesson) -> None:
    wrong = next(one for one in mistakes_of(FIRST) if one.exercise == EXERCISE.name)
    assert "todo" in run_and_read(lesson, CHECK)
    lesson.write(EXERCISE.id, wrong.apply(EXERCISE.source))
    told = run_and_read(lesson, CHECK)
    assert all(word in told for word in ("FAIL", "want", "got", f"looks like: {wrong.says}"))
    link = lesson.cell(CHECK).locator(".run-output a[href*='#']").last
    assert lesson.page.locator(f"[id='{link.get_attribute('href').split('#')[1]}']").count() == 1
    lesson.write(EXERCISE.id, ANSWERS[EXERCISE.id])
    told = run_and_read(lesson, CHECK)
    assert "ok" in told and "FAIL" not in told
    expect(lesson.page.locator(".run-progress")).to_contain_text(re.compile(r"^\s*[1-9]\d* of \d+ checks ok"))


def run_and_read(lesson: Lesson, id: str) -> str:
    lesson.run(id)
    return lesson.shown(id)


def reload_and_reset(lesson: Lesson) -> None:
    lesson.write(DEMO, "'kept'\n'for later'")
    lesson.page.reload()
    assert lesson.source(DEMO) == "'kept'\n'for later'"
    lesson.cell(DEMO).get_by_role("button", name="Reset").click()
    assert lesson.source(DEMO) == next(cell.source for cell in FIRST.cells() if cell.id == DEMO)


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until the element has the focus; an editor on the way is left by Escape."""
    for _ in range(MOST_TABS):
        if page.evaluate("wanted => document.activeElement.matches(wanted)", wanted):
            return
        if page.evaluate("document.activeElement.matches('.cm-content')"):
            page.keyboard.press("Escape")
        page.keyboard.press("Tab")
    pytest.fail(f"{MOST_TABS} times Tab did not reach {wanted}")


def test_lesson_02_imports_what_was_written_in_lesson_01(reader: Reader, tmp_path: Path) -> None:
    mark = "# written in the page\n"
    with reader.lesson() as lesson:
        for id, answer in ANSWERS.items():
            lesson.write(id, mark + answer)
        lesson.page.get_by_role("button", name="Check all").click()
        expect(lesson.page.locator(".run-panel .run-status")).to_have_text(re.compile(r"\d+ of \d+ ok"), timeout=90_000)
        done, of = re.findall(r"\d+", lesson.page.locator(".run-panel .run-status").inner_text())[:2]
        assert done == of
        saved = downloaded(lesson, tmp_path)
        lesson.page.goto(f"{reader.server.url}lessons/{SECOND.stem}.html")
        source = "import inspect, tinytorch.tensor\ninspect.getsource(tinytorch.tensor).count('written in the page')"
        lesson.write(IMPORTS, source)
        lesson.run(IMPORTS)
        expect(lesson.page.locator(".run-earlier")).to_contain_text(f"Yours: {FIRST.id} {FIRST.title}")
        assert int(lesson.shown(IMPORTS)) > 0
    assert goes_on_in_a_workspace(saved, tmp_path) == {id: mark + answer for id, answer in ANSWERS.items()}


def downloaded(lesson: Lesson, folder: Path) -> Path:
    """The notebook that the page's button saves."""
    with lesson.page.expect_download() as waiting:
        lesson.page.get_by_role("button", name="Download as notebook").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def goes_on_in_a_workspace(saved: Path, folder: Path) -> dict[str, str]:
    """Take a downloaded notebook into a new workspace -> the exercises as they stand there."""
    nbformat.validate(nbformat.read(saved, as_version=4))
    tito = [sys.executable, "-m", "tito"]
    subprocess.run([*tito, "init", str(folder / "mine")], check=True, capture_output=True)
    subprocess.run([*tito, "open", "--from", str(saved)], cwd=folder / "mine", check=True, capture_output=True)
    notebook = json.loads((folder / "mine" / "modules" / f"{FIRST.stem}.ipynb").read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if cell["id"] in ANSWERS}


def test_the_home_page_has_a_cell_that_runs(reader: Reader) -> None:
    with reader.at("index.html") as visit:
        told = json.loads(visit.page.locator("#in-page").text_content() or "")
        lesson, (cell, *_) = Lesson(visit), told["cells"]
        assert lesson.run(cell["id"]).startswith("Done")
        assert lesson.cell(cell["id"]).locator(".run-output img[alt]").count() == 1


def test_a_page_from_a_file_is_whole_and_says_what_running_needs(chrome: Chrome, built: Path) -> None:
    with chrome.visit((built / "lessons" / f"{FIRST.stem}.html").as_uri()) as visit:
        lesson = Lesson(visit)
        assert lesson.run(DEMO).startswith("Running needs the page from a server")
        assert visit.elsewhere() == [] and visit.errors == []


def test_a_page_without_scripts_is_whole(chrome: Chrome, server: Server) -> None:
    with chrome.visit(f"{server.url}lessons/{FIRST.stem}.html", java_script_enabled=False) as visit:
        page = visit.page
        assert page.locator(f".tag_cell-{DEMO} .cell_input pre").is_visible()
        assert "array([[3, 1]])" in page.locator(f".tag_cell-{DEMO} .cell_output").inner_text()
        assert page.get_by_role("button", name="Run").count() == 0
