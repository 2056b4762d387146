"""What happens around each optimizer step of an epoch. Supplied with lesson 08: trace it, don't write it.

Begin at `training_pass`: it hands a Trainer its batches, stands before and after every update, and puts things back
after an error. Between two steps lies a boundary. Only there is a run whole: no gradient waits, and the place in the
data fits the weights; so only there a checkpoint is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tinytorch.batches import Batches, batches_in, position_of
from tinytorch.checkpoint import CheckpointError
from tinytorch.generator import Generator
from tinytorch.parts import generators

__all__: list[str] = []  # the package hands on none of this


LOADER = ("batch_size", "shuffle", "drop_last", "seed", "batches")  # by which the batches of two loaders are compared


class Boundary(NamedTuple):
    """What stood when the last step was made: place in the data, the running epoch's sums, rate, each dropout's stream."""

    position: int | None
    loss_sum: float
    weight_sum: float
    rate: float
    streams: tuple[tuple[Generator, dict[str, Any]], ...] = ()


def boundary(trainer: Any) -> Boundary:
    """The one at which the trainer is now."""
    streams = tuple((stream, stream.state_dict()) for stream in trainer.streams)
    return Boundary(position_of(trainer.loader), trainer.loss_sum, trainer.weight_sum, trainer.optimizer.lr, streams)


@contextmanager
def training_pass(trainer: Any, loader: Any, accumulation_steps: int) -> Iterator[tuple[Iterable[Any], int]]:
    """The batches of one epoch and how many make a step: `with training_pass(trainer, loader, 2) as (batches, steps):`

    An epoch that was stopped between two steps goes on there, with the sums that it had. After an error, Ctrl-C
    included, what did not end in a step is as if it had not been seen: gradients are cleared, the loader stands behind
    the last whole step, so do the streams of the dropouts, and the rate is the old one where there was no step.
    """
    if trainer.position is not None and position_of(loader) is not None:
        require_loader(trainer.expected_loader, loader)
        loader.position = trainer.position
    start, resumes, rate = position_of(loader), goes_on(trainer, loader), trainer.optimizer.lr
    batches = Batches(loader)  # which fetches the first
    try:
        trainer.in_epoch, trainer.streams = True, list(generators(trainer.model).values())
        trainer.begin_epoch(loader, resumes)
        trainer.boundary = boundary(trainer)._replace(position=start, rate=rate)
        with batches, _around_updates(trainer):
            yield _handed_out(trainer, batches, accumulation_steps)
        trainer.boundary = None
    except BaseException:
        if trainer.boundary is not None:
            _go_back(trainer, trainer.boundary)
        raise
    finally:
        trainer.window_open = trainer.in_epoch = False
        trainer.forget_gradients()


def goes_on(trainer: Any, loader: Any) -> bool:
    """Whether the loader stands where this trainer left its epoch unfinished."""
    stands = position_of(loader)
    return trainer.boundary is not None and trainer.boundary.position == stands and within_epoch(loader)


def within_epoch(loader: Any) -> bool:
    """Whether the loader stands between two batches of one epoch, and says so."""
    stands = position_of(loader)
    return stands is not None and stands % (batches_in(loader) or 1) > 0


def described_loader(loader: Any) -> dict[str, Any] | None:
    """What fixes the batches of a loader, as far as it tells; of one that wraps another, the inner one's."""
    while hasattr(loader, "loader"):
        loader = loader.loader
    if position_of(loader) is None:
        return None
    told = {name: getattr(loader, name, None) for name in LOADER}
    told["batches"] = batches_in(loader)
    return {name: value if type(value) in (bool, int) else None for name, value in told.items()}


def require_loader(expected: dict[str, Any] | None, loader: Any) -> None:
    """Raise CheckpointError when a place in the data, out of a checkpoint, belongs to a loader of other batches."""
    found = described_loader(loader)
    for name, value in (expected or {}).items():
        if found is not None and found[name] != value:
            way_out = "pass that loader, or set trainer.position = None to begin anew"
            raise CheckpointError(
                f"loader: {name} was {value} in the checkpoint, is {found[name]}; {way_out}", "loader"
            )


@contextmanager
def _around_updates(trainer: Any) -> Iterator[None]:
    """Stand before and after the trainer's own `_optimizer_update`, which stays as it is."""
    before, update = vars(trainer).copy(), trainer._optimizer_update

    def watched(sample_count: float) -> None:
        update(trainer.before_update(sample_count))
        trainer.after_update()

    trainer._optimizer_update = watched
    try:
        yield
    finally:
        del trainer._optimizer_update
        if "_optimizer_update" in before:
            trainer._optimizer_update = update


def _handed_out(trainer: Any, batches: Batches, accumulation_steps: int) -> tuple[Iterable[Any], int]:
    """The batches, by way of the run's watch where there is one."""
    opened = _opening(trainer, batches)
    return (opened, accumulation_steps) if trainer.watch is None else trainer.watch.batches(opened, accumulation_steps)


def _opening(trainer: Any, batches: Batches) -> Iterator[Any]:
    for batch in batches:
        trainer.window_open = True
        yield batch


def _go_back(trainer: Any, last: Boundary) -> None:
    if last.position is not None:
        trainer.loader.position = last.position
    trainer.loss_sum, trainer.weight_sum, trainer.optimizer.lr = last.loss_sum, last.weight_sum, last.rate
    for stream, state in last.streams:
        stream.load_state_dict(state)
    trainer.boundary = last if last.weight_sum and within_epoch(trainer.loader) else None
