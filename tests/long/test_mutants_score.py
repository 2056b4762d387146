"""Of the mutants that are no equivalents, the checks of every lesson catch at least 95 %."""

from __future__ import annotations

import pytest

from tito.course import Course, Lesson
from tito.dev import survivors

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

COURSE = Course.find()


@pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)
def test_the_checks_catch_mutants(lesson: Lesson, capsys: pytest.CaptureFixture[str]) -> None:
    found = survivors.score(COURSE, lesson)
    with capsys.disabled():
        print(f"\n{survivors._table([found])}")
    assert found.problems == ()
    assert found.share >= survivors.LEAST
