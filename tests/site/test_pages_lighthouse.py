"""Lighthouse: accessibility must be 1.0; performance is printed, and 0.9 is what it should be on an idle machine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from built import one_of_each
from chrome import FLAGS, PROGRAM
from served import Server

HERE = Path(__file__).parent
LIGHTHOUSE = HERE / "node_modules" / "lighthouse" / "cli" / "index.js"
ASKED = ("home", "lesson", "milestone")


def scores(url: str) -> dict[str, Any]:
    """What Lighthouse gives a page, as on a desktop, by category; and what it has against its accessibility."""
    flags = " ".join(f"'{flag}'" if " " in flag else flag for flag in ("--headless=new", *FLAGS))
    command = ["node", str(LIGHTHOUSE), url, "--quiet", "--preset=desktop", "--output=json", f"--chrome-flags={flags}"]
    chosen = ["--only-categories=accessibility,performance", "--disable-full-page-screenshot"]
    environment = {**os.environ, "CHROME_PATH": PROGRAM}
    done = subprocess.run([*command, *chosen], capture_output=True, text=True, check=True, env=environment)
    told = json.loads(done.stdout)
    found: dict[str, Any] = {name: category["score"] for name, category in told["categories"].items()}
    rules = [rule["id"] for rule in told["categories"]["accessibility"]["auditRefs"]]
    return {**found, "against": [id for id in rules if told["audits"][id]["score"] == 0]}


@pytest.mark.parametrize("kind", ASKED)
def test_accessibility_is_whole(kind: str, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    page = one_of_each()[kind]
    found = scores(server.url + page)
    with capsys.disabled():
        print(f"\n{page}: accessibility {found['accessibility']}, performance {found['performance']}")
    assert found["accessibility"] == 1, found["against"]
