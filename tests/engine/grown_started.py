"""What the tests of growths share: the program grown_of.py started, waited for and ended, and what a run leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tinytorch
from tinytorch import Run

PROGRAM = Path(__file__).with_name("grown_of.py")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(tinytorch.__file__).parent.parent)}
LONG = "TITO_LONG" in os.environ
KILLS = int(os.environ.get("TITO_KILL_POINTS", "20")) // 5


def without_seconds(run: Run) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in run.rows]


def log(run: Run) -> str:
    return (run.folder / "train.log").read_text(encoding="utf-8")


def stop_after(step: int, done: int = 1) -> Callable[..., bool]:
    """A callback that wishes to stop within the family of this step."""
    return lambda trainer, row: row["step"] == step - 1 and row["done"] >= done


def start(run_dir: Path, *words: Any) -> subprocess.Popen[str]:
    """The program, in a process group of its own."""
    command = [sys.executable, "-W", "error", PROGRAM, run_dir, *map(str, words)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **pipes)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def end_of(run_dir: Path, *words: Any) -> str:
    """The digest at the end of a process that goes on."""
    out, talk = start(run_dir, "--resume", *words).communicate(timeout=60)
    assert talk == ""
    return out.strip()


def wait_for(run_dir: Path, pattern: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not list(run_dir.glob(pattern)):
        assert time.monotonic() < end, f"{pattern} did not appear"
        time.sleep(0.002)
