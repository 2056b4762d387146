"""The benchmark runs, all its peers compute the same, and the results that are kept are whole."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course
from tito.dev.export import reference

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS, RESULTS = ROOT / "benchmarks", ROOT / "benchmarks" / "results.json"
STEPS = {"W1", "W2", "W3", "W4", "W6", "W7/W2", "W7/W3", "W8"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / arguments[0]), *arguments[1:]]
    env = {**os.environ, "PYTHONUTF8": "1"}
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, env=env)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """What two rounds print, and what they write."""
    reference(Course.find())
    file = tmp_path_factory.mktemp("bench") / "results.json"
    done = run("run.py", "--smoke", "--out", str(file))
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def require_whole(results: dict[str, Any]) -> None:
    """A date, the kernel, and of each workload a time of each peer with quartiles around it."""
    datetime.date.fromisoformat(results["date"])
    assert results["kernel"] and results["cores"] >= 1 and results["versions"]["numpy"]
    for works in results["threads"].values():
        assert set(works) == STEPS
        for peer in (peer for found in works.values() for peer in found.values()):
            for median, low, high in peer.values():
                assert 0 < low <= median <= high
    assert results["W9"]["accuracy"] > 0.9 and results["W9"]["cpu"][0] > 0
    assert set(results["memory"]) == (set() if results["system"] == "Windows" else {"W3", "W4"})


def test_smoke(smoke: tuple[str, dict[str, Any]]) -> None:
    printed, results = smoke
    require_whole(results)
    assert {"by hand", "tuned", "ours"} <= set(results["threads"]["1"]["W3"])
    assert "bytes" in results["W5"]["ours"]["chain of 10,000"]
    assert max(map(len, printed.splitlines())) <= 100


def test_the_first_peer_is_the_measure(smoke: tuple[str, dict[str, Any]]) -> None:
    for found in smoke[1]["threads"]["1"].values():
        assert next(iter(found.values()))["wall_ratio"] == [1, 1, 1]


def test_a_peer_that_computes_something_else_stops_the_run(tmp_path: Path) -> None:
    """A copy of the peers, in which one forgets half of a gradient."""
    for name in ("workloads.py", "blocks.py", "peers/__init__.py", "peers/by_hand.py", "peers/tuned.py"):
        copy = tmp_path / "benchmarks" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((BENCHMARKS / name).read_text(encoding="utf-8"), encoding="utf-8")
    tuned = tmp_path / "benchmarks" / "peers" / "tuned.py"
    text = tuned.read_text(encoding="utf-8")
    assert text.count("np.multiply(error, slope2, out=error)") == 1
    tuned.write_text(text.replace("np.multiply(error, slope2, out=error)", ""), encoding="utf-8")
    job = json.dumps({"works": ["W1"], "rounds": 1, "modules": ["by_hand", "tuned"]})
    done = run(str(tmp_path / "benchmarks" / "blocks.py"), job)
    assert done.returncode and "W1, tuned: the losses are" in done.stderr


def test_kept_results(kept: dict[str, Any]) -> None:
    require_whole(kept)
    assert set(kept["threads"]) == {"1", "2"}
    assert kept["rounds"] >= 15
    peers = {"by hand", "tuned", "ours", "torch", "torch, fused", "jax, jit", "autograd", "tinygrad, jit"}
    assert peers <= set(kept["threads"]["1"]["W2"]) and "micrograd" in kept["threads"]["1"]["W1"]
    assert {"by hand", "ours", "torch"} <= {peer for peer, runs in kept["W5"].items() if "chain of 1,000,000" in runs}


def test_kept_results_name_no_host_and_no_path() -> None:
    text = RESULTS.read_text(encoding="utf-8")
    assert str(ROOT) not in text and "/home" not in text and "/usr" not in text
    assert not platform.node() or f'"{platform.node()}"' not in text


def test_the_growing_network_is_as_good_as_torchsonn_and_faster() -> None:
    """In the kept run of make bench-growing: R2 within 0.01 of theirs or better, each fit at least 50 times faster."""
    found = json.loads((BENCHMARKS / "growing.json").read_text(encoding="utf-8"))
    assert found["versions"]["torchsonn"] == "0.1.7" and len(found["sets"]) == 4
    for row in found["sets"]:
        for side in ("ours", "theirs", "hasty"):
            assert row["r2"][side] == pytest.approx(sum(run[side]["r2"] for run in row["runs"]) / len(row["runs"]))
            assert row["r2"]["ours"] >= row["r2"][side] - 0.01
        for way in ("theirs", "hasty"):
            assert min(run[way]["seconds"] / run["ours"]["seconds"] for run in row["runs"]) >= 50
