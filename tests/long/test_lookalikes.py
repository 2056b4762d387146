"""Which mistakes are not named, found anew: every generic change of every solution is tried, which takes minutes."""

from __future__ import annotations

import pytest

from tito import diagnosis
from tito.course import Course, Lesson
from tito.dev.fingerprints import fingerprints, unsure_of

COURSE = Course.find()


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)
def test_no_mistake_is_named_that_something_else_looks_like(lesson: Lesson) -> None:
    found = unsure_of(fingerprints(COURSE, lesson))
    assert found == unsure_of(diagnosis.load(lesson)), f"repeat: tito dev fingerprints {lesson.id}"
