# ruff: noqa
# fmt: off

# %% exercise="l1" answer="takes the mean first and then its absolute value, so errors of opposite sign cancel"
class Abs(Operation):
    """Every number without its sign. `(...) -> (...)`. About 1 line."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.abs(a)


class L1Loss(Loss):
    """Mean of the absolute differences. `(...), (...) -> ()`

    Raises ValueError when the shapes differ.
    About 2 lines.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        require_same_shape("L1Loss", prediction, targets)
        return Abs()((prediction - targets).mean())


# %% exercise="bce" answer="counts a logit as yes above 0.5, as if it were a chance"
class BCEWithLogitsLoss(Loss):
    """Mean binary cross entropy of logits, targets from 0 to 1. `(...), (...) -> ()`

    Raises ValueError when the shapes differ, TypeError when the logits are no floats.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        """Take the mean of LogisticLoss, whose targets are an array of the prediction's dtype. About 3 lines."""
        require_same_shape("BCEWithLogitsLoss", prediction, targets)
        y = np.asarray(targets).astype(prediction.dtype)
        return LogisticLoss(y)(prediction).mean()

    def correct(self, prediction: Tensor, targets: Any) -> tuple[int, int]:
        """How many logits stand on their target's side (above 0, above 0.5), of how many. About 2 lines."""
        right = (prediction.data > 0.5) == (np.asarray(targets) > 0.5)
        return int(right.sum()), right.size


# %% exercise="nll" answer="divides the weighted sum by the number of rows instead of by the sum of their weights"
class NLLLoss(ClassLoss):
    """Weighted mean of minus the log-probability at the target. `(N, C), (N,) -> ()`

    Raises ValueError when shapes don't fit, an index is no class or no row counts; TypeError for indices that are
    not integers.
    About 6 lines.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        indices = np.asarray(targets)
        self.require_fit(prediction, indices, soft=False)
        scores, indices = self.kept_rows(prediction, indices)
        if len(indices) == 0:
            raise ValueError("NLLLoss: no rows left")
        picked = -scores[np.arange(len(indices)), indices]
        if self.weight is not None:
            picked = picked * self.weight[indices]
        return picked.sum() / len(indices)


# %% exercise="fused" answer="divides twice: takes the mean over the rows and then divides by total as well"
class SoftmaxCrossEntropy(Operation):
    """Mean of `-log softmax(z)[i, targets[i]]` over the rows, in one step. `(N, C) -> ()`

    Row i counts `weights[i]` times (an array `(N,)` of the logits' dtype; None counts each once); the sum is divided by
    `total`.
    About 7 lines.
    """

    def __init__(self, targets: np.ndarray, weights: np.ndarray | None, total: float) -> None:
        self.targets, self.weights, self.total = targets, weights, total

    def forward(self, z: np.ndarray) -> np.ndarray:
        z = z - z.max(axis=1, keepdims=True)
        logsum = np.log(np.exp(z).sum(axis=1))
        losses = logsum - z[np.arange(len(z)), self.targets]
        if self.weights is not None:
            losses = losses * self.weights
        return np.mean(losses) / self.total


# %% exercise="smoothing" answer="spreads the share e over the C-1 other classes instead of evenly over all C"
@patch
def soft_sum(self: CrossEntropyLoss, prediction: Tensor, targets: np.ndarray) -> Tensor:
    """Sum of `-w * q * logp` over rows and classes, q the smoothed targets. `(N, C), (N,) or (N, C) -> ()`

    About 6 lines.
    """
    C = prediction.shape[1]
    q = targets
    if q.ndim == 1:
        q = (q[:, None] == np.arange(C))
    q = q.astype(prediction.dtype)
    e = self.label_smoothing
    # the right class keeps 1-e, the others get e between them
    q = q * (1 - e) + (1 - q) * e / (C - 1)
    if self.weight is not None:
        q = (q * self.weight).astype(prediction.dtype)
    return -(LogSoftmax(1)(prediction) * Tensor(q)).sum()
