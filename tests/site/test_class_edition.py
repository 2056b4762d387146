"""The class edition of the site tells no answer: every file of it is opened and searched. Wants `make site CLASS=1`."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import opened
import pytest
import secrets_of_course
from secrets_of_course import Secrets

from tito.course import Course, Lesson

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course.load(ROOT)
HINTS = "hints.toml"  # the one kind of file that may hold a line of a hint
NO_LESSON = re.compile(r"^_static/pyodide/|^_static/run/tinytorch_course-\S*\.whl: tito/(?!_course/)")
BY_CHANCE = {
    "withwarnings.catch_warnings():",
    "returnlen(self.data)",
    "self.tensors=tensors",
}  # that such code has, too


@cache
def site() -> Path:
    folder = Path(os.environ.get("TINYTORCH_SITE_CLASS", ROOT / "build" / "site-class"))
    if not (folder / "index.html").is_file():
        raise pytest.UsageError(f"{folder} holds no site; build it with: make site CLASS=1")
    return folder


@cache
def secrets() -> Secrets:
    return secrets_of_course.of(COURSE)


def told(folder: Path, lines: frozenset[str]) -> dict[str, set[str]]:
    """The lines that stand in each file of a site, by its name."""
    search, hints = opened.Search(lines), secrets_of_course.hints(COURSE)
    found: dict[str, set[str]] = {}
    for name, all_forms in opened.texts(folder):
        hits = {line for text in all_forms for line in search.found(text)}
        if name.endswith(f"/{HINTS}"):
            hits = {line for line in hits if line.encode() not in hints}
        if NO_LESSON.search(name):
            hits -= BY_CHANCE
        if hits:
            found[name] = hits
    return found


def test_no_file_tells_a_line_of_an_answer() -> None:
    found = told(site(), secrets().all())
    assert not found, "\n".join(f"{name}: {sorted(lines)[:3]}" for name, lines in sorted(found.items()))


def test_the_same_search_finds_the_solutions_of_the_whole_edition(built: Path) -> None:
    found = {line for lines in told(built / "lessons", secrets().solutions).values() for line in lines}
    assert len(found) > 0.95 * len(secrets().solutions)


def test_one_leak_is_found_where_it_is_planted(tmp_path: Path) -> None:
    """In a page of the edition, as Pygments would write it."""
    page, line = (site() / "index.html").read_text(encoding="utf-8"), max(secrets().solutions, key=len)
    (tmp_path / "clean.html").write_text(page, encoding="utf-8")
    spans = "</span><span>".join(line.replace("&", "&amp;").replace("<", "&lt;"))
    (tmp_path / "leak.html").write_text(page.replace("</body>", f"<pre><span>{spans}</span></pre></body>"), "utf-8")
    found = told(tmp_path, secrets().all())
    assert found.keys() == {"leak.html"} and line in found["leak.html"]


def test_what_belongs_to_the_whole_edition_is_not_there() -> None:
    names = {path.relative_to(site()).as_posix() for path in site().rglob("*") if path.is_file()}
    assert any(name.endswith(".whl") for name in names) and "searchindex.js" in names
    for unwanted in (
        r"^_modules/",
        r"^_sources/",
        r"(^|/)framework[./]",
        r"(^|/)needs/",
        r"mistakes\.py$",
        r"-of-01\.html$",
    ):
        assert not [name for name in names if re.search(unwanted, name)]
    inside = {name for name, _ in opened.texts(site()) if ": " in name}
    assert inside and not [name for name in inside if re.search(r"_course/.*/mistakes\.py$|milestone_questions", name)]


@pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)
def test_a_hidden_check_is_a_row_with_its_name_and_purpose(lesson: Lesson) -> None:
    """And nowhere a cell: neither on the page, nor in what the page's script knows, nor in the notebook."""
    page = (site() / "lessons" / f"{lesson.stem}.html").read_text(encoding="utf-8")
    notebook = (site() / "_static" / "notebooks" / f"{lesson.stem}.ipynb").read_text(encoding="utf-8")
    for check in (cell for cell in lesson.cells() if cell.role == "check" and cell.hidden):
        row = re.search(rf'<tr id="proves-{re.escape("-".join(check.name.lower().split()))}">(.*?)</tr>', page, re.S)
        assert row and check.name in row[1] and "<pre" not in row[1]
        assert f'"{check.id}"' not in page and f'id="{check.id}"' not in page
        assert f"def test_unit_{check.name.replace(' ', '_').lower()}" not in page + notebook
