"""The student's notebook against the real nbgrader: cell by cell what `nbgrader generate_assignment` makes.

Needs the extra [instructor] (Python 3.11 and later).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import PyFileConfigLoader

import tito
from tito import release
from tito.course import Course, Lesson

MakeLesson = Callable[..., Lesson]

LESSONS = {lesson.stem: lesson for lesson in Course.find().everything if lesson.source.is_file()}
CONFIG = Path(tito.__file__).parent / "teach"
BY_HAND = "03_by_hand"  # a lesson whose questions for reflection are graded
ASSIGNMENTS = [*LESSONS, "01_toy", BY_HAND]


@pytest.fixture(scope="module")
def lessons(make_lesson: MakeLesson, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lesson]:
    toy = make_lesson(tmp_path_factory.mktemp("toy"))
    return {**LESSONS, "01_toy": toy, BY_HAND: replace(LESSONS["03_layers"], question_points=2)}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, lessons: dict[str, Lesson]) -> Iterator[Path]:
    """A course folder in which nbgrader released every lesson."""
    root = tmp_path_factory.mktemp("course")
    config = PyFileConfigLoader("nbgrader_config.py", str(CONFIG)).load_config()
    config.CourseDirectory.root = str(root)
    with pytest.MonkeyPatch.context() as patch:
        # nbgrader calls the program alembic, which lies beside this Python
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        api = NbGraderAPI(config=config)
        for stem, lesson in lessons.items():
            source = root / "source" / stem / f"{stem}.ipynb"
            source.parent.mkdir(parents=True)
            source.write_text(release.notebook_text(lesson, solutions=True), encoding="utf-8")
            made = api.generate_assignment(stem)
            assert made["success"], made["log"]
        yield root


def without_checksum(cell: dict[str, Any]) -> dict[str, Any]:
    cell["metadata"].get("nbgrader", {}).pop("checksum", None)
    return cell


@pytest.mark.parametrize("stem", ASSIGNMENTS)
def test_the_notebook_is_what_nbgrader_makes_of_it(course: Path, lessons: dict[str, Lesson], stem: str) -> None:
    text = (course / "release" / stem / f"{stem}.ipynb").read_text(encoding="utf-8")
    theirs, ours = json.loads(text), release.notebook(lessons[stem])
    for cell, made in zip(ours["cells"], theirs["cells"], strict=True):
        assert cell == without_checksum(made)
    assert {**ours, "cells": []} == {**theirs, "cells": []}


@pytest.mark.parametrize("stem", ASSIGNMENTS)
def test_the_gradebook_holds_the_points(course: Path, lessons: dict[str, Lesson], stem: str) -> None:
    points = {cell.id: cell.points for cell in lessons[stem].cells() if cell.role in ("check", "answer")}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "tinytorch") as gradebook:
        cells = gradebook.find_notebook(stem, stem).grade_cells
        assert {cell.name: cell.max_score for cell in cells} == points


def test_answers_to_questions_are_graded_by_hand(course: Path, lessons: dict[str, Lesson]) -> None:
    cells = release.notebook(lessons[BY_HAND])["cells"]
    answers = [cell for cell in cells if cell["id"].startswith("answer-")]
    asked = [cell for cell in cells if cell["id"].startswith("question-")]
    folded = LESSONS["03_layers"].source.read_text(encoding="utf-8").count("<details><summary>Answer")
    assert len(answers) == len(asked) == folded >= 3
    assert all(cell["source"] == ["YOUR ANSWER HERE"] for cell in answers)
    assert all("**Think**" in "".join(cell["source"]) for cell in asked)
    assert "<details>" not in release.notebook_text(lessons[BY_HAND])
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "tinytorch") as gradebook:
        found = gradebook.find_notebook(BY_HAND, BY_HAND)
        by_hand = {cell.name for cell in found.grade_cells} & {cell.name for cell in found.solution_cells}
    assert by_hand == {cell["id"] for cell in answers}


def test_the_configured_stub_is_ours() -> None:
    config = PyFileConfigLoader("nbgrader_config.py", str(CONFIG)).load_config()
    assert config.ClearSolutions.code_stub == {"python": release.STUB}
    assert config.ClearSolutions.text_stub == release.ANSWER
