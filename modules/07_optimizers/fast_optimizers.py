"""SGD, Adam and AdamW on flat arrays: flat.py before the lesson's own. Supplied with lesson 07: trace it, don't write it."""

from __future__ import annotations

from tinytorch.flat import FlatAdam, FlatAdamW, FlatSGD
from tinytorch.optimizers import SGD, Adam, AdamW

__all__ = ["FastSGD", "FastAdam", "FastAdamW"]


class FastSGD(FlatSGD, SGD):
    """`SGD` on one flat array: same arguments, same results, same state."""


class FastAdam(FlatAdam, Adam):
    """`Adam` on one flat array: same arguments and state, results that differ by rounding."""


class FastAdamW(FlatAdamW, AdamW):
    """`AdamW` on one flat array: same arguments and state, results that differ by rounding."""
