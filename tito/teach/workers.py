"""Workers: each a trusted process with a zygote of its own, so that a class is graded on all cores.

    with Pool(level=1, size=2, secret=folder.secret) as pool:
        for result in pool.grade_all(works, bundle): ...

Results come as they are done; whoever calls keeps them and leaves out what is kept already. Begin at `Pool`.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from typing import Any

from tito.teach import grading, isolation, zygotes
from tito.teach.bundle import Bundle
from tito.teach.conversation import Limits
from tito.teach.grading import Work
from tito.teach.result import Result

LIMITS = Limits()


class Worker:
    """A sealed side for one bundle and one mode, at the best level that works here unless one is named.

    Close it at the end. `slot` tells apart those that run at once.
    """

    def __init__(
        self,
        bundle: Bundle,
        secret: bytes,
        level: int | None = None,
        mode: str = "reference",
        slot: int = 0,
        limits: Limits = LIMITS,
    ) -> None:
        self.bundle, self.secret, self.mode, self.limits = bundle, secret, mode, limits
        self.level = level or isolation.best()
        self.slot, self.files = slot, bundle.sealed if mode == "reference" else bundle.sealed_without_package
        self.starter = zygotes.start(self.level, slot, self.files)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.starter.close()

    def grade(self, work: Work) -> Result:
        """The result of one submission. A zygote that was lost, as to a machine short of memory, is replaced once."""
        try:
            return grading.grade(work, self)
        except OSError:
            self.starter.close()
            self.starter = zygotes.start(self.level, self.slot, self.files)
            return grading.grade(work, self)


class Pool:
    """So many workers, at the best level that works here unless one is named.

    Hidden checks draw by `secret`, a course's own (`Folder.secret`); without one anybody can tell what they draw.
    """

    def __init__(self, level: int | None, size: int, secret: bytes = b"", limits: Limits = LIMITS) -> None:
        level = level or isolation.best()
        self.size = size
        self.folder = tempfile.TemporaryDirectory(prefix="tito-bundles-")
        context = multiprocessing.get_context("spawn")
        slots = context.Queue()
        for slot in range(size):
            slots.put(slot)
        started = (slots, level, secret, limits)
        self.executor = ProcessPoolExecutor(size, context, _start, started)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.folder.cleanup()

    def grade_all(self, works: Iterable[Work], bundle: Bundle) -> Iterator[Result]:
        """Results in the order in which they are done; works are taken from the iterator a few ahead."""
        path = Path(self.folder.name) / bundle.hash
        path.write_bytes(bundle.to_bytes())
        left = iter(works)
        running: set[Future[Result]] = set()
        while True:
            ahead = islice(left, 2 * self.size - len(running))
            running |= {self.executor.submit(_grade, work, str(path)) for work in ahead}
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


_worker: Worker | None = None
_settings: dict[str, Any] = {}


def _start(slots: Any, level: int, secret: bytes, limits: Limits) -> None:
    """In a fresh worker process: which slot is its own."""
    _settings.update(level=level, secret=secret, limits=limits, slot=slots.get())


def _grade(work: Work, bundle: str) -> Result:
    return _worker_for(bundle, work.mode).grade(work)


def _worker_for(bundle: str, mode: str) -> Worker:
    """This process's worker, a new one when the bundle or the mode is another."""
    global _worker
    if _worker is None or (_worker.bundle.hash, _worker.mode) != (Path(bundle).name, mode):
        if _worker is not None:
            _worker.starter.close()
        _worker = Worker(Bundle.from_bytes(Path(bundle).read_bytes()), mode=mode, **_settings)
    return _worker
