"""The built site in a browser. What needs it (`make site` first) runs when it is named: make site-test.

Everything else in this folder tests the makers of pages, and runs with all other tests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from chrome import Chrome
    from served import Server

NAMED = ("test_pages_", "test_drive", "test_class_edition", "test_node")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what needs the built site unless it is named."""
    named = {Path(word.split("::")[0]).name for word in config.args}
    return collection_path.name.startswith(NAMED) and collection_path.name not in named or None


@pytest.fixture(scope="session")
def built() -> Path:
    from built import site

    return site()


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
