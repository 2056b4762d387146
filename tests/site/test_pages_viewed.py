"""Every page as it is viewed: what axe finds, what it weighs, what it asks for, whether it fits a phone.

One page of each kind is seen light and dark, wide and narrow; every other page once, in the mode that its place in the
list falls on, so that each mode sees a share of them.
"""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

import pytest
from built import KINDS, one_of_each, pages
from chrome import Chrome, Visit
from served import Server

MODES = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
MOST = 1_000_000  # bytes that a page may weigh, compressed, before anything is run


def seen() -> list[tuple[str, int, str]]:
    """Each page with the modes in which it is looked at."""
    first = one_of_each().values()
    rest = [(page, *MODES[number % 4]) for number, page in enumerate(pages()) if page not in first]
    return [(page, *mode) for page in first for mode in MODES] + rest


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_page_is_there(kind: str) -> None:
    assert kind in one_of_each()


@pytest.mark.parametrize(("page", "width", "scheme"), seen())
def test_page(page: str, width: int, scheme: str, chrome: Chrome, server: Server) -> None:
    """All at once, since opening the page is what takes the time."""
    address = server.url + page + ("?q=broadcasting" if page == "search.html" else "")
    found = faults(chrome.view(address, width, scheme), server)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def test_the_weight_is_what_a_browser_is_sent(chrome: Chrome, server: Server) -> None:
    with chrome.visit(f"{server.url}index.html") as visit:
        visit.page.wait_for_load_state("networkidle")
        assert server.weight(visit.requests) == pytest.approx(visit.received, rel=0.02)


def faults(visit: Visit, server: Server) -> list[str]:
    """What is wrong with the page, in words; axe comes last, since it unfolds things and loads style sheets anew."""
    weight, formulas = server.weight(visit.requests), visit.page.locator(".math").count()
    mathjax = any("mathjax" in url for url in visit.requests)
    found = [f"weighs {weight:,} bytes"] if weight > MOST else []
    found += ["MathJax, and no formula"] if mathjax and not formulas else []
    found += ["formulas, and no MathJax"] if formulas and not mathjax else []
    found += [f"{visit.too_wide()} pixels too wide"] if visit.too_wide() > 0 else []
    found += [f"no words for {name}" for name in visit.unsaid()]
    found += [f"asks elsewhere: {url}" for url in visit.elsewhere()]
    return found + list(visit.errors) + visit.violations()


@pytest.mark.parametrize("kind", one_of_each())
def test_page_from_a_file(kind: str, chrome: Chrome, built: Path) -> None:
    """It opens without a server, whole and without an error."""
    visit = chrome.view((built / one_of_each()[kind]).as_uri(), 1280, "light")
    assert visit.elsewhere() == [] and visit.errors == []
    assert visit.page.locator("h1").is_visible() and visit.too_wide() == 0


GOOD = """<!doctype html><html lang="en"><head><title>A page</title><link rel="icon" href="data:,"></head>
<body><main><h1>A page</h1><p>Some text.</p>
<pre><span style="color: #333">some</span> <span style="color: #333">code</span></pre>{}</main></body></html>"""
PLANTED = {
    "pixels too wide": "<div style='width: 3000px'>wide</div>",
    "no words for": f"<img alt='' src='data:image/gif;base64,{'R0lGODlhAQABAAAAACw='}'>",
    "asks elsewhere": "<img alt='A picture from elsewhere' src='http://example.org/a.png'>",
    "console": "<script>console.error('trouble')</script>",
    "error: ": "<script>throw new Error('trouble')</script>",
    "404": "<img alt='A picture that is missing' src='gone.png'>",
    "color-contrast": "<p>Some text.</p><p style='color: #ccc'>Some text.</p>",
    'color-contrast: <span style="color: #ddd"': "<pre><span style='color: #ddd'>pale</span></pre>",
    "button-name": "<button></button>",
    "weighs": "<script src='heavy.js'></script>",
    "formulas, and no MathJax": "<span class='math'>x</span>",
    "MathJax, and no formula": "<script src='mathjax.js'></script>",
}


@pytest.mark.parametrize("fault", ["", *PLANTED])
def test_a_planted_fault_is_found(fault: str, chrome: Chrome, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(GOOD.format(PLANTED.get(fault, "")), encoding="utf-8")
    (tmp_path / "mathjax.js").write_text("", encoding="utf-8")
    (tmp_path / "heavy.js").write_text(f"// {token_hex(1_000_000)}", encoding="utf-8")
    with Server(tmp_path) as server:
        found = faults(chrome.view(f"{server.url}index.html", 1280, "light"), server)
    assert any(fault in one for one in found) if fault else not found
