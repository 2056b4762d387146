# ruff: noqa
# fmt: off

# %% exercise="schedule" answer="does not stop at total_epochs, so the rate climbs again after it"
class CosineSchedule:
    """A learning rate for each epoch: half a cosine from `max_lr` down to `min_lr`, which then stays.

    Raises ValueError or TypeError unless 0 <= min_lr <= max_lr and total_epochs is an integer from 1 up.
    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
    """

    def __init__(self, max_lr: float, min_lr: float, total_epochs: int) -> None:
        self.max_lr, self.min_lr = setting("CosineSchedule: max_lr", max_lr), setting("CosineSchedule: min_lr", min_lr)
        self.total_epochs = integer("CosineSchedule: total_epochs", total_epochs, least=1)
        if self.min_lr > self.max_lr:
            raise ValueError(f"CosineSchedule: min_lr {min_lr} is above max_lr {max_lr}; exchange them?")

    def get_lr(self, epoch: int) -> float:
        """The rate of this epoch: min + (max - min) * (1 + cos(pi * epoch / total)) / 2. About 3 lines."""
        cos = math.cos(math.pi * epoch / self.total_epochs)
        return self.min_lr + (self.max_lr - self.min_lr) * (1 + cos) / 2


# %% exercise="clip" answer="cuts each gradient to max_norm by its own length instead of all by one factor"
def clip_grad_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Scale all gradients by one factor, in place, so that their norm is at most `max_norm`; return the norm before.

    Gradients that are None are left out; with none at all the norm is 0. Raises ValueError, gradients as they were,
    when the norm is NaN or infinite. Source: Pascanu and others, "On the difficulty of training recurrent neural
    networks", ICML 2013. About 8 lines.
    """
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm: max_norm must be above 0, got {max_norm}")
    grads = [parameter.grad for parameter in {id(p): p for p in parameters}.values() if parameter.grad is not None]
    norms = [math.sqrt((g.astype(np.float64) ** 2).sum()) for g in grads]
    total = math.sqrt(sum(n * n for n in norms))
    if not math.isfinite(total):
        raise ValueError(f"clip_grad_norm: the norm is {total}")
    for g, n in zip(grads, norms):
        if n > max_norm:
            g *= max_norm / n
    return total


# %% exercise="train_epoch" answer="steps only when a window is full, so a short last window is thrown away"
@patch
def run_epoch(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]], accumulation_steps: int) -> float:
    """Train on all batches in windows; return loss_sum / weight_sum, appended to history["train_loss"].

    Appends optimizer.lr to history["learning_rates"], and counts the epoch. About 12 lines.
    """
    window = 0.0
    for i, (inputs, targets) in enumerate(batches):
        window += self.train_batch(inputs, targets)
        if (i + 1) % accumulation_steps == 0:
            self._optimizer_update(window)
            window = 0.0
    mean = self.loss_sum / self.weight_sum
    self.history["train_loss"].append(mean)
    self.history["learning_rates"].append(self.optimizer.lr)
    self.epoch += 1
    return mean


# %% exercise="tally" answer="averages the batches' means, so a small batch counts as much as a large one"
@patch
def tally(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    """Mean loss by weight over all batches, and the share of right answers; None when nothing was counted.

    Uses `judge` and `score`. About 9 lines.
    """
    loss_sum, weight_sum, right, counted = 0.0, 0.0, 0.0, 0.0
    n = 0
    for inputs, targets in batches:
        prediction, loss, weight = self.judge(inputs, targets)
        loss_sum += loss.item()
        n += 1
        result = self.score(prediction, targets)
        if result is not None:
            right += result[0]
            counted += result[1]
    return loss_sum / n, right / counted if counted else None


# %% exercise="evaluate" answer="ends with model.train() for all instead of giving each module its own mode back"
@patch
def run_evaluation(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    """`tally` in eval mode under no_grad; each module then has the mode that it had, also after an error.

    Appends to history["eval_loss"] and history["accuracy"]. About 11 lines.
    """
    self.model.eval()
    try:
        with no_grad():
            loss, accuracy = self.tally(batches)
    finally:
        self.model.train()
    self.history["eval_loss"].append(loss)
    self.history["accuracy"].append(accuracy)
    return loss, accuracy
