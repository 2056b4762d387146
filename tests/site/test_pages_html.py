"""Valid HTML by vnu, the checker of the W3C. What is filtered is the theme's, by its words, with a reason."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from built import pages

VNU = Path(__file__).parent / "node_modules" / "vnu-jar" / "build" / "dist" / "vnu.jar"
THEIRS: dict[str, str] = {}  # pattern of a message: why it cannot be mended here; there is none now


def complaints(files: list[Path]) -> list[str]:
    """What vnu counts as an error: file, line, words."""
    command = ["java", "-jar", str(VNU), "--errors-only", "--format", "json", "--stdout", "--exit-zero-always"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)["messages"]
    return [f"{Path(m['url']).name}:{m.get('lastLine', 0)}: {m['message']}" for m in found]


def test_every_page_is_valid_and_an_invalid_one_is_found(built: Path, tmp_path: Path) -> None:
    """In one run, since Java takes seconds to start."""
    planted = tmp_path / "planted.html"
    planted.write_text("<!doctype html><html lang=en><title>x</title><p><div></p>", encoding="utf-8")
    found = complaints([*(built / page for page in pages()), planted])
    ours = [line for line in found if not line.startswith(planted.name) and not any(re.search(t, line) for t in THEIRS)]
    if ours:
        pytest.fail("\n".join(ours), pytrace=False)
    assert len(found) > len(ours), "the planted fault was not found"
