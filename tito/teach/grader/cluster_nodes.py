"""The processes of a grading cluster: a scheduler, and on each machine its workers. Begin at `scheduler`, `workers`.

They are Dask's own, set so that nothing listens in the clear: no dashboard, no page of metrics, nothing of a submission
spilled to a disk. A worker whose scheduler goes away waits for it to come back; one that dies is started again.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Coroutine
from contextlib import suppress
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from tito.errors import UserError
from tito.teach.grader import cluster_keys

NO_PAGES: dict[str, Any] = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # Dask opens that port in any case
AGAIN_SECONDS = 1.0


def scheduler(address: str, keys: Path | None) -> None:
    """Run a scheduler that listens there, until SIGTERM or SIGINT. Raises UserError."""
    security = cluster_keys.security(address, keys)
    asyncio.run(_until_told(_scheduler(address, security)))


def workers(address: str, keys: Path | None, secret: Path, count: int) -> None:
    """Keep so many workers running, until SIGTERM or SIGINT. Raises UserError."""
    from tito.teach.grader import cluster_worker

    cluster_keys.security(address, keys)
    if not secret.is_file():
        raise UserError(f"{secret} is missing; copy the folder worker/ that this made: tito teach cluster-keys DIR")
    os.environ[cluster_worker.SECRET] = str(secret.resolve())
    signal.signal(signal.SIGTERM, _interrupt)
    with tempfile.TemporaryDirectory(prefix="tito-workers-") as folder:
        Path(folder).chmod(0o711)  # each worker's own files are its own; sealed homes are read under another uid
        _keep_running((address, keys, folder, os.getpid()), count)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _keep_running(about: tuple[str, Path | None, str, int], count: int) -> None:
    context = multiprocessing.get_context("spawn")
    running: list[SpawnProcess] = []
    try:
        while True:
            running = [one for one in running if one.is_alive()]
            fresh = [context.Process(target=_worker, args=about) for _ in range(count - len(running))]
            for one in fresh:
                one.start()
            running += fresh
            wait([one.sentinel for one in running])
            time.sleep(AGAIN_SECONDS)
    except KeyboardInterrupt:
        for one in running:
            one.terminate()
        for one in running:
            one.join()


def _worker(address: str, keys: Path | None, folder: str, parent: int) -> None:
    """The life of a worker process."""
    from tito.teach.grader import cluster_worker
    from tito.teach.sealed import system

    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return
    tempfile.tempdir = folder
    try:
        asyncio.run(_until_told(_work(address, cluster_keys.security(address, keys), folder)))
    finally:
        cluster_worker.close()
        os._exit(0)  # a submission in the middle of its work is not waited for


async def _scheduler(address: str, security: Any) -> None:
    import dask
    from distributed import Scheduler

    protocol, host, port = cluster_keys.split(address)
    logging.getLogger("distributed").setLevel(logging.WARNING)
    dask.config.set({"distributed.scheduler.http.routes": []})
    place: dict[str, Any] = {"protocol": protocol, "host": host, "port": port}
    async with Scheduler(**place, security=security, **NO_PAGES) as running:
        print(f"scheduler at {running.address}", flush=True)
        await running.finished()


async def _work(address: str, security: Any, folder: str) -> None:
    import dask
    from distributed import Worker

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # each end of a scheduler would be ten lines
    dask.config.set({"distributed.worker.http.routes": [], "distributed.worker.profile.enabled": False})
    host = cluster_keys.split(address)[1]
    about: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "local_directory": folder}
    if cluster_keys.is_loopback(host):
        about["host"] = host  # else it would listen to all networks
    while True:
        async with Worker(address, security=security, **about, **NO_PAGES) as running:
            print(f"worker {os.getpid()} at {running.address}", flush=True)
            await running.finished()
        await asyncio.sleep(AGAIN_SECONDS)


async def _until_told(work: Coroutine[Any, Any, None]) -> None:
    """Run it until this process is told to end."""
    task = asyncio.create_task(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task
