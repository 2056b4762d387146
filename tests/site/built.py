"""The site as it was built: where it lies, which pages it has, and one page for each kind of page."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = ("lite", "_static")  # JupyterLite's own pages, and templates of the theme
KINDS = {  # pages of one template: the first that matches stands for all
    "home": r"index\.html",
    "start": r"start\.html",
    "lesson": r"lessons/\d\d_\w+\.html",
    "milestone": r"milestones/m\d\w*\.html",
    "module": r"reference/(?!index|cli|pytorch)\w+\.html",
    "commands": r"reference/cli\.html",
    "pytorch": r"reference/pytorch\.html",
    "instructors": r"instructors/\w+\.html",
    "framework": r"framework/\w+\.html",
    "search": r"search\.html",
}


def site() -> Path:
    """The folder that is tested: build/site, or the one that TINYTORCH_SITE names."""
    folder = Path(os.environ.get("TINYTORCH_SITE", ROOT / "build" / "site")).resolve()
    if not (folder / "index.html").is_file():
        raise pytest.UsageError(f"{folder} holds no site; build it with: make site")
    return folder


def pages() -> list[str]:
    """Every page of ours, as its address below the site."""
    found = (path.relative_to(site()) for path in site().rglob("*.html"))
    return sorted(path.as_posix() for path in found if path.parts[0] not in NOT_OURS)


def one_of_each() -> dict[str, str]:
    """For each kind of page the first; a kind that has none is left out, and a test says so."""
    every = pages()
    found = {kind: next((page for page in every if re.fullmatch(form, page)), "") for kind, form in KINDS.items()}
    return {kind: page for kind, page in found.items() if page}
