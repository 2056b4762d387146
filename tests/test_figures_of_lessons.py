"""Figures: a lesson's text names drawings that are there, and a workspace gets them beside the notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course, Lesson

SHOWN = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<path>[^)\s]+)\)")


@pytest.mark.parametrize("lesson", Course.find().lessons, ids=lambda lesson: lesson.stem)
def test_what_a_lesson_shows_is_there_and_described(lesson: Lesson) -> None:
    shown = [match for cell in lesson.cells() if cell.role == "prose" for match in SHOWN.finditer(cell.source)]
    drawn = {f"figures/{path.name}" for path in lesson.figures}
    assert [match["path"] for match in shown if match["path"] not in drawn or not match["alt"].strip()] == []


def test_a_workspace_has_the_figures_of_its_lessons(learner: Any) -> None:
    source = learner.course.root / "modules" / "01_vector" / "figures" / "01_arrow.svg"
    copy: Path = learner.folder / "modules" / "figures" / "01_arrow.svg"
    assert copy.read_bytes() == source.read_bytes()
    copy.unlink()
    learner.tito("open 01 --no-launch")
    assert copy.exists()
    copy.write_text("mine", encoding="utf-8")
    learner.tito("open 01 --no-launch")
    assert copy.read_text(encoding="utf-8") == "mine"
