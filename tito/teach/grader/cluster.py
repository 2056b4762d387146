"""Grades on a Dask cluster: the work items of one machine, on many. Begin at `Cluster`.

    with Cluster("tls://10.0.0.5:8786", keys, level=1, secret=folder.secret) as cluster:
        for result in cluster.grade_all(works, bundle): ...

A few works for each core are given out at a time. Where a worker dies Dask runs its work elsewhere; where the scheduler
dies we connect anew and give out again what has no result. A result counts only when its key is the one that it would
have here: the same submission, bundle, secret, limits, and versions of Python and NumPy.
"""

from __future__ import annotations

import json
import logging
import queue
import time
from asyncio import CancelledError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import tito
from tito.errors import UserError
from tito.teach.grader import cluster_keys, cluster_worker, grading
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.conversation import Limits
from tito.teach.grader.grading import Work
from tito.teach.grader.workers import LIMITS
from tito.teach.result import Result, canonical

AHEAD = 4  # works given out for each core of the cluster
ATTEMPTS = 3
CONNECT_SECONDS, PATIENCE = 10.0, 300.0  # for the first connection, and for a scheduler or workers to come back


class SchedulerLost(Exception):
    """Whatever was given out and has no result must be given out again."""


@dataclass
class Cluster:
    """A scheduler by its address; `keys` is the client's folder of keys. Raises UserError."""

    address: str
    keys: Path | None
    level: int
    secret: bytes
    limits: Limits = LIMITS

    def __post_init__(self) -> None:
        self.security = cluster_keys.security(self.address, self.keys)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is told by what we raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is held between two calls of `grade_all`."""

    def grade_all(self, works: Iterable[Work], bundle: Bundle) -> Iterator[Result]:
        """Results in the order in which they are done. Raises UserError."""
        left, seconds = Left(works), CONNECT_SECONDS
        while True:
            with self._client(seconds) as client:
                try:
                    yield from Session(client, self, bundle, left).results()
                    return
                except SchedulerLost:
                    seconds = PATIENCE

    @contextmanager
    def _client(self, seconds: float) -> Iterator[Any]:
        from distributed import Client

        about: dict[str, Any] = {"security": self.security, "timeout": 5, "set_as_default": False}
        end = time.monotonic() + seconds
        while True:
            try:
                client: Any = Client(self.address, **about)
                break
            except (OSError, TimeoutError) as error:
                if time.monotonic() > end:
                    raise UserError(f"{self.address} does not answer ({_cause(error)}); {_START}") from None
                time.sleep(0.5)
        try:
            yield client
        finally:
            client.close(timeout=2)


@dataclass(frozen=True)
class Item:
    """A work and how often it came back without a result."""

    work: Work
    failures: int = 0


class Left:
    """What has no result yet and is given out next."""

    def __init__(self, works: Iterable[Work]) -> None:
        self.new, self.again = map(Item, works), list[Item]()

    def take(self, most: int) -> Iterator[Item]:
        """So many, those that came back first."""
        back, self.again = self.again[:most], self.again[most:]
        yield from back
        yield from islice(self.new, most - len(back))


class Session:
    """One connection to a scheduler, and what it was given."""

    def __init__(self, client: Any, cluster: Cluster, bundle: Bundle, left: Left) -> None:
        self.client, self.cluster, self.bundle, self.left = client, cluster, bundle, left
        self.running: dict[str, tuple[Any, Item]] = {}
        self.done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        limits = asdict(cluster.limits)
        self.settings = canonical({"bundle": bundle.hash, "level": cluster.level, "limits": limits}).encode()
        self.cores, self.counted = 0, 0.0

    def results(self) -> Iterator[Result]:
        """All that is left. Raises SchedulerLost once the rest is back in `left`."""
        try:
            self.held = self.client.submit(cluster_worker.hold, self.bundle.to_bytes(), key=f"bundle-{uuid4().hex}")
            while self._give_out():
                future = self._next()
                _, item = self.running[future.key]
                reply = self._reply(future)
                del self.running[future.key]
                if reply is not None and (result := self._result(reply, item)):
                    yield result
        except (CancelledError, OSError, TimeoutError):
            raise SchedulerLost from None
        finally:
            self.left.again += [item for _, item in self.running.values()]

    def _give_out(self) -> bool:
        """Fill up what runs; whether anything does."""
        for item in self.left.take(AHEAD * max(self._cores(), 1) - len(self.running)):
            data = cluster_worker.packed(item.work), self.settings
            future = self.client.submit(cluster_worker.grade, *data, self.held, key=f"grade-{uuid4().hex}")
            self.running[future.key] = future, item
            future.add_done_callback(self.done.put)
        return bool(self.running)

    def _cores(self) -> int:
        if time.monotonic() > self.counted:
            self.cores, self.counted = sum(self.client.nthreads().values()), time.monotonic() + 2
        return self.cores

    def _next(self) -> Any:
        """A future that came to an end."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.done.get(timeout=1)
            except queue.Empty:
                if self.client.status != "running":
                    raise SchedulerLost from None
                if self._cores():
                    end = time.monotonic() + PATIENCE
                if time.monotonic() > end:
                    raise UserError(f"{self.cluster.address} has no worker; {_START}") from None

    def _reply(self, future: Any) -> dict[str, Any] | None:
        """What `cluster_worker.grade` said; an error where Dask gave up, since every worker that tried it died."""
        if future.status == "error":
            return {"error": str(future.exception())[:500]}
        if future.status != "finished":
            raise SchedulerLost
        reply = future.result(timeout=CONNECT_SECONDS)
        return dict(json.loads(reply)) if type(reply) is bytes else {"error": "no bytes came back"}

    def _result(self, reply: dict[str, Any], item: Item) -> Result | None:
        """The result; None when the work goes out again. Raises UserError when it failed too often."""
        if "error" not in reply:
            return self._accepted(reply, item.work)
        if item.failures + 1 >= ATTEMPTS:
            raise UserError(f"{item.work.student} has no result: {reply['error']}; what is graded is kept, grade again")
        self.left.again.append(replace(item, failures=item.failures + 1))
        return None

    def _accepted(self, reply: dict[str, Any], work: Work) -> Result:
        if reply["tito"] != tito.__version__:
            raise UserError(f"a worker has tito {reply['tito']}, here it is {tito.__version__}; install the same")
        result = Result.from_json(reply["result"])
        wanted = asdict(grading.key_of(work, self.bundle, self.cluster.limits, self.cluster.secret))
        for name, value in asdict(result.key).items():
            if value != wanted[name]:
                raise UserError(f"a worker's {name} is {value}, here it is {wanted[name]}; make them the same on all")
        return result


_START = "start it: tito teach cluster-scheduler, and on each machine: tito teach cluster-worker"


def _cause(error: BaseException) -> str:
    """The deepest reason, in a few words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"[:200]
