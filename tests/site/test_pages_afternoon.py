"""What the course taught at build shows is what its page says of it. Wants the built site, whose results are kept."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages import afternoon  # noqa: E402
from pages.results import Results  # noqa: E402
from pages.site import Site  # noqa: E402
from pages.tree import Tree  # noqa: E402

LESSON = Course.load(ROOT).lesson("01")
OF_ONE_BUILD = re.compile(r"/(tmp|home|root|work|var)\b|\b\d+\.\d s\b")  # what another build would say otherwise


def worth(*exercises: str) -> float:
    """All points, else those of these exercises."""
    checks = [cell for cell in LESSON.cells() if cell.role == "check"]
    return sum(cell.points for cell in checks if not exercises or cell.name.split()[0] in exercises)


@pytest.fixture(scope="module")
def taught(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All that was said and written."""
    course, tree = Course.load(ROOT), Tree(tmp_path_factory.mktemp("tree"))
    return afternoon.taught(Site(course, course, built, tree, Results(ROOT / "build" / "site-cache"), False))


@pytest.fixture(scope="module")
def marks(taught: Any) -> dict[str, str]:
    """By student, as in the file for Canvas."""
    rows = csv.DictReader(taught["files"]["canvas"].splitlines())
    return {row["SIS Login ID"]: row["01_tensor"] for row in rows}


def test_every_step_ran(taught: Any) -> None:
    assert list(taught["steps"]) == [step.name for step in afternoon.STEPS]


def test_nothing_in_it_is_of_one_build_alone(taught: Any) -> None:
    said = [f"{step['command']}\n{step['said']}" for step in taught["steps"].values()]
    assert not [text for text in (*said, *taught["files"].values()) if OF_ONE_BUILD.search(text)]


def test_marks_are_those_that_the_page_tells_of(marks: dict[str, str]) -> None:
    assert marks["ana"] == marks["fay"] == f"{worth():g}"
    assert marks["cleo"] == f"{worth() - worth('matmul'):g}"
    assert marks["dina"] == f"{0.8 * worth():g}"
    assert marks["emil"] == f"{worth() - worth('max'):g}"
    assert marks["gus"] == marks["hana"] == ""


def test_the_sample_pages_name_the_mistake_and_show_no_solution(taught: Any) -> None:
    page, report = taught["files"]["feedback"], taught["files"]["report"]
    assert afternoon.MISTAKE in page and afternoon.MISTAKE in report
    assert "BEGIN SOLUTION" not in page + report
