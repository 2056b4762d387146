"""Several processes train one model: each takes its share of every window. Supplied with lesson 08.

Trace it, don't write it: begin at `Ranks.shares` and `Ranks.reduce`. A window of batches is cut by rows, one piece for
each rank. Its gradient is a sum over samples, seeded with their weights, so the sums of all ranks, added up and divided
by the weight of the whole window, are the very step that one process would make: ranks and accumulation are the same
arithmetic. Sums are taken in rank order in float64, so two runs on the same ranks have the same bits (an MPI library's
own Allreduce need not promise that).
"""

from __future__ import annotations

import itertools
import sys
import time
import traceback
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TextIO

import numpy as np

from tinytorch.generator import Generator
from tinytorch.parts import generators
from tinytorch.snapshot import gather, restore
from tinytorch.tensor import Tensor

__all__: list[str] = []  # the package hands on none of this


def ranks_of(comm: Any) -> Alone | Ranks:
    """The processes of an MPI communicator (mpi4py's); `Alone` for None, or for a single one."""
    if comm is None:
        return Alone()
    if not all(hasattr(comm, name) for name in ("Get_rank", "Get_size", "Alltoallv", "Allgatherv")):
        raise TypeError(f"fit: comm must be an MPI communicator, got a {type(comm).__name__}; pass MPI.COMM_WORLD")
    return Alone() if comm.Get_size() == 1 else Ranks(comm)


class Alone:
    """One process, which has everything to itself."""

    rank, size = 0, 1

    def shares(self, trainer: Any, batches: Iterable[Any], accumulation_steps: int) -> Iterable[Any]:
        """All batches."""
        return batches

    def batches_a_step(self, accumulation_steps: int) -> int:
        """As many as were asked for."""
        return accumulation_steps

    def reduce(self, trainer: Any, sample_count: float, rows: int, stop: bool) -> tuple[float, int, bool]:
        """Nothing is added."""
        return sample_count, rows, stop

    def from_first(self, value: Any) -> Any:
        """What the first rank has."""
        return value

    def any(self, wish: bool) -> bool:
        """Whether a rank wishes so."""
        return wish

    def same_start(self, trainer: Any) -> None:
        """All ranks begin where the first stands."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """One that fails ends all."""
        yield


class Ranks(Alone):
    """The processes of `comm`; this one is number `rank` of `size`."""

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        self.streams: list[tuple[Generator, dict[str, Any]]] = []

    def batches_a_step(self, accumulation_steps: int) -> int:
        """One: a rank's share of a window is one batch."""
        return 1

    def shares(self, trainer: Any, batches: Iterable[Any], accumulation_steps: int) -> Iterator[Any]:
        """This rank's rows of every window. Where none counts, the step is made here, with nothing added to it."""
        source, weigh = iter(batches), getattr(trainer.loss_fn, "total_weight", len)
        while window := list(itertools.islice(source, accumulation_steps)):
            share = self._rows_of(window, weigh)
            try:
                self._take_own_streams(trainer)
                if share is None:
                    trainer._optimizer_update(0.0)
                else:
                    yield share
            finally:
                self._give_streams_back()

    def _rows_of(self, window: list[Any], weigh: Callable[[Tensor], float]) -> tuple[Tensor, Tensor] | None:
        """Rows rank*n/size to (rank+1)*n/size of the window's n; None where that is none, or none of weight."""
        inputs, targets = (np.concatenate([part.data for part in column]) for column in zip(*window))
        rows = slice(*(len(inputs) * rank // self.size for rank in (self.rank, self.rank + 1)))
        share = Tensor.wrap(inputs[rows]), Tensor.wrap(targets[rows])
        return share if len(inputs[rows]) and weigh(share[1]) != 0 else None

    def _take_own_streams(self, trainer: Any) -> None:
        """Dropout draws from a stream of this step and rank, so that no two ranks drop the same units."""
        streams = {id(stream): stream for stream in generators(trainer.model).values()}.values()
        self.streams = [(stream, stream.state_dict()) for stream in streams]
        for stream in streams:
            stream.load_state_dict(stream.split(f"step {trainer.step} rank {self.rank}").state_dict())

    def _give_streams_back(self) -> None:
        """As all ranks have them, and as a checkpoint holds them."""
        for stream, state in self.streams:
            stream.load_state_dict(state)
        self.streams = []

    def reduce(self, trainer: Any, sample_count: float, rows: int, stop: bool) -> tuple[float, int, bool]:
        """Add up gradients, the window's loss and weight, rows and wishes to stop, in one flat buffer.

        Raises ValueError, on all ranks, when nothing in the window counts.
        """
        self._give_streams_back()
        params, last = trainer.optimizer.params, trainer.boundary
        here = [sample_count, trainer.loss_sum - last.loss_sum, trainer.weight_sum - last.weight_sum, rows, stop]
        has_grad = [parameter.grad is not None for parameter in params]
        grads = [np.zeros(p.data.size) if p.grad is None else p.grad.ravel() for p in params]
        total = self.all_reduce(np.concatenate([here, has_grad, *grads], dtype=np.float64))
        sums, known, flat = np.split(total, [len(here), len(here) + len(params)])
        if sums[0] == 0:
            raise ValueError("the window has weight 0: nothing in it counts; leave such batches out of the loader")
        for parameter, grad, ranks in zip(params, np.split(flat, np.cumsum([p.data.size for p in params])[:-1]), known):
            parameter.grad = grad.reshape(parameter.shape).astype(parameter.dtype) if ranks else None
        trainer.loss_sum, trainer.weight_sum = last.loss_sum + float(sums[1]), last.weight_sum + float(sums[2])
        return float(sums[0]), int(sums[3]), bool(sums[4])

    def all_reduce(self, flat: np.ndarray) -> np.ndarray:
        """The sum over ranks of a float64 array `(n,)`, in rank order.

        Each rank adds up one piece and hands it on: 2n numbers cross the wire, as in a ring (Thakur, Rabenseifner and
        Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19, 2005).
        """
        edges = [len(flat) * rank // self.size for rank in range(self.size + 1)]
        counts, starts = np.diff(edges), np.array(edges[:-1])
        mine = int(counts[self.rank])
        pieces = np.empty((self.size, mine))
        places = np.arange(self.size) * mine
        self.comm.Alltoallv([flat, (counts, starts)], [pieces, (np.full(self.size, mine), places)])
        for piece in pieces[1:]:  # by hand: np.add.reduce takes a column of eight numbers or more in another order
            pieces[0] += piece
        total = np.empty_like(flat)
        self.comm.Allgatherv(pieces[0], [total, (counts, starts)])
        return total

    def from_first(self, value: Any) -> Any:
        """What the first rank has, on every rank."""
        return self.comm.bcast(value, root=0)

    def any(self, wish: bool) -> bool:
        """Whether a rank wishes so, on every rank."""
        return any(self.comm.allgather(wish))

    def same_start(self, trainer: Any) -> None:
        """All ranks take over the first one's state."""
        content = self.from_first(gather(trainer) if self.rank == 0 else None)
        if self.rank > 0:
            restore(trainer, content)

    @contextmanager
    def together(self) -> Iterator[None]:
        """An error on one rank is printed and ends all, who would wait for it for ever."""
        try:
            yield
        except BaseException:  # sys.exit and a second Ctrl-C too
            traceback.print_exc()
            sys.stderr.flush()
            _wait_until_read(sys.stderr)
            self.comm.Abort(1)
            raise  # Abort may come back before this rank is ended, and then nothing has come to a good end


def _wait_until_read(stream: TextIO, seconds: float = 5.0) -> None:
    """Abort ends this rank at once, and what its mpirun has not yet read of `stream` would be lost."""
    end, unread = time.monotonic() + seconds, array("i", [1])
    with suppress(ImportError, OSError):  # Windows has no such question, and not all is a pipe
        fcntl, termios = import_module("fcntl"), import_module("termios")
        while unread[0] and time.monotonic() < end:
            fcntl.ioctl(stream.fileno(), termios.FIONREAD, unread)
            time.sleep(0.01)
