"""What `tito dev check` proves of every lesson, and that its text keeps to the house's measures."""

from __future__ import annotations

import pytest

from tito import release
from tito.course import Course, Lesson
from tito.dev import check, kernel, measure
from tito.dev.export import needs_of

COURSE = Course.find()
LESSONS = pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)


@LESSONS
def test_solutions_pass_stubs_are_todo_and_mistakes_fail(lesson: Lesson) -> None:
    report = check.check(COURSE, lesson)
    assert report.problems == ()
    assert report.caught == report.mistakes


@LESSONS
def test_the_notebook_runs_in_a_kernel_and_shows_the_numbers_of_its_text(lesson: Lesson) -> None:
    ran = kernel.run(release.notebook_text(lesson, solutions=True), needs_of(COURSE, lesson))
    assert ran.problems == ()
    assert list(measure.strange_numbers(lesson, ran.shown)) == []


@LESSONS
def test_the_text_keeps_to_the_measures_of_the_house(lesson: Lesson) -> None:
    assert [figure for figure in measure.measures(lesson) if not figure.fits] == []
    assert list(measure.faults_of(lesson)) == []


def test_there_are_at_least_250_mistakes() -> None:
    assert sum(len(check.mistakes_of(lesson)) for lesson in COURSE.lessons) >= 250
