"""The workflow that publishes the site: what it calls exists, what it uses is pinned, it may do what it must."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages.command_check import Shown, troubles  # noqa: E402

WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "site.yml").read_text(encoding="utf-8"))
STEPS = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_its_commands_exist_and_build_before_they_publish() -> None:
    run = [step["run"] for step in STEPS if "run" in step]
    assert run == ["make site", "make site-test"] and WORKFLOW["jobs"]["publish"]["needs"] == "build"
    assert not troubles(Shown(command, whole=True) for command in run)


def test_it_publishes_what_the_build_writes() -> None:
    (published,) = (step["with"]["path"] for step in STEPS if "upload-pages" in step.get("uses", ""))
    text = (ROOT / "site" / "build.py").read_text(encoding="utf-8")
    assert published == "build/site" and '"site-class" if chosen.class_edition else "site"' in text


def test_actions_are_pinned_to_a_major_version() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used and not [name for name in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", name)]


def test_only_the_job_that_publishes_may_write() -> None:
    rights = {name: job["permissions"] for name, job in WORKFLOW["jobs"].items()}
    assert rights == {"build": {"contents": "read"}, "publish": {"pages": "write", "id-token": "write"}}
