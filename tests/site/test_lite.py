"""What JupyterLite's notebooks carry beside the lesson, and whose earlier answers their first cell takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tito import release
from tito.course import Course
from tito.inpage import earlier, lite
from tito.inpage.saved import notebook, solutions

COURSE = Course.find()
FIRST = COURSE.lessons[0]


def whose(folder: Path) -> str:
    """Whose answers of the first lesson the notebooks in the folder give."""
    found = dict(lite.saved(COURSE, folder))
    return earlier.whose(FIRST, found[FIRST.id]).whose


def left_in(folder: Path, sources: dict[str, str]) -> Path:
    (folder / f"{FIRST.stem}.ipynb").write_text(notebook(release.student_cells(FIRST), sources), encoding="utf-8")
    return folder


def test_a_notebook_with_stubs_is_not_the_readers(tmp_path: Path) -> None:
    assert whose(left_in(tmp_path, {})) == "ours"


def test_a_notebook_that_is_written_is_the_readers(tmp_path: Path) -> None:
    assert whose(left_in(tmp_path, solutions(FIRST))) == "yours"


def test_of_a_notebook_written_in_part_the_rest_is_ours(tmp_path: Path) -> None:
    assert whose(left_in(tmp_path, dict(list(solutions(FIRST).items())[:2]))) == "both"


def test_a_broken_notebook_says_nothing(tmp_path: Path) -> None:
    (tmp_path / f"{FIRST.stem}.ipynb").write_text("{", encoding="utf-8")
    assert dict(lite.saved(COURSE, tmp_path)) == {}


def test_started_in_the_browser_it_says_whose_and_the_package_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", lite.BROWSER)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TINYTORCH_PACKAGE", "")
    monkeypatch.chdir(left_in(tmp_path, solutions(FIRST)))
    lite.start("02")
    assert capsys.readouterr().out == f"Yours: {FIRST.id} {FIRST.title}.\n"
    assert (Path(sys.path[0]) / "tinytorch" / "tensor.py").is_file()


def test_elsewhere_its_cell_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = list(sys.path)
    lite.start("02")
    assert sys.path == before and not capsys.readouterr().out


def test_a_notebook_in_lite_has_a_first_cell_more_and_nothing_else() -> None:
    sys.path.insert(0, str(COURSE.root / "site"))
    from pages.lite import notebook as of_lite
    from pages.site import Site

    site = Site(COURSE, COURSE, Path(), Path(), Path(), False)  # type: ignore[arg-type]  # the course is asked, no more
    mine, theirs = of_lite(site, FIRST)["cells"], release.notebook(FIRST)["cells"]
    assert [cell["id"] for cell in mine[1:3]] == ["lite-markdown", "lite-code"]
    assert json.dumps([mine[0], *mine[3:]]) == json.dumps(theirs)
