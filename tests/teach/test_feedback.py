"""What a student is told: all of a visible check, nothing of a hidden one; and nothing a submission says runs."""

from __future__ import annotations

import html
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from classes import COURSE, NAME, check, key, mixed, result
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.exchange.default import ExchangeReleaseFeedback
from nbgrader.utils import notebook_hash
from selenium.webdriver.common.keys import Keys
from traitlets.config import Config

from tito.cli import main
from tito.teach.marks import late
from tito.teach.marks.store import Store
from tito.teach.pages import feedback, pages
from tito.teach.result import Result

SCRIPT = '</title></style></pre><img src=x onerror="window.ran=1"><script>window.ran=1</script>'
TELLING = {"expression": "x1", "want": "x2", "got": "x3", "says": "x4", "error": ("x5", "x6"), "where": ("x7", 1, "x8")}
SECRET = {**TELLING, "looks_like": "x9", "output": "x10", "reason": "x11", "waits_for": "x12"}


def saved(path: Path, page: str) -> Path:
    path.write_text(page, encoding="utf-8")
    return path


def hostile(text: str) -> Result:
    """A result that says the text wherever a student's code, file or name can say it."""
    told: dict[str, Any] = {name: text for name in ("expression", "want", "got", "says", "looks_like", "output")}
    one = check("affine", **told, error=(text, text), where=(text, 1, text))
    return result(text, one, check("affine drawn", hidden=True), notes=(text,), reason=text)


@pytest.fixture
def shown(tmp_path: Path, browser: Browser) -> str:
    browser.open(saved(tmp_path / "page.html", feedback.page(mixed(), COURSE)))
    return browser.text()


def test_a_visible_check_says_what_it_asked_wanted_and_got(shown: str) -> None:
    for said in ("4 of 20 points", "Linear(3, 2)(x)", "[[17. 22.]]", "[[7. 2.]]", "differs at [0, 1]", "shape (1, 3)"):
        assert said in shown
    assert "cell 14, line 9" in shown and "return x @ weight.T" in shown
    assert "Looks like: leaves the bias out." in shown
    assert "AttributeError: no attribute 'weight'" in shown
    assert "Why: cell 40 took longer than 10 s" in shown and "Waits for state_dict" in shown
    assert "cell 15 (check affine) was edited" in shown


def test_hints_stand_where_points_are_missing(tmp_path: Path, browser: Browser, shown: str) -> None:
    hints = feedback.hints(COURSE.lesson("03"))
    assert hints["affine"][0].replace("`", "") in shown and hints["state_dict"][0] not in shown
    assert hints["affine"][2] not in shown  # folded until it is asked for, and on paper
    browser.open(tmp_path / "page.html", media="print")
    assert browser.run("return [...document.querySelectorAll('details p')].every(p => p.checkVisibility())")
    assert browser.run("return document.querySelector('details p').getBoundingClientRect().height") > 0


@pytest.mark.parametrize("status", ["FAIL", "todo", "waits", "not run", "ok"])
def test_of_a_hidden_check_only_name_and_points_are_told(status: str) -> None:
    told = feedback.page(result("ada", check("affine drawn", 2, status=status, hidden=True, **SECRET)), COURSE)
    text = html.unescape(re.sub(r"<[^>]*>", " ", told.split("</style>")[1]))
    assert "affine drawn" in text and "0 of 2" in text
    assert not re.findall(r"\bx\d+\b", text)


def test_of_a_visible_check_the_same_fields_are_told() -> None:
    told = feedback.page(result("ada", check("affine", **SECRET)), COURSE)
    assert set(re.findall(r"\bx\d+\b", told.split("</style>")[1])) == {f"x{i}" for i in range(1, 13)}


def test_nothing_that_a_submission_says_runs(tmp_path: Path, browser: Browser) -> None:
    page = feedback.page(hostile(SCRIPT), COURSE)
    raw = html.unescape(page)  # what a page without escaping would be
    open_policy = re.sub(r"<meta http-equiv[^>]*>", "", raw)
    ran = {}
    for name, text in {"page": page, "raw": raw, "raw and open": open_policy}.items():
        browser.open(saved(tmp_path / "page.html", text))
        ran[name] = browser.run("return window.ran || 0")
    assert ran == {"page": 0, "raw": 0, "raw and open": 1}  # escaping and policy each suffice; without both it runs
    browser.open(saved(tmp_path / "page.html", page))
    assert browser.run("return document.querySelectorAll('script, img, iframe, object, form').length") == 0
    assert browser.text().count(SCRIPT) == 12  # wherever it was put; of the cell's name only what is within <>


@given(st.text())
def test_shown_text_holds_no_control_and_no_change_of_direction(text: str) -> None:
    shown = pages.visible(text)
    assert all(character.isprintable() or character in "\n\t\xa0" for character in shown)
    assert pages.visible(shown) == shown


@pytest.mark.parametrize(
    "text, shown", [("\x1b[31m", "\\x1b[31m"), ("a\u202eb", "a\\u202eb"), ("\u2066", "\\u2066"), ("\ud800", "\\ud800")]
)
def test_what_has_no_shape_is_spelled_out(text: str, shown: str) -> None:
    assert pages.visible(text) == shown
    page = feedback.page(hostile(text), COURSE)
    assert text not in page and shown in page


@pytest.mark.parametrize("text", ["x" * 10**6, "\u00e9" * 10**6, "\x00" * 10**6, "\u202e" * 5000])
def test_output_is_cut_at_two_kilobytes(text: str) -> None:
    page = feedback.page(result("ada", check("affine", output=text)), COURSE)
    output = re.search(r'<pre class="output"[^>]*><code>(.*?)</code>', page, re.DOTALL)
    assert output is not None
    said, _, more = html.unescape(output[1]).partition("\n... (the rest")
    assert 2000 < len(said.encode()) <= 2048 and more


def test_a_page_says_when_grading_was_not_isolated() -> None:
    assert "Not isolated." in feedback.page(mixed(isolation=3), COURSE)
    assert "Not isolated." not in feedback.page(mixed(isolation=1), COURSE)
    refused = Result(key("ada"), "refused", "it is not UTF-8 at byte 7", isolation=3)
    page = feedback.page(refused, COURSE)
    assert "Not isolated." in page and "Not graded" in page and "it is not UTF-8 at byte 7" in page


def test_a_milestone_tells_its_figures() -> None:
    told = feedback.page(result("ada", check("m2", 5, 5, "ok"), assignment="m2", extra={"test_accuracy": 0.98}), COURSE)
    assert "Milestone m2: XOR (1969)" in told and "test accuracy" in told and "0.98" in told


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_is_accessible_and_asks_for_nothing(tmp_path: Path, browser: Browser, width: int, scheme: str) -> None:
    page = saved(tmp_path / "page.html", feedback.page(mixed("a" * 60, isolation=3), COURSE))
    browser.open(page, width, scheme)
    assert browser.requests() == [page.as_uri()]
    assert not browser.overflows()
    assert browser.violations() == []


def test_axe_would_find_a_fault(tmp_path: Path, browser: Browser) -> None:
    page = feedback.page(mixed(), COURSE).replace(' lang="en"', "").replace("<h1>", "<h1><img src=x>")
    browser.open(saved(tmp_path / "page.html", page))
    assert {found.split(":")[0] for found in browser.violations()} == {"html-has-lang", "image-alt"}


def test_all_of_it_can_be_reached_by_keys(tmp_path: Path, browser: Browser) -> None:
    long = check("affine", output="line\n" * 300)
    browser.open(saved(tmp_path / "page.html", feedback.page(result("ada", long), COURSE)))
    visited = []
    for _ in range(6):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        visited.append(browser.run("return document.activeElement.className || document.activeElement.tagName"))
    assert visited == ["skip", "A", "output", "SUMMARY", "SUMMARY", "BODY"]
    browser.run("document.querySelector('summary').focus()")
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.run("return document.querySelector('details').open")


def test_points_that_the_rules_change_are_told() -> None:
    mark = late.Mark(mixed(), 4, 20, days_late=2, penalty=1.5)
    assert feedback.counted(mark) == "2 days late, which costs 1.5: 2.5 of 20 points count."
    assert feedback.counted(late.Mark(mixed(), 4, 20)) == ""


@pytest.fixture
def course_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course folder with two results; what ada handed in came by the exchange."""
    root = tmp_path / "course"
    (root / ".teach").mkdir(parents=True)
    with Store(root / ".teach" / "results") as store:
        for student in ("ada", "bob"):
            store.add(mixed(student))
    for student in ("ada", "bob"):
        (root / "submitted" / student / NAME).mkdir(parents=True)
    came = root / "submitted" / "ada" / NAME
    (came / "submission_secret.txt").write_text("a1b2c3", encoding="utf-8")
    (came / "timestamp.txt").write_text("2027-03-01 12:00:00.000000 UTC", encoding="utf-8")
    monkeypatch.chdir(root)
    return root


@pytest.mark.filterwarnings(
    "ignore:.*timestamp.txt.*:pytest.PytestUnraisableExceptionWarning"
)  # nbgrader leaves it open
def test_nbgrader_releases_the_page(course_folder: Path, tmp_path: Path) -> None:
    assert main(["teach", "feedback", "03", "--student", "ada"]) == 0
    config = Config()
    config.CourseDirectory.root, config.CourseDirectory.course_id = str(course_folder), "tinytorch"
    config.CourseDirectory.assignment_id = NAME
    config.Exchange.root = str(tmp_path / "exchange")
    (tmp_path / "exchange").mkdir(mode=0o777)
    (tmp_path / "exchange").chmod(0o777)
    ExchangeReleaseFeedback(config=config, coursedir=coursedir(config)).start()
    name = f"{notebook_hash(secret='a1b2c3', notebook_id=NAME)}.html"
    released = tmp_path / "exchange" / "tinytorch" / "feedback" / name
    assert released.read_text(encoding="utf-8") == feedback.page(mixed("ada"), COURSE)


def coursedir(config: Config) -> Any:
    from nbgrader.coursedir import CourseDirectory

    return CourseDirectory(config=config)


def test_links_in_a_submission_are_not_followed(course_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (course_folder / "private").write_text("gradebook", encoding="utf-8")
    came = course_folder / "submitted" / "bob" / NAME
    (came / "submission_secret.txt").symlink_to(course_folder / "private")
    os.mkfifo(came / "timestamp.txt")
    target = course_folder / "feedback" / "bob" / NAME
    target.mkdir(parents=True)
    (target / f"{NAME}.html").symlink_to(course_folder / "private")
    assert main(["teach", "feedback", "03"]) == 0
    assert (course_folder / "private").read_text(encoding="utf-8") == "gradebook"
    assert [path.name for path in target.iterdir()] == [f"{NAME}.html"]
    handed_out = course_folder / "out" / "feedback" / NAME / "bob.html"
    assert handed_out.read_text(encoding="utf-8") == feedback.page(mixed("bob"), COURSE)
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("2 pages:") and all(len(line) <= 78 for line in out.splitlines())


def test_without_results_it_says_what_to_do(course_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["teach", "feedback", "04"]) == 1
    assert "grade first: tito teach grade 04" in capsys.readouterr().err


def test_one_result_gives_one_page_always() -> None:
    assert feedback.page(mixed(), COURSE) == feedback.page(replace(mixed()), COURSE)
