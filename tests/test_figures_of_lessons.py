"""A workspace gets a lesson's figures beside its notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any


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
