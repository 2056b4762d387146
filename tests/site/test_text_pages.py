"""Written pages: calls are answered, pictures come along in both modes, and what cannot be made is said."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tito.course import Course

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages import pictures, text  # noqa: E402
from pages.results import Results  # noqa: E402
from pages.site import Site  # noqa: E402
from pages.tree import Tree  # noqa: E402

DRAWN = "<svg><style>p { fill: black } @media (prefers-color-scheme: dark) { p { fill: white } }</style></svg>"
WRITTEN = sorted(path for path in text.TEXT.rglob("*.md") if path.relative_to(text.TEXT).parts[0] not in text.NOT_PAGES)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site of the real course, written into an empty folder."""
    course = Course.load(ROOT)
    return Site(course, course, tmp_path / "reference", Tree(tmp_path / "tree"), Results(tmp_path / "cache"), False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page in a folder of its own, with a picture beside it."""
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "steps.svg").write_text(DRAWN, encoding="utf-8")
    return tmp_path / "page.md"


def test_a_call_is_answered_where_it_stands(site: Site, page: Path) -> None:
    page.write_text("We tried {{ teaching.attacks }} attacks.", encoding="utf-8")
    found = re.fullmatch(r"We tried (\d+) attacks\.", text.filled(site, page))
    assert found and int(found[1]) > 20


@pytest.mark.parametrize("call", ["{{ teaching.nothing }}", "{{ nothing.attacks }}", "{{ afternoon.step lunch }}"])
def test_a_call_that_nobody_answers_is_named(site: Site, page: Path, call: str) -> None:
    page.write_text(call, encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"nothing|lunch"):
        text.filled(site, page)


def test_a_picture_comes_along_for_light_and_for_dark_pages(site: Site, page: Path) -> None:
    made = pictures.brought(site, "Before ![twice as fast](plots/steps.svg) after", page, depth=1)
    light, dark = re.findall(r"!\[twice as fast\]\(\.\./(\S+)\)\{\.only-(?:light|dark)\}", made)
    drawn = [(site.tree.folder / name).read_text(encoding="utf-8") for name in (light, dark)]
    assert "white" not in drawn[0] and "white" in drawn[1] and not any("@media" in one for one in drawn)


def test_a_picture_that_is_missing_is_named(site: Site, page: Path) -> None:
    with pytest.raises(RuntimeError, match=r"page\.md shows .*none\.svg"):
        pictures.brought(site, "![no](plots/none.svg)", page, depth=0)


def test_sections_are_found_by_their_headings() -> None:
    assert text.sections("first\n\n## One\n\na\n\n## Two\n\nb") == {"": "first", "One": "a", "Two": "b"}


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_page_has_a_description_and_one_title(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    described = re.match(r"---\nmyst:\n  html_meta:\n    description: (.+)\n", written)
    assert described and 40 <= len(described[1].strip("\"'")) <= 160, "a description of 40 to 160 characters"
    prose = re.sub(r"^```.*?^```", "", written, flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
