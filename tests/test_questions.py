"""Questions for reflection that an instructor grades by hand: a learner's file with them, tested and updated."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tito import given, release, student, studentfile
from tito.course import Course, Lesson
from tito.revise import revise

LESSONS = {lesson.stem: lesson for lesson in Course.find().everything}
FRAME = re.compile(r"### (BEGIN|END) SOLUTION|</?details>|<summary>Answer</summary>")


@pytest.fixture(params=LESSONS)
def folded(request: pytest.FixtureRequest) -> Lesson:
    return LESSONS[request.param]


def words(lesson: Lesson) -> list[str]:
    return FRAME.sub(" ", " ".join(cell.source for cell in lesson.cells())).split()


def test_every_folded_answer_becomes_a_cell_and_no_text_is_lost(folded: Lesson) -> None:
    graded = replace(folded, question_points=3)
    answers = [cell for cell in graded.cells() if cell.role == "answer"]
    assert len(answers) == folded.source.read_text(encoding="utf-8").count("<details>") >= 3
    assert {cell.points for cell in answers} == {3}
    assert words(graded) == words(folded)


def test_the_ids_of_all_other_cells_stay(folded: Lesson) -> None:
    before = {cell.id: cell.source for cell in folded.cells() if "**Think**" not in cell.source}
    graded = replace(folded, question_points=3).cells()
    assert {cell.id: cell.source for cell in graded if cell.role not in ("question", "answer")} == before


@pytest.mark.parametrize("ending", ["py", "ipynb"])
def test_a_learners_file_is_run_as_ever_and_an_update_keeps_the_answers(
    folded: Lesson, tmp_path: Path, ending: str
) -> None:
    lesson = replace(folded, question_points=3)
    path = tmp_path / f"{lesson.stem}.{ending}"
    text = release.notebook_text(lesson) if ending == "ipynb" else release.percent_text(lesson)
    path.write_text(text.replace(release.ANSWER, "Because it is so.", 1), encoding="utf-8")
    file = studentfile.read(path)
    plan = student.plan(lesson, file)
    assert plan.notes == () and not [cell for cell in plan.cells if cell.role in ("question", "answer")]
    newer = [
        replace(cell, source=f"{cell.source} And more." if cell.kind == "markdown" else cell.source)
        for cell in release.student_cells(lesson)
    ]
    revision = revise(newer, file.cells, given.of(lesson))
    kept = [file.cells[step.own].source for step in revision.steps if step.keep and step.own is not None]
    assert "Because it is so." in kept and revision.answers >= 1 and not revision.lost
