"""Variants: what is graded, points, dates, from course.toml into the released notebook and the gradebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from tito.course import Course
from tito.errors import UserError
from tito.teach.assignments import variants
from tito.teach.folder import Folder
from tito.teach.marks.policy import moment

SETTINGS = """
[assignment."03_layers"]
due = 2027-03-12T23:59:00+01:00
question_points = 2

[variant.short.assignment."03_layers"]
exercises = ["{first}", "{second}"]
points = {{ {second} = 7 }}
due = 2027-03-19T23:59:00+01:00

[variant.wrong.assignment."03_layers"]
exercises = ["{first}", "Affien"]
"""
LESSON = Course.find().lesson("03")
CHECKS: dict[str, list[str]] = {}
for _cell in LESSON.cells():
    if _cell.role == "check":
        CHECKS.setdefault(_cell.name.split()[0], []).append(_cell.name)
FIRST, SECOND, *OTHERS = CHECKS


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.private.mkdir()
    folder.settings.write_text(SETTINGS.format(first=FIRST, second=SECOND), encoding="utf-8")
    return folder


def points(lesson: object) -> dict[str, int]:
    return {cell.name: cell.points for cell in lesson.cells() if cell.role == "check"}  # type: ignore[attr-defined]


def test_the_course_as_it_is_changes_questions_and_no_check(folder: Folder) -> None:
    variant = variants.load(folder)
    assert points(variant.lesson(LESSON)) == points(LESSON)
    assert {cell.points for cell in variant.lesson(LESSON).cells() if cell.role == "answer"} == {2}
    assert moment(variant.of("03_layers")["due"], None, "due").day == 12


def test_a_variant_grades_its_exercises_at_its_points_by_its_date(folder: Folder) -> None:
    variant = variants.load(folder, "short")
    found, before = points(variant.lesson(LESSON)), points(LESSON)
    assert {name: found[name] for name in CHECKS[FIRST]} == {name: before[name] for name in CHECKS[FIRST]}
    assert sum(found[name] for name in CHECKS[SECOND]) == 7 != sum(before[name] for name in CHECKS[SECOND])
    assert all(found[name] == 0 for exercise in OTHERS for name in CHECKS[exercise])
    assert moment(variant.of("03_layers")["due"], None, "due").day == 19
    assert variant.of("03_layers")["question_points"] == 2  # what a variant leaves open, the course says


def test_points_of_is_what_the_released_lesson_says(folder: Folder) -> None:
    variant = variants.load(folder, "short")
    found = points(variant.lesson(LESSON))
    for cell in LESSON.cells():
        if cell.role == "check":
            graded = cell.name.split()[0] in (FIRST, SECOND)
            assert variant.points_of(LESSON, cell) == (found[cell.name] if graded else None)
        else:
            assert variant.points_of(LESSON, cell) is None


def test_points_are_shared_whole_and_add_up() -> None:
    assert variants._shared(7, [2, 1, 1]) == [3, 2, 2]
    assert variants._shared(2, [3, 3, 3]) == [1, 1, 0]
    assert variants._shared(0, [3, 1]) == [0, 0]


def test_what_does_not_exist_is_refused_by_name(folder: Folder) -> None:
    with pytest.raises(UserError, match="no variant 'long' but short, wrong"):
        variants.load(folder, "long")
    with pytest.raises(UserError, match=f"no exercise 'Affien' but {FIRST}, {SECOND}"):
        variants.load(folder, "wrong").lesson(LESSON)


def test_the_variant_that_was_released_is_remembered(folder: Folder) -> None:
    assert variants.released(folder, "03_layers").name == ""
    variants.remember(folder, "03_layers", variants.load(folder, "short"))
    assert variants.released(folder, "03_layers").name == "short"
    assert variants.entry(folder, "03_layers")["exercises"] == [FIRST, SECOND]
