"""Lighthouse: accessibility must be 1.0; performance is printed, and 0.9 is what it should be on an idle machine."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from built import one_of_each
from chrome import FLAGS, PROGRAM
from served import Server

SCRIPT = Path(__file__).parent / "lighthouse.mjs"
ASKED = ("home", "lesson", "milestone")


def test_accessibility_is_whole(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    named = [one_of_each()[kind] for kind in ASKED]
    command = ["node", str(SCRIPT), PROGRAM, json.dumps(FLAGS), *(server.url + page for page in named)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = dict(zip(named, json.loads(done.stdout)))
    with capsys.disabled():
        for page, score in found.items():
            print(f"\n{page}: accessibility {score['accessibility']}, performance {score['performance']}", end="")
    assert {page: score["against"] for page, score in found.items() if score["accessibility"] != 1} == {}
