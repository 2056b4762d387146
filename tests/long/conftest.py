"""What the long tests share: programs run in a folder of their own, with nothing of this environment in theirs.

They need a package index and minutes; `make test-all` runs them, plain `pytest` does not.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

OURS = ("PYTHON", "TINYTORCH", "TITO", "VIRTUAL_ENV", "MAKE", "MFLAGS")

Run = Callable[..., str]


@pytest.fixture(scope="session")
def run() -> Run:
    """Runs a command, which must end with 0; what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}

    def run(*words: str | Path, at: Path) -> str:
        command = list(map(str, words))
        done = subprocess.run(
            command, cwd=at, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
        return done.stdout

    return run
