"""What a run was made with, in plain values: to be read later, and compared before it goes on. Supplied with lesson 08.

Trace it, don't write it.
"""

from __future__ import annotations

import math
import platform
import re
from typing import Any

import numpy as np

from tinytorch.snapshot import described
from tinytorch.steps import described_loader
from tinytorch.tensor import Tensor

__all__: list[str] = []  # the package hands on none of this


def configuration(trainer: Any, train: Any, val: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Model, optimizer, loss, schedule, loaders and the options of `fit`."""
    optimizer = trainer.optimizer.state_dict()["settings"]
    if trainer.scheduler is not None:
        del optimizer["lr"]  # it changes as the run goes on
    return {
        "model": re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(trainer.model)),  # another process has other addresses
        "parameters": {name: [list(p.shape), str(p.dtype)] for name, p in trainer.model.named_parameters()},
        "optimizer": {"class": type(trainer.optimizer).__name__, **listed(optimizer)},
        "loss": listed({**(described(trainer.loss_fn) or {}), "weight": getattr(trainer.loss_fn, "weight", None)}),
        "schedule": listed(described(trainer.scheduler)),
        "scheduled_by": trainer.scheduled_by,
        "grad_clip_norm": listed(trainer.grad_clip_norm),
        "train": described_loader(train),
        "val": described_loader(val),
        **listed(options),
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }


def listed(value: Any) -> Any:
    """The value as JSON gives it back: arrays and tuples are lists, NumPy's numbers Python's, infinity is text."""
    if isinstance(value, dict):
        return {name: listed(item) for name, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic, Tensor)):
        return listed(np.asarray(value).tolist())
    if isinstance(value, (list, tuple)):
        return [listed(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
