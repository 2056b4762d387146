"""Does with a page's cells what a reader does: writes, runs, stops, reads what came. Begin at `Lesson`."""

from __future__ import annotations

import re

from chrome import Visit
from playwright.sync_api import Locator, Page, expect

ENDED = re.compile(r" in \d+\.\d\d s$|^Stopped|^Running needs|^Python ended")
MILLISECONDS = 60_000
TIMED = r"""cell => new Promise(done => {
  const status = cell.querySelector('.run-bar .run-status'), began = performance.now();
  new MutationObserver((_, watch) => {
    if (!/ in \d+\.\d\d s$/.test(status.textContent)) return;
    watch.disconnect();
    done((performance.now() - began) / 1000);
  }).observe(status, {childList: true, characterData: true, subtree: true});
  cell.querySelector('.run-run').click();
})"""


class Lesson:
    """A page with cells that run."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page: Page = visit.page

    def cell(self, id: str) -> Locator:
        """The cell, scrolled to, so that its editor is there."""
        cell = self.page.locator(f"div.cell.tag_cell-{id}")
        cell.scroll_into_view_if_needed()
        expect(cell.locator(".cm-content")).to_be_visible()
        return cell

    def source(self, id: str) -> str:
        """What stands in the cell's editor."""
        lines = self.cell(id).locator(".cm-line")
        return "\n".join(line.rstrip("\n") for line in lines.all_inner_texts())

    def write(self, id: str, source: str) -> None:
        """Put another text into the cell, by the keyboard."""
        self.cell(id).locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)

    def start(self, id: str) -> Locator:
        """Press Run -> the cell."""
        cell = self.cell(id)
        cell.locator(".run-run").click()
        return cell

    def run(self, id: str) -> str:
        """Run the cell to its end -> what its status says."""
        return ended(self.start(id))

    def shown(self, id: str) -> str:
        """What the cell put out, in words."""
        return self.cell(id).locator(".run-output").inner_text()

    def seconds_of(self, id: str) -> float:
        """Run the cell -> how long a reader waits for its end, by the page's own clock."""
        cell = self.cell(id)
        seconds = float(cell.evaluate(TIMED))
        assert re.search(ENDED, cell.locator(".run-bar .run-status").inner_text())
        return seconds


def ended(cell: Locator) -> str:
    """Wait until the cell has run -> what its status says."""
    status = cell.locator(".run-bar .run-status")
    expect(status).to_have_text(ENDED, timeout=MILLISECONDS)
    return status.inner_text()
