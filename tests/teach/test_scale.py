"""What the page about scale says is what was measured; and small versions of the measurements, with their bounds."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import grading  # noqa: E402
import grading_page  # noqa: E402

LONG = bool(os.environ.get("TITO_LONG"))
FIGURES: dict[str, Any] = json.loads((ROOT / "benchmarks" / "grading.json").read_text(encoding="utf-8"))


def test_the_page_says_what_was_measured() -> None:
    page = grading_page.PAGE.read_text(encoding="utf-8")
    assert {name for _, name, _ in grading_page.MARK.findall(page)} == set(grading_page.PARTS)
    assert grading_page.filled(page, FIGURES) == page


def test_a_figure_that_changed_changes_the_page() -> None:
    page = grading_page.PAGE.read_text(encoding="utf-8")
    for name in FIGURES:
        other = json.loads(json.dumps(FIGURES))
        other[name]["about"]["load"] = [77.7, 88.8]
        assert "77.7, 88.8" in grading_page.filled(page, other)


def test_every_lesson_is_in_the_table() -> None:
    assert list(FIGURES["lessons"]["found"]) == [lesson.stem for lesson in grading.Course.find().lessons]


def test_sixty_submissions_a_second_by_processor_time() -> None:
    """Of two cores; wall time would say how busy the machine is."""
    found = grading.rate(1000 if LONG else 60)
    assert found["submissions"] == (1000 if LONG else 60)
    assert grading.CORES / found["cpu_each"] > (60 if LONG else 40), found


def test_memory_is_flat() -> None:
    """Between the first hundred and the last: at most 2 % or 4 MB more, for each kind of process."""
    with grading.toys() as course:
        many, step = (10_000, 1000) if LONG else (300, 100)
        works = grading.overhead.works(course.lesson("01"), many)
        rows = grading.command(course, course.lesson("01"), works, many, step)["rows"]
    settled = [row for row in rows if row["done"] >= 100]
    assert settled[-1]["done"] >= many - 100
    for part in ("command", "workers", "zygotes"):
        assert settled[-1][part] <= max(1.02 * settled[0][part], settled[0][part] + 4), (part, settled)


@pytest.mark.parametrize("kind", ["command", "workers", "zygotes"])
def test_memory_was_flat_over_ten_thousand(kind: str) -> None:
    rows = FIGURES["memory"]["found"]["rows"]
    assert rows[-1]["done"] >= 9_000 and FIGURES["memory"]["found"]["submissions"] == 10_000
    sizes = [row[kind] for row in rows if row["done"] >= 1_000]
    assert max(sizes) - sizes[0] <= max(4, 0.05 * sizes[0]), sizes
