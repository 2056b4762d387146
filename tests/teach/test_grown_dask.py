"""A growth by a Dask cluster of two processes: the bits of one process, going on, a worker that dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course
from tito.dev.export import reference

REFERENCE, HERE = reference(Course.find()), Path(__file__).resolve().parent
sys.path[:0] = [str(REFERENCE), str(HERE.parent / "engine")]

from grown_of import CASES, digest, grow, network, rows, trainer  # noqa: E402
from tinytorch import Run  # noqa: E402


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Of a cluster with two processes, which find the package by PYTHONPATH."""
    from distributed import Client, LocalCluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.pathsep.join(sys.path[:2]))
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster, set_as_default=False) as found:
            found.wait_for_workers(2, timeout=60)
            yield found


@pytest.mark.parametrize("case", [*CASES, "weighed", "combined"])
def test_the_bits_are_those_of_one_process(client: Any, case: str) -> None:
    found = []
    for workers in (None, client):
        if case == "weighed":
            made = grow("three", None, workers=workers, class_weights="balanced")
        elif case == "combined":
            made = trainer(None, workers)
            made.train(network("network", criterion="combined"), *rows("network")[:2])
        else:
            made = grow(case, None, workers=workers)
        found.append((digest(made.net), [row["candidates"] for row in made.run.rows if row["kind"] == "family"]))
    assert found[0] == found[1]


def test_the_cluster_does_the_work(client: Any) -> None:
    def fitted(dask_worker: Any) -> int:
        return sum("fitted" in str(key) for key in dask_worker.state.tasks)

    counts = []
    grow("network", None, workers=client, batch_callback=lambda made, row: counts.append(client.run(fitted)))
    assert len({worker for count in counts for worker, number in count.items() if number}) == 2


def test_it_goes_on_where_it_was_stopped(client: Any, tmp_path: Path) -> None:
    grow("two", tmp_path, workers=client, batch_callback=lambda made, row: row["step"] == 2)
    made = grow("two", tmp_path, resume=True, workers=client)
    assert digest(made.net) == digest(grow("two", None).net) and len(Run.all(tmp_path)) == 1


def test_a_worker_that_is_killed_is_replaced_and_changes_no_bit(client: Any) -> None:
    """Dask gives its work to another, and its nanny starts one anew."""
    killed = []

    def kill(made: Any, row: dict[str, Any]) -> None:
        if row["step"] == 1 and not killed:
            killed.append(next(iter(client.scheduler_info()["workers"])))
            nannies = client.run(os.getpid, workers=killed)
            os.kill(next(iter(nannies.values())), 9)

    made = grow("three", None, workers=client, batch_callback=kill)
    assert killed and digest(made.net) == digest(grow("three", None).net)
    client.wait_for_workers(2, timeout=60)
