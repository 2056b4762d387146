"""Who fits the candidates of a layer: one process, several, a Dask cluster, MPI's ranks. Supplied with lesson e1.

Trace it, don't write it: begin at `spread`, which makes the `map` that `fit_family` calls. The pairs of a layer come in
parts; whoever fits a part holds the layer's rows and fits every candidate by itself, on one BLAS thread. So the bits do
not depend on how many do the work, nor on which of them does what. They may depend on the machine: see `exact_threads`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from itertools import chain
from multiprocessing import current_process, get_context, parent_process
from typing import Any

import numpy as np

from tinytorch.grown import Map
from tinytorch.settings import integer

__all__: list[str] = []  # the package hands on none of this

SHARES = 2  # a worker: more would even out their ends, and each is a copy of the rows on its way

Parts = Sequence[np.ndarray]


@contextmanager
def spread(workers: Any) -> Iterator[Map]:
    """A `map(family, parts)` over `workers`, which `require_workers` has let by.

    Processes that it starts end with it, and with this process.
    """
    if workers is None:
        yield map
    elif _is_ranks(workers):
        yield partial(_on_ranks, workers)
    elif hasattr(workers, "scatter"):
        yield partial(_on_dask, workers)
    elif isinstance(workers, Executor):
        yield partial(_on_executor, workers, getattr(workers, "_max_workers", None) or os.cpu_count() or 1)
    else:
        with ProcessPoolExecutor(workers, get_context("spawn"), _begin) as pool:
            try:
                yield partial(_on_executor, pool, workers)
            except BaseException:  # the pool waits for what is being fitted, and nobody else does
                for process in list((pool._processes or {}).values()):
                    process.kill()
                raise


def require_workers(workers: Any) -> None:
    """Raise TypeError or ValueError for what cannot fit candidates, RuntimeError in a worker that is still starting."""
    if workers is None or _is_ranks(workers):
        return
    if getattr(current_process(), "_inheriting", False):  # as multiprocessing asks itself
        wanted = "put its work under `if __name__ == '__main__':`"
        raise RuntimeError(f"GrowthTrainer: a worker runs this script from its first line; {wanted}")
    if isinstance(workers, Executor) or hasattr(workers, "scatter"):
        return
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)):
        wanted = "a number of processes, an Executor, a Dask client or an MPI communicator"
        raise TypeError(f"GrowthTrainer: workers must be {wanted}, got a {type(workers).__name__}")
    integer("GrowthTrainer: workers", workers, least=1)


def communicator(workers: Any) -> Any:
    """The workers where they are MPI's; None for others."""
    return workers if _is_ranks(workers) else None


def _is_ranks(workers: Any) -> bool:
    return hasattr(workers, "Get_rank")


def _shares(parts: Parts, count: int) -> list[Parts]:
    """The parts in order, as `count` runs of them that are alike in number; fewer where there are fewer parts."""
    edges = [len(parts) * share // count for share in range(count + 1)]
    return [parts[start:end] for start, end in zip(edges, edges[1:]) if start < end]


def _fitted(family: Callable[[np.ndarray], Any], parts: Parts) -> list[Any]:
    """What each part gives, on one thread."""
    with one_thread:
        return [family(part) for part in parts]


def _on_executor(executor: Executor, count: int, family: Any, parts: Parts) -> Iterable[Any]:
    """By the workers of an executor."""
    try:
        waiting = [executor.submit(_fitted, family, share) for share in _shares(parts, SHARES * count)]
        yield from _in_order(waiting)
    except BrokenProcessPool as error:
        _unblock(executor)
        why = "it was killed, memory was short, or a script lacks its `if __name__ == '__main__':`"
        raise RuntimeError(f"one of {count} workers ended before its work was done: {why}") from error


def _unblock(executor: Any) -> None:
    """Python 3.10's broken pool waits for ever for its thread that writes work to nobody (CPython, issue 94777)."""
    queue = getattr(executor, "_call_queue", None)
    if queue is not None:
        queue._reader.close()


def _on_dask(client: Any, family: Any, parts: Parts) -> Iterable[Any]:
    """By a Dask cluster, of which every worker is sent the rows once. (Rocklin, SciPy 2015.)"""
    count = max(1, sum(client.nthreads().values()))
    there = client.scatter(family, broadcast=True, hash=False)
    waiting = [client.submit(_fitted, there, share, pure=False) for share in _shares(parts, SHARES * count)]
    yield from _in_order(waiting)


def _in_order(waiting: list[Any]) -> Iterator[Any]:
    """The answers as they come, in the order of the questions; what nobody waits for is called off."""
    try:
        for future in waiting:
            yield from future.result()
    finally:
        for future in waiting:
            future.cancel()


def _on_ranks(comm: Any, family: Any, parts: Parts) -> Iterable[Any]:
    """By MPI's ranks, each of which runs this program and learns what the others found."""
    rank, size = comm.Get_rank(), comm.Get_size()
    mine = parts[len(parts) * rank // size : len(parts) * (rank + 1) // size]
    return chain.from_iterable(comm.allgather(_fitted(family, mine)))


class _OneThread:
    """`with one_thread:` BLAS has one thread; threads of Python may be inside at once, and the last one puts it back."""

    def __init__(self) -> None:
        self.lock, self.inside = threading.Lock(), 0
        self.limits: Any = None

    def __enter__(self) -> None:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        with self.lock:
            self.limits = self.limits or threadpool_limits(limits=1, user_api="blas")
            self.inside += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.limits.restore_original_limits()
                self.limits = None


one_thread = _OneThread()


def _begin() -> None:
    """In a process of ours: Ctrl-C is for who started it, and where that is killed nobody waits for answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
