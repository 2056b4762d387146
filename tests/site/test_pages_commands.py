"""Every command on a built page exists, also on generated ones: what steps printed, the reference, docstrings."""

from __future__ import annotations

import sys
from pathlib import Path

from built import pages

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages.command_check import in_html, troubles  # noqa: E402


def test_commands_of_built_pages_exist(built: Path) -> None:
    found = {page: [*in_html((built / page).read_text(encoding="utf-8"))] for page in pages()}
    assert sum(map(len, found.values())) > 100
    wrong = [f"{page}: {text}" for page, shown in found.items() for text in troubles(shown)]
    assert not wrong, "\n".join(wrong)
