"""What of a Trainer goes into a checkpoint, and what must fit before it comes out again. Supplied with lesson 08.

Trace it, don't write it. `gather` makes the content; `restore` compares all of it with the Trainer, then takes it over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tinytorch.batches import position_of
from tinytorch.checkpoint import CheckpointError, require_same
from tinytorch.generator import Generator
from tinytorch.memory import restored
from tinytorch.settings import integer

__all__: list[str] = []  # the package hands on none of this


def gather(trainer: Any) -> dict[str, Any]:
    """All that the next step depends on, in plain containers and arrays.

    Raises ValueError when the optimizer has a parameter that the model lacks: the file would miss it.
    """
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    stray = [number for number, parameter in enumerate(trainer.optimizer.params) if id(parameter) not in names]
    if stray:
        raise ValueError(f"checkpoint: parameters {stray} of the optimizer are not the model's; the file lacks them")
    optimizer = {
        "class": type(trainer.optimizer).__name__,
        "parameters": [names[id(parameter)] for parameter in trainer.optimizer.params],
        "state": trainer.optimizer.state_dict(),
    }
    return {
        "epoch": trainer.epoch,
        "step": trainer.step,
        "model": trainer.model.state_dict(),
        "optimizer": optimizer,
        "schedule": _described(trainer.scheduler),
        "history": {name: list(values) for name, values in trainer.history.items()},
        "generators": {name: generator.state_dict() for name, generator in _generators(trainer.model).items()},
        "position": trainer.position if trainer.loader is None else position_of(trainer.loader),
    }


def restore(trainer: Any, content: dict[str, Any], loader: Any = None) -> None:
    """Go on where `gather` stood; the place in the data goes to `loader`, else it waits in `trainer.position`.

    Raises CheckpointError, with nothing changed, that says what does not fit; TypeError for a loader without position.
    """
    if loader is not None and position_of(loader) is None:
        raise TypeError(f"load_checkpoint: a {type(loader).__name__} has no position to set; leave loader out")
    _require_fit(content, gather(trainer))
    _require_values(trainer, content)
    trainer.model.load_state_dict(content["model"])
    trainer.optimizer.load_state_dict(content["optimizer"]["state"])
    for name, generator in _generators(trainer.model).items():
        generator.load_state_dict(content["generators"][name])
    trainer.epoch, trainer.step, trainer.history = content["epoch"], content["step"], content["history"]
    trainer.position, trainer.loader = content["position"], None
    if loader is not None and trainer.position is not None:
        loader.position, trainer.position, trainer.loader = trainer.position, None, loader


def _generators(model: Any) -> dict[str, Generator]:
    """Every generator that stands in an attribute of a module, by dotted name."""
    return {
        f"{path}.{name}".lstrip("."): value
        for path, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, Generator)
    }


def _described(scheduler: Any) -> dict[str, Any] | None:
    """A schedule's class and plain arguments: not to be restored, for a schedule has no state, but to be compared."""
    if scheduler is None:
        return None
    arguments = {name: value for name, value in vars(scheduler).items() if type(value) in (bool, int, float, str)}
    return {"class": type(scheduler).__name__, "arguments": arguments}


def _require_fit(content: dict[str, Any], own: dict[str, Any]) -> None:
    """Names, shapes and dtypes, the optimizer's class and its order of parameters, the schedule."""
    require_same("checkpoint", content, own)
    for part in ("model", "optimizer", "history", "generators"):
        require_same(part, content[part], own[part])
    for name in ("class", "parameters"):
        _require_equal(f"optimizer {name}", content["optimizer"][name], own["optimizer"][name], "optimizer")
    _require_equal("schedule", content["schedule"], own["schedule"], "schedule")


def _require_equal(name: str, found: Any, mine: Any, kind: str) -> None:
    if repr(found) != repr(mine):  # by text, which tells 1 from 1.0 and minds no arrays
        raise CheckpointError(f"{name}: {found!r:.200} in the checkpoint, {mine!r:.200} here", kind)


@contextmanager
def _misfit(kind: str) -> Iterator[None]:
    """Turn what plain values of the wrong kind raise inside into a CheckpointError."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise CheckpointError(f"the checkpoint does not fit: {error}", kind) from error


def _require_values(trainer: Any, content: dict[str, Any]) -> None:
    """Counts, history, generators and the optimizer's state hold what they can hold."""
    with _misfit("corrupt"):
        integer("epoch", content["epoch"])
        integer("step", content["step"])
        if content["position"] is not None:
            integer("position", content["position"])
        for name, values in content["history"].items():
            if not isinstance(values, list) or not all(type(value) in (int, float, type(None)) for value in values):
                raise TypeError(f"history: {name} must be a list of numbers")
        for state in content["generators"].values():
            Generator(0).load_state_dict(state)
    with _misfit("optimizer"):
        restored(trainer.optimizer, content["optimizer"]["state"])
