"""m3 by `mpirun`, in a learner's workspace: all ranks train, the first prints and is remembered. TITO_LONG: 4 too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tito import package
from tito.course import Course
from tito.dev.export import fold_input
from tito.workspace import Workspace

MPIRUN = Path(sys.executable).with_name("mpirun")
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "10"}
RANKS = [2, 4] if "TITO_LONG" in os.environ else [2]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """All lessons solved and exported."""
    made, lessons = Workspace.create(tmp_path / "ws"), Course.find().lessons
    with made.locked(), package.staging(made) as staged:
        package.build(staged, [fold_input(lesson) for lesson in lessons])
        package.commit(made, staged, {made.snapshot(lesson).name: "" for lesson in lessons})
    return made.root


@pytest.mark.parametrize("ranks", RANKS)
def test_m3_is_trained_by_all_ranks_and_told_once(workspace: Path, ranks: int) -> None:
    command = [MPIRUN, "-n", str(ranks), sys.executable, "-m", "tito", "milestone", "m3"]
    options = {"cwd": workspace, "env": ENVIRONMENT, "stdout": subprocess.PIPE, "encoding": "utf-8", "timeout": 600}
    done = subprocess.run(command, check=False, **options)  # the ranks end when their mpirun is killed
    assert done.returncode == 0, done.stdout
    assert [done.stdout.count(words) for words in ("m3 MLP 1986", "Passed in", "Pictures:")] == [1, 1, 1]
    progress = json.loads((workspace / ".tito" / "progress.json").read_text(encoding="utf-8"))
    assert progress["milestones"] == {"m3": True}
