"""Makes the next batches in the background while one is used. Supplied with lesson 05: trace it, don't write it.

Begin at `PrefetchLoader.__iter__`, then `_Ahead`: one thread, and two queues between it and the consumer. `wanted` holds
a token for each batch that may still be made, `ready` the batches that are.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterable, Iterator, Sized
from contextlib import closing
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from tinytorch.settings import integer

if TYPE_CHECKING:
    from queue import SimpleQueue

__all__ = ["PrefetchLoader"]

_END = object()


class PrefetchLoader:
    """The batches of `loader`, in its order; up to `depth` are made, in a thread, before they are asked for.

    `loader` is any iterable. An error in it is raised where its batch would have come. The thread ends with the
    iteration, however that ends: what is left then waits for the batch at hand. One that reads `no_grad` or another
    switch of the consumer's thread does not see it.

    Raises TypeError when the loader is no iterable, or has a position and no length; TypeError or ValueError when depth
    is no integer from 1 up.
    """

    _ahead: _Ahead | None = None  # of the running iteration

    def __init__(self, loader: Iterable[Any], depth: int = 2) -> None:
        kind = type(loader).__name__
        if not isinstance(loader, Iterable):
            raise TypeError(f"PrefetchLoader: needs an iterable of batches, got {kind}; write DataLoader(dataset)")
        if _position_of(loader) is not None and not isinstance(loader, Sized):
            raise TypeError(f"PrefetchLoader: {kind} has a position and needs a __len__ too, the batches of an epoch")
        self.loader: Any = loader
        self.depth = integer("PrefetchLoader: depth", depth, least=1)

    def __len__(self) -> int:
        """As the loader's; TypeError where it has none."""
        return len(self.loader)

    @property
    def position(self) -> int | None:
        """How many batches were received since the beginning, by the loader's count; None when it keeps no count.

        May be set, also within an iteration, which then goes on from there. While one runs, the loader's own position
        counts what was made ahead; when it ends, the two are equal.
        """
        return _position_of(self.loader) if self._ahead is None else self._ahead.position

    @position.setter
    def position(self, value: int) -> None:
        if self.position is None:
            raise TypeError(f"PrefetchLoader: a {type(self.loader).__name__} has no position to set")
        self._stop()
        self.loader.position = value

    def __iter__(self) -> Iterator[Any]:
        """Yield the loader's batches, each counted in `position` before it is yielded.

        Several iterations over a loader with a position share it, as they do without prefetching.
        """
        return self._uncounted() if self.position is None else self._counted()

    def _uncounted(self) -> Iterator[Any]:
        with closing(_Ahead(self.loader, self.depth)) as ahead:
            ahead.thread.start()
            yield from ahead

    def _counted(self) -> Iterator[Any]:
        ahead, end = None, self._end_of_epoch()
        try:
            while self.position < end:  # type: ignore[operator]
                if ahead is None or not ahead.open:  # stopped: the position was set, or another iteration began
                    self._stop()
                    ahead = self._ahead = _Ahead(self.loader, self.depth)
                    ahead.thread.start()
                batch = next(ahead, _END)
                if batch is _END:
                    return
                yield batch
        finally:
            if self._ahead is ahead:
                self._stop()

    def _end_of_epoch(self) -> int:
        size = max(len(self), 1)  # an epoch without batches is for the loader to refuse
        start: Any = self.position
        return start - start % size + size

    def _stop(self) -> None:
        """End the running thread, if there is one; the loader then stands at `position`."""
        if self._ahead is not None and self._ahead.close():
            self._ahead = None


class _Ahead:
    """An iterator over `loader` that its `thread`, once started, keeps ahead of until `close`.

    Only flags and SimpleQueues join the two threads. A `close` may come from the garbage collector in the midst of
    anything, and would wait for ever for a lock that its own thread holds; a SimpleQueue's `put` never waits.
    """

    def __init__(self, loader: Any, depth: int) -> None:
        from queue import SimpleQueue

        self.loader, self.position, self.open = loader, _position_of(loader), True
        self.wanted: SimpleQueue[None] = SimpleQueue()
        self.ready: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        for _ in range(depth):
            self.wanted.put(None)
        # In the consumer's context np.errstate holds as it does there. A daemon, since Python waits for other threads
        # before it calls what stands in atexit.
        self.thread = threading.Thread(target=copy_context().run, args=(self._run,), name="prefetch", daemon=True)

    def close(self) -> bool:
        """End the thread after the batch at hand. Whether it has ended: not if it is the thread that calls this."""
        self.open = False
        self.wanted.put(None)
        if self.thread is threading.current_thread():
            return False
        if self.thread.is_alive():
            self.thread.join()
        return True

    def __iter__(self) -> _Ahead:
        return self

    def __next__(self) -> Any:
        batch, error = self.ready.get()
        if error is not None:
            try:
                raise error
            finally:
                del error  # else it would hold this frame, and this frame the error
        self.wanted.put(None)
        if self.position is not None:
            self.position += 1
        return batch

    def _run(self) -> None:
        """The thread: fetch, wait for the end, and leave the loader where the consumer is."""
        atexit.register(self.close)
        self._fetch()
        while self.open:
            self.wanted.get()
        if self.position is not None:
            self.loader.position = self.position
        atexit.unregister(self.close)

    def _fetch(self) -> None:
        try:
            source = iter(self.loader)
            while self._is_wanted():
                self.ready.put((next(source), None))
        except BaseException as error:  # StopIteration among them
            self.ready.put((None, error))

    def _is_wanted(self) -> bool:
        self.wanted.get()
        return self.open


def _position_of(loader: Any) -> int | None:
    position = getattr(loader, "position", None)
    return position if isinstance(position, int) else None
