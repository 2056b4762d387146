"""Links from a failure to the site: anchors that stay and are unique in a lesson, and addresses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tito import diagnosis, links, messages
from tito.course import Course, Lesson
from tito.dev import mistakes
from tito.errors import UserError
from tito.testing import Outcome

COURSE = Course.find()
SITE = "https://example.org/torch"
BAD = Outcome("01", "matmul", "matmul", "FAIL", 9)


def anchors(lesson: Lesson) -> Iterator[tuple[str, object]]:
    """Every anchor that a lesson's page may have, and what it is of."""
    named = {(name, each["says"]) for name, known in diagnosis.load(lesson).items() for each in known["mistakes"]}
    named |= {(each.exercise, each.says) for each in mistakes.mistakes_of(lesson)}
    yield from ((links.anchor(*one), one) for one in sorted(named))
    yield from ((links.of_message(text), text) for text in sorted({each.text for each in messages.of(lesson)}))
    for cell in lesson.cells():
        yield cell.id, f"cell {cell.id}"
        if cell.role == "check":
            yield links.of_check(cell.name), f"check {cell.name}"


@pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: str(lesson.stem))
def test_an_anchor_is_of_one_thing_and_can_be_read(lesson: Lesson) -> None:
    found: dict[str, object] = {}
    for anchor, what in anchors(lesson):
        assert found.setdefault(anchor, what) == what, anchor
        assert re.fullmatch(r"[A-Za-z][\w.-]{1,89}", anchor, re.ASCII), anchor
    assert len(found) > len(lesson.cells())


def test_anchors_stay_as_they_are() -> None:
    """Links stand in mails and forums: who changes this breaks them."""
    assert links.anchor("create", "keeps float64; floats should become float32") == (
        "create-keeps-float64-floats-should-become-float32"
    )
    assert links.anchor("log_softmax", "takes the whole array's sum, not a row's own, as it were") == (
        "log_softmax-takes-whole-arrays-sum-not-rows"
    )
    assert links.of_check("Vector.neg drawn") == "proves-vector-neg-drawn"
    assert links.of_message("matmul: inner sizes differ: …; transpose one side?") == (
        "says-matmul-inner-sizes-differ-transpose-one-side"
    )


def test_the_best_place_is_the_mistake_then_the_message_then_the_check() -> None:
    lesson = COURSE.lesson("02")
    raised = replace(BAD, check="relu", exercise="relu", error=("TypeError", "Tensor: needs numbers, got a of dtype b"))
    assert links.place(COURSE, lesson, replace(raised, looks_like="turns the sign")) == (
        lesson, "relu-turns-sign",
    )  # fmt: skip
    assert links.place(COURSE, lesson, raised) == (COURSE.lesson("01"), "says-tensor-needs-numbers-got-dtype")
    other = replace(raised, error=("TypeError", "unsupported operand"))
    assert links.place(COURSE, lesson, other) == (lesson, "proves-relu")


@pytest.mark.parametrize(
    ("check", "anchor"), [("imports", "imports"), ("Pow", "twin-Pow"), ("cell 30", None), ("", None)]
)
def test_what_fails_before_the_checks(check: str, anchor: str | None) -> None:
    lesson = COURSE.lesson("01")
    found = links.place(COURSE, lesson, Outcome("01", check, "", "FAIL", 3))
    assert found == (anchor and (lesson, anchor))


def test_where_the_site_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    course = replace(COURSE, root=tmp_path, site="")
    monkeypatch.delenv("TITO_SITE")
    assert links.site(course) == links.address(course, COURSE.lesson("01"), BAD) == ""
    (tmp_path / "build" / "site" / "lessons").mkdir(parents=True)
    assert links.site(course) == (tmp_path / "build" / "site").as_uri()
    course = replace(course, site=SITE + "/")
    assert links.site(course) == SITE
    assert links.address(course, COURSE.lesson("01"), BAD) == f"{SITE}/lessons/01_tensor.html#proves-matmul"
    monkeypatch.setenv("TITO_SITE", "http://127.0.0.1:8000")
    assert links.site(course) == "http://127.0.0.1:8000"
    monkeypatch.setenv("TITO_SITE", "")
    assert links.site(course) == ""


@pytest.mark.parametrize("site", ["build/site", "https://", "https://a b", "https://a\x1b[31m", "javascript:alert(1)"])
def test_what_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch, site: str) -> None:
    with pytest.raises(UserError, match="the site in course.toml is .*; drop links by: export TITO_SITE=$"):
        monkeypatch.delenv("TITO_SITE")
        links.site(replace(COURSE, site=site))
    monkeypatch.setenv("TITO_SITE", site)
    with pytest.raises(UserError, match="the site in TITO_SITE is "):
        links.site(COURSE)


def test_the_courses_own_site_is_an_address_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TITO_SITE")
    links.site(COURSE)


def test_a_course_may_name_its_site(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(f'title = "T"\nsite = "{SITE}"\nlesson = []\n', encoding="utf-8")
    assert Course.load(tmp_path).site == SITE


WRONG = "@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return self"


def test_a_failure_ends_with_its_link(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITO_SITE", SITE)
    link = f"{SITE}/lessons/01_vector.html#proves-add"
    learner.solve()
    learner.answer(add=WRONG)
    said = learner.tito("test")[1].splitlines()
    assert said[-3:] == [f"        more  {link}", "", "2 of 5, 2 not run.  Stuck?  tito hint"] and len(said) <= 15
    [lesson] = json.loads(learner.tito("test --json")[1])["lessons"]
    assert [check["more"] for check in lesson["checks"]] == [None, None, link, None, None]
    learner.solve()
    assert "more  http" not in learner.tito("test")[1]


def test_a_failure_of_the_package_has_its_link_too(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITO_SITE", SITE)
    learner.solve()
    learner.answer(norm="@patch\ndef norm(self: Vector) -> float:\n    return 5.0 if __name__ == '__main__' else 0.0")
    assert f"        more  {SITE}/lessons/01_vector.html#proves-norm\n" in learner.tito("export")[1]


def test_a_known_mistake_has_the_link_to_its_row(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITO_SITE", SITE)
    monkeypatch.setattr(diagnosis, "looks_like", lambda *_: "gives the first vector")
    learner.solve()
    learner.answer(add=WRONG)
    link = f"{SITE}/lessons/01_vector.html#add-gives-first-vector"
    assert f"        looks like: gives the first vector\n        more  {link}\n" in learner.tito("test")[1]


def test_links_are_light() -> None:
    program = "import sys\nfrom tito import links\nprint([name for name in sys.modules if name.startswith('tito')])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "['tito', 'tito.errors', 'tito.links']"
