# %% [markdown]
# # 07 Optimizers
#
# The square of w has its lowest point at 0 and the slope 2 w. Start at 5 and step downhill, three times:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import copy
from collections.abc import Iterable
from timeit import timeit
from typing import Any

import numpy as np

from tinytorch.generator import Generator
from tinytorch.layers import Linear, Parameter
from tinytorch.memory import distinct, restored
from tinytorch.settings import pair, setting

# %%
w = 5.0
for _ in range(3):
    w -= 0.1 * 2 * w
w

# %% [markdown]
# From 5 to 2.56: each step took a tenth of the slope away. A network has many weights, whose slopes are unlike. Two of
# them, the second 100 times as steep as the first, after 100 steps at two rates:

# %%
def walk(lr: float) -> np.ndarray:
    w = np.array([5.0, 1.0])
    for _ in range(100):
        w -= lr * np.array([1, 100]) * w
    return w.round(3)


walk(0.0175), walk(0.021)

# %% [markdown]
# At 0.0175 the steep weight has arrived, and the gentle one still has 0.856 of its 5 to go. At 0.021 the steep one
# flies off: a step multiplies it by 1 - 100 lr, now below -1. A rate that suits one weight is wrong for the other. What
# to do with the slopes, which lesson 06 finds, is decided by an optimizer; this lesson builds three.
#
# ![In 30 steps at the same rate momentum reaches the bottom of a narrow valley, plain descent does not](figures/07_valley.svg)

# %% [markdown]
# ## What every optimizer has
#
# The parameters, a learning rate, a count of steps, and for each parameter a dict of what it remembers. Supplied;
# `setting` refuses what is no number, and makes a Python float of the rest:

# %% supplied="Optimizer"
class Optimizer:
    """Changes parameters by their gradients. `params` is any iterable of Parameters, which is listed once.

    A subclass names its `settings`, which are its constructor's arguments after `params`, and what it `remembers` of a
    parameter, and writes `update`. Raises TypeError or ValueError for parameters or settings that cannot be meant.
    """

    settings: tuple[str, ...] = ("lr",)
    remembers: tuple[str, ...] = ()

    def __init__(self, params: Iterable[Parameter], lr: float) -> None:
        self.params = distinct(params)
        self.lr = lr
        self.step_count = 0
        self.state: list[dict[str, Any]] = [{} for _ in self.params]

    @property
    def lr(self) -> float:
        """The learning rate, 0 or more; may be set at any time."""
        return self._lr

    @lr.setter
    def lr(self, value: float) -> None:
        self._lr = setting(f"{type(self).__name__}: lr", value)

    def update(self, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
        """Change `weight` in place by its gradient `grad`, which stays as it is. `state` is this parameter's memory."""
        raise TypeError(f"{type(self).__name__}: an optimizer needs a method update(weight, grad, state)")


# %% [markdown]
# ## Plain descent
#
# SGD is stochastic gradient descent, since the slope of one batch stands, by chance more or less well, for that of all
# the data. It takes all the settings this lesson needs. Its first `update` is the walk above, for arrays. Solved:

# %% twin="SGD"
class SGD(Optimizer):
    """Stochastic gradient descent, with momentum, weight decay and Nesterov's look ahead where they are asked for.

    Sources: Robbins and Monro, "A stochastic approximation method", 1951; Sutskever and others, "On the importance of
    initialization and momentum in deep learning", ICML 2013. Raises ValueError for nesterov without momentum.
    """

    settings = ("lr", "momentum", "weight_decay", "nesterov")
    remembers = ("momentum_buffer",)

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        Optimizer.__init__(self, params, lr)
        self.momentum = setting("SGD: momentum", momentum)
        self.weight_decay = setting("SGD: weight_decay", weight_decay)
        self.nesterov = bool(nesterov)
        if self.nesterov and not self.momentum:
            raise ValueError("SGD: nesterov needs momentum above 0; pass momentum=0.9")

    def update(self, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
        """Step against the gradient. `(...), (...) -> nothing; weight changes`"""
        weight -= self.lr * grad


# %%
weight = same = np.array([4.0, 2.0, 7.0])
SGD([Parameter(0.0)], lr=0.5).update(weight, np.array([2.0, -4.0, 0.0]), {})
same

# %% [markdown]
# Two names, one array: `weight -= ...` writes into the numbers that are there, so the model that holds them sees it.
#
# ## A step for all
#
# `step` updates each parameter that has a gradient. Where the gradient is None, backward never came, and the parameter
# stays. `zero_grad` takes all gradients away again, since the next backward would add to them.
#
# **Shapes** `parameters and their grads -> nothing; parameters change, step_count grows by 1`
#
# **By hand** weights `[4 2 7]`, gradient `[2 -4 0]`, lr 0.5: `[3 4 7]`.

# %% exercise="step" points=4
@patch
def step(self: Optimizer) -> None:
    """Call `update(data, grad, state)` for every parameter that has a gradient; count the step. About 4 lines."""
    ### BEGIN SOLUTION
    for parameter, state in zip(self.params, self.state):
        if parameter.grad is not None:
            self.update(parameter.data, parameter.grad, state)
    self.step_count += 1
    ### END SOLUTION


@patch
def zero_grad(self: Optimizer) -> None:
    """Set every gradient to None. About 2 lines."""
    ### BEGIN SOLUTION
    for parameter in self.params:
        parameter.grad = None
    ### END SOLUTION


# %% check="step" points=3
@probe
def two_steps():
    moved, still = Parameter([4.0, 2.0, 7.0]), Parameter([1.0])
    array, optimizer = moved.data, SGD(iter([still, moved]), lr=0.5)
    moved.grad = np.array([2.0, -4.0, 0.0], np.float32)
    optimizer.step()
    once, grad = moved.data.copy(), moved.grad.copy()
    optimizer.step()
    optimizer.zero_grad()
    return [once, moved.data, moved.data is array, still.data, grad, moved.grad, optimizer.step_count]


def test_unit_step():
    once, twice, same, still, grad, cleared, count = two_steps()
    check(once, want=[3.0, 4.0, 7.0])
    check(twice, want=[2.0, 6.0, 7.0], says="Two steps with the same gradient.")
    check(same, want=True, says="Change the array that is there.")
    check(still, want=[1.0], says="No gradient, no change.")
    check(grad, want=[2.0, -4.0, 0.0], says="step leaves the gradients; zero_grad clears them.")
    check(cleared, want=None)
    check(count, want=2)


test_unit_step()

# %% check="step memory" points=1 hidden=true
# Each parameter gets its own state; a step without any gradient counts; None for parameters that never had one.
### BEGIN HIDDEN TESTS
@probe
def states_seen(gradients, steps):
    class Counting(Optimizer):
        def update(self, weight, grad, state):
            state["seen"] = state.get("seen", 0) + int(grad.sum())

    params = [Parameter([0.0, 0.0]) for _ in range(len(gradients) + 1)]
    optimizer = Counting(params, lr=1.0)
    optimizer.step()
    for parameter, grad in zip(params[1:], gradients):
        parameter.grad = grad
    for _ in range(steps):
        optimizer.step()
    optimizer.zero_grad()
    return [optimizer.state, optimizer.step_count, [parameter.grad for parameter in params]]


def test_unit_step_memory():
    gradients, steps = draw.integers(1, 99, (3, 2)).astype(np.float32), int(draw.integers(2, 9, ()))
    got = states_seen(gradients, steps)
    check(got[0], want=[{}, *({"seen": steps * int(grad.sum())} for grad in gradients)])
    check(got[1], want=1 + steps)
    check(got[2], want=[None, None, None, None])


test_unit_step_memory()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** both methods have the same names; `step` there also takes a function that computes the loss anew:
# ```python oracle
# weight = torch.nn.Parameter(torch.tensor([4.0, 2.0, 7.0]))
# weight.grad = torch.tensor([2.0, -4.0, 0.0])
# torch.optim.SGD([weight], lr=0.5).step()
# weight.tolist() == [3.0, 4.0, 7.0]
# ```

# %% [markdown]
# With lesson 06's slopes, the first walk again, to 2.56. These three lines are the heart of every training run:

# %%
parameter = Parameter(5.0)
optimizer = SGD([parameter], lr=0.1)
for _ in range(3):
    (parameter * parameter).backward()
    optimizer.step()
    optimizer.zero_grad()
parameter

# %% [markdown]
# ## Weight decay
#
# With large weights a model can fit noise. To hold them down, add weight_decay / 2 times the sum of their squares to the
# loss. What that does to the gradient shows in two losses close together, for a weight of 4 and a decay of 0.5:

# %%
round((0.25 * 4.001**2 - 0.25 * 3.999**2) / 0.002, 6)

# %% [markdown]
# The slope is weight_decay times the weight. So the loss need not be touched: the gradient is all that changes.
#
# **Shapes** `weight (...), grad (...) -> (...)`, a new array
#
# **By hand** weights `[2 4]`, gradient `[1 3]`, decay 0.5: `[1+1 3+2]` = `[2 5]`.

# %% exercise="decay" points=2
def decayed(weight: np.ndarray, grad: np.ndarray, weight_decay: float) -> np.ndarray:
    """The gradient with the slope of weight_decay / 2 times the squared weights. `(...), (...) -> (...)`

    Leaves `grad` and `weight` as they are; gives back `grad` itself when there is no decay. About 3 lines.
    """
    ### BEGIN SOLUTION
    if not weight_decay:
        return grad
    return grad + weight_decay * weight
    ### END SOLUTION


# %% check="decay" points=2
@probe
def decay_leaves(weight, grad):
    return [decayed(weight, grad, 0.5), weight, grad, decayed(weight, grad, 0.0) is grad]


def test_unit_decay():
    check("decayed(np.float32([2, 4]), np.float32([1, 3]), 0.5)", want=[2.0, 5.0])
    check("decayed(np.float32([2, 4]), np.float32([1, 3]), 2.0)", want=[5.0, 11.0])
    _, weight, grad, same = decay_leaves(np.float32([2, 4]), np.float32([1, 3]))
    check([weight, grad], want=[np.float32([2, 4]), np.float32([1, 3])], says="Make a new array; these stay.")
    check(same, want=True, says="Without decay there is nothing to compute.")


test_unit_decay()

# %% [markdown]
# **In PyTorch** it is a setting of the optimizer too, which there may differ between groups of parameters:
# ```python oracle
# weight = torch.nn.Parameter(torch.tensor([2.0, 4.0]))
# weight.grad = torch.tensor([1.0, 3.0])
# torch.optim.SGD([weight], lr=1.0, weight_decay=0.5).step()
# weight.tolist() == [2.0 - 2.0, 4.0 - 5.0]
# ```

# %% [markdown]
# ## Momentum
#
# The narrow valley of the first cells, and how many steps plain descent needs until both weights are under 0.001:

# %%
def valley(optimizer: Optimizer, steep: float = 100.0) -> int:
    (point,) = optimizer.params
    while np.abs(point.data).max() > 0.001 and optimizer.step_count < 10_000:
        point.grad = point.data * np.array([1, steep], np.float32)
        optimizer.step()
    return optimizer.step_count


valley(SGD([Parameter([5.0, 1.0])], lr=0.0175))

# %% [markdown]
# A heavy ball does better (Polyak, 1964). It keeps a velocity, the sum of all slopes so far, each fading by a factor a
# step. Across the valley the slopes change their sign, along it they do not:

# %%
across = along = 0.0
for sign in (1, -1, 1, -1, 1, -1):
    across, along = 0.9 * across + sign, 0.9 * along + 1
round(across, 2), round(along, 2)

# %% [markdown]
# Six slopes of size 1: across they cancel, along they add up, in the end to 1 / (1 - 0.9), which is ten steps in one.
# Velocity does the same with arrays, and is kept in `state` from step to step. The first is the first gradient, as an
# array of its own.
#
# **Shapes** `grad (...) -> velocity (...)`, kept in `state["momentum_buffer"]`
#
# **By hand** momentum 0.25, gradients `[4 8]`, then `[3 1]`: velocity `[4 8]`, then `[0.25*4+3 0.25*8+1]` = `[4 3]`.

# %% exercise="momentum" points=4
@patch
def velocity(self: SGD, grad: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    """Velocity after this gradient: momentum * velocity + grad, in place; the first is a copy. `(...) -> (...)`

    Kept as `state["momentum_buffer"]`, which is missing at first. About 6 lines.
    """
    ### BEGIN SOLUTION
    if "momentum_buffer" not in state:
        state["momentum_buffer"] = np.array(grad)
    else:
        state["momentum_buffer"] *= self.momentum
        state["momentum_buffer"] += grad
    return state["momentum_buffer"]
    ### END SOLUTION


# %% check="momentum" points=4
@probe
def two_velocities(momentum, grad, more):
    optimizer, state = SGD([Parameter(0.0)], lr=0.1, momentum=momentum), {}
    first = optimizer.velocity(grad, state)
    kept, second = first.copy(), optimizer.velocity(more, state)
    return [kept, second, state, second is first, grad]


def test_unit_momentum():
    first, second, state, same, grad = two_velocities(0.25, np.float32([4, 8]), np.float32([3, 1]))
    check(first, want=[4.0, 8.0], says="The first velocity is the gradient itself, not a part of it.")
    check(second, want=[4.0, 3.0])
    check(state, want={"momentum_buffer": np.float32([4, 3])}, says="The velocity stays in state for the next step.")
    check(same, want=True, says="Change the velocity in place.")
    check(grad, want=[4.0, 8.0], says="Keep a copy, or the next step writes into the gradient.")


test_unit_momentum()

# %% [markdown]
# **In PyTorch** the name is the same; there a setting `dampening` may shrink each gradient but the first:
# ```python oracle
# weight = torch.nn.Parameter(torch.zeros(2))
# optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.25)
# for gradient in ([4.0, 8.0], [3.0, 1.0]):
#     weight.grad = torch.tensor(gradient)
#     optimizer.step()
# optimizer.state[weight]["momentum_buffer"].tolist() == [4.0, 3.0]
# ```

# %% [markdown]
# ## All of SGD
#
# Put decay and velocity into `update`, which replaces the first one. With `nesterov` the step looks one further ahead:
# the gradient plus momentum times the velocity, which has that gradient in it already.
#
# **Shapes** `weight (...), grad (...) -> nothing; weight changes`
#
# **By hand** weight `[10]`, lr 1, momentum 0.5, first gradient `[2]`: 10 - 2 = 8. With nesterov: `10 - (2 + 0.5*2)` = 7.

# %% exercise="update" points=4
@patch
def update(self: SGD, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    """Change `weight` in place. `(...), (...) -> nothing`

    Step against the decayed gradient; with momentum against the velocity, with `nesterov` too against gradient +
    momentum * velocity. About 5 lines.
    """
    ### BEGIN SOLUTION
    grad = decayed(weight, grad, self.weight_decay)
    if self.momentum:
        velocity = self.velocity(grad, state)
        grad = grad + self.momentum * velocity if self.nesterov else velocity
    weight -= self.lr * grad
    ### END SOLUTION


# %% check="update" points=3
@probe
def descend(gradients, **settings):
    parameter, places = Parameter([10.0, 20.0]), []
    optimizer = SGD([parameter], **settings)
    for grad in gradients:
        parameter.grad = np.float32(grad)
        optimizer.step()
        places.append(parameter.data.copy())
    return [np.array(places), parameter.grad, optimizer.state[0]]


def test_unit_update():
    places, _, state = descend([[2, 4], [1, 2]], lr=0.5)
    check(places, want=[[9.0, 18.0], [8.5, 17.0]])
    check(state, want={}, says="Without momentum there is nothing to remember.")
    check(descend([[2, 4], [1, 2]], lr=0.5, weight_decay=0.2)[0], want=[[8.0, 16.0], [6.7, 13.4]])
    check(descend([[2, 4], [1, 2]], lr=0.5, momentum=0.5)[0], want=[[9.0, 18.0], [8.0, 16.0]])
    places, grad, _ = descend([[2, 4], [1, 2]], lr=0.5, momentum=0.5, nesterov=True)
    check(places, want=[[8.5, 17.0], [7.5, 15.0]])
    check(grad, want=[1.0, 2.0], says="step leaves the gradient as it is.")


test_unit_update()

# %% check="update drawn" points=1 hidden=true
# All settings at once against NumPy, in float64; a number as parameter; float32 stays; wrong settings.
### BEGIN HIDDEN TESTS
@probe
def descend_drawn(weight, gradients, nesterov, decay, dtype):
    parameter = Parameter(weight, dtype=dtype)
    optimizer = SGD([parameter], lr=np.float64(0.1), momentum=0.9, weight_decay=decay, nesterov=nesterov)
    for grad in gradients:
        parameter.grad = np.asarray(grad, dtype)
        optimizer.step()
    return [parameter.data, optimizer.state[0]["momentum_buffer"]]


def test_unit_update_drawn():
    for shape, nesterov, decay in (((2, 3), True, 0.3), ((2, 3), False, np.float64(0.3)), ((), True, 0.0)):
        start, gradients = np.asarray(draw.normal(shape)), draw.normal((5, *shape))
        weight, buffer = start, 0.0
        for grad in gradients:
            grad = grad + decay * weight
            buffer = 0.9 * buffer + grad
            weight = weight - 0.1 * (grad + 0.9 * buffer if nesterov else buffer)
        got = descend_drawn(start, gradients, nesterov, decay, "float64")
        check(got[0], want=np.asarray(weight), dtype="float64", rtol=1e-12)
        got = descend_drawn(start, gradients, nesterov, decay, "float32")
        check(got, want=[np.float32(weight), np.float32(buffer)], says="float32 stays float32.")
    raises("SGD([Parameter([1.0])], lr=0.1, nesterov=True)", ValueError, match="momentum")


test_unit_update_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same settings give the same numbers; there `maximize=True` walks uphill, ours has no such setting:
# ```python oracle
# weight = torch.nn.Parameter(torch.tensor([10.0]))
# weight.grad = torch.tensor([2.0])
# torch.optim.SGD([weight], lr=1.0, momentum=0.5, nesterov=True).step()
# weight.item() == 7.0
# ```

# %%
valley(SGD([Parameter([5.0, 1.0])], lr=0.0175, momentum=0.8))

# %% [markdown]
# The same valley, the same rate: 65 steps where plain descent took 483. Adam, the third line of the picture, is next.
#
# ![Momentum crosses a narrow valley in a seventh of the steps that plain descent takes](figures/07_steps.svg)
#
# ## Two moments
#
# Adam keeps two running means for each weight: of the gradient, and of its square. A running mean keeps a part of the
# old and takes the rest from the new. For the numbers 4, 0, 4, 0 with parts of a half:

# %%
mean = 0.0
[mean := 0.5 * mean + (1 - 0.5) * number for number in (4.0, 0.0, 4.0, 0.0)]

# %% [markdown]
# It starts at 0 and wanders about 2. Adam calls the part that stays beta, and has one for each mean,
# `betas = (b1, b2)`. The class is supplied, its arithmetic is yours.

# %% supplied="Adam"
class Adam(Optimizer):
    """Adaptive steps: the mean gradient over the root of the mean square. Weight decay goes into the gradient.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
    """

    settings = ("lr", "betas", "eps", "weight_decay")
    remembers = ("step", "exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        Optimizer.__init__(self, params, lr)
        name = type(self).__name__
        self.betas = pair(f"{name}: betas", betas, below=1.0)
        self.eps = setting(f"{name}: eps", eps)
        self.weight_decay = setting(f"{name}: weight_decay", weight_decay)


# %% [markdown]
# First the means, `exp_avg` of the gradient and `exp_avg_sq` of its square, brought up to date in place.
#
# **Shapes** `grad (...) -> nothing; state holds step, exp_avg (...), exp_avg_sq (...)`
#
# **By hand** betas (0.75, 0.875), gradients `[4]`, then `[0]`: means `[1]` and `[2]`, then `[0.75]` and `[1.75]`.

# %% exercise="moments" points=4
@patch
def moments(self: Adam, grad: np.ndarray, state: dict[str, Any]) -> None:
    """Bring `step`, `exp_avg`, `exp_avg_sq` in `state` up to date with `grad`, in place. `(...) -> nothing`

    About 6 lines after the first two.
    """
    if not state:
        state.update(step=0, exp_avg=np.zeros_like(grad), exp_avg_sq=np.zeros_like(grad))
    ### BEGIN SOLUTION
    b1, b2 = self.betas
    state["step"] += 1
    state["exp_avg"] *= b1
    state["exp_avg"] += (1 - b1) * grad
    state["exp_avg_sq"] *= b2
    state["exp_avg_sq"] += (1 - b2) * grad * grad
    ### END SOLUTION


# %% check="moments" points=4
@probe
def two_moments(grad, more, **settings):
    optimizer, state = Adam([Parameter(0.0)], **settings), {}
    optimizer.moments(grad, state)
    first, before = copy.deepcopy(state), dict(state)
    optimizer.moments(more, state)
    return [first, state, [before[name] is state[name] for name in ("exp_avg", "exp_avg_sq")], grad]


def test_unit_moments():
    first, second, same, grad = two_moments(np.float32([4, 2]), np.float32([0, 2]), betas=(0.75, 0.875))
    check(first, want={"step": 1, "exp_avg": np.float32([1, 0.5]), "exp_avg_sq": np.float32([2, 0.5])})
    check(second["exp_avg"], want=[0.75, 0.875])
    check(second["exp_avg_sq"], want=[1.75, 0.9375], says="The mean of the squares, not the square of the mean.")
    check(second["step"], want=2)
    check(same, want=[True, True], says="Change the arrays in place.")
    check(grad, want=[4.0, 2.0], says="moments leaves the gradient as it is.")


test_unit_moments()

# %% [markdown]
# **In PyTorch** the state has the same three names; `step` there is a tensor, here an integer:
# ```python oracle
# weight = torch.nn.Parameter(torch.zeros(2))
# optimizer = torch.optim.Adam([weight], betas=(0.75, 0.875))
# weight.grad = torch.tensor([4.0, 2.0])
# optimizer.step()
# [value.tolist() for value in optimizer.state[weight].values()] == [1.0, [1.0, 0.5], [2.0, 0.5]]
# ```

# %% [markdown]
# ## Adam's step
#
# Both means began at 0, so early on they are too small. After t steps they hold `1 - b1**t` and `1 - b2**t` of the whole:

# %%
[round(1 - 0.9**t, 3) for t in (1, 2, 10, 50)], [round(1 - 0.999**t, 3) for t in (1, 2, 10, 50)]

# %% [markdown]
# ![Uncorrected, the mean of a steady gradient of 1 starts at a tenth; corrected it is 1 at once](figures/07_correction.svg)
#
# Divide by that share, and they are means from the first step on. Then walk lr times the mean over the root of the mean
# square, with `eps` added to the root so that nothing is divided by 0.
#
# **Shapes** `weight (...), grad (...) -> nothing; weight changes`
#
# **By hand** first step, gradient `[3 -0.5]`: the corrected means are the gradient and its square, so each weight moves
# by lr, against its sign. With eps 1 and lr 4: 4 * 3 / (3 + 1) = 3.

# %% exercise="adapt" points=5
@patch
def adapt(self: Adam, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    """Step by the corrected mean over the root of the corrected mean square. `(...), (...) -> nothing`

    Calls `moments` first, then changes `weight` in place. About 5 lines.
    """
    ### BEGIN SOLUTION
    self.moments(grad, state)
    b1, b2 = self.betas
    rate = self.lr / (1 - b1 ** state["step"])
    root = np.sqrt(state["exp_avg_sq"] / (1 - b2 ** state["step"]))
    weight -= rate * state["exp_avg"] / (root + self.eps)
    ### END SOLUTION


# %% supplied="Adam.update"
@patch
def update(self: Adam, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    """Adapt to the decayed gradient. `(...), (...) -> nothing; weight changes`"""
    self.adapt(weight, decayed(weight, grad, self.weight_decay), state)


# %% check="adapt" points=4
@probe
def adapt_twice(weight, gradients, **settings):
    parameter = Parameter(weight)
    optimizer, places = Adam([parameter], **settings), []
    for grad in gradients:
        parameter.grad = np.float32(grad)
        optimizer.step()
        places.append(parameter.data.copy())
    return [places, parameter.grad]


def test_unit_adapt():
    check(adapt_twice([1.0, 2.0], [[3, -0.5]], lr=0.25)[0], want=[np.float32([0.75, 2.25])])
    check(adapt_twice([9.0], [[3]], lr=4, eps=1)[0], want=[np.float32([6])], says="eps is added to the root.")
    places, grad = adapt_twice([8.0, 8.0], [[4, 2], [0, 2]], lr=1, betas=(0.5, 0.75))
    second = np.float32([1, 1.5]) / 0.75 / np.sqrt(np.float32([3, 1.75]) / 0.4375)
    check(places, want=[np.float32([7, 7]), (7 - second).astype(np.float32)], says="t is 2 in the second step.")
    check(grad, want=[0.0, 2.0])
    check(adapt_twice([8.0], [[1]], lr=1, weight_decay=0.5)[0], want=[np.float32([7])])


test_unit_adapt()

# %% check="adapt drawn" points=1 hidden=true
# Several steps with decay in both dtypes; a gradient that is missing for a while; a number as parameter.
### BEGIN HIDDEN TESTS
@probe
def adapt_drawn(weight, gradients, dtype):
    parameter, other = Parameter(weight, dtype=dtype), Parameter([1.0])
    optimizer = Adam([other, parameter], lr=np.float64(0.1), weight_decay=0.3)
    for grad in gradients:
        optimizer.zero_grad()
        optimizer.step()
        parameter.grad = np.asarray(grad, dtype)
        optimizer.step()
    return [parameter.data, optimizer.state[1]["exp_avg"], other.data, optimizer.step_count]


def test_unit_adapt_drawn():
    start, gradients = draw.normal((2, 3)), draw.normal((4, 2, 3))
    weight, mean, square = start, 0.0, 0.0
    for t, grad in enumerate(gradients, start=1):
        grad = grad + 0.3 * weight
        mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad**2
        weight = weight - 0.1 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
    got = adapt_drawn(start, gradients, "float64")
    check(got[0], want=weight, dtype="float64", rtol=1e-10)
    check(got[2:], want=[np.float32([1]), 8])
    got = adapt_drawn(start, gradients, "float32")
    check(got[:2], want=[np.float32(weight), np.float32(mean)], rtol=1e-4, says="float32 stays float32.")


test_unit_adapt_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the numbers are the same; on a GPU it changes all parameters in a few calls, where ours loops:
# ```python oracle
# weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
# weight.grad = torch.tensor([3.0, -0.5])
# torch.optim.Adam([weight], lr=0.25).step()
# torch.allclose(weight, torch.tensor([0.75, 2.25]))
# ```

# %%
[valley(Adam([Parameter([5.0, 1.0])], lr=0.3), steep) for steep in (1.0, 100.0, 10000.0)]

# %% [markdown]
# A round bowl, the narrow valley, and one 10,000 times as steep on one side take equally many steps at the same rate:
# Adam divides each weight's slope by the slope's own usual size.
#
# ## Decay beside the gradient
#
# What goes into Adam's gradient is divided by the root, the decay too, so weights with large gradients hardly decay.
# AdamW first shrinks every weight by the factor 1 - lr * weight_decay, then makes Adam's step with the plain gradient.
#
# **Shapes** `weight (...), grad (...) -> nothing; weight changes`
#
# **By hand** weight `[8]`, lr 0.5, decay 0.5, first gradient `[1]`: 8 * 0.75 = 6, minus 0.5 is 5.5.

# %% exercise="adamw" points=3
class AdamW(Adam):
    """Adam whose weight decay shrinks the weights themselves.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        Adam.__init__(self, params, lr, betas, eps, weight_decay)

    def update(self, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
        """Shrink the weight, then `adapt` to the gradient as it came. About 2 lines."""
        ### BEGIN SOLUTION
        weight *= 1 - self.lr * self.weight_decay
        self.adapt(weight, grad, state)
        ### END SOLUTION


# %% check="adamw" points=3
@probe
def shrink(weight, gradients, **settings):
    parameter = Parameter(weight)
    optimizer = AdamW([parameter], **settings)
    for grad in gradients:
        parameter.grad = np.float32(grad)
        optimizer.step()
    return [parameter.data, optimizer.state[0]["exp_avg"]]


def test_unit_adamw():
    weight, mean = shrink([8.0], [[1.0]], lr=0.5, weight_decay=0.5)
    check(weight, want=[5.5])
    check(mean, want=[0.1], says="The means are of the gradient as it came.")
    check(shrink([8.0], [[0.0], [0.0]], lr=0.5, weight_decay=0.5)[0], want=[4.5])
    check(shrink([100.0], [[0.0]], lr=0.5)[0], want=[99.5], says="The usual decay is 0.01.")


test_unit_adamw()

# %% [markdown]
# **In PyTorch** the result is the same; there Adam itself takes `decoupled_weight_decay=True`, ours is a class:
# ```python oracle
# weight = torch.nn.Parameter(torch.tensor([8.0]))
# weight.grad = torch.tensor([1.0])
# torch.optim.AdamW([weight], lr=0.5, weight_decay=0.5).step()
# torch.allclose(weight, torch.tensor([5.5]))
# ```

# %% [markdown]
# Gradients that change their sign each step should leave a weight where it is, so that only the decay moves it. A
# weight of 8 after 200 steps, with small gradients and with large ones:

# %%
def decay_alone(kind: type[Adam], size: float) -> float:
    optimizer = kind([Parameter([8.0])], lr=0.01, weight_decay=0.5)
    for number in range(200):
        optimizer.params[0].grad = np.float32([size if number % 2 else -size])
        optimizer.step()
    return round(optimizer.params[0].item(), 2)


[(decay_alone(Adam, size), decay_alone(AdamW, size)) for size in (1.0, 100.0)]

# %% [markdown]
# AdamW brings both to 2.94. Adam's decay depends on the gradients, and next to large ones it is gone.
#
# ![Beside large gradients Adam's decay vanishes; AdamW's is the same for all](figures/07_decay.svg)
#
# ## Save and restore
#
# A run that stops and goes on needs the memory of its optimizer too. Supplied; lesson 08 writes it to a file:

# %% supplied="Optimizer.state_dict"
@patch
def state_dict(self: Optimizer) -> dict[str, Any]:
    """Copies of the settings, the step count, and what is remembered of each parameter, in plain containers."""
    settings = {name: getattr(self, name) for name in self.settings}
    return {"settings": settings, "step_count": self.step_count, "state": copy.deepcopy(self.state)}


# %% supplied="Optimizer.load_state_dict"
@patch
def load_state_dict(self: Optimizer, state: dict[str, Any]) -> None:
    """Take over what `state_dict` gave. Raises ValueError or TypeError, with nothing changed, unless it fits."""
    self.__dict__.update(restored(self, state).__dict__)


# %%
adam = Adam([Parameter([1.0, 2.0, 3.0]), Parameter([4.0])], lr=0.1)
adam.params[0].grad = np.float32([1, 10, 100])
adam.step()
adam.state_dict()

# %% [markdown]
# The second had no gradient yet, so nothing is remembered of it. `load_state_dict` takes a state back, if it fits.
#
# ## Break it on purpose
#
# The three lines of a training run, with `zero_grad` forgotten:

# %%
parameter = Parameter(5.0)
optimizer = SGD([parameter], lr=0.1)
for _ in range(12):
    (parameter * parameter).backward()
    optimizer.step()
    print(round(parameter.item(), 2), end="  ")

# %% [markdown]
# No error. Backward adds to the gradient that is there, so each step follows the sum of all slopes so far: a velocity
# with momentum 1, which never fades. The weight runs past 0 and swings back, for ever.
#
# ![Without zero_grad the weight swings for ever; with it the weight comes to rest](figures/07_forgotten.svg)
#
# ## What it costs
#
# What is kept, in multiples of the weights' bytes: nothing by SGD, one array with momentum, two by Adam. Measured:

# %%
def remembered(optimizer: Optimizer) -> float:
    for parameter in optimizer.params:
        parameter.grad = np.ones_like(parameter.data)
    optimizer.step()
    arrays = [value for state in optimizer.state for value in state.values() if isinstance(value, np.ndarray)]
    return sum(array.nbytes for array in arrays) / sum(parameter.nbytes for parameter in optimizer.params)


params = list(Linear(1000, 100, rng=Generator(0)).parameters())
remembered(SGD(params, lr=0.1)), remembered(SGD(params, lr=0.1, momentum=0.9)), remembered(Adam(params))

# %% [markdown]
# Weights, gradients and two moments: training with Adam takes four times the bytes of the weights, and the activations
# besides. The saved state weighs twice the weights.
#
# ![Bytes a training run keeps for every byte of weights: two with SGD, three with momentum, four with Adam](figures/07_bytes.svg)

# %% [markdown]
# Time by estimate: arithmetic this light waits for memory, so count the passes over an array. SGD makes two, a product
# and a difference; yours of Adam make about thirteen. Measured, microseconds a step for 100,100 weights:

# %%
plain, adaptive = (timeit(each.step, number=50) / 50 for each in (SGD(params, lr=0.1), Adam(params)))
print(f"{sum(p.numel() for p in params)} weights: SGD {1e6 * plain:.0f}, Adam {1e6 * adaptive:.0f}")

# %% [markdown]
# Adam's step takes several times as long. Beside forward and backward it is small all the same: they do about six
# operations for each weight and each row of the batch.

# %% [markdown]
# The package brings faster steps, to be traced: parameters lie end to end in one array, and what is computed goes into
# room that was made once. Mixed into yours:

# %%
from tinytorch.flat import FlatAdam, FlatSGD


class FastSGD(FlatSGD, SGD):
    pass


class FastAdam(FlatAdam, Adam):
    pass


# %% [markdown]
# Ten steps of each, on a network of two layers and from the same gradients:

# %%
def stepped(kind: type[Optimizer], **options: float) -> Optimizer:
    layers = Linear(784, 128, rng=Generator(0)), Linear(128, 10, rng=Generator(1))
    optimizer = kind([parameter for layer in layers for parameter in layer.parameters()], lr=0.01, **options)
    for _ in range(10):
        for parameter in optimizer.params:
            parameter.grad = np.cos(9 * parameter.data)
        optimizer.step()
    return optimizer


pairs = [(stepped(SGD, momentum=0.9), stepped(FastSGD, momentum=0.9)), (stepped(Adam), stepped(FastAdam))]
[all(np.allclose(a, b, rtol=1e-5) for a, b in zip(mine.params, fast.params)) for mine, fast in pairs]

# %% [markdown]
# The weights agree. Now microseconds a step of yours and of the fast one:

# %%
for both in pairs:
    turns = [[timeit(each.step, number=10) / 10 for each in both] for _ in range(30)]
    mine, fast = map(min, zip(*turns))
    print(f"{type(both[0]).__name__}: yours {1e6 * mine:.0f}, fast {1e6 * fast:.0f}, ratio {mine / fast:.1f}")

# %% [markdown]
# The arithmetic is the same; what is saved are new arrays and passes over memory. Adam makes most of both, and gains
# most; SGD hardly any. Yours stay the ones to read.

# %% [markdown]
# ## Think
#
# **Think** The loss is multiplied by 1000. What changes for SGD, and what for Adam?
# <details><summary>Answer</summary>SGD steps 1000 times as far. Adam hardly changes: mean and root grow
# alike.</details>
#
# **Think** A parameter has no gradient, or one of zeros. Is that the same to SGD with momentum?
# <details><summary>Answer</summary>No. None leaves parameter and velocity alone; with zeros the velocity fades, still
# moves the weight, and the decay works.</details>
#
# **Think** Why does Adam count steps for each parameter, when the optimizer counts them already?
# <details><summary>Answer</summary>The correction needs how many gradients went into *these* means. A parameter that
# was left out for ten steps would be corrected too little.</details>
#
# **Think** `weight = weight - lr * grad` gives the same numbers as `weight -= lr * grad`. What goes wrong?
# <details><summary>Answer</summary>It makes a new array and gives it a local name. The parameter keeps the old one, no
# error is raised, and the loss stays where it was.</details>

# %% [markdown]
# ## What you built
#
# SGD with momentum, Nesterov and decay; Adam; AdamW: up to two arrays a weight, a few passes a step. Not built:
# - groups of parameters with rates of their own, because this course's models need one rate
# - AMSGrad and other kin of Adam, since each is a line or two of change
# - methods of second order, whose memory grows with the square of the number of weights
#
# Next, lesson 08 puts model, loss, data and optimizer into one loop, and lets the rate fall as it goes.
