# ruff: noqa
# Other right answers to lesson 04, by people who read only the stubs.

# %% exercise="l1" answer="where, and a sum over a count"
class Abs(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.where(a < 0, -a, a)


class L1Loss(Loss):
    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        if np.shape(prediction.data) != np.shape(targets):
            raise ValueError("L1Loss: give as many targets as predictions, in the same arrangement")
        off = Abs()(targets - prediction)
        return off.sum() / off.numel()


# %% exercise="l1" answer="the larger of both signs"
class Abs(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.maximum(a, -a)


class L1Loss(Loss):
    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        require_same_shape(type(self).__name__, prediction, targets)
        difference = prediction - targets
        return Abs().apply(difference).mean()


# %% exercise="logistic" answer="two softplus"
def softplus(z: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, z)


class LogisticLoss(Operation):
    def __init__(self, targets: np.ndarray) -> None:
        self.targets = targets

    def forward(self, z: np.ndarray) -> np.ndarray:
        return self.targets * softplus(-z) + (1 - self.targets) * softplus(z)


# %% exercise="logistic" answer="number by number"
class LogisticLoss(Operation):
    def __init__(self, targets: np.ndarray) -> None:
        self.targets = targets

    def forward(self, z: np.ndarray) -> np.ndarray:
        losses = np.zeros(z.shape, dtype=z.dtype)
        for place in np.ndindex(z.shape):
            score, yes = float(z[place]), float(self.targets[place])
            straight = score * (1 - yes) if score > 0 else -score * yes
            losses[place] = straight + math.log1p(math.exp(-abs(score)))
        return losses


# %% exercise="bce" answer="sum over count, right answers in a loop"
class BCEWithLogitsLoss(Loss):
    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        if not isinstance(prediction, Tensor) or prediction.dtype.kind != "f":
            raise TypeError("logits are real-valued")
        wanted = np.array(targets, dtype=prediction.dtype)
        if wanted.shape != prediction.shape:
            raise ValueError(f"{wanted.shape} targets against {prediction.shape} logits")
        losses = LogisticLoss(wanted)(prediction)
        return losses.sum() / losses.numel()

    def correct(self, prediction: Tensor, targets: Any) -> tuple[int, int]:
        logits, wanted = prediction.data.reshape(-1).tolist(), np.asarray(targets).reshape(-1).tolist()
        right = [(z > 0) is (y > 0.5) for z, y in zip(logits, wanted)]
        return right.count(True), len(right)


# %% exercise="bce" answer="a Tensor first, signs multiplied"
class BCEWithLogitsLoss(Loss):
    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        require_same_shape("bce", prediction, targets)
        targets = Tensor(targets).astype(prediction.dtype).data
        return LogisticLoss(targets)(prediction).mean()

    def correct(self, prediction: Tensor, targets: Any) -> tuple[int, int]:
        says_yes, is_yes = np.greater(prediction.data, 0), np.greater(np.asarray(targets), 0.5)
        wrong = np.count_nonzero(says_yes ^ is_yes)
        return prediction.numel() - wrong, prediction.numel()


# %% exercise="kept_rows" answer="row by row"
@patch
def kept_rows(self: ClassLoss, scores: Tensor, targets: np.ndarray) -> tuple[Tensor, np.ndarray]:
    if not np.issubdtype(targets.dtype, np.integer):
        raise TypeError(f"targets are {targets.dtype}; indices were wanted")
    n_classes = scores.shape[-1]
    rows = []
    for row, index in enumerate(targets.tolist()):
        if index == self.ignore_index:
            continue
        if index < 0 or index >= n_classes:
            raise ValueError(f"no class {index} among the {n_classes} (target of row {row})")
        rows.append(row)
    chosen = np.array(rows, dtype=np.int64)
    return scores[chosen], targets[chosen].astype(np.int64)


# %% exercise="kept_rows" answer="drops first, then looks for the worst"
@patch
def kept_rows(self: ClassLoss, scores: Tensor, targets: np.ndarray) -> tuple[Tensor, np.ndarray]:
    if targets.dtype.kind in "fb":
        raise TypeError("every class index has to be a whole number")
    (rows,) = np.nonzero(targets != self.ignore_index)
    kept = targets[rows]
    valid = np.isin(kept, np.arange(scores.shape[1]))
    for row, index in zip(rows[~valid], kept[~valid]):
        raise ValueError(f"targets[{row}] = {index}, which is no class")
    return scores[rows], kept


# %% exercise="count" answer="loops"
@patch
def total_weight(self: ClassLoss, targets: Any) -> float:
    targets = np.asarray(targets)
    if targets.ndim > 1:
        return float(targets.shape[0])
    total = 0.0
    for index in targets.tolist():
        if index != self.ignore_index:
            total += 1.0 if self.weight is None else float(self.weight[index])
    return total


@patch
def correct(self: ClassLoss, prediction: Tensor, targets: Any) -> tuple[int, int]:
    rows = prediction.data.reshape(-1, prediction.shape[-1])
    wanted = np.asarray(targets)
    if wanted.shape == prediction.shape:
        wanted = wanted.argmax(axis=-1)
        pairs = list(zip(rows, wanted.reshape(-1)))
    else:
        pairs = [(row, index) for row, index in zip(rows, wanted.reshape(-1)) if index != self.ignore_index]
    return sum(int(np.argmax(row)) == int(index) for row, index in pairs), len(pairs)


# %% exercise="count" answer="masks"
@patch
def total_weight(self: ClassLoss, targets: Any) -> float:
    array = targets.data if isinstance(targets, Tensor) else np.array(targets)
    if array.ndim == 2:
        return 1.0 * len(array)
    counts = array != self.ignore_index
    if self.weight is None:
        return float(np.count_nonzero(counts))
    return float(np.dot(self.weight[np.where(counts, array, 0)], counts))


@patch
def correct(self: ClassLoss, prediction: Tensor, targets: Any) -> tuple[int, int]:
    array = targets.data if isinstance(targets, Tensor) else np.array(targets)
    answers = prediction.argmax(dim=-1).data
    counts = np.ones(answers.shape, dtype=bool)
    if array.ndim == prediction.ndim:
        array = array.argmax(-1)
    else:
        counts = array != self.ignore_index
    return np.sum(np.logical_and(answers == array, counts)), np.sum(counts)


# %% exercise="nll" answer="one row after the other"
class NLLLoss(ClassLoss):
    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        indices = np.asarray(targets)
        self.require_fit(prediction, indices, soft=False)
        scores, indices = self.kept_rows(prediction, indices)
        weights = [1.0 if self.weight is None else float(self.weight[i]) for i in indices]
        if sum(weights) == 0:
            raise ValueError("NLLLoss: the targets leave nothing to average")
        loss = 0.0
        for row, index in enumerate(indices.tolist()):
            loss = loss - scores[row, index] * weights[row]
        return loss / sum(weights)


# %% exercise="nll" answer="scales the weights first"
class NLLLoss(ClassLoss):
    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        indices = np.asarray(targets)
        self.require_fit(prediction, indices, soft=False)
        kept, classes = self.kept_rows(prediction, indices)
        share = np.ones(len(classes)) if self.weight is None else self.weight[classes]
        share = share / self.divisor(classes)
        flat = kept.reshape(-1)[np.arange(len(classes)) * kept.shape[1] + classes]
        return (flat * -share).sum()


# %% exercise="fused" answer="logaddexp"
class SoftmaxCrossEntropy(Operation):
    def __init__(self, targets: np.ndarray, weights: np.ndarray | None, total: float) -> None:
        self.targets, self.weights, self.total = targets, weights, total

    def forward(self, z: np.ndarray) -> np.ndarray:
        right = np.take_along_axis(z, self.targets[:, None], axis=1)[:, 0]
        losses = np.logaddexp.reduce(z, axis=1) - right
        weights = np.ones_like(losses) if self.weights is None else self.weights
        return np.dot(losses, weights) / self.total


# %% exercise="fused" answer="row by row in Python floats"
class SoftmaxCrossEntropy(Operation):
    def __init__(self, targets: np.ndarray, weights: np.ndarray | None, total: float) -> None:
        self.targets, self.weights, self.total = targets, weights, total

    def forward(self, z: np.ndarray) -> np.ndarray:
        loss = 0.0
        for i, row in enumerate(z.tolist()):
            top = max(row)
            surprise = math.log(math.fsum(math.exp(value - top) for value in row)) + top - row[self.targets[i]]
            loss += surprise if self.weights is None else surprise * float(self.weights[i])
        return np.array(loss / self.total, dtype=z.dtype)


# %% exercise="smoothing" answer="rows of np.eye"
@patch
def soft_sum(self: CrossEntropyLoss, prediction: Tensor, targets: np.ndarray) -> Tensor:
    n_classes = prediction.shape[1]
    if targets.ndim == 1:
        targets = np.eye(n_classes)[targets]
    e = self.label_smoothing
    smooth = targets * (1 - e) + e / n_classes
    if self.weight is not None:
        smooth = np.einsum("nc,c->nc", smooth, self.weight)
    surprise = -LogSoftmax(dim=1)(prediction)
    return (surprise * smooth).sum()


# %% exercise="smoothing" answer="a sharp part and an even part"
@patch
def soft_sum(self: CrossEntropyLoss, prediction: Tensor, targets: np.ndarray) -> Tensor:
    losses = LogSoftmax(-1)(prediction) * -1.0
    if self.weight is not None:
        losses = losses * self.weight
    even = losses.mean(dim=1).sum()
    if targets.ndim == 1:
        sharp = losses[np.arange(len(targets)), targets].sum()
    else:
        sharp = (losses * targets).sum()
    return sharp * (1 - self.label_smoothing) + even * self.label_smoothing
