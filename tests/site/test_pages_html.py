"""Valid HTML by vnu, the checker of the W3C. What is filtered is the theme's, by its words, with a reason."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from built import pages

VNU = Path(__file__).parent / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
THEIRS: dict[str, str] = {}  # pattern of a message: why it can't be mended here


def complaints(files: list[Path]) -> list[str]:
    """What vnu counts as an error: file, line, words."""
    command = ["java", "-jar", str(VNU), "--errors-only", "--format", "json", "--stdout", "--exit-zero-always"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["messages"]
    return [f"{Path(m['url']).name}:{m.get('lastLine', 0)}: {m['message']}" for m in found]


def test_every_page_is_valid(built: Path) -> None:
    found = complaints([built / page for page in pages()])
    ours = [line for line in found if not any(re.search(pattern, line) for pattern in THEIRS)]
    if ours:
        pytest.fail("\n".join(ours), pytrace=False)


def test_an_invalid_page_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><html lang=en><title>x</title><p><div></p>", encoding="utf-8")
    assert complaints([page])
