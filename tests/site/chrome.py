"""A headless Chromium that can reach this machine only, and what happens in it while a page is viewed.

Begin at `Chrome.visit`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Playwright

PROGRAM = "/usr/bin/chromium"
FLAGS = (
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--no-sandbox",
)
HERE = ("127.0.0.1", "")  # hosts that a page may ask; "" is that of file:, data: and blob:
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
CONTRAST = "color-contrast"
AXE = """([only, rules]) => axe.run(document, {resultTypes: ['violations'], runOnly: only, rules})
  .then(found => found.violations)"""
SETTLED = "async () => { await document.fonts.ready; await (window.MathJax?.startup?.promise); }"
OPENED = "() => document.querySelectorAll('details').forEach(one => { one.open = true; })"
# Of the thousands of texts in a page one of each look is kept: the colours around it and its own, its size and weight.
# axe takes half a minute for the contrast of all of them, and finds no more. An editor mends itself, so it stays whole.
ONE_OF_EACH_LOOK = """within => {
  const texts = [];
  for (const root of document.querySelectorAll(within)) {
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) texts.push(walk.currentNode);
  }
  const chosen = texts.filter(text => text.data.trim() && !text.parentElement.closest('script, style, .cm-editor'));
  const looks = chosen.map(text => {
    const grounds = [];
    for (let one = text.parentElement; one; one = one.parentElement) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(one);
      grounds.push(backgroundColor, backgroundImage, opacity);
    }
    const {color, fontSize, fontWeight} = getComputedStyle(text.parentElement);
    const shown = text.parentElement.getClientRects().length > 0;
    const painted = grounds.filter(one => !['rgba(0, 0, 0, 0)', 'none', '1'].includes(one));
    return [...painted, color, fontSize, fontWeight, shown].join();
  });
  const seen = new Set();
  const again = chosen.filter((text, number) => seen.has(looks[number]) || !seen.add(looks[number]));
  for (const text of again) {
    const word = text.parentElement;
    if (word.matches('pre span') && !word.children.length) word.remove();
    else text.remove();
  }
}"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
PICTURES = """() => [...document.querySelectorAll('img, svg[role=img]')]
  .filter(one => one.ariaHidden !== 'true').map(one => ({
    name: one.getAttribute('src') || 'svg',
    says: one.getAttribute('alt') || one.getAttribute('aria-label') || one.querySelector('title')?.textContent || '',
}))"""


@cache
def axe_source() -> str:
    """axe-core's script, from the package that carries it; nothing of that package is imported."""
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec and spec.submodule_search_locations
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


@dataclass
class Visit:
    """A page that is open, and what went wrong or over the line since."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    received: int = 0  # bytes, as sent: headers and compressed bodies

    def forget(self) -> None:
        """Begin anew."""
        self.errors.clear()
        self.requests.clear()
        self.received = 0

    def elsewhere(self) -> list[str]:
        """Requests to other hosts."""
        return [url for url in self.requests if (urlsplit(url).hostname or "") not in HERE]

    def violations(self) -> list[str]:
        """What axe finds: rule and element; everything that can be unfolded is. Afterwards the page is half empty."""
        self.page.evaluate(OPENED)
        self.page.evaluate(axe_source())
        self.page.evaluate(ONE_OF_EACH_LOOK, "pre")
        found = self.page.evaluate(AXE, [RULES, {CONTRAST: {"enabled": False}}])
        self.page.evaluate(ONE_OF_EACH_LOOK, "body")
        found += self.page.evaluate(AXE, [{"type": "rule", "values": [CONTRAST]}, {}])
        return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]

    def too_wide(self) -> int:
        """By how many pixels the page is wider than its window."""
        return int(self.page.evaluate(TOO_WIDE))

    def unsaid(self) -> list[str]:
        """Pictures whose words are fewer than three, which says no message."""
        pictures: list[dict[str, str]] = self.page.evaluate(PICTURES)
        return [picture["name"][:200] for picture in pictures if len(picture["says"].split()) < 3]


class Chrome:
    """One browser. Each visit has a profile of its own, with nothing in its cache; views share one for each mode."""

    def __init__(self, playwright: Playwright) -> None:
        self.browser = playwright.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        self.views: dict[tuple[int, str], Visit] = {}

    def view(self, url: str, width: int, scheme: str) -> Visit:
        """Open a page in the window that is kept for this mode, which takes half the time of a visit."""
        visit = self.views.get((width, scheme)) or self._open(width, scheme)
        self.views[width, scheme] = visit
        visit.page.goto("about:blank")  # what the page before it had under way ends here
        visit.forget()
        _go(visit, url)
        return visit

    @contextmanager
    def visit(self, url: str, width: int = 1280, scheme: str = "light", **more: Any) -> Iterator[Visit]:
        """Open a page for a reader who prefers light or dark, in a window so wide, and wait until it is at rest."""
        visit = self._open(width, scheme, **more)
        try:
            _go(visit, url)
            yield visit
        finally:
            visit.page.context.close()

    def _open(self, width: int, scheme: str, **more: Any) -> Visit:
        size = {"width": width, "height": 844 if width < 600 else 900}
        context = self.browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", **more)
        visit = Visit(context.new_page())
        _watch(visit)
        return visit


def _go(visit: Visit, url: str) -> None:
    visit.page.goto(url, wait_until="load")
    visit.page.evaluate(SETTLED)


def _watch(visit: Visit) -> None:
    """Keep what the page asks for, what it is sent, and what it complains about."""
    page, errors = visit.page, visit.errors
    page.on("request", lambda request: visit.requests.append(request.url))
    page.on("requestfailed", lambda request: errors.append(f"failed: {request.url} {request.failure}"))
    page.on("pageerror", lambda error: errors.append(f"error: {error}"))
    page.on("console", lambda said: _hear(visit, said))
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: _add(visit, event))


def _hear(visit: Visit, said: ConsoleMessage) -> None:
    """Errors only; what a server refuses is one, too: `Failed to load resource`, and its address."""
    if said.type == "error":
        visit.errors.append(f"console: {said.text} {said.location['url']}")


def _add(visit: Visit, event: dict[str, Any]) -> None:
    visit.received += int(event["encodedDataLength"])
