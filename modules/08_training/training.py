# %% [markdown]
# # 08 Training
#
# All the parts are there. Put together by hand, they fit a line through four points of y = 2 x + 1:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
from collections.abc import Callable, Iterable
import math
import pickle
import time
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tinytorch.activations import ReLU
from tinytorch.checkpoint import CheckpointError
from tinytorch.dataloader import DataLoader, TensorDataset
from tinytorch.generator import Generator
from tinytorch.grad_mode import no_grad
from tinytorch.layers import Dropout, Linear, Module, Sequential
from tinytorch.losses import CrossEntropyLoss, MSELoss
from tinytorch.loop import TrainingLoop
from tinytorch.optimizers import SGD, Adam, Optimizer
from tinytorch.parts import give_streams, require_parts
from tinytorch.scope import activation_scope
from tinytorch.settings import integer, setting
from tinytorch.snapshot import gather
from tinytorch.tensor import Tensor

# %%
x, y = Tensor([[0.0], [1.0], [2.0], [3.0]]), Tensor([[1.0], [3.0], [5.0], [7.0]])
line = Linear(1, 1, rng=Generator(0))
optimizer = SGD(line.parameters(), lr=0.1)
for _ in range(200):
    optimizer.zero_grad()
    MSELoss()(line(x), y).backward()
    optimizer.step()
line.weight, line.bias

# %% [markdown]
# Slope 2, offset 1, after 200 steps on all points at once. A real run goes by batches, the last one short. It wants a
# rate that changes, gradients cut to size, an evaluation, and to stop tonight and go on tomorrow.

# %% [markdown]
# ## Where a loop goes wrong
#
# Take three squared errors in batches of two and one. Average what the batches say, and compare:

# %%
squares = np.array([1.0, 4.0, 9.0])
print((squares[:2].mean() + squares[2:].mean()) / 2, squares.mean())

# %% [markdown]
# The mean of means is 5.75, the mean 4.67: the last sample counted as much as the two before it. Nothing complains, and
# most loops have this slip. This lesson builds a `Trainer` without it, in small methods.

# %% [markdown]
# ![A sample in a last batch of one counts as eight others when the means of batches 8, 8 and 1 are averaged](figures/08_tail.svg)

# %% [markdown]
# ## A rate that falls
#
# Large steps find the valley, small ones its floor. A straight line down is solved, from 8 to 2 in 4 epochs:

# %%
[2 + (8 - 2) * (1 - epoch / 4) for epoch in range(5)]

# %% [markdown]
# The cosine schedule has another share than 1 - epoch / 4. It falls slowly, then fast, then slowly again:

# %%
[round((1 + math.cos(math.pi * epoch / 4)) / 2, 3) for epoch in range(5)]

# %% [markdown]
# ![Half a cosine stays longer near the largest and the smallest rate than a straight line](figures/08_schedule.svg)

# %% [markdown]
# Write `get_lr`: from epoch `total_epochs` on, the rate stays at `min_lr`.
#
# **Shapes** `epoch -> a Python float`
#
# **By hand** from 8 to 2 in 4 epochs: at epoch 0 it is 8, at epoch 2, halfway, 2 + 6 * (1 + 0) / 2 = 5, from 4 on 2.

# %% exercise="schedule" points=3
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
        ### BEGIN SOLUTION
        if epoch >= self.total_epochs:
            return self.min_lr
        share = (1 + math.cos(math.pi * epoch / self.total_epochs)) / 2
        return self.min_lr + (self.max_lr - self.min_lr) * share
        ### END SOLUTION


# %% check="schedule" points=3
def test_unit_schedule():
    check("CosineSchedule(8, 2, 4).get_lr(0)", want=8.0)
    check("CosineSchedule(8, 2, 4).get_lr(2)", want=5.0)
    check("CosineSchedule(8, 2, 4).get_lr(1)", want=5 + 3 * math.sqrt(0.5))
    check("CosineSchedule(8, 2, 4).get_lr(4)", want=2.0)
    check("CosineSchedule(8, 2, 4).get_lr(7)", want=2.0, says="From the last epoch on it stays at min_lr.")
    check("CosineSchedule(0.3, 0, 1).get_lr(0)", want=0.3)
    raises("CosineSchedule(2, 8, 4)", ValueError, match="above")


test_unit_schedule()

# %%
[round(CosineSchedule(0.1, 0.0, 5).get_lr(epoch), 3) for epoch in range(7)]

# %% [markdown]
# **In PyTorch** `CosineAnnealingLR` counts its own steps, and rises again after the end, where ours stays:
# ```python oracle
# optimizer = torch.optim.SGD([torch.zeros(1)], lr=8.0)
# schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4, eta_min=2.0)
# rates = [(optimizer.step(), schedule.step(), schedule.get_last_lr()[0])[2] for epoch in range(8)]
# np.allclose([rates[1], rates[3], rates[7]], [5.0, 2.0, 8.0])
# ```

# %% [markdown]
# ## Cut gradients to size
#
# One odd batch can have a gradient a thousand times as long as the others, and one step along it undoes an hour. The
# norm is the length of all gradients laid end to end. Two gradients, and what becomes of them when 2.5 is the limit:

# %%
grads = [np.array([3.0, 0.0]), np.array([[4.0]])]
norm = math.sqrt(sum((grad**2).sum() for grad in grads))
norm, [grad * 2.5 / norm for grad in grads]

# %% [markdown]
# One norm, one factor for all: the direction stays. Cutting each number, or each array by itself, would turn it.

# %% [markdown]
# ![The gradient (3, 4) scaled to length 2.5 keeps its direction; cut number by number at 2.5 it turns](figures/08_clip.svg)

# %% [markdown]
# A gradient may be so large that its square is no float32 any more:

# %%
with np.errstate(over="ignore"):
    print(np.square(np.float32(1e20)), np.square(np.float32(1e20), dtype=np.float64))

# %% [markdown]
# So square in float64. A norm that is NaN or infinite all the same is no length to scale by: that is an error, and the
# gradients stay as they are.
#
# **Shapes** `parameters, a number -> the norm before, a Python float; grads change in place`
#
# **By hand** gradients `[3 0]` and `[[4]]` have the norm sqrt(9 + 16) = 5. With max_norm 2.5 they become `[1.5 0]` and
# `[[2]]`.

# %% exercise="clip" points=5
def clip_grad_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Scale all gradients by one factor, in place, so that their norm is at most `max_norm`; return the norm before.

    Gradients that are None are left out; with none at all the norm is 0. Raises ValueError, gradients as they were,
    when the norm is NaN or infinite. Source: Pascanu and others, "On the difficulty of training recurrent neural
    networks", ICML 2013. About 8 lines.
    """
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm: max_norm must be above 0, got {max_norm}")
    grads = [parameter.grad for parameter in {id(p): p for p in parameters}.values() if parameter.grad is not None]
    ### BEGIN SOLUTION
    norm = math.sqrt(sum(float(np.square(grad, dtype=np.float64).sum()) for grad in grads))
    if not math.isfinite(norm):
        raise ValueError(f"clip_grad_norm: the norm is {norm}: a gradient holds NaN or infinity, or is far too large")
    if norm > max_norm:
        for grad in grads:
            grad *= max_norm / norm
    return norm
    ### END SOLUTION


# %% check="clip" points=3
@probe
def clip(gradients, max_norm):
    tensors = [Tensor(np.zeros(np.shape(grad))) for grad in gradients]
    for tensor, grad in zip(tensors, gradients):
        tensor.grad = np.float32(grad)
    arrays = [tensor.grad for tensor in tensors]
    try:
        return [clip_grad_norm([*tensors, Tensor([0.0])], max_norm), arrays]
    except ValueError:
        return ["ValueError", arrays]


def test_unit_clip():
    norm, grads = clip([[3, 0], [[4]]], 2.5)
    check(norm, want=5.0, says="One norm over all gradients, as it was before.")
    check(grads, want=[np.float32([1.5, 0]), np.float32([[2]])], says="Every gradient is scaled in place.")
    norm, grads = clip([[3, 0], [[4]]], 5.5)
    check(norm, want=5.0)
    check(grads, want=[np.float32([3, 0]), np.float32([[4]])], says="Below max_norm nothing is scaled.")
    check(clip([], 1.0), want=[0.0, []])
    check(clip([[1, math.inf]], 1.0), want=["ValueError", [np.float32([1, math.inf])]])


test_unit_clip()

# %% check="clip drawn" points=2 hidden=true
# Large numbers, drawn shapes, a parameter that comes twice, NaN.
### BEGIN HIDDEN TESTS
@probe
def clip_drawn(gradients, max_norm):
    tensors = [Tensor(np.zeros(np.shape(grad))) for grad in gradients]
    for tensor, grad in zip(tensors, gradients):
        tensor.grad = grad
    try:
        said = clip_grad_norm(iter([*tensors, tensors[0]]), max_norm)
    except ValueError:
        said = "refused"
    return [said, [tensor.grad for tensor in tensors]]


def test_unit_clip_drawn():
    for size in (1.0, 1e25):
        grads = [np.float32(size) * np.asarray(draw.normal(shape), np.float32) for shape in ((2, 3), (4,), (5, 1))]
        norm = math.sqrt(sum((grad.astype(np.float64) ** 2).sum() for grad in grads))
        got = clip_drawn(grads, 0.5)
        check(got[0], want=norm)
        check(got[1], want=[(grad * (0.5 / norm)).astype(np.float32) for grad in grads])
    check(clip_drawn([np.float32([3]), np.float32([math.nan])], 1.0)[0], want="refused")
    check(clip_drawn([np.float32([3]), np.float32([math.inf])], 1.0)[1][0], want=[3.0])


test_unit_clip_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `clip_grad_norm_` also returns the norm before; a norm that is NaN it applies, unless told otherwise:
# ```python oracle
# p, q = torch.zeros(2), torch.zeros(1, 1)
# p.grad, q.grad = torch.tensor([3.0, 0.0]), torch.tensor([[4.0]])
# norm = torch.nn.utils.clip_grad_norm_([p, q], 2.5)
# norm.item() == 5.0 and np.allclose(p.grad, [1.5, 0.0])
# ```

# %% [markdown]
# ## The Trainer's parts
#
# What it holds, supplied. `history` has all its lists from the start; `epoch` and `step` count what is finished.

# %% supplied="Trainer"
class Trainer(TrainingLoop):
    """Trains `model` with `optimizer` on `loss_fn(prediction, targets)`, a mean over samples.

    Where given: `scheduler` sets the rate, by `get_lr(epoch)` before each epoch or by `lr_at(step)` before each step;
    `grad_clip_norm` is the longest gradient allowed; `accuracy(prediction, targets)` is the share of a batch that is
    right and replaces the loss's own count; `rng` gives each Dropout a stream of its own. Raises TypeError or
    ValueError for parts that cannot be meant.
    """

    def __init__(
        self,
        model: Module,
        optimizer: Optimizer,
        loss_fn: Callable[[Tensor, Tensor], Tensor],
        scheduler: Any = None,
        grad_clip_norm: float | None = None,
        accuracy: Callable[[Tensor, Tensor], Any] | None = None,
        rng: Generator | None = None,
    ) -> None:
        require_parts(model, optimizer, loss_fn, scheduler, grad_clip_norm)
        give_streams(model, rng)
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.scheduler, self.grad_clip_norm, self.accuracy = scheduler, grad_clip_norm, accuracy
        self.epoch, self.step = 0, 0
        names = "train_loss", "learning_rates", "step_learning_rates", "eval_loss", "accuracy"
        self.history: dict[str, list[Any]] = {name: [] for name in names}
        self.loss_sum, self.weight_sum = 0.0, 0.0  # of the epoch that is running


# %% [markdown]
# ## Judge a batch
#
# Means may be averaged when each goes by its weight. For the three squares, weights 2 and 1:

# %%
print((2 * squares[:2].mean() + 1 * squares[2:].mean()) / (2 + 1), squares.mean())

# %% [markdown]
# Now they agree. So every batch has a weight, and it is not always the number of samples: a loss with class weights
# divides by those. A loss of ours tells what its targets weigh:

# %%
MSELoss().total_weight(Tensor([[0.0], [4.0]])), CrossEntropyLoss(weight=[1, 5]).total_weight(Tensor([0, 1, 0]))

# %% [markdown]
# Two samples, and 1 + 5 + 1. For a function that has no `total_weight`, the weight is `len(targets)`. Here is also the
# place to refuse what must not reach the weights: a batch of weight 0, a loss that is no single number, NaN, infinity.
#
# **Shapes** `inputs (B, ...), targets (B, ...) -> prediction, loss (), weight`, the weight a Python float
#
# **By hand** four samples under MSELoss weigh 4.0; three of classes that weigh 1, 1 and 5 weigh 7.0.

# %% exercise="judge" points=5
@patch
def judge(self: Trainer, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, float]:
    """The model's prediction, its loss, and the weight of the batch as a Python float.

    Raises TypeError when the loss is no Tensor, ValueError when its shape is not (), when it is NaN or infinite, or
    when the weight is not above 0 or not finite. About 10 lines.
    """
    weigh = getattr(self.loss_fn, "total_weight", len)
    ### BEGIN SOLUTION
    weight = float(weigh(targets))
    if not 0 < weight < math.inf:
        raise ValueError(f"the batch has weight {weight}: nothing in it counts")
    prediction = self.model(inputs)
    loss = self.loss_fn(prediction, targets)
    if not isinstance(loss, Tensor):
        raise TypeError(f"the loss must be a Tensor, got a {type(loss).__name__}")
    if loss.shape != ():
        raise ValueError(f"the loss must be a single number of shape (), got shape {loss.shape}; take its mean")
    if not math.isfinite(loss.item()):
        raise ValueError(f"the loss is {loss.item()}; is the learning rate too large?")
    return prediction, loss, weight
    ### END SOLUTION


# %% check="judge" points=3
@probe
def judged(loss, inputs, targets):
    values = {"shape": [0.5], "number": 0.5, "nan": math.nan}
    losses = {name: lambda p, t, value=value: Tensor(value) for name, value in values.items()}
    losses |= {"mse": MSELoss(), "classes": CrossEntropyLoss(weight=[1, 5]), "float": lambda p, t: 0.5}
    model = Sequential(lambda inputs: inputs * 2)
    trainer = Trainer(model, SGD([Linear(1, 1, rng=Generator(0)).weight], lr=0.1), losses[loss])
    try:
        return list(trainer.judge(Tensor(inputs), Tensor(targets)))
    except (ValueError, TypeError) as error:
        return type(error).__name__


def test_unit_judge():
    column = [[1.0], [3.0]]
    check(judged("mse", column, [[0.0], [4.0]]), want=[np.float32([[2], [6]]), np.float32(4), 2.0])
    check(judged("classes", [[0.0, 0.0]] * 3, [0, 1, 0])[2], want=7.0, says="The loss says what its targets weigh.")
    check(judged("number", column, column)[2], want=2.0, says="A loss without total_weight counts samples.")
    check(judged("shape", column, column), want="ValueError")
    check(judged("nan", column, column), want="ValueError")
    check(judged("float", column, column), want="TypeError")


test_unit_judge()

# %% check="judge weights" points=2 hidden=true
# Ignored rows weigh nothing; a batch that weighs nothing, less, or infinitely much is refused.
### BEGIN HIDDEN TESTS
@probe
def judged_rows(targets, **settings):
    model = Sequential(lambda inputs: inputs)
    trainer = Trainer(model, SGD([Linear(1, 1, rng=Generator(0)).weight], lr=0.1), CrossEntropyLoss(**settings))
    try:
        return trainer.judge(Tensor(np.zeros((len(targets), 3))), Tensor(targets))[2]
    except ValueError:
        return "refused"


@probe
def judged_weight(weight):
    loss_fn = MSELoss()
    loss_fn.total_weight = lambda targets: weight
    model = Sequential(lambda inputs: inputs)
    trainer = Trainer(model, SGD([Linear(1, 1, rng=Generator(0)).weight], lr=0.1), loss_fn)
    try:
        return trainer.judge(Tensor([[1.0]]), Tensor([[2.0]]))[2]
    except ValueError:
        return "refused"


def test_unit_judge_weights():
    count, one, two = draw.integers(2, 9, (3,)).tolist()
    check(judged_rows([2, -100, *[0] * count]), want=1.0 + count)
    check(judged_rows([2, 1, 0], weight=[one, 0, two], ignore_index=0), want=float(two))
    check(judged_rows([1, 1], weight=[one, 0, two]), want="refused")
    check(judged_weight(count), want=float(count))
    for weight in (0, -1.0, math.inf, math.nan):
        check(judged_weight(weight), want="refused")


test_unit_judge_weights()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** judging is yours to write; its losses divide by the weights too, and do not say by how much:
# ```python oracle
# logits, targets, weight = torch.zeros(3, 2), torch.tensor([0, 1, 0]), torch.tensor([1.0, 5.0])
# total = F.cross_entropy(logits, targets, weight, reduction="sum")
# np.isclose(total.item() / 7, F.cross_entropy(logits, targets, weight).item())
# ```

# %% [markdown]
# ## Train on a batch
#
# Gradients too may be added when they are those of sums. A mean times its weight is a sum, and `backward` takes the
# factor as its seed. Two batches by hand, for the loss (w x) squared at w = 1:

# %%
w = Tensor([1.0], requires_grad=True)
((w * Tensor([1.0, 2.0])) ** 2).mean().backward(gradient=2.0)
w.grad

# %%
((w * Tensor([3.0])) ** 2).mean().backward(gradient=1.0)
w.grad

# %% [markdown]
# Each sample's gradient is 2 x x: 2 + 8 = 10 for the first two, 18 more for the third. That is the gradient of the sum
# over all three, however they were cut. The sums over the epoch grow by the same rule.
#
# **Shapes** `inputs (B, ...), targets (B, ...) -> the weight; grads, loss_sum and weight_sum grow`
#
# **By hand** a loss of 0.5 at weight 4 adds 2 to `loss_sum` and 4 to `weight_sum`.

# %% exercise="train_batch" points=3
@patch
def train_batch(self: Trainer, inputs: Tensor, targets: Tensor) -> float:
    """Judge the batch, run backward seeded with its weight, add to `loss_sum` and `weight_sum`; return it.

    About 5 lines.
    """
    ### BEGIN SOLUTION
    _, loss, weight = self.judge(inputs, targets)
    loss.backward(gradient=weight)
    self.loss_sum += loss.item() * weight
    self.weight_sum += weight
    return weight
    ### END SOLUTION


# %% check="train_batch" points=3
@probe
def two_batches():
    model = Linear(1, 1, bias=False, rng=Generator(0))
    model.weight.data[:] = 1.0
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss())
    weights = [trainer.train_batch(Tensor([[1.0], [2.0]]), Tensor([[0.0], [0.0]]))]
    first = model.weight.grad.copy()
    weights.append(trainer.train_batch(Tensor([[3.0]]), Tensor([[0.0]])))
    numbers = isinstance(trainer.loss_sum, float) and isinstance(trainer.weight_sum, float)
    return [weights, first, model.weight.grad, trainer.loss_sum, trainer.weight_sum, model.weight.data, numbers]


def test_unit_train_batch():
    weights, first, both, loss_sum, weight_sum, weight, numbers = two_batches()
    check(weights, want=[2.0, 1.0])
    check(first, want=[[10.0]], says="2 x x summed over the samples, 2 + 8: seed backward with the weight.")
    check(both, want=[[28.0]], says="The second batch's 18 is added.")
    check([loss_sum, weight_sum], want=[14.0, 3.0], says="Sums, not means: (1 + 4) + 9 over 3 samples.")
    check(weight, want=[[1.0]], says="Only the end of a window changes weights.")
    check(numbers, want=True, says="Sum Python floats: a tensor would keep the graph of every batch.")


test_unit_train_batch()

# %% [markdown]
# **In PyTorch** the same; it wants the seed as a tensor, where ours takes a number:
# ```python oracle
# w = torch.tensor([1.0], requires_grad=True)
# ((w * torch.tensor([1.0, 2.0])) ** 2).mean().backward(gradient=torch.tensor(2.0))
# w.grad.item() == 10.0
# ```

# %% [markdown]
# ## The end of a window
#
# A window is a few batches whose gradients are added before one step: as good as one large batch, in less memory. At
# its end come five things, in this order:

# %% [markdown]
# ![Batches of 2 and 1 seed backward with 2 and 1; at the end 28 is divided by 3, clipped to 2, stepped along, cleared](figures/08_window.svg)

# %% [markdown]
# Divide by the weight of all samples that were there; clip, which makes sense for a mean; step; clear; count. Solved for
# the one weight above, with rate 0.3 and no clip:

# %%
w.grad /= 3
w.data -= 0.3 * w.grad
w.grad = None
w

# %% [markdown]
# Now for all of an optimizer's parameters. Some may have no gradient.
#
# **Shapes** `the window's weight -> nothing; parameters change, grads are None`
#
# **By hand** gradient 28 over 3 samples, lr 0.3, weight 1: 1 - 0.3 * 28 / 3 = -1.8. With grad_clip_norm 2: 1 - 0.3 * 2.

# %% exercise="window" points=4
@patch
def _optimizer_update(self: Trainer, sample_count: float) -> None:
    """Divide each of the optimizer's gradients by `sample_count` in place, clip, step, clear; count the step.

    About 7 lines.
    """
    ### BEGIN SOLUTION
    for parameter in self.optimizer.params:
        if parameter.grad is not None:
            parameter.grad /= sample_count
    if self.grad_clip_norm is not None:
        clip_grad_norm(self.optimizer.params, self.grad_clip_norm)
    self.optimizer.step()
    self.optimizer.zero_grad()
    self.step += 1
    ### END SOLUTION


# %% check="window" points=3
@probe
def close_window(gradient, sample_count, grad_clip_norm=None):
    model = Linear(1, 1, rng=Generator(0))
    model.weight.data[:], model.bias.data[:] = 1.0, 5.0
    trainer = Trainer(model, SGD(model.parameters(), lr=0.3), MSELoss(), grad_clip_norm=grad_clip_norm)
    model.weight.grad = np.float32(gradient)
    trainer._optimizer_update(sample_count)
    return [model.weight.data, model.bias.data, model.weight.grad, trainer.step, trainer.optimizer.step_count]


def test_unit_window():
    weight, bias, grad, step, step_count = close_window([[28.0]], 3)
    check(weight, want=[[-1.8]], says="28 / 3 is the mean gradient.")
    check(bias, want=[5.0], says="It had no gradient.")
    check(grad, want=None, says="Clear the gradients for the next window.")
    check([step, step_count], want=[1, 1])
    check(close_window([[28.0]], 3, 2.0)[0], want=[[0.4]], says="Divide first, then clip.")
    check(close_window([[28.0]], 14, 2.0)[0], want=[[0.4]], says="A norm of exactly 2 is not over 2.")


test_unit_window()

# %% check="window drawn" points=1 hidden=true
# Divides in place, in float32.
### BEGIN HIDDEN TESTS
@probe
def watch_window(gradient, count):
    class Watching(Optimizer):
        def update(self, weight, grad, state):
            state["grad"] = grad

    model = Linear(3, 2, bias=False, rng=Generator(0))
    trainer = Trainer(model, Watching(model.parameters(), lr=0.3), MSELoss())
    model.weight.grad = gradient
    array = model.weight.grad
    trainer._optimizer_update(count)
    return [trainer.optimizer.state[0]["grad"], array]


def test_unit_window_drawn():
    gradient = draw.normal((2, 3)).astype(np.float32)
    got = watch_window(gradient, np.float64(7.5))
    check(got[0], want=gradient / np.float32(7.5), dtype="float32")
    check(got[1], want=gradient / np.float32(7.5), says="Divide in place.")


test_unit_window_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** these are lines of your own loop; a common slip there is to divide by the number of batches:
# ```python oracle
# w = torch.tensor([1.0], requires_grad=True)
# w.grad = torch.tensor([28.0]) / 3
# torch.optim.SGD([w], lr=0.3).step()
# np.isclose(w.item(), -1.8)
# ```

# %% [markdown]
# ## An epoch
#
# Around your loop stands the supplied base class, in loop.py: `trainer.train_epoch(loader, accumulation_steps)` sets the
# rate and train mode, hands your loop checked pairs, and puts `batch 3:` in front of an error's text; what did not end in
# a step is then forgotten.

# %% [markdown]
# Your part is the loop. Count batches from 1, and a window of two is full when the count divides by 2:

# %%
[count % 2 == 0 for count, batch in enumerate(["first", "second", "third"], start=1)]

# %% [markdown]
# The third is left over: a short window, closed the same way, with the weight that it has. Thrown away, its samples are
# never learned from; divided as if it were full, it steps too short. Then record and count.
#
# **Shapes** `batches of (inputs, targets) -> the mean loss, a Python float`
#
# **By hand** batches that weigh 4, 4 and 3, two to a window: steps over 8 and over 3.

# %% exercise="train_epoch" points=6
@patch
def run_epoch(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]], accumulation_steps: int) -> float:
    """Train on all batches in windows; return loss_sum / weight_sum, appended to history["train_loss"].

    Appends optimizer.lr to history["learning_rates"], and counts the epoch. About 12 lines.
    """
    window = 0.0  # the weight of the batches since the last step
    ### BEGIN SOLUTION
    for count, (inputs, targets) in enumerate(batches, start=1):
        window += self.train_batch(inputs, targets)
        if count % accumulation_steps == 0:
            self._optimizer_update(window)
            window = 0.0
    if window:
        self._optimizer_update(window)
    mean = self.loss_sum / self.weight_sum
    self.history["train_loss"].append(mean)
    self.history["learning_rates"].append(self.optimizer.lr)
    self.epoch += 1
    return mean
    ### END SOLUTION


# %% check="train_epoch" points=4
@probe
def one_short_window():
    model = Linear(1, 1, bias=False, rng=Generator(0))
    model.weight.data[:] = 1.0
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss())
    loss = trainer.train_epoch([(Tensor([[1.0]]), Tensor([[0.0]]))], accumulation_steps=4)
    recorded = [trainer.history["train_loss"], trainer.history["learning_rates"]]
    return [loss, model.weight.data, trainer.epoch, recorded, trainer.step]


@probe
def uneven_batches(accumulation_steps):
    model = Linear(1, 1, bias=False, rng=Generator(0))
    model.weight.data[:] = 1.0
    trainer = Trainer(model, SGD(model.parameters(), lr=0.05), MSELoss())
    batches = [(Tensor([[1.0], [2.0]]), Tensor([[0.0], [0.0]])), (Tensor([[3.0]]), Tensor([[0.0]]))]
    return [trainer.train_epoch(batches, accumulation_steps), model.weight.data, trainer.step]


def test_unit_trainer_train_epoch():
    loss, weight, epoch, recorded, step = one_short_window()
    check((loss, step), want=(1.0, 1))
    check(weight, want=[[0.8]], says="Normalize by the actual tail size")
    check(epoch, want=1, says=f"Expected epoch=1, got {epoch}")
    check(len(recorded[0]), want=1, says="Should have 1 loss recorded")
    check(recorded, want=[[1.0], [0.1]], says="The loss and the rate of the epoch.")
    check(uneven_batches(2), want=[14 / 3, np.float32([[1 - 0.05 * 28 / 3]]), 1], says="One step over 3 samples.")
    check(uneven_batches(1), want=[(5 + 2.25**2) / 3, np.float32([[0.075]]), 2], says="A step a batch.")


test_unit_trainer_train_epoch()

# %% check="train_epoch windows" points=2 hidden=true
# Any cut of a window's samples into batches gives the same step; several windows; an error leaves no trace.
### BEGIN HIDDEN TESTS
@probe
def train_on(rows, targets, weight, bias, cuts, accumulation_steps, **settings):
    model, loss_fn = Linear(3, 4, rng=Generator(0)), CrossEntropyLoss(weight=[1.0, 2.0, 0.5, 3.0])
    model.weight.data[...], model.bias.data[...] = weight, bias
    trainer = Trainer(model, SGD(model.parameters(), lr=9.0), loss_fn, CosineSchedule(0.5, 0.1, 4), **settings)
    pieces = [slice(start, end) for start, end in zip([0, *cuts], [*cuts, len(rows)])]
    loss = trainer.train_epoch([(Tensor(rows[p]), Tensor(targets[p])) for p in pieces], accumulation_steps)
    return [loss, model.weight.data, trainer.step, trainer.history["learning_rates"]]


@probe
def train_into_an_error():
    model = Linear(1, 1, rng=Generator(0))
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss())
    good, bad = Tensor([[1.0]]), Tensor([[math.nan]])
    try:
        trainer.train_epoch([(good, good), (good, good), (good, bad)], accumulation_steps=2)
    except ValueError as error:
        return [str(error)[:8], trainer.epoch, trainer.step, trainer.history["train_loss"], model.weight.grad]


@probe
def two_epochs():
    model, batch = Linear(1, 1, rng=Generator(0)), (Tensor([[1.0]]), Tensor([[0.0]]))
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss())
    for _ in range(2):
        trainer.train_epoch([batch])
    return [trainer.epoch, trainer.step, len(trainer.history["train_loss"])]


def test_unit_train_epoch_windows():
    rows, targets, weight, bias = draw.normal((9, 3)), draw.integers(0, 4, (9,)), draw.normal((4, 3)), draw.normal((4,))
    targets[4] = -100
    x, t = rows[targets >= 0], targets[targets >= 0]
    shares, w = np.exp(x @ weight.T + bias), np.array([1.0, 2.0, 0.5, 3.0])[t]
    shares /= shares.sum(axis=1, keepdims=True)
    w /= w.sum()
    loss, slope = -(w * np.log(shares[np.arange(8), t])).sum(), (w[:, None] * (shares - np.eye(4)[t])).T @ x
    want = [float(loss), (weight - 0.5 * slope).astype(np.float32), 1, [0.5]]
    given = rows, targets, weight, bias
    for cuts, steps in (([], 1), ([3], 2), ([1, 2, 6], 4), ([2, 4, 7], 9)):
        got = train_on(*given, cuts, steps)
        check(got, want=want, atol=1e-5, says="However a window is cut, its step is the same.")
    check(train_on(*given, [2, 3, 6], 3, grad_clip_norm=0.1)[2], want=2)
    check(train_into_an_error(), want=["batch 2:", 0, 1, [], None])
    check(two_epochs(), want=[2, 2, 2])


test_unit_train_epoch_windows()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the loop is yours, and so is the tail: 11 samples in batches of 4 have another mean of means than mean:
# ```python oracle
# samples = torch.arange(11.0)
# means = [batch.mean().item() for batch in samples.split(4)]
# len(means) == 3 and sum(means) / 3 != samples.mean().item()
# ```

# %% [markdown]
# Four points once more, as one batch, as 3 and 1, as 1, 1 and 2, always in one window. The slope after the step:

# %%
def one_window(kind: type[Trainer], *sizes: int) -> float:
    model = Linear(1, 1, rng=Generator(0))
    ends = np.cumsum(sizes)
    batches = [(x[end - size : end], y[end - size : end]) for size, end in zip(sizes, ends)]
    kind(model, SGD(model.parameters(), lr=0.1), MSELoss()).train_epoch(batches, accumulation_steps=len(sizes))
    return round(model.weight.item(), 5)


one_window(Trainer, 4), one_window(Trainer, 3, 1), one_window(Trainer, 1, 1, 2)

# %% [markdown]
# The same step, however the samples were cut.

# %% [markdown]
# ## How good is it?
#
# Go over held-out batches and sum up, as in training, but without a backward. How many answers are right the loss
# knows: `self.score(prediction, targets)` gives (right, counted), or None where there is no right or wrong. Supplied:

# %% supplied="Trainer.score"
@patch
def score(self: Trainer, prediction: Tensor, targets: Tensor) -> tuple[float, float] | None:
    """How many answers are right, of how many: by `accuracy` if given, else by the loss; None if neither says."""
    if self.accuracy is None:
        correct = getattr(self.loss_fn, "correct", None)
        return None if correct is None else correct(prediction, targets)
    share = self.accuracy(prediction, targets)
    return None if share is None else (float(share) * len(targets), len(targets))


# %% [markdown]
# Shares of batches are means too, so count right answers and divide once, at the end.
#
# **Shapes** `batches of (inputs, targets) -> (loss, accuracy)`, Python floats, or None for the accuracy
#
# **By hand** two batches: loss 0.5 of weight 4 and 0.2 of weight 1, right 3 of 4 and 0 of 1: (2.2 / 5, 3 / 5).

# %% exercise="tally" points=4
@patch
def tally(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    """Mean loss by weight over all batches, and the share of right answers; None when nothing was counted.

    Uses `judge` and `score`. About 9 lines.
    """
    loss_sum, weight_sum, right, counted = 0.0, 0.0, 0.0, 0.0
    ### BEGIN SOLUTION
    for inputs, targets in batches:
        prediction, loss, weight = self.judge(inputs, targets)
        loss_sum += loss.item() * weight
        weight_sum += weight
        scored = self.score(prediction, targets)
        if scored is not None:
            right, counted = right + scored[0], counted + scored[1]
    return loss_sum / weight_sum, right / counted if counted else None
    ### END SOLUTION


# %% check="tally" points=3
@probe
def tallied(loss_fn, batches, **settings):
    kinds = {"mse": MSELoss(), "ce": CrossEntropyLoss(), "plain": lambda p, t: Tensor(0.5)}
    model = Sequential(lambda inputs: inputs)
    trainer = Trainer(model, SGD([Linear(1, 1, rng=Generator(0)).weight], lr=0.1), kinds[loss_fn], **settings)
    return trainer.tally([(Tensor(inputs), Tensor(targets)) for inputs, targets in batches])


def test_unit_tally():
    near = [([[1.0], [3.0]], [[0.0], [3.0]]), ([[5.0]], [[3.0]])]
    check(tallied("mse", near), want=(5 / 3, None), says="(1 + 0 + 4) / 3; near or far is not right or wrong.")
    rows = [([[0.0, 0.0]] * 3, [0, 1, 0]), ([[0.0, 0.0]] * 2, [1, -100])]
    check(tallied("ce", rows), want=(math.log(2), 0.5), says="2 of 3 and 0 of 1, the ignored row left out.")
    check(tallied("plain", rows), want=(0.5, None))


test_unit_tally()

# %% check="tally override" points=1 hidden=true
# The Trainer's own accuracy goes by batch size.
### BEGIN HIDDEN TESTS
@probe
def tallied_by_share(sizes, share, value):
    model = Sequential(lambda inputs: inputs)

    def accuracy(prediction, targets):
        return Tensor(share) if len(targets) > 1 else 1.0

    trainer = Trainer(model, SGD([Linear(1, 1, rng=Generator(0)).weight], lr=0.1), MSELoss(), accuracy=accuracy)
    batches = [(Tensor(np.full((size, 2), value)), Tensor(np.zeros((size, 2)))) for size in sizes]
    loss, accuracy = trainer.tally(batches)
    return loss if isinstance(loss, float) else type(loss).__name__, accuracy


def test_unit_tally_override():
    size, (share, value) = int(draw.integers(2, 9, ())), draw.uniform(0.2, 0.9, (2,)).tolist()
    loss, accuracy = tallied_by_share([size, 1, 1], share, value)
    check(loss, want=value**2, says="Sum Python floats: a tensor would keep the graph of every batch.")
    check(accuracy, want=(share * size + 2) / (size + 2))


test_unit_tally_override()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** you count, also the rows that the loss ignores; then divide, over all batches:
# ```python oracle
# logits, targets = torch.tensor([[2.0, 1.0], [2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 1, -100])
# ((logits.argmax(dim=1) == targets).sum().item(), (targets != -100).sum().item()) == (1, 2)
# ```

# %% [markdown]
# ## Evaluate
#
# While evaluating, dropout must not drop and nothing should be recorded; afterwards everything must be as before,
# whatever happens. A twin for one module, with its mode in `training`:

# %%
drop = Dropout(0.9, rng=Generator(0))
mode, drop.training = drop.training, False
try:
    print(drop(Tensor([1.0, 2.0, 3.0])))
finally:
    drop.training = mode

# %% [markdown]
# Nothing dropped, and the mode is back, even if the middle had failed. A model has many modules, and the user may have
# frozen one: so remember the mode of each.
#
# **Shapes** `batches -> (loss, accuracy)`, both appended to history
#
# **By hand** modes [True, False] before: [False, False] inside, [True, False] after, also after an error.

# %% exercise="evaluate" points=4
@patch
def run_evaluation(self: Trainer, batches: Iterable[tuple[Tensor, Tensor]]) -> tuple[float, float | None]:
    """`tally` in eval mode under no_grad; each module then has the mode that it had, also after an error.

    Appends to history["eval_loss"] and history["accuracy"]. About 11 lines.
    """
    ### BEGIN SOLUTION
    modes = [(module, module.training) for module in self.model.modules()]
    self.model.eval()
    try:
        with no_grad():
            loss, accuracy = self.tally(batches)
    finally:
        for module, mode in modes:
            module.training = mode
    self.history["eval_loss"].append(loss)
    self.history["accuracy"].append(accuracy)
    return loss, accuracy
    ### END SOLUTION


# %% check="evaluate" points=3
@probe
def evaluated(target):
    model = Sequential(Dropout(0.9, rng=Generator(0)), Linear(2, 1, rng=Generator(0)), Dropout(0.9, rng=Generator(0)))
    model[1].weight.data[:], model[1].bias.data[:] = 1.0, 0.0
    model[2].eval()
    seen = []

    def loss_fn(prediction, targets):
        seen.append([module.training for module in model.modules()] + [prediction.requires_grad])
        return MSELoss()(prediction, targets)

    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), loss_fn)
    try:
        got = trainer.evaluate([(Tensor([[1.0, 2.0]]), Tensor([[target]]))])
    except ValueError as error:
        got = str(error)[:8]
    recorded = [trainer.history["eval_loss"], trainer.history["accuracy"]]
    return [got, seen, [module.training for module in model.modules()], recorded]


def test_unit_evaluate():
    got, seen, after, recorded = evaluated(5.0)
    check(got, want=(4.0, None), says="(1 + 2 - 5) squared: dropout must not drop.")
    check(seen, want=[[False, False, False, False, False]], says="Eval mode, and no graph.")
    check(after, want=[True, True, True, False], says="Each module gets back its own mode.")
    check(recorded, want=[[4.0], [None]])
    got, _, after, recorded = evaluated(math.nan)
    check(got, want="batch 0:")
    check(after, want=[True, True, True, False], says="Also after an error.")
    check(recorded, want=[[], []], says="An evaluation that failed is not recorded.")


test_unit_evaluate()

# %% check="evaluate again" points=1 hidden=true
# Recording is on again afterwards; accuracy is recorded; a loader keeps its place.
### BEGIN HIDDEN TESTS
@probe
def evaluated_twice(rows, targets, position):
    model = Linear(2, 2, bias=False, rng=Generator(0))
    model.weight.data[:] = [[1, 0], [0, 1]]
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), CrossEntropyLoss())
    loader = DataLoader(TensorDataset(Tensor(rows), Tensor(targets)), batch_size=2)
    loader.position = position
    accuracies = [trainer.evaluate(loader)[1] for _ in range(2)]
    model(Tensor(rows)).sum().backward()
    return [accuracies, trainer.history["accuracy"], loader.position, model.weight.grad]


def test_unit_evaluate_again():
    rows, targets, position = draw.normal((9, 2)), draw.integers(0, 2, (9,)), int(draw.integers(1, 5, ()))
    twice, slope = [float(np.mean(rows.argmax(axis=1) == targets))] * 2, rows.sum(axis=0).astype(np.float32)
    got = evaluated_twice(rows, targets, position)
    check(got, want=[twice, twice, position, np.stack([slope, slope])], rtol=1e-4, atol=1e-5)


test_unit_evaluate_again()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `model.eval()` is called by hand, and `model.train()` after it, which forgets what was in eval mode:
# ```python oracle
# model = torch.nn.Sequential(torch.nn.Dropout(0.9), torch.nn.Dropout(0.9))
# model[1].eval()
# model.eval(), model.train()
# model[1].training
# ```

# %% [markdown]
# ## A whole run
#
# Points on two half moons, to be told apart by a small network. One function for the data, one for all the parts:

# %%
def moons(n: int, rng: Generator) -> TensorDataset:
    angle, side = rng.uniform(0.0, math.pi, (n,)), rng.integers(0, 2, (n,))
    sign = 1 - 2 * side
    points = np.stack([np.cos(angle) * sign + side, np.sin(angle) * sign + side / 2], axis=1)
    return TensorDataset(Tensor(points + rng.normal(0.0, 0.1, (n, 2))), Tensor(side))


# %%
def build(seed: int, epochs: int) -> tuple[Trainer, DataLoader]:
    rng = Generator(seed)
    drop = Dropout(0.1, rng=rng.split("dropout"))
    model = Sequential(Linear(2, 32, rng=rng.split("first")), ReLU(), drop, Linear(32, 2, rng=rng.split("second")))
    optimizer, schedule = Adam(model.parameters()), CosineSchedule(0.05, 0.001, epochs)
    trainer = Trainer(model, optimizer, CrossEntropyLoss(), schedule, grad_clip_norm=1.0)
    return trainer, DataLoader(moons(200, rng.split("train")), batch_size=16, shuffle=True, seed=seed)


# %%
trainer, loader = build(seed=1, epochs=12)
held_out = DataLoader(moons(500, Generator(7)), batch_size=100)
for _ in range(12):
    loss = trainer.train_epoch(loader)
    share = trainer.evaluate(held_out)[1]
    print(f"{trainer.epoch:2}  rate {trainer.optimizer.lr:.4f}  loss {loss:.3f}  right {share:.3f}")

# %% [markdown]
# The rate falls along its cosine. The last column is the share of right answers on points that the network never saw.
#
# ## Stop and go on
#
# A checkpoint must hold everything that the next step depends on: weights, the optimizer's memory, counts, the streams
# of dropout, the place in the data. Supplied: `trainer.save_checkpoint(path)` and `load_checkpoint`. Trace what is gathered
# and what is compared before anything changes in snapshot.py, and the file's format in checkpoint.py.

# %%
list(gather(trainer))

# %%
gather(trainer)["optimizer"]["parameters"], gather(trainer)["generators"]["2.rng"]["path"]

# %% [markdown]
# Parameters go by name, so that another network's file is refused; so do the streams of random numbers.

# %% [markdown]
# Does it hold all? Four epochs at once, against two, a file, a new Trainer, and two more:

# %%
folder = TemporaryDirectory()
path = Path(folder.name) / "run.ckpt"
straight, loader = build(seed=1, epochs=4)
for epoch in range(4):
    straight.train_epoch(loader)
    if epoch == 1:
        straight.save_checkpoint(path)

# %%
resumed, loader = build(seed=2, epochs=4)
resumed.load_checkpoint(path)
loader.seed, loader.dataset = 1, straight.loader.dataset  # the same data in the same order
resumed.train_epoch(loader), resumed.train_epoch(loader)
[bool((a.data == b.data).all()) for a, b in zip(straight.model.parameters(), resumed.model.parameters())]

# %% [markdown]
# Every bit of every weight is the same. Without Adam's moments, or the place in the data, it would not be.
#
# ## A run to leave alone
#
# Supplied: `trainer.fit` trains for many epochs and keeps a folder: log, metrics, checkpoints. Trace it from fit.py: none
# of your methods changes for it. steps.py stands before and after your `_optimizer_update`, where the run is whole; only
# there a checkpoint is written. Here a callback ends the run in the middle of an epoch:

# %%
stopped, loader = build(seed=1, epochs=4)
options = {"epochs": 4, "run_dir": folder.name, "save_interval": 10, "quiet": True}
run = stopped.fit(loader, held_out, batch_callback=lambda trainer, row: trainer.step == 30, **options)
stopped.epoch, stopped.step, sorted(file.name for file in run.folder.glob("*.ckpt"))

# %%
resumed, loader = build(seed=1, epochs=4)
run = resumed.fit(loader, held_out, resume=True, **options)
[bool((a.data == b.data).all()) for a, b in zip(straight.model.parameters(), resumed.model.parameters())]

# %% [markdown]
# It stopped after 31 steps, within the third epoch, and went on from there. Killed instead, it would go on from step 30.
# A line for each step and epoch stands in metrics.jsonl, of which these are parts:

# %%
[{name: row[name] for name in ("kind", "epoch", "step", "lr")} for row in run.rows[-2:]]

# %% [markdown]
# A schedule may also go by the step, as `WarmupCosineLR` does: `lr_at(step)` is a pure function, so a resumed run needs
# nothing of it. `history["step_learning_rates"]` has every step's rate.

# %% [markdown]
# ## Break it on purpose
#
# First the silent slip. A Trainer whose batches all weigh 1 averages means, as most loops do:

# %%
class Averaging(Trainer):
    def judge(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, float]:
        prediction, loss, _ = Trainer.judge(self, inputs, targets)
        return prediction, loss, 1.0


# %%
one_window(Averaging, 4), one_window(Averaging, 3, 1), one_window(Averaging, 1, 1, 2)

# %% [markdown]
# No error, no warning, and another slope for every way to cut: whoever is in a short batch pulls harder.
#
# Then a loud one. A pickle may hold a call. This one would print; it could as well delete. The reader refuses it first:

# %%
class Call:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("this ran on your machine",)


path.write_bytes(pickle.dumps({"format": "tinytorch checkpoint", "payload": Call()}, protocol=3))
try:
    resumed.load_checkpoint(path)
except CheckpointError as error:
    print(error)

# %% [markdown]
# ## What it costs
#
# A file first. It holds the weights and Adam's two moments, so three times the bytes of the weights, and little else.
# Estimate and measurement, for a larger layer:

# %%
large = Linear(784, 128, rng=Generator(0))
trainer = Trainer(large, Adam(large.parameters()), CrossEntropyLoss())
trainer.train_epoch([(Tensor(np.ones((1, 784))), Tensor([5]))])
trainer.save_checkpoint(path)
3 * sum(parameter.nbytes for parameter in large.parameters()), path.stat().st_size

# %%
folder.cleanup()

# %% [markdown]
# Names, history and streams are less than a thousand bytes. Under SGD without momentum the file would be a third.
#
# Then memory while training. Held after backward, in multiples of the weights' bytes, measured and estimated:

# %%
def held(optimizer: type[Optimizer], **settings: Any) -> float:
    tracemalloc.start()
    model = Sequential(Linear(784, 512, rng=Generator(0)), ReLU(), Linear(512, 10, rng=Generator(1)))
    trainer = Trainer(model, optimizer(model.parameters(), lr=0.01, **settings), CrossEntropyLoss())
    batch = Tensor(np.ones((8, 784))), Tensor(np.zeros(8, dtype=np.int64))
    trainer.train_epoch([batch])
    trainer.train_batch(*batch)
    now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return now / sum(parameter.nbytes for parameter in model.parameters())


held(SGD)  # a first call also fills Python's own caches
for name, measured, parts in (
    ("SGD", held(SGD), ["weights", "gradients"]),
    ("momentum", held(SGD, momentum=0.9), ["weights", "gradients", "velocity"]),
    ("Adam", held(Adam), ["weights", "gradients", "mean", "mean square"]),
):
    print(f"{name:9} measured {measured:.2f}, estimated {len(parts)}: {', '.join(parts)}")

# %% [markdown]
# On top come the activations, which grow with the batch. `activation_scope` shows what a step keeps for backward, and
# frees it at its end:

# %%
with activation_scope() as scope:
    loss = trainer.judge(Tensor(np.ones((64, 784))), Tensor(np.zeros(64, dtype=np.int64)))[1]
    print(scope)

# %% [markdown]
# Then the size of a batch. An epoch over the same 256 points, in milliseconds:

# %%
def milliseconds(batch_size: int) -> float:
    trainer, _ = build(seed=1, epochs=1)
    loader = DataLoader(moons(256, Generator(3)), batch_size=batch_size)
    start = time.perf_counter()
    trainer.train_epoch(loader)
    return round((time.perf_counter() - start) * 1000, 1)


[(size, milliseconds(size)) for size in (1, 16, 256)]

# %% [markdown]
# A step costs nearly the same for one point as for many, so small batches make a slow epoch. A large batch costs memory:
# outputs are kept until backward. The most in use at once, in MiB, for 1,024 rows in one batch, and in eight of a window:

# %%
def most_in_use(batch_size: int) -> float:
    model = Sequential(Linear(64, 512, rng=Generator(0)), ReLU(), Linear(512, 2, rng=Generator(1)))
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), CrossEntropyLoss())
    rows = TensorDataset(Tensor(np.ones((1024, 64))), Tensor(np.zeros(1024, dtype=np.int64)))
    tracemalloc.start()
    trainer.train_epoch(DataLoader(rows, batch_size=batch_size), accumulation_steps=1024 // batch_size)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(most / 2**20, 2)


most_in_use(1024), most_in_use(128), 1024 * 512 * 4 / 2**20

# %% [markdown]
# The last number is the estimate for one output of the hidden layer. The large batch holds several at once, the window
# little more than an eighth of that, for the same step.

# %% [markdown]
# ## Think
#
# **Think** When is the mean of batch means right after all?
# <details><summary>Answer</summary>When all batches weigh the same: equal sizes, no ignored rows, no class weights. A
# loader that drops its last batch buys that with samples that are never seen in this epoch.</details>
#
# **Think** Why does clipping come after the division?
# <details><summary>Answer</summary>The limit is meant for the gradient of a mean. A sum over a window is longer the more
# samples it holds, so nearly every full window would be clipped, and a short one would not.</details>
#
# **Think** Dropout draws random numbers. Is a window of four batches still the same as one large batch?
# <details><summary>Answer</summary>With one dropout layer, yes: it draws row after row, however they are cut. Two that
# share a stream take turns, batch by batch, so other units are dropped; the step is then the same on average.</details>
#
# **Think** A run is resumed with its weights only, and Adam starts afresh. What happens in the next step?
# <details><summary>Answer</summary>Its moments are 0 and its count is 1, so the first step is the full rate for every
# weight, in the direction of one batch's sign: a jump in the loss, most of all late in a run.</details>

# %% [markdown]
# ## What you have
#
# A Trainer that weighs its samples, clips, follows a schedule, evaluates without a trace and resumes to the bit. It costs
# a walk back for each batch, and a file of three times the weights. Not built, and why:
#
# - other devices: NumPy computes on the processor alone. Several processes are this window again, with a network in
#   between; parallel.py has them, for `fit(..., comm=...)`
# - half precision: it needs its loss scaled, and NumPy computes it slowly
#
# That was the last lesson. From the array to the file, you wrote or traced all that trained above. Next, the milestones.
