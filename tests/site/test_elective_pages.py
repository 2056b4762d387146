"""Electives on the site: pages like any other lesson's, listed apart, and in no number that is said of the course."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tito.course import Course
from tito.dev.export import reference

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "site"))

from pages import about, defined_in, facts, framework, lesson
from pages.results import Results
from pages.site import Site
from pages.tree import Tree

COUNTED = """lessons milestones exercises checks hints minutes hours minutes_range files files_supplied lines
    lines_exported lines_supplied functions names"""


@pytest.fixture
def site(with_elective: Callable[..., Course], tmp_path: Path) -> Site:
    """A site of the small course with its elective."""
    course = with_elective(tmp_path / "course")
    return Site(course, course, reference(course), Tree(tmp_path / "tree"), Results(tmp_path / "cache"), False)


@pytest.fixture
def core(site: Site) -> Site:
    """The same course without it."""
    course = replace(site.course, electives=(), elective_milestones=())
    return replace(site, course=course, solved=course)


def test_they_are_listed_apart_and_their_minutes_are_not_the_courses(site: Site, core: Site) -> None:
    before, _, electives = lesson._index(site).partition("## Electives")
    assert "e1_path.html" in electives and "02_line.html" not in electives
    assert "02_line.html" in before and "e1_path" not in before and "about 10 minutes" in before
    assert electives.rstrip("`\n").endswith("01_vector\n02_line\ne1_path")  # Sphinx's tree of pages
    assert "lective" not in lesson._index(core)


def test_its_box_says_what_it_is(site: Site) -> None:
    box = about.box(site, site.course.lesson("e1"))
    assert "Elective\n: take it if you like" in box and "[01 vector](01_vector.ipynb)" in box
    assert "Opens\n: [Bezier 1962](../milestones/m1b_bezier_1962.md)" in box
    assert "Elective" not in about.box(site, site.course.lesson("02"))


def test_a_lesson_says_that_an_elective_uses_it(site: Site) -> None:
    used = about.uses(site, site.course.lesson("01"))
    assert "e1_path.html" in used and "02_line.html" in used and "m1b_bezier_1962.html" in used


@pytest.mark.parametrize("fact", COUNTED.split())
def test_a_number_of_the_course_is_the_same_with_and_without(fact: str, site: Site, core: Site) -> None:
    known = replace(core, reference=reference_of(core, site))
    assert getattr(facts, fact)(site) == getattr(facts, fact)(known)


def reference_of(core: Site, site: Site) -> Path:
    """The package of the course alone."""
    from tito import package
    from tito.dev.export import fold_input

    return package.cached(site.results.folder, [fold_input(one) for one in core.course.lessons])


def test_a_number_is_told_of_one_that_is_named(site: Site) -> None:
    found = facts.exercises(site, "e1"), facts.minutes(site, "e1"), facts.checks_hidden(site, "path")
    assert found == ("2", "5", "1")


def test_its_names_have_their_place_in_the_reference(site: Site) -> None:
    package = defined_in.of(site)
    assert [name.name for name in package.names(site.course.lesson("e1"))] == ["pairs", "between", "walk"]


def test_its_files_have_a_page_each(site: Site) -> None:
    framework.write(site)
    assert {"path.md", "trail.md", "line.md"} <= {path.name for path in (site.tree.folder / "framework").iterdir()}
    assert "framework/trail.html" in framework.contents(site)
