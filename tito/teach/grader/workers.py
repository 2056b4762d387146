"""Workers: each a trusted process with a zygote of its own, so that a class is graded on all cores.

    with Pool(level=1, size=2, secret=folder.secret) as pool:
        for result in pool.grade_all(works, bundle): ...

Results come as they are done; whoever calls keeps them and leaves out what is kept already. Begin at `Pool`.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from tito.errors import UserError
from tito.teach.grader import grading, isolation, zygotes
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.conversation import Limits
from tito.teach.grader.grading import Work
from tito.teach.result import Result
from tito.teach.sealed import system

LIMITS = Limits()
LOSSES = 3
FAULT = "the grader itself failed on it"


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
        """The result of one submission, whatever it does: a fault of the grader's own must not stop a class."""
        try:
            return self._grade(work)
        except UserError:  # nothing can be graded here
            raise
        except Exception as error:
            key = grading.key_of(work, self.bundle, self.limits, self.secret)
            return Result(key, "refused", f"{FAULT}, {type(error).__name__}: {str(error)[:500]}", isolation=self.level)

    def _grade(self, work: Work) -> Result:
        """A zygote that was lost, as to a machine short of memory, is replaced once."""
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
        self.folder = tempfile.TemporaryDirectory(prefix="tito-bundles-")
        os.chmod(self.folder.name, 0o711)  # sealed homes lie in it, and are read under another uid
        self.size = size
        self.about = (level or isolation.best(), secret, limits, self.folder.name, os.getpid())
        self.executor = self._executor()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.folder.cleanup()

    def grade_all(self, works: Iterable[Work], bundle: Bundle) -> Iterator[Result]:
        """Results in the order in which they are done; works are taken from the iterator a few ahead.

        Where a worker process is lost, as to a machine short of memory, all are started anew. Raises UserError when
        that happens again and again.
        """
        path = Path(self.folder.name) / bundle.hash
        path.write_bytes(bundle.to_bytes())
        left, losses = iter(works), 0
        while True:
            running: dict[Future[Result], Work] = {}
            try:
                yield from self._all(left, running, str(path))
                return
            except BrokenProcessPool:
                losses += 1
            if losses > LOSSES:
                raise UserError("workers end again and again; see if memory is short, then grade again: free -m")
            self.executor.shutdown()
            self.executor, left = self._executor(), chain(running.values(), left)

    def _all(self, left: Iterator[Work], running: dict[Future[Result], Work], path: str) -> Iterator[Result]:
        """Results; what is given out and has none stays in `running`."""
        while True:
            for work in islice(left, 2 * self.size - len(running)):
                running[self._submit(work, path)] = work
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                result = future.result()
                del running[future]
                yield result

    def _submit(self, work: Work, path: str) -> Future[Result]:
        try:
            return self.executor.submit(_grade, work, path)
        except BrokenProcessPool as error:  # told by the future, as where it breaks later
            failed: Future[Result] = Future()
            failed.set_exception(error)
            return failed

    def _executor(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        slots = context.Queue()
        for slot in range(self.size):
            slots.put(slot)
        return ProcessPoolExecutor(self.size, context, _start, (slots, *self.about))


_worker: Worker | None = None
_settings: dict[str, Any] = {}


def _start(slots: Any, level: int, secret: bytes, limits: Limits, folder: str, parent: int) -> None:
    """In a fresh worker process: which slot is its own, and that it ends with its parent, however that ends."""
    tempfile.tempdir = tempfile.mkdtemp(dir=folder)
    os.chmod(tempfile.tempdir, 0o711)

    def end(number: int, frame: object) -> None:
        """Remove our files, all when the parent is gone. The zygote ends with us; nothing here may wait for a lock."""
        shutil.rmtree(tempfile.gettempdir() if os.getppid() == parent else folder, ignore_errors=True)
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
    Finalize(None, _close, exitpriority=10)
    system.prctl(system.PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    _settings.update(level=level, secret=secret, limits=limits, slot=slots.get())


def _close() -> None:
    """End the zygote, remove its folder."""
    if _worker is not None:
        _worker.starter.close()


def _grade(work: Work, bundle: str) -> Result:
    return _worker_for(bundle, work.mode).grade(work)


def _worker_for(bundle: str, mode: str) -> Worker:
    """This process's worker, a new one when the bundle or the mode is another."""
    global _worker
    if _worker is None or (_worker.bundle.hash, _worker.mode) != (Path(bundle).name, mode):
        _close()
        _worker = Worker(Bundle.from_bytes(Path(bundle).read_bytes()), mode=mode, **_settings)
    return _worker
