"""Several processes train one model: real ones, started by mpirun, which also die, are told to stop and go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ranks_of
import tinytorch
from runs_of import ACCUMULATION, EPOCHS, build
from tinytorch import Run, parallel

from tito import package
from tito.course import Course
from tito.dev.export import fold_input
from tito.workspace import Workspace

HERE = Path(__file__).resolve().parent
MPIRUN = Path(sys.executable).with_name("mpirun")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(tinytorch.__file__).parent.parent),
    "OPENBLAS_NUM_THREADS": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",  # see benchmarks/scaling.py: without it four ranks on two cores wait and wait
}
STEPS = 2 * EPOCHS


@contextmanager
def started(ranks: int, *words: Any, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """mpirun with a process group of its own, of which nothing is left at the end: ranks end when their mpirun does."""
    command = [MPIRUN, "-n", str(ranks), sys.executable, "-W", "error", *map(str, words)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **pipes, **more)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run(ranks: int, *words: Any, seconds: float = 60.0, **more: Any) -> subprocess.CompletedProcess[str]:
    """Start, and wait for the end; TimeoutExpired when it does not come."""
    with started(ranks, *words, **more) as process:
        out, err = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def ranks(number: int, *words: Any, seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Start ranks_of.py."""
    return run(number, HERE / "ranks_of.py", *words, seconds=seconds)


# What they compute


@pytest.fixture(scope="module", params=[1, 2, 4])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, Any]]]:
    """By rank, then by repetition: what each case gave. Of two ranks, two starts."""
    told: list[list[dict[str, Any]]] = [[] for _ in range(request.param)]
    for _ in range(2 if request.param == 2 else 1):
        folder = tmp_path_factory.mktemp("ranks")
        done = ranks(request.param, "cases", folder)
        assert (done.returncode, done.stderr) == (0, "")
        for rank, cases in enumerate(told):
            cases += json.loads((folder / f"{rank}.json").read_text(encoding="utf-8"))
    return told


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """What each case gives in this process, which knows of no others."""
    return {name: case(None) for name, case in ranks_of.ALIKE.items()}


@pytest.mark.parametrize("name", ranks_of.ALIKE)
def test_ranks_agree_with_one_process(found: list[list[dict[str, Any]]], alone: dict[str, Any], name: str) -> None:
    got, want = found[0][0][name], alone[name]
    assert got.keys() == want.keys()
    for key in got.keys() - {"state", "weights", "history"}:
        assert got[key] == want[key], key
    for part in ("weights", "history"):
        for key, values in want[part].items():
            np.testing.assert_allclose(numbers(got[part][key]), numbers(values), rtol=0, atol=1e-5, err_msg=key)


def numbers(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize("name", [*ranks_of.ALIKE, *ranks_of.OWN])
def test_all_ranks_end_alike_to_the_bit_each_time(found: list[list[dict[str, Any]]], name: str) -> None:
    ends = [json.dumps(cases[name]) for rank in found for cases in rank]
    assert len(ends) >= 2 and len(set(ends)) == 1


def test_sums_are_taken_in_rank_order(found: list[list[dict[str, Any]]]) -> None:
    want = {1: 1e16, 2: 1e16 + 1, 4: ((1e16 + 1) - 1e16) + 1}[len(found)]
    sums = found[0][0]["summed"]
    assert [len(numbers) for numbers in sums] == [1, 2, 3, 4, 5, 100]
    assert {value for numbers in sums for value in numbers} == {want}


def test_cases_end_where_they_are_meant_to(alone: dict[str, Any]) -> None:
    """Else they would agree for nothing."""
    epochs = {name: len(alone[name]["history"]["train_loss"]) for name in alone}
    assert (epochs["stopped_early"], epochs["ended_by_a_callback"], epochs["ended_by_a_batch"]) == (4, 2, 0)
    assert [alone[name]["steps"] for name in ("ended_by_a_batch", "ended_by_an_epoch_s_last_batch")] == [4, 6]
    assert epochs["ended_by_the_last_rank_s_callback"] == 2
    assert [bool(count) for count in alone["reached_by_some"]["remembered"]] == [True] * 4 + [False] * 2
    before = np.concatenate([p.data.ravel() for p in ranks_of.network().parameters()])
    for name in alone.keys() - {"stopped_early", "reached_by_some"}:
        after = np.concatenate([np.ravel(values) for values in alone[name]["weights"].values()])
        assert np.abs(after - before).max() > 1e-3, name


def test_no_two_ranks_drop_the_same_units(found: list[list[dict[str, Any]]]) -> None:
    masks = [step for rank in found[0][0]["dropped"]["masks"] for step in rank]
    assert len(masks) == 2 * len(found) and len({json.dumps(mask) for mask in masks}) == len(masks)
    assert all(len(mask) == 16 // len(found) for mask in masks)
    assert 0.35 < np.concatenate(masks).mean() < 0.65


def test_stopped_and_gone_on_with_they_end_with_the_same_bits(found: list[list[dict[str, Any]]]) -> None:
    told = found[0][0]["gone_on"]
    assert told["stops"] == [2, 3, 5, 8]  # within an epoch of three steps, and behind it
    assert told["states"] == [told["state"]] * 4


# The run they leave


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a run of two ranks that was never stopped, and the state at its end."""
    run_dir = tmp_path_factory.mktemp("straight")
    done = ranks(2, "run", run_dir)
    return run_dir, ends_of(done)


def ends_of(done: subprocess.CompletedProcess[str]) -> str:
    """The state at the end, which must be that of both ranks."""
    assert done.returncode == 0, done.stderr
    ends = [line.split() for line in done.stdout.splitlines() if line.startswith("state")]
    assert len(ends) == 2 and ends[0] == ends[1] and ends[0][1] == str(STEPS)
    return ends[0][2]


def test_the_first_rank_keeps_the_run(straight: tuple[Path, str]) -> None:
    [run] = Run.all(straight[0])
    assert run.config["ranks"] == 2
    assert [row["step"] for row in run.rows if row["kind"] == "step"] == list(range(1, STEPS + 1))
    assert [row["epoch"] for row in run.rows if row["kind"] == "epoch"] == list(range(1, EPOCHS + 1))
    assert (run.folder / "train.log").read_text(encoding="utf-8").count("train_loss") == EPOCHS


def test_a_run_goes_on_only_on_as_many_ranks(straight: tuple[Path, str]) -> None:
    trainer, *data = build()
    with pytest.raises(ValueError, match="ranks: 2 then, 1 now"):
        trainer.fit(*data, epochs=EPOCHS, run_dir=straight[0], resume=True, accumulation_steps=ACCUMULATION, quiet=True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, signal.SIGINT)])
def test_a_signal_to_mpirun_ends_all_at_a_step_with_a_checkpoint(
    tmp_path: Path, straight: tuple[Path, str], number: signal.Signals, code: int
) -> None:
    with started(2, HERE / "ranks_of.py", "run", tmp_path, "--slow") as process:
        wait_for(tmp_path, "*/metrics.jsonl")
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == code and "state" not in out, err
    [run] = Run.all(tmp_path)
    [*_, (step, _)] = run.step_files()
    assert 0 < step < STEPS and step == max(row["step"] for row in run.rows)
    assert ends_of(ranks(2, "run", tmp_path, "--resume")) == straight[1]
    assert len(Run.all(tmp_path)) == 1


def wait_for(folder: Path, pattern: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not list(folder.glob(pattern)):
        assert time.monotonic() < end, f"{pattern} did not appear"
        time.sleep(0.005)


# One that fails ends the others


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("raises", "RuntimeError: batch 4: rank 1 gives up"),
        ("leaves", "SystemExit: rank 1 leaves"),
        ("nan", "ValueError: batch 1: the loss is nan"),
        ("weightless", "ValueError: batch 2: the window has weight 0"),
    ],
)
def test_one_that_fails_ends_the_others(kind: str, said: str) -> None:
    done = ranks(2, "fails", kind, seconds=20)
    assert done.returncode != 0
    assert said in done.stderr, done


def test_a_rank_waits_with_its_end_until_its_last_words_are_read() -> None:
    """mpirun ends a rank at its Abort, and with it what lies in the pipe between them."""
    reads, writes = os.pipe()
    with open(reads, "rb") as reader, open(writes, "w", encoding="utf-8") as stream:
        print("last words", file=stream, flush=True)
        start = time.monotonic()
        later = threading.Timer(0.3, reader.readline)
        later.start()
        parallel._wait_until_read(stream)
        assert time.monotonic() - start >= 0.3
        later.join()


def test_one_that_is_killed_ends_the_others() -> None:
    """It can say nothing itself; MPICH's mpirun does, on stdout."""
    done = ranks(2, "fails", "killed", seconds=20)
    assert done.returncode != 0 and "Killed (signal 9)" in done.stdout + done.stderr, done


def test_what_the_first_refuses_ends_the_others(tmp_path: Path) -> None:
    trainer, *data = build()
    trainer.fit(*data, epochs=1, run_dir=tmp_path, accumulation_steps=ACCUMULATION, quiet=True)
    done = ranks(2, "run", tmp_path, "--resume", seconds=20)
    assert done.returncode != 0 and "ValueError: run" in done.stderr and "ranks: 1 then, 2 now" in done.stderr


# A milestone


def test_a_milestone_of_two_ranks_prints_once_and_is_remembered_once(tmp_path: Path) -> None:
    """m2, which is short; m3, which trains by all ranks, is in tests/long."""
    done = run(2, "-m", "tito", "milestone", "m2", cwd=solved_workspace(tmp_path, "m2"))
    assert done.returncode == 0, done.stderr
    assert [done.stdout.count(words) for words in ("m2 XOR 1969", "Passed in", "Pictures:")] == [1, 1, 1]
    progress = json.loads((tmp_path / ".tito" / "progress.json").read_text(encoding="utf-8"))
    assert progress["milestones"] == {"m2": True}


def solved_workspace(folder: Path, milestone: str) -> Path:
    """A learner's workspace with all lessons that the milestone needs, solved and exported."""
    course, workspace = Course.find(), Workspace.create(folder)
    lessons = course.needs_of(course.milestone(milestone))
    with workspace.locked(), package.staging(workspace) as staged:
        package.build(staged, [fold_input(lesson) for lesson in lessons])
        package.commit(workspace, staged, {workspace.snapshot(lesson).name: "" for lesson in lessons})
    return folder
