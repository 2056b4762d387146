"""Binary cross entropy where a yes counts more or less than a no. Supplied with lesson 08: trace it, don't write it.

Begin at `WeightedBCEWithLogitsLoss.__call__`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinytorch.losses import BCEWithLogitsLoss, LogisticLoss
from tinytorch.require import require_same_shape
from tinytorch.tensor import Tensor

__all__ = ["WeightedBCEWithLogitsLoss"]


class WeightedBCEWithLogitsLoss(BCEWithLogitsLoss):
    """Mean of `weight * (-pos_weight*y*log(s) - (1-y)*log(1-s))`, s the sigmoid of the logit. `(...), (...) -> ()`

    Both weights are arrays that broadcast to the prediction's shape, None for 1: `pos_weight` of `(C,)` trades the yes
    of each of C questions against its no, `weight` scales whole entries. As in PyTorch the sum is divided by the number
    of entries, not by the weights. The constructor raises TypeError or ValueError for weights that are no numbers,
    negative or not finite; a call raises ValueError when shapes don't fit, TypeError when the logits are no floats.
    Source: King and Zeng, "Logistic regression in rare events data", Political Analysis 2001, section 4.2.
    """

    def __init__(self, weight: Any = None, pos_weight: Any = None) -> None:
        self.weight, self.pos_weight = _weights("weight", weight), _weights("pos_weight", pos_weight)

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        """Weigh the two halves of the loss, of which neither is negative, so that nothing cancels."""
        require_same_shape("WeightedBCEWithLogitsLoss", prediction, targets)
        _require_fit("weight", self.weight, prediction)
        _require_fit("pos_weight", self.pos_weight, prediction)
        y = np.asarray(targets).astype(prediction.dtype)
        softplus = LogisticLoss(np.zeros((), prediction.dtype))  # log(1 + exp(z)), so -log(s) is that of -z
        return ((softplus(-prediction) * (self.pos_weight * y) + softplus(prediction) * (1 - y)) * self.weight).mean()


def _weights(name: str, value: Any) -> np.ndarray:
    """A copy in float64. Raises TypeError for what is no number, ValueError for one that is negative or not finite."""
    array = np.array(1 if value is None else value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"WeightedBCEWithLogitsLoss: {name} must be numbers, got {value!r:.60}")
    if not (np.isfinite(array) & (array >= 0)).all():
        raise ValueError(f"WeightedBCEWithLogitsLoss: {name} must be 0 or more and finite, got {value!r:.60}")
    return array.astype(np.float64)


def _require_fit(name: str, weights: np.ndarray, prediction: Tensor) -> None:
    """Raise ValueError unless the weights broadcast to the prediction's shape."""
    try:
        np.broadcast_to(weights, prediction.shape)
    except ValueError as error:
        shapes = f"{name} {weights.shape}, prediction {prediction.shape}"
        raise ValueError(
            f"WeightedBCEWithLogitsLoss: {shapes}: the weight must broadcast to the prediction; reshape it"
        ) from error
