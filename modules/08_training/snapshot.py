"""What of a Trainer goes into a checkpoint, and what must fit before it comes out again. Supplied with lesson 08.

Trace it, don't write it. `gather` makes the content; `restore` compares all of it with the Trainer, then takes it over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinytorch.batches import position_of
from tinytorch.checkpoint import CheckpointError, require_same
from tinytorch.generator import Generator
from tinytorch.memory import restored
from tinytorch.parts import generators
from tinytorch.settings import integer
from tinytorch.steps import LOADER, Boundary, described_loader, require_loader

__all__: list[str] = []  # the package hands on none of this

STEPS = "step_learning_rates"  # grows with every step, so the file holds it as one array


def gather(trainer: Any, extra: dict[str, int | str] | None = None) -> dict[str, Any]:
    """All that the next step depends on, in plain containers and arrays, and the user's `extra`.

    Raises ValueError when the optimizer has a parameter that the model lacks: the file would miss it; TypeError when
    `extra` holds anything but integers and text under names.
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
        "schedule": described(trainer.scheduler),
        "history": {**{name: list(values) for name, values in trainer.history.items()}, **_rates(trainer)},
        "generators": {name: generator.state_dict() for name, generator in generators(trainer.model).items()},
        "position": trainer.position if trainer.loader is None else position_of(trainer.loader),
        "loader": trainer.expected_loader if trainer.loader is None else described_loader(trainer.loader),
        "running": None if trainer.boundary is None else [trainer.loss_sum, trainer.weight_sum],
        "extra": _plain_extra({} if extra is None else extra),
    }


def restore(trainer: Any, content: dict[str, Any], loader: Any = None) -> dict[str, int | str]:
    """Go on where `gather` stood, and return `extra`. The place in the data goes to `loader`, else it waits for one.

    Raises CheckpointError, with nothing changed, that says what does not fit; TypeError for a loader without position.
    """
    if loader is not None and position_of(loader) is None:
        raise TypeError(f"load_checkpoint: a {type(loader).__name__} has no position to set; leave loader out")
    _require_fit(content, gather(trainer))
    _require_values(trainer, content)
    if loader is not None:
        require_loader(content["loader"], loader)
    trainer.model.load_state_dict(content["model"])
    trainer.optimizer.load_state_dict(content["optimizer"]["state"])
    for name, generator in generators(trainer.model).items():
        generator.load_state_dict(content["generators"][name])
    trainer.epoch, trainer.step = content["epoch"], content["step"]
    trainer.history = {**content["history"], STEPS: content["history"][STEPS].tolist()}
    _restore_place(trainer, content, loader)
    return dict(content["extra"])


def _restore_place(trainer: Any, content: dict[str, Any], loader: Any) -> None:
    """The place in the data, and the sums of the epoch that was under way."""
    position, running = content["position"], content["running"]
    loss_sum, weight_sum = running or (0.0, 0.0)
    trainer.loss_sum, trainer.weight_sum = loss_sum, weight_sum
    trainer.boundary = running and Boundary(position, loss_sum, weight_sum, trainer.optimizer.lr)
    trainer.position, trainer.expected_loader, trainer.loader = position, content["loader"], None
    if loader is not None and position is not None:
        loader.position, trainer.position, trainer.loader = position, None, loader


def described(part: Any) -> dict[str, Any] | None:
    """Class and plain arguments of a schedule or a loss: not to be restored, for it has no state, but to be compared."""
    if part is None:
        return None
    arguments = {name: value for name, value in _attributes(part) if type(value) in (bool, int, float, str)}
    return {"class": type(part).__name__, "arguments": arguments}


def _attributes(part: Any) -> Iterable[tuple[str, Any]]:
    return getattr(part, "__dict__", {}).items()


def _rates(trainer: Any) -> dict[str, np.ndarray]:
    return {STEPS: np.array(trainer.history[STEPS], dtype=np.float64)}


def _plain_extra(extra: Any) -> dict[str, int | str]:
    if not isinstance(extra, dict) or not all(isinstance(name, str) for name in extra):
        raise TypeError(f"checkpoint: extra must be a dict with names as keys, got {extra!r:.80}")
    for name, value in extra.items():
        if type(value) not in (int, str):
            raise TypeError(f"checkpoint: extra[{name!r}] must be an integer or text, got {value!r:.80}")
    return dict(extra)


def _require_fit(content: dict[str, Any], own: dict[str, Any]) -> None:
    """Names, shapes and dtypes, the optimizer's class and its order of parameters, the schedule."""
    require_same("checkpoint", content, own)
    for part in ("model", "optimizer", "generators"):
        require_same(part, content[part], own[part])
    require_same("history", content["history"], dict.fromkeys(own["history"]))
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
        _require_loader_told(content["loader"])
        _require_history(content["history"])
        _require_running(content["running"])
        _plain_extra(content["extra"])
        for state in content["generators"].values():
            Generator(0).load_state_dict(state)
    with _misfit("optimizer"):
        restored(trainer.optimizer, content["optimizer"]["state"])


def _require_loader_told(told: Any) -> None:
    if told is not None and (not isinstance(told, dict) or set(told) != set(LOADER)):
        raise TypeError(f"loader must be described by {', '.join(LOADER)}, got {told!r:.80}")


def _require_history(history: dict[str, Any]) -> None:
    for name, values in history.items():
        if name == STEPS:
            if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 1:
                raise TypeError(f"history: {name} must be a float64 array (steps,)")
        elif not isinstance(values, list) or not all(type(value) in (int, float, type(None)) for value in values):
            raise TypeError(f"history: {name} must be a list of numbers")


def _require_running(running: Any) -> None:
    """None between epochs, else the two sums of the epoch that was under way."""
    if running is None:
        return
    if not isinstance(running, list) or [type(value) for value in running] != [float, float]:
        raise TypeError(f"running must be two numbers, got {running!r:.80}")
    if not all(map(math.isfinite, running)):
        raise ValueError(f"running must be finite, got {running}")
