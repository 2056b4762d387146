"""What a student gets: no solution, no hidden check, nbgrader's metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tito import percent, release
from tito.course import Lesson
from tito.errors import UserError

MakeLesson = Callable[..., Lesson]

FLAGS = ("grade", "grade_id", "locked", "solution")


def sources(lesson: Lesson) -> dict[str, str]:
    return {cell.id: cell.source for cell in release.student_cells(lesson)}


def test_a_solution_becomes_the_stub_at_its_indent(toy: Lesson) -> None:
    expected = '''class Box:
    """Holds a number.

    About 1 line.
    """

    def __init__(self, value):
        raise NotImplementedError

    def twice(self):
        raise NotImplementedError'''
    assert sources(toy)["exercise-Box"] == expected


def test_of_a_hidden_check_only_the_comment_is_left(toy: Lesson) -> None:
    assert sources(toy)["check-Box-negative"] == "# Also for numbers below zero."


def test_all_other_cells_are_as_the_lesson_has_them(toy: Lesson) -> None:
    changed = {cell.id for cell in toy.cells() if cell.source != sources(toy)[cell.id]}
    assert changed == {"exercise-Box", "check-Box-negative", "exercise-Sub"}


def test_an_exercise_without_a_region_is_cleared_whole(make_lesson: MakeLesson, tmp_path: Path) -> None:
    lesson = make_lesson(tmp_path, '# %% exercise="a" points=1\nx = 1\ny = 2\n')
    assert sources(lesson) == {"exercise-a": "raise NotImplementedError"}


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            '# %% exercise="a"\n### BEGIN SOLUTION\n1',
            "toy.py, line 2: BEGIN SOLUTION has no END SOLUTION; add the line",
        ),
        ('# %% exercise="a"\n### END SOLUTION', "END SOLUTION has no BEGIN SOLUTION"),
        ('# %% exercise="a"\n### BEGIN SOLUTION\n### BEGIN SOLUTION', "BEGIN SOLUTION stands inside another one"),
        ('# %% twin="a"\n### BEGIN SOLUTION\n### END SOLUTION', "a solution outside an exercise"),
        ("# %%\n### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS", "hidden tests outside a check"),
        ('# %% check="a"\n### BEGIN HIDDEN TESTS', "BEGIN HIDDEN TESTS has no END HIDDEN TESTS"),
    ],
)
def test_an_authors_slip_is_refused(make_lesson: MakeLesson, tmp_path: Path, source: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        release.notebook(make_lesson(tmp_path, source))


def test_the_notebook_is_valid_and_its_ids_are_stable(toy: Lesson) -> None:
    notebook = release.notebook(toy)
    nbformat.validate(notebook)
    assert notebook == release.notebook(toy)
    assert [cell["id"] for cell in notebook["cells"]] == [cell.id for cell in toy.cells()]


def test_only_an_exercise_may_be_edited(toy: Lesson) -> None:
    metadata = {cell["id"]: cell["metadata"] for cell in release.notebook(toy)["cells"]}
    assert metadata["exercise-Box"]["nbgrader"] == {
        "cell_type": "code",
        "grade": False,
        "grade_id": "exercise-Box",
        "locked": False,
        "schema_version": 3,
        "solution": True,
        "task": False,
    }
    assert "editable" not in metadata["exercise-Box"] and metadata["exercise-Box"]["deletable"] is False
    for id in ("imports", "twin-Add", "supplied-Box-wrap"):
        assert [metadata[id]["nbgrader"][flag] for flag in FLAGS] == [False, id, True, False]
        assert (metadata[id]["deletable"], metadata[id]["editable"]) == (False, False)
    assert [metadata["check-Box"]["nbgrader"][flag] for flag in FLAGS] == [True, "check-Box", True, False]
    assert metadata["check-Box"]["nbgrader"]["points"] == 2
    assert metadata["check-Box-negative"]["nbgrader"]["points"] == 1
    assert metadata["cell-1"] == metadata["cell-2"] == {}
    assert metadata["cell-8"] == {"tags": ["figure"]}


def test_the_file_is_laid_out_as_jupyter_writes_it(toy: Lesson) -> None:
    text = release.notebook_text(toy)
    assert text == nbformat.writes(nbformat.from_dict(release.notebook(toy))) + "\n"


def test_the_source_for_nbgrader_keeps_the_solutions(toy: Lesson) -> None:
    text = release.notebook_text(toy, solutions=True)
    assert "return a - b" in text and "Box(-1)" in text
    assert "deletable" not in text and "cell_type" not in json.dumps([c["metadata"] for c in json.loads(text)["cells"]])


def test_a_percent_file_carries_marks_and_no_solutions(toy: Lesson) -> None:
    cells = percent.read(release.percent_text(toy))
    assert [cell.id for cell in cells] == [cell.id for cell in toy.cells()]
    assert [cell.source for cell in cells] == [cell.source for cell in release.student_cells(toy)]
    assert percent.read(release.percent_text(toy, solutions=True))[3].source == toy.cells()[3].source


def words_of(notebook: dict[str, Any]) -> str:
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


def test_no_solution_and_no_hidden_check_is_in_the_students_files(toy: Lesson) -> None:
    for text in (words_of(release.notebook(toy)), release.percent_text(toy)):
        for secret in ("BEGIN", "END", "self.value = value", "return 2 * self.value", "a - b", "negative()", "Box(-1)"):
            assert secret not in text
