"""JupyterLite below /lite/: a lesson opens and runs up to its first exercise, and nothing leaves this machine."""

from __future__ import annotations

import re

from chrome import Chrome, Visit
from playwright.sync_api import expect
from served import Server

from tito.course import Course

NOTEBOOK = ".jp-Notebook"
MILLISECONDS = 120_000
TRACEBACK = "[data-mime-type='application/vnd.jupyter.stderr']"
LITE_OWN = 1  # the cell that starts a lesson here
FIRST = Course.find().lessons[0]
# JupyterLab asks for a picture once as its cell says it, before it looks where the notebook lies: upstream's.
EARLY = re.compile(r"(failed|console): .*/lite/lab/figures/\w+\.svg( .*)?")


def code_before_the_first_exercise() -> int:
    roles = [cell.role for cell in FIRST.cells() if cell.kind == "code"]
    return roles.index("exercise")


def run(visit: Visit, number: int) -> str:
    """Run the next cell of code, the `number`th, with Shift-Enter as a reader does -> all that the notebook shows."""
    while visit.page.locator(f"{NOTEBOOK} .jp-MarkdownCell.jp-mod-active").count():
        visit.page.keyboard.press("Shift+Enter")
    visit.page.keyboard.press("Shift+Enter")
    prompt = visit.page.locator(f"{NOTEBOOK} .jp-InputPrompt", has_text=f"[{number}]:")
    expect(prompt).to_have_count(1, timeout=MILLISECONDS)
    return visit.page.locator(NOTEBOOK).inner_text()


def test_a_lesson_runs_up_to_its_first_exercise(chrome: Chrome, server: Server) -> None:
    with chrome.visit(f"{server.url}lite/lab/index.html?path={FIRST.stem}.ipynb") as visit:
        visit.page.locator(f"{NOTEBOOK} .jp-CodeCell .cm-content").first.click(timeout=MILLISECONDS)
        shown = [run(visit, number) for number in range(1, LITE_OWN + code_before_the_first_exercise() + 1)]
        assert "array([[3, 1]])" in shown[2]
        assert visit.page.locator(f"{NOTEBOOK} {TRACEBACK}").count() == 0
        assert visit.elsewhere() == []
        assert [error for error in visit.errors if not EARLY.fullmatch(error)] == []
