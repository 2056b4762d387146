"""What may follow when a network has grown: a linear read-out, or a Module to train further. Supplied with lesson e1.

Trace it, don't write it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from tinytorch.grown_rows import rows_of
from tinytorch.settings import setting

__all__ = ["fit_head", "to_module"]


def fit_head(net: Any, train: Any, ridge: float = 1e-3) -> None:
    """Let `net` predict by a weighted sum of all units of its last layer, fitted to `train` by least squares.

    In a GMDHClassifier every network gets such a head, and then the read-out of the classes is fitted anew. `ridge` times the rows is added to the diagonal, for standardised outputs. Prune afterwards: a pruned network has
    one unit left. Raises RuntimeError while a layer is open, TypeError or ValueError for rows that cannot be meant.
    """
    if getattr(net, "opened", None) is not None:
        raise RuntimeError(f"fit_head: {net.where} is open; fit a head when the growth has finished")
    ridge = setting("fit_head: ridge", ridge)
    if not ridge:
        raise ValueError("fit_head: ridge must be above 0, for two equal units have no one solution; try 1e-9")
    if hasattr(net, "networks"):
        net.fit_heads(train, ridge)
        return
    rows = rows_of("train", train, net.features or None)
    mean, deviation = net.target
    outputs, y = net.outputs(rows.x), (rows.y - mean) / deviation
    share = (np.ones(len(y)) if rows.weights is None else rows.weights) / len(y)
    center, middle = np.einsum("n,nk->k", share, outputs), float((share * y).sum())
    scale = outputs.std(axis=0)
    inputs = (outputs - center) / np.where(scale > 0, scale, 1.0)
    gram = np.einsum("n,ni,nj->ij", share, inputs, inputs) + ridge * np.eye(inputs.shape[1])
    moments = np.einsum("n,ni,n->i", share, inputs, y - middle)
    weights = np.linalg.solve(gram, moments[:, None])[:, 0] / np.where(scale > 0, scale, 1.0)
    net.head = weights, middle - float((weights * center).sum())


def to_module(net: Any) -> Any:
    """`net`, a grown GMDHNetwork or GMDHClassifier, as a Module to train with lessons 06 to 08. `(N, D) -> (N,)`

    Its parameters are the coefficients of the units that the prediction depends on, float64; of a classifier the
    read-out too, and it gives scores `(N, C)`, or logits `(N,)` of two classes. `module.network()` gives a network of
    the coefficients as they are then. Raises RuntimeError while a layer is open, or without lesson 06 in the package.
    """
    if find_spec("tinytorch.autograd") is None:
        raise RuntimeError("to_module: needs lessons 01 to 06 in the package; write them with: tito export 06")
    from tinytorch.grown_module import GrownClasses, GrownModule

    if not net.finished:
        raise RuntimeError("to_module: the network has not finished growing; call fit(train, dev) first")
    return GrownClasses(net) if hasattr(net, "networks") else GrownModule(net)
