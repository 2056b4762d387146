"""The same growth by one process, by several, by threads and by ranks; workers that die, scripts that lack a guard."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import pytest
import tinytorch
from grown_of import CASES, blas_threads, digest, grow, network, rows, trainer, tune
from grown_started import LONG, end_of, log, start, stop_after, wait_for, without_seconds
from tinytorch import GMDHConfig, GMDHNetwork, Run, grown_workers
from tinytorch.determinism import exact_threads
from tinytorch.parallel import Ranks

HERE = Path(__file__).resolve().parent
MPIRUN = Path(sys.executable).with_name("mpirun")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(tinytorch.__file__).parent.parent), str(HERE)]),
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",  # see benchmarks/scaling.py: else ranks on few cores wait and wait
}
THREADS = """
import sys, threadpoolctl
from grown_of import CASES, digest, grow
count = max((pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"), default=0)
if __name__ == "__main__":
    print(count, *(digest(grow(case, None, workers=workers).net) for case in CASES for workers in (None, 2)))
"""
UNGUARDED = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from grown_of import grow
print("began", flush=True)
workers = 2 if sys.argv[2] == "2" else ProcessPoolExecutor(2, get_context("spawn"))
grow("network", sys.argv[1], workers=workers)
print("grown", flush=True)
"""
LONG_SHARES = """
import sys, time
from pathlib import Path
from tinytorch.grown_workers import spread
from tinytorch.interrupts import Interrupts

def family(part):
    (Path(sys.argv[1]) / f"{part}.begun").touch()
    time.sleep(30)

if __name__ == "__main__":
    with spread(2) as fit_map, Interrupts():
        list(fit_map(family, [1, 2, 3, 4]))
"""


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    """By case, the digest of what this process grows; combined and weighed too."""
    found = {case: digest(grow(case, None).net) for case in CASES}
    return {**found, "weighed": digest(weighed(None)), "combined": digest(combined(None))}


def weighed(workers: Any) -> Any:
    return grow("three", None, workers=workers, class_weights="balanced").net


def combined(workers: Any) -> Any:
    train, dev, val = rows("network")
    made = trainer(None, workers)
    made.train(network("network", criterion="combined", alpha=0.7), train, dev, val=val)
    return made.net


# The same bits


@contextmanager
def workers_of(kind: str) -> Iterator[Any]:
    if kind == "threads":
        with ThreadPoolExecutor(3) as pool:
            yield pool
    elif kind == "own processes":
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            yield pool
    else:
        yield int(kind)


@pytest.mark.parametrize("kind", ["1", "2", "3", "threads", "own processes"])
def test_the_bits_are_the_same_with_any_workers(alone: dict[str, str], kind: str) -> None:
    with workers_of(kind) as workers:
        found = {"weighed": digest(weighed(workers))}
        cheap = isinstance(workers, Executor)  # its processes are started once
        for case in CASES if cheap or LONG else ("network",):
            found[case] = digest(grow(case, None, workers=workers).net)
        if cheap or LONG or kind == "3":
            found["combined"] = digest(combined(workers))
    assert found == {name: alone[name] for name in found} and alone["weighed"] != alone["three"]


def test_the_workers_fit_the_candidates() -> None:
    """Else they would agree for nothing; and no share of them divides evenly."""
    asked: list[int] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *words: Any, **more: Any) -> Any:
            asked.append(len(words[-1]))
            return super().submit(fn, *words, **more)

    with Counting(2) as pool:
        made = grow("network", None, workers=pool)
    families = [row for row in made.run.rows if row["kind"] == "family"]
    assert len(asked) > 3 * len(families) and len(set(asked)) > 1
    candidates = [row["candidates"] for row in families]
    assert any(count % parts for count in candidates for parts in (2, 3))


@pytest.mark.parametrize("threads", ["1", "2"])
def test_the_threads_of_blas_do_not_matter(alone: dict[str, str], tmp_path: Path, threads: str) -> None:
    script = tmp_path / "threads.py"
    script.write_text(THREADS, encoding="utf-8")
    environment = {**ENVIRONMENT, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    count, *found = done.stdout.split()
    assert count == threads, done.stderr
    assert found == [alone[case] for case in CASES for _ in range(2)]


def test_threads_of_blas_are_as_before_behind_a_growth(alone: dict[str, str]) -> None:
    from threadpoolctl import threadpool_info

    def counts() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    for threads in (1, 2):
        with exact_threads(threads):
            before = counts()
            with ThreadPoolExecutor(2) as pool:
                assert digest(grow("network", None, workers=pool).net) == alone["network"]
            assert counts() == before
    assert grown_workers.one_thread.inside == 0


@pytest.mark.parametrize("kind", ["2", "own processes"])
def test_processes_fit_on_one_thread_of_blas(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Threads do by what `grow` sets in their process: OpenBLAS does not promise them a count of their own."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    with workers_of(kind) as workers, grown_workers.spread(workers) as fit_map:
        assert list(fit_map(blas_threads, [np.zeros((1, 2))] * 5)) == [1] * 5


def test_a_growth_is_on_one_thread_of_blas(alone: dict[str, str]) -> None:
    with exact_threads(2), ThreadPoolExecutor(2) as pool:
        seen = []
        told = partial(pool.submit, blas_threads, None)
        grow("network", None, workers=pool, batch_callback=lambda made, row: seen.append(told().result()))
        assert set(seen) == {1} and blas_threads(None) == 2


def test_one_candidate_a_worker_and_fewer() -> None:
    train, dev, _ = rows("network")
    two = [(x[:, :2], y) for x, y in (train, dev)]
    want = digest(GMDHNetwork(GMDHConfig(max_layers=2)).fit(*two))
    for workers in (None, 3):
        made = trainer(None, workers, names=None)
        made.train(GMDHNetwork(GMDHConfig(max_layers=2)), *two)
        assert digest(made.net) == want


def test_stopped_with_some_workers_and_gone_on_with_others(tmp_path: Path, alone: dict[str, str]) -> None:
    plain = grow("two", tmp_path / "plain")
    grow("two", tmp_path / "run", workers=2, batch_callback=stop_after(2))
    grow("two", tmp_path / "run", resume=True, batch_callback=stop_after(3))
    with ThreadPoolExecutor(3) as pool:
        made = grow("two", tmp_path / "run", resume=True, workers=pool)
    assert digest(made.net) == alone["two"] and without_seconds(made.run) == without_seconds(plain.run)


# Workers that die


def children(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def fitting(process: subprocess.Popen[str], count: int = 2, seconds: float = 20.0) -> list[psutil.Process]:
    """Its worker processes, once there are so many."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(psutil.NoSuchProcess):
            found = [child for child in children(process) if "spawn_main" in " ".join(child.cmdline())]
            if len(found) >= count:
                return found
        time.sleep(0.01)
    raise AssertionError("its workers did not come")


def test_a_worker_that_is_killed_is_told_of_in_a_sentence(tmp_path: Path, alone: dict[str, str]) -> None:
    process = start(tmp_path, "--case", "three", "--slow", 0.05, "--workers", 2)
    wait_for(tmp_path, "*/step_2.ckpt")
    fitting(process)[0].kill()
    _, talk = process.communicate(timeout=20)
    assert process.returncode == 1
    last = talk.strip().splitlines()[-1]
    assert last.startswith("RuntimeError: one of 2 workers ended before its work was done: it was killed"), talk
    [run] = Run.all(tmp_path)
    assert "one of 2 workers ended" in log(run)
    assert end_of(tmp_path, "--case", "three", "--workers", 2) == alone["three"]
    assert len(Run.all(tmp_path)) == 1


def test_killed_with_workers_it_leaves_none_and_ends_with_the_same_bits(tmp_path: Path, alone: dict[str, str]) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10 if LONG else 3):
        process = start(tmp_path, "--resume", "--case", "three", "--slow", 0.003, "--workers", 2)
        with suppress(AssertionError):
            fitting(process, 1, 2.0)
        time.sleep(rng.uniform(0.0, 0.4))
        with suppress(psutil.NoSuchProcess):
            left = children(process)
            process.kill()
            _, alive = psutil.wait_procs(left, timeout=5)
            assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
        process.communicate()
    made = grow("three", tmp_path, resume=True)
    assert digest(made.net) == alone["three"]
    assert not list(made.run.folder.glob("*.tmp"))


@pytest.mark.parametrize("ended", ["killed", "interrupted"])
def test_workers_in_the_midst_of_a_long_share_end_too(tmp_path: Path, ended: str) -> None:
    """With their parent, and at a second Ctrl-C, which does not wait for what they fit."""
    script = tmp_path / "long.py"
    script.write_text(LONG_SHARES, encoding="utf-8")
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, script, tmp_path], env=ENVIRONMENT, **pipes) as process:
        for part in (1, 2):
            wait_for(tmp_path, f"{part}.begun")
        workers = fitting(process)
        if ended == "killed":
            process.kill()
        else:
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
        began = time.monotonic()
        process.wait(timeout=40)
        _, alive = psutil.wait_procs(workers, timeout=5)
        assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
        assert time.monotonic() - began < 8
    assert process.returncode == -(signal.SIGKILL if ended == "killed" else signal.SIGINT)


@pytest.mark.parametrize("kind", ["2", "own"])
def test_a_script_without_a_guard_ends_with_a_sentence(tmp_path: Path, kind: str) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED, encoding="utf-8")
    command = [sys.executable, script, tmp_path / "runs", kind]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=30)
    [last] = [line for line in done.stderr.splitlines() if "Error: one of 2 workers ended" in line]
    assert done.returncode == 1 and "grown" not in done.stdout and done.stdout.count("began") <= 3
    assert last.startswith("RuntimeError: ") and "lacks its `if __name__ == '__main__':`" in last
    assert "GrowthTrainer: a worker runs this script from its first line; put its work under `if" in done.stderr
    assert len(Run.all(tmp_path / "runs")) == 1


# Ranks


def ranks(number: int, *words: Any, seconds: float = 40.0) -> subprocess.CompletedProcess[str]:
    """Start grown_ranks.py in a process group of its own, of which nothing is left at the end."""
    command = [MPIRUN, "-n", str(number), sys.executable, "-W", "error", HERE / "grown_ranks.py", *map(str, words)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    process = subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, **pipes)
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_ranks_grow_what_one_process_does(tmp_path: Path, alone: dict[str, str], number: int) -> None:
    done = ranks(number, "cases", tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.splitlines() == ["head fitted to 400 rows"]
    made = grow("three", None)
    tune(made)
    made.prune()
    made.train_head()
    want = {case: alone[case] for case in (*CASES, "weighed")}
    want |= {"gone on": alone["three"], "tuned": digest(made.net)}
    for rank in range(number):
        assert json.loads((tmp_path / f"{rank}.json").read_text(encoding="utf-8")) == want
    [run] = Run.all(tmp_path / "runs")
    assert len(run.rows) == 27 and not list(run.folder.glob("*.tmp")) and len(Run.all(run.folder / "finetune")) == 1


@pytest.mark.parametrize(
    ("kind", "said", "by"),
    [
        ("other rows", "ValueError: train: the ranks have other rows or settings", 2),
        ("other features", "ValueError: train: the ranks have other rows or settings", 2),
        ("other settings", "ValueError: train: the ranks have other rows or settings", 2),
        ("NaN", "ValueError: train x has NaN or infinity in row 3, column 3", 1),
        ("a callback", "OSError: rank 1 gives up", 1),
    ],
)
def test_ranks_that_differ_end_all(kind: str, said: str, by: int) -> None:
    done = ranks(2, "fails", kind, seconds=20)
    assert done.returncode != 0 and "grown" not in done.stdout
    assert done.stderr.count(said) >= by, done.stderr


def test_an_abort_that_comes_back_hides_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    """MPICH's may, for a moment, before it ends the rank; what follows in the script must not be done."""

    class Comm:
        aborted: ClassVar[list[int]] = []
        Get_rank, Get_size, Abort = lambda self: 1, lambda self: 2, lambda self, code: self.aborted.append(code)

    with pytest.raises(OSError, match="gives up"), Ranks(Comm()).together():
        raise OSError("gives up")
    assert Comm.aborted == [1] and "gives up" in capfd.readouterr().err


def test_a_signal_to_mpirun_ends_all_with_a_checkpoint(tmp_path: Path, alone: dict[str, str]) -> None:
    command = [MPIRUN, "-n", "2", sys.executable, HERE / "grown_ranks.py", "run", tmp_path / "runs"]
    with subprocess.Popen(command, env=ENVIRONMENT, start_new_session=True, stderr=subprocess.PIPE) as process:
        try:
            wait_for(tmp_path, "runs/*/step_2.ckpt")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=20)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + signal.SIGTERM
    [run] = Run.all(tmp_path / "runs")
    assert 2 <= run.step_files()[-1][0] < 18
    done = ranks(2, "run", tmp_path / "runs")
    assert [line.split()[1] for line in done.stdout.splitlines()] == [alone["three"]] * 2, done.stderr
