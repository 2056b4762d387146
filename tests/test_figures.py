"""The lessons' figures: drawn from data as they are now, shown in the text with words for those who do not see them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tito.course import Course, Lesson
from tito.dev.figures import drawn

LESSONS = pytest.mark.parametrize("lesson", Course.find().everything, ids=lambda lesson: lesson.stem)
IMAGE = re.compile(r"!\[([^\]]*)\]\(figures/([\w.]+)\.svg\)")


def words(svg: str) -> list[str]:
    """All text of a drawing: what a reader reads, whatever the version of the library that placed it."""
    return sorted("".join(node.itertext()) for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text"))


def committed(lesson: Lesson) -> dict[str, str]:
    """The figures that lie in the lesson's folder, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in lesson.figures}


@LESSONS
def test_figures_are_those_that_the_code_draws(lesson: Lesson) -> None:
    made, kept = drawn(lesson), committed(lesson)
    assert set(made) == set(kept), f"draw them anew: tito dev figures {lesson.id}"
    for name, svg in made.items():
        assert words(svg) == words(kept[name]), f"{name} is old; draw it anew: tito dev figures {lesson.id}"


@LESSONS
def test_the_same_data_give_the_same_bytes(lesson: Lesson) -> None:
    assert drawn(lesson) == drawn(lesson)


@LESSONS
def test_every_figure_is_shown_and_told_in_words(lesson: Lesson) -> None:
    shown = [match for cell in lesson.cells() if cell.kind == "markdown" for match in IMAGE.findall(cell.source)]
    assert {name for _, name in shown} == set(drawn(lesson)) and len(shown) >= 3
    assert all(len(alt.split()) >= 5 for alt, _ in shown)


@LESSONS
def test_figures_follow_a_dark_ground(lesson: Lesson) -> None:
    for svg in committed(lesson).values():
        assert "prefers-color-scheme: dark" in svg
        assert not re.search(r"fill: ?#000000|stroke: ?#000000", svg)
