"""The two commands of the README's first screen, in a fresh clone of what is committed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SCREEN = 24  # lines


@pytest.fixture(scope="module")
def clone(run: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "clone"
    run("git", "clone", "--quiet", ROOT, folder, at=folder.parent)
    return folder


def test_they_stand_on_the_first_screen_and_are_there(clone: Path, run: Callable[..., str]) -> None:
    screen = (clone / "README.md").read_text(encoding="utf-8").splitlines()[:SCREEN]
    targets = [found[1] for line in screen if (found := re.match(r"make (\S+)", line))]
    assert targets == ["demo", "test"]
    for target in targets:
        assert "tito" in run("make", "--dry-run", target, at=clone)


def test_the_demo_needs_no_more_than_python_and_make(clone: Path, run: Callable[..., str]) -> None:
    said = run("make", "demo", f"PYTHON={sys.executable}", at=clone)
    assert said.count("Passed in") == 3
    again = run("make", "demo", f"PYTHON={sys.executable}", at=clone)
    assert "pip" not in again
    assert run("git", "status", "--porcelain", at=clone) == ""
