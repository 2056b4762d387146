# ruff: noqa
# Other right answers to lesson 08, by people who read only the stubs.

# %% exercise="schedule" answer="stops the clock"
class CosineSchedule:
    def __init__(self, max_lr: float, min_lr: float, total_epochs: int) -> None:
        self.max_lr, self.min_lr = setting("CosineSchedule: max_lr", max_lr), setting("CosineSchedule: min_lr", min_lr)
        self.total_epochs = integer("CosineSchedule: total_epochs", total_epochs, least=1)
        if self.min_lr > self.max_lr:
            raise ValueError(f"CosineSchedule: min_lr {min_lr} is above max_lr {max_lr}; exchange them?")

    def get_lr(self, epoch: int) -> float:
        angle = math.pi * min(epoch, self.total_epochs) / self.total_epochs
        middle, half = (self.max_lr + self.min_lr) / 2, (self.max_lr - self.min_lr) / 2
        return middle + half * math.cos(angle)


# %% exercise="schedule" answer="the square of half the angle"
class CosineSchedule:
    def __init__(self, max_lr: float, min_lr: float, total_epochs: int) -> None:
        self.max_lr, self.min_lr = setting("CosineSchedule: max_lr", max_lr), setting("CosineSchedule: min_lr", min_lr)
        self.total_epochs = integer("CosineSchedule: total_epochs", total_epochs, least=1)
        if self.min_lr > self.max_lr:
            raise ValueError(f"CosineSchedule: min_lr {min_lr} is above max_lr {max_lr}; exchange them?")

    def get_lr(self, epoch: int) -> float:
        if epoch < self.total_epochs:
            share = math.cos(math.pi * epoch / (2 * self.total_epochs)) ** 2
            return share * self.max_lr + (1 - share) * self.min_lr
        return self.min_lr


# %% exercise="clip" answer="lays all gradients end to end"
def clip_grad_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm: max_norm must be above 0, got {max_norm}")
    grads = [parameter.grad for parameter in {id(p): p for p in parameters}.values() if parameter.grad is not None]
    numbers = [grad.astype(np.float64).reshape(-1) for grad in grads]
    norm = float(np.linalg.norm(np.concatenate(numbers))) if numbers else 0.0
    if math.isnan(norm) or math.isinf(norm):
        raise ValueError("these gradients cannot be clipped, something has blown up")
    factor = max_norm / norm if norm > max_norm else 1.0
    for grad in grads:
        grad[...] = grad * factor
    return norm


# %% exercise="clip" answer="the norm of the norms"
def clip_grad_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm: max_norm must be above 0, got {max_norm}")
    grads = [parameter.grad for parameter in {id(p): p for p in parameters}.values() if parameter.grad is not None]
    norm = 0.0
    for grad in grads:
        for number in grad.ravel().tolist():
            norm = math.hypot(norm, number)
    if not np.isfinite(norm):
        raise ValueError(f"norm {norm}")
    if norm <= max_norm:
        return norm
    for grad in grads:
        np.multiply(grad, max_norm / norm, out=grad)
    return norm


# %% exercise="judge" answer="the model first"
@patch
def judge(self: Trainer, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, float]:
    weigh = getattr(self.loss_fn, "total_weight", len)
    prediction = self.model(inputs)
    loss = self.loss_fn(prediction, targets)
    weight = float(weigh(targets))
    if not isinstance(loss, Tensor):
        raise TypeError("loss_fn has to return a Tensor")
    if loss.ndim != 0:
        raise ValueError("loss_fn has to return one number, reduce it first")
    if not np.isfinite(loss.data):
        raise ValueError("training has diverged")
    if not (weight > 0 and np.isfinite(weight)):
        raise ValueError("this batch counts for nothing, or for everything")
    return prediction, loss, weight


# %% exercise="judge" answer="collects what is wrong"
@patch
def judge(self: Trainer, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, float]:
    weigh = getattr(self.loss_fn, "total_weight", len)
    weight = float(weigh(targets))
    if math.isnan(weight) or weight <= 0 or weight == math.inf:
        raise ValueError(f"a batch cannot weigh {weight}")
    prediction = self.model(inputs)
    loss = self.loss_fn(prediction, targets)
    if not isinstance(loss, Tensor):
        raise TypeError(f"{loss!r} is not a Tensor")
    wrong = ""
    if loss.shape:
        wrong = f"has shape {loss.shape} instead of ()"
    elif math.isnan(loss.item()) or math.isinf(loss.item()):
        wrong = f"is {loss.item()}"
    if wrong:
        raise ValueError(f"the loss {wrong}")
    return prediction, loss, weight


# %% exercise="train_batch" answer="scales the loss"
@patch
def train_batch(self: Trainer, inputs: Tensor, targets: Tensor) -> float:
    prediction, loss, weight = self.judge(inputs, targets)
    total = loss * weight
    total.backward()
    self.loss_sum, self.weight_sum = self.loss_sum + total.item(), self.weight_sum + weight
    return weight


# %% exercise="train_batch" answer="backward last"
@patch
def train_batch(self: Trainer, inputs: Tensor, targets: Tensor) -> float:
    judged = self.judge(inputs, targets)
    self.loss_sum += float(judged[1]) * judged[2]
    self.weight_sum += judged[2]
    judged[1].backward(np.asarray(judged[2], dtype=judged[1].dtype))
    return judged[2]


# %% exercise="window" answer="multiplies, clips to infinity"
@patch
def _optimizer_update(self: Trainer, sample_count: float) -> None:
    for p in self.optimizer.params:
        if p.grad is None:
            continue
        p.grad *= 1 / float(sample_count)
    limit = self.grad_clip_norm
    if limit:
        clip_grad_norm(iter(self.optimizer.params), limit)
    self.optimizer.step()
    self.step = self.step + 1
    self.optimizer.zero_grad()


# %% exercise="window" answer="lists the gradients"
@patch
def _optimizer_update(self: Trainer, sample_count: float) -> None:
    optimizer = self.optimizer
    for grad in [p.grad for p in optimizer.params if p.grad is not None]:
        np.divide(grad, sample_count, out=grad, casting="same_kind")
    if self.grad_clip_norm is not None:
        clip_grad_norm(optimizer.params, self.grad_clip_norm)
    optimizer.step()
    for p in optimizer.params:
        p.grad = None
    self.step += 1


# %% exercise="train_epoch" answer="islice, a window at a time"
from itertools import islice


@patch
def run_epoch(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]], accumulation_steps: int) -> float:
    source = iter(batches)
    while True:
        weights = [self.train_batch(inputs, targets) for inputs, targets in islice(source, accumulation_steps)]
        if not weights:
            break
        self._optimizer_update(sum(weights))
    self.epoch += 1
    self.history["learning_rates"] += [self.optimizer.lr]
    self.history["train_loss"] += [self.loss_sum / self.weight_sum]
    return self.history["train_loss"][-1]


# %% exercise="train_epoch" answer="a list of weights"
@patch
def run_epoch(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]], accumulation_steps: int) -> float:
    waiting: list[float] = []
    for inputs, targets in batches:
        waiting.append(self.train_batch(inputs, targets))
        if len(waiting) == accumulation_steps:
            self._optimizer_update(sum(waiting))
            waiting.clear()
    if waiting:
        self._optimizer_update(sum(waiting))
    mean = self.loss_sum / self.weight_sum
    for name, value in (("train_loss", mean), ("learning_rates", self.optimizer.lr)):
        self.history[name].append(value)
    self.epoch = self.epoch + 1
    return mean


# %% exercise="tally" answer="rows of a table"
@patch
def tally(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    loss_sum, weight_sum, right, counted = 0.0, 0.0, 0.0, 0.0
    rows = []
    for inputs, targets in batches:
        prediction, loss, weight = self.judge(inputs, targets)
        rows.append((loss.item(), weight, *(self.score(prediction, targets) or (0, 0))))
    weight_sum, counted = sum(row[1] for row in rows), sum(row[3] for row in rows)
    mean = sum(row[0] * row[1] for row in rows) / weight_sum
    if counted == 0:
        return mean, None
    return mean, sum(row[2] for row in rows) / counted


# %% exercise="tally" answer="a running mean"
@patch
def tally(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    loss_sum, weight_sum, right, counted = 0.0, 0.0, 0.0, 0.0
    mean = 0.0
    for inputs, targets in batches:
        prediction, loss, weight = self.judge(inputs, targets)
        weight_sum += weight
        mean += (float(loss) - mean) * weight / weight_sum
        score = self.score(prediction, targets)
        if score is None:
            continue
        right += score[0]
        counted += score[1]
    return mean, (None if counted == 0 else right / counted)


# %% exercise="evaluate" answer="a dict of modes by name"
@patch
def run_evaluation(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    before = {name: module.training for name, module in self.model.named_modules()}
    try:
        for module in self.model.modules():
            module.training = False
        with no_grad():
            result = self.tally(batches)
        self.history["eval_loss"].append(result[0])
        self.history["accuracy"].append(result[1])
        return result
    finally:
        for name, module in self.model.named_modules():
            module.training = before[name]


# %% exercise="evaluate" answer="keeps what was training"
@patch
def run_evaluation(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    was_training = [module for module in self.model.modules() if module.training]
    with no_grad():
        self.model.train(False)
        try:
            loss, accuracy = self.tally(batches)
        finally:
            for module in was_training:
                module.training = True
    for name, value in (("eval_loss", loss), ("accuracy", accuracy)):
        self.history[name].append(value)
    return loss, accuracy
