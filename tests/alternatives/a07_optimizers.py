# ruff: noqa
# Other right answers to lesson 07, by people who read only the stubs.

# %% exercise="step" answer="by position"
@patch
def step(self: Optimizer) -> None:
    self.step_count += 1
    for i in range(len(self.params)):
        if self.params[i].grad is None:
            continue
        self.update(self.params[i].data, self.params[i].grad, self.state[i])


@patch
def zero_grad(self: Optimizer) -> None:
    for i in range(len(self.params)):
        self.params[i].grad = None


# %% exercise="step" answer="chooses first"
@patch
def step(self: Optimizer) -> None:
    ready = [(p.data, p.grad, memory) for p, memory in zip(self.params, self.state) if p.grad is not None]
    for weight, grad, memory in ready:
        self.update(weight, grad, memory)
    self.step_count = self.step_count + 1


@patch
def zero_grad(self: Optimizer) -> None:
    for p in self.params:
        setattr(p, "grad", None)


# %% exercise="decay" answer="one line"
def decayed(weight: np.ndarray, grad: np.ndarray, weight_decay: float) -> np.ndarray:
    return grad if weight_decay == 0 else weight * weight_decay + grad


# %% exercise="decay" answer="a copy that grows"
def decayed(weight: np.ndarray, grad: np.ndarray, weight_decay: float) -> np.ndarray:
    if weight_decay == 0:
        return grad
    total = np.multiply(weight, weight_decay)
    return np.add(total, grad, out=np.asarray(total))


# %% exercise="momentum" answer="asks get"
@patch
def velocity(self: SGD, grad: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    velocity = state.get("momentum_buffer")
    if velocity is None:
        velocity = state["momentum_buffer"] = grad.copy()
        return velocity
    velocity[...] = self.momentum * velocity + grad
    return velocity


# %% exercise="momentum" answer="from zeros"
@patch
def velocity(self: SGD, grad: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    buffer = state.setdefault("momentum_buffer", np.zeros_like(grad))
    np.multiply(buffer, self.momentum, out=buffer)
    np.add(buffer, grad, out=buffer)
    return buffer


# %% exercise="update" answer="three cases"
@patch
def update(self: SGD, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    slope = decayed(weight, grad, self.weight_decay)
    if self.momentum == 0:
        direction = slope
    elif self.nesterov:
        direction = self.momentum * self.velocity(slope, state) + slope
    else:
        direction = self.velocity(slope, state)
    weight[...] = weight - direction * self.lr


# %% exercise="update" answer="two steps for nesterov"
@patch
def update(self: SGD, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    grad = decayed(weight, grad, self.weight_decay)
    if not self.momentum:
        np.subtract(weight, self.lr * grad, out=weight)
        return
    moving = self.velocity(grad, state)
    if self.nesterov:
        weight -= self.lr * grad
        weight -= self.lr * self.momentum * moving
    else:
        weight -= self.lr * moving


# %% exercise="moments" answer="a part of the way"
@patch
def moments(self: Adam, grad: np.ndarray, state: dict[str, Any]) -> None:
    if not state:
        state.update(step=0, exp_avg=np.zeros_like(grad), exp_avg_sq=np.zeros_like(grad))
    state["step"] = state["step"] + 1
    for name, value, beta in zip(("exp_avg", "exp_avg_sq"), (grad, grad**2), self.betas):
        state[name] += (1 - beta) * (value - state[name])


# %% exercise="moments" answer="writes into the arrays"
@patch
def moments(self: Adam, grad: np.ndarray, state: dict[str, Any]) -> None:
    if not state:
        state.update(step=0, exp_avg=np.zeros_like(grad), exp_avg_sq=np.zeros_like(grad))
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean[...] = self.betas[0] * mean + (1 - self.betas[0]) * grad
    square[...] = self.betas[1] * square + (1 - self.betas[1]) * np.square(grad)
    state["step"] += 1


# %% exercise="adapt" answer="corrected means by name"
@patch
def adapt(self: Adam, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    self.moments(grad, state)
    t = state["step"]
    mean = state["exp_avg"] / (1 - self.betas[0] ** t)
    square = state["exp_avg_sq"] / (1 - self.betas[1] ** t)
    weight[...] = weight - self.lr * mean / (square**0.5 + self.eps)


# %% exercise="adapt" answer="the paper's faster order"
import math


@patch
def adapt(self: Adam, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    self.moments(grad, state)
    share1, share2 = (1 - beta ** state["step"] for beta in self.betas)
    size = np.sqrt(state["exp_avg_sq"]) / math.sqrt(share2) + self.eps
    weight -= (self.lr / share1) * (state["exp_avg"] / size)


# %% exercise="adamw" answer="subtracts the decay"
class AdamW(Adam):
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
        weight -= self.lr * self.weight_decay * weight
        Adam.adapt(self, weight, grad, state)


# %% exercise="adamw" answer="shrinks by a named factor"
class AdamW(Adam):
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
        factor = 1 - self.weight_decay * self.lr
        np.multiply(weight, factor, out=weight)
        self.adapt(weight, grad, state)
