# ruff: noqa
# fmt: off

# %% exercise="step" answer="zero_grad fills the gradients with zeros instead of setting them to None"
@patch
def step(self: Optimizer) -> None:
    """Call `update(data, grad, state)` for every parameter that has a gradient; count the step. About 4 lines."""
    for p, s in zip(self.params, self.state):
        if p.grad is not None:
            self.update(p.data, p.grad, s)
    self.step_count += 1


@patch
def zero_grad(self: Optimizer) -> None:
    """Set every gradient to None. About 2 lines."""
    for p in self.params:
        p.grad = np.zeros_like(p.data)


# %% exercise="momentum" answer="the first velocity is the gradient's own array, no copy, and the next step writes into it"
@patch
def velocity(self: SGD, grad: np.ndarray, state: dict[str, Any]) -> np.ndarray:
    """Velocity after this gradient: momentum * velocity + grad, in place; the first is a copy. `(...) -> (...)`

    Kept as `state["momentum_buffer"]`, which is missing at first. About 6 lines.
    """
    if "momentum_buffer" in state:
        state["momentum_buffer"] *= self.momentum
        state["momentum_buffer"] += grad
    else:
        state["momentum_buffer"] = grad
    return state["momentum_buffer"]


# %% exercise="moments" answer="the second line was copied from the first and still has b1 where b2 belongs"
@patch
def moments(self: Adam, grad: np.ndarray, state: dict[str, Any]) -> None:
    """Bring `step`, `exp_avg`, `exp_avg_sq` in `state` up to date with `grad`, in place. `(...) -> nothing`

    About 6 lines after the first two.
    """
    if not state:
        state.update(step=0, exp_avg=np.zeros_like(grad), exp_avg_sq=np.zeros_like(grad))
    b1, b2 = self.betas
    m, v = state["exp_avg"], state["exp_avg_sq"]
    state["step"] += 1
    m *= b1
    m += (1 - b1) * grad
    v *= b1
    v += (1 - b1) * grad * grad


# %% exercise="adapt" answer="corrects by 1 - b at every step, without the power t"
@patch
def adapt(self: Adam, weight: np.ndarray, grad: np.ndarray, state: dict[str, Any]) -> None:
    """Step by the corrected mean over the root of the corrected mean square. `(...), (...) -> nothing`

    Calls `moments` first, then changes `weight` in place. About 5 lines.
    """
    self.moments(grad, state)
    mean = state["exp_avg"] / (1 - self.betas[0])
    square = state["exp_avg_sq"] / (1 - self.betas[1])
    weight -= self.lr * mean / (np.sqrt(square) + self.eps)


# %% exercise="adamw" answer="shrinks by 1 - weight_decay, the learning rate is left out"
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
        weight *= 1 - self.weight_decay
        self.adapt(weight, grad, state)
