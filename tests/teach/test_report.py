"""What an instructor is told: right numbers, each with a way to its submissions, on a page of limited size."""

from __future__ import annotations

import html
import os
import re
import time
from pathlib import Path
from urllib.parse import unquote

import pytest
from browser import Browser
from classes import COURSE, LESSON, NAME, check, key, many, mixed, result
from hypothesis import given
from hypothesis import strategies as st

from tito import release
from tito.cli import main
from tito.teach.marks.store import Store
from tito.teach.pages import report
from tito.teach.pages.similarity import Pair
from tito.teach.pages.tally import tally
from tito.teach.result import Result

CLASS = 5000 if os.environ.get("TITO_LONG") else 1000
SCRIPT = '</title><img src=x onerror="window.ran=1"><script>window.ran=1</script>'
PAIR = Pair("s0003", "s0017", 41, 0.93, ("linear", "dropout", "load_state_dict", "named_parameters", "state_dict"))


def scored(student: str, earned: float, *, hard: float = 0, **more: str) -> Result:
    """One of 10 points at an easy exercise, and of 2 at a hard one."""
    return result(student, check("easy", 10, earned, "ok"), check("hard", 2, hard, **more))


def titles(page: str) -> list[str]:
    return [html.unescape(title) for title in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]


def saved(path: Path, page: str) -> Path:
    path.write_text(page, encoding="utf-8")
    return path


def test_numbers_are_the_class() -> None:
    results = [scored("ada", 10, hard=2), scored("bob", 10), scored("cyd", 5), scored("dan", 0)]
    total = tally(results)
    assert total.median == 7.5 and total.points == 12
    assert total.bins == [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1]
    assert [(e.name, e.mean, e.full) for e in total.by_difficulty] == [("hard", 0.25, 1), ("easy", 0.625, 2)]


@given(st.lists(st.integers(0, 12), min_size=1))
def test_every_submission_is_in_one_column(points: list[int]) -> None:
    total = tally([scored(f"s{i}", min(n, 10), hard=max(n - 10, 0)) for i, n in enumerate(points)])
    assert sum(total.bins) == len(points) and total.bins[-1] == points.count(12)


def test_a_column_holds_a_tenth() -> None:
    for n in range(21):
        assert tally([result("ada", check("easy", 20, n, "ok"))]).bins.index(1) == n // 2


def test_titles_say_what_the_plots_show() -> None:
    late = {"status": "not run", "reason": "cell 40 took longer than 10 s"}
    results = [
        scored("ada", 10, hard=2),
        scored("bob", 10, looks_like="adds instead"),
        scored("cyd", 6, looks_like="adds instead"),
        scored("dan", 0, looks_like="forgets the sum"),
        result("eve", check("easy", 10, 4, "ok"), check("hard", 2, **late), notes=("cell 7 was deleted",)),
        Result(key("fay"), "refused", "it is not UTF-8 at byte 7"),
    ]
    said = titles(report.page(results, COURSE, NAME, [PAIR]))
    assert said == [
        "Half the class has at least 6 of 12 points",
        "hard is the hardest: the class earns 20\xa0% of its points",
        "hard: 'adds instead' is the most common mistake, in 2 of 5 submissions",
        "1 of 5 submissions ended early",
        "1 of 5 submissions has a check edited or missing, or a cell that failed",
        "1 submission could not be read",
        "1 pair of submissions shares unusual passages",
        "All submissions",
    ]


def test_titles_of_a_class_without_faults() -> None:
    said = titles(report.page([scored("ada", 10, hard=2), scored("bob", 10, hard=2)], COURSE, NAME, []))
    assert said == [
        "2 of 2 submissions earned all 12 points",
        "Every exercise earns 100\xa0% of its points",
        "No known mistake was recognised",
        "Every submission ran to its end",
        "No submission has a check edited or missing, or a cell that failed",
        "No two submissions share unusual passages",
        "All submissions",
    ]


def test_a_class_of_which_nothing_could_be_read() -> None:
    said = titles(report.page([Result(key("ada"), "refused", "it holds no notebook")], COURSE, NAME))
    assert said[0] == "Nothing is graded yet" and "1 submission could not be read" in said


def test_the_heat_map_counts_students_by_exercise_and_mistake(tmp_path: Path, browser: Browser) -> None:
    results = [scored(f"s{i}", 10, looks_like="adds instead" if i < 9 else "forgets the sum") for i in range(12)]
    browser.open(saved(tmp_path / "page.html", report.page(results, COURSE, NAME)))
    row = browser.run("return [...document.querySelectorAll('.heat tbody tr td')].map(cell => cell.innerText)")
    assert row[0].startswith("9 adds instead") and row[1].startswith("3 forgets the sum")
    assert "s0, s1, s2, s3, s4, s5 and 3 more" in row[0]
    colours = browser.run(
        "return [...document.querySelectorAll('.heat tbody td')].map(c => getComputedStyle(c).backgroundColor)"
    )
    assert len(set(colours[:3])) == 3  # most, fewer, none


def test_a_death_is_counted_once_and_where_it_began() -> None:
    ended = {"status": "not run", "reason": "cell 41 took longer than 10 s"}
    results = [result("ada", check("b", **ended), check("c", **ended)), result("bob", check("b", **ended))]
    assert tally(results).ended == {"cell N took longer than 10 s": {"b": ["ada", "bob"]}}


def test_links_lead_to_the_submission(tmp_path: Path) -> None:
    names = ("ada", "o'neil", "a b", "x&y", "..%2f")
    page = report.page([scored(name, 3) for name in names], COURSE, NAME)
    for name in names:
        (tmp_path / "submitted" / name / NAME).mkdir(parents=True)
    links = [html.unescape(link) for link in re.findall(r'href="([^"#]*)"', page)]
    assert len(links) == len(names)
    found = {(tmp_path / "out" / "report" / unquote(link)).resolve() for link in links}
    assert found == {tmp_path / "submitted" / name / NAME for name in names}


def test_a_large_class_gives_a_page_of_the_same_size() -> None:
    small, large = list(many(100)), list(many(CLASS))
    start = time.monotonic()
    page = report.page(large, COURSE, NAME, [PAIR] * 1000)
    assert time.monotonic() - start < 3
    size = len(page.encode())
    assert size < 120_000 and size < 2 * len(report.page(small, COURSE, NAME, [PAIR] * 50).encode())
    assert f"{len(large):,}" in page and "And 950 more pairs" in page


def test_even_a_class_of_odd_results_gives_a_bounded_page() -> None:
    odd = [
        result(
            f"{i}" * 60,
            *(check(f"e{j}", looks_like=f"{i} {j} " + "x" * 5000, reason=f"{i} " + "y" * 5000) for j in range(8)),
            notes=(f"{i} " + "z" * 5000,),
        )
        for i in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    ]
    assert len(report.page(odd, COURSE, NAME).encode()) < 200_000


def test_nothing_that_a_submission_says_runs(tmp_path: Path, browser: Browser) -> None:
    told = {"looks_like": SCRIPT, "reason": SCRIPT}
    hostile = [result(SCRIPT, check("affine", **told), check(SCRIPT, **told), notes=(SCRIPT,))]
    page = report.page(hostile, COURSE, NAME, [Pair(SCRIPT, SCRIPT, 9, 1.0, (SCRIPT,))], [SCRIPT])
    raw = html.unescape(page)
    ran = {}
    for name, text in {"page": page, "raw": raw, "open": re.sub(r"<meta http-equiv[^>]*>", "", raw)}.items():
        browser.open(saved(tmp_path / "page.html", text))
        ran[name] = browser.run("return window.ran || 0")
    assert ran == {"page": 0, "raw": 0, "open": 1}
    assert "<img" not in page and "<script" not in page and "javascript:" not in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_is_accessible_and_asks_for_nothing(tmp_path: Path, browser: Browser, width: int, scheme: str) -> None:
    refused = Result(key("s9999"), "refused", "it is not UTF-8 at byte 7")
    page = report.page([*many(60), mixed(isolation=3), refused], COURSE, NAME, [PAIR], ["s0001"])
    path = saved(tmp_path / "page.html", page)
    browser.open(path, width, scheme)
    assert browser.requests() == [path.as_uri()]
    assert not browser.overflows()
    browser.run("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert browser.violations() == []
    assert "Not isolated. 1 submission graded" in browser.text()


def test_each_plot_has_a_name_and_its_numbers_beside_it(tmp_path: Path, browser: Browser) -> None:
    browser.open(saved(tmp_path / "page.html", report.page(many(60), COURSE, NAME)))
    plots = browser.run(
        "return [...document.querySelectorAll('svg')].map(plot => [plot.querySelector('title').textContent,"
        " plot.closest('section').querySelector('h2').textContent,"
        " plot.parentNode.querySelectorAll('details table tbody tr').length])"
    )
    assert [(name == heading, rows) for name, heading, rows in plots] == [(True, 11), (True, 8)]


@pytest.fixture
def course_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "course"
    (root / ".teach").mkdir(parents=True)
    with Store(root / ".teach" / "results") as store:
        for student in ("ada", "bob"):
            store.add(mixed(student))
    (root / "submitted" / "ada" / NAME).mkdir(parents=True)
    (root / "submitted" / "ada" / NAME / f"{NAME}.ipynb").write_text(release.notebook_text(LESSON), encoding="utf-8")
    monkeypatch.chdir(root)
    return root


def test_the_command_writes_page_and_export(course_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["teach", "report", "03", "--jplag"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"out/report/{NAME}.html   2 submissions, 0 pairs alike"
    assert len(out) <= 12 and all(len(line) <= 78 for line in out)
    page = (course_folder / "out" / "report" / f"{NAME}.html").read_text(encoding="utf-8")
    assert "Not compared, for their files could not be read: <a" in page and ">bob</a>" in page
    assert (course_folder / "out" / "jplag" / NAME / "submissions" / "ada" / f"{NAME}.py").is_file()
    assert main(["teach", "report", "03", "--no-similarity"]) == 0
    assert "Submissions were not compared" in (course_folder / "out" / "report" / f"{NAME}.html").read_text("utf-8")


def test_without_results_it_says_what_to_do(course_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["teach", "report", "04"]) == 1
    assert "grade first: tito teach grade 04" in capsys.readouterr().err
