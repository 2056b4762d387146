"""The built site in a browser. What needs it (`make site` first) runs when it is named: make site-test.

Everything else in this folder tests the makers of pages, and runs with all other tests.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from chrome import Chrome
    from served import Server

ROOT = Path(__file__).resolve().parents[2]
NAMED = ("test_pages_", "test_drive", "test_class_edition", "test_node")
NOT_OURS = ("lite", "_static")  # JupyterLite's own pages, and templates of the theme


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what needs the built site unless it is named."""
    named = {Path(word.split("::")[0]).name for word in config.args}
    return collection_path.name.startswith(NAMED) and collection_path.name not in named or None


def site_folder() -> Path:
    """The site that is tested: build/site, or the folder that TINYTORCH_SITE names."""
    folder = Path(os.environ.get("TINYTORCH_SITE", ROOT / "build" / "site"))
    if not (folder / "index.html").is_file():
        raise pytest.UsageError(f"{folder} holds no site; build it with: make site")
    return folder


def pages() -> list[str]:
    """Every page of ours, as its address below the site."""
    folder = site_folder()
    found = (path.relative_to(folder) for path in folder.rglob("*.html"))
    return sorted(path.as_posix() for path in found if path.parts[0] not in NOT_OURS)


@pytest.fixture(scope="session")
def built() -> Path:
    return site_folder()


@pytest.fixture(scope="session")
def server(built: Path) -> Iterator[Server]:
    from served import Server

    with Server(built) as server:
        yield server


@pytest.fixture(scope="session")
def chrome() -> Iterator[Chrome]:
    from chrome import Chrome
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chrome = Chrome(playwright)
        yield chrome
        chrome.browser.close()
