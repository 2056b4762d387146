# ruff: noqa
# fmt: off

# %% exercise="unbroadcast" answer="sums the leading dimensions only and forgets those of size 1"
@patch
def unbroadcast(self: Tensor, grad: np.ndarray) -> np.ndarray:
    """Sum `grad` over what broadcasting repeated, down to this tensor's shape. `(2, 3) -> (3,)` or `(2, 1)`

    About 5 lines.
    """
    while grad.ndim > self.ndim:
        grad = grad.sum(axis=0)
    return grad


# %% exercise="receive" answer="a leaf overwrites its gradient with each new share instead of adding it"
@patch
def receive(self: Tensor, share: np.ndarray, pending: dict[Operation, np.ndarray]) -> None:
    """Add one share of the gradient: to `grad` of a leaf or where it is retained, else to what waits in `pending`.

    The share is brought to this tensor's shape and dtype first. A leaf copies its first share. About 8 lines.
    """
    share = np.asarray(self.unbroadcast(share), dtype=self.data.dtype)
    if self.operation is None or self.retains_grad:
        self.grad = share.copy()
    if self.operation is not None:
        if self.operation in pending:
            pending[self.operation] = pending[self.operation] + share
        else:
            pending[self.operation] = share


# %% exercise="walk" answer="goes through the history oldest first instead of newest first"
@patch
def backward(self: Tensor, gradient: Any = None, retain_graph: bool = False) -> None:
    """Compute the gradient of this tensor by every leaf that it came from, and add it to the leaf's `grad`.

    `gradient` has this tensor's shape and may be left out for a single number. The graph is freed on the way unless
    `retain_graph`. Raises RuntimeError when nothing requires a gradient or the graph was freed.
    The method: Linnainmaa, "Taylor expansion of the accumulated rounding error", BIT 16, 1976.
    About 9 lines.
    """
    history, pending = self.history(), dict[Operation, np.ndarray]()
    self.receive(self.seed(gradient), pending)
    for operation in history:
        grads = operation.backward(pending.pop(operation))
        if not isinstance(grads, tuple):
            grads = (grads,)
        for tensor, grad in zip(operation.inputs, grads):
            if tensor.requires_grad and grad is not None:
                tensor.receive(grad, pending)
        if not retain_graph:
            operation.release()


# %% exercise="arithmetic" answer="Div by analogy with Mul: to each the gradient over the other, so b gets grad / a"
@patch
def backward(self: Sub, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a - b: the gradient to a, its negative to b. About 2 lines."""
    return grad if self.inputs[0].requires_grad else None, -grad if self.inputs[1].requires_grad else None


@patch
def backward(self: Mul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a * b: to each the gradient times the other. About 2 lines."""
    a, b = self.inputs
    return grad * b.data if a.requires_grad else None, grad * a.data if b.requires_grad else None


@patch
def backward(self: Div, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a / b: grad / b to a, -grad * a / b**2 to b. About 3 lines."""
    a, b = self.inputs
    to_a = grad / b.data if a.requires_grad else None
    to_b = grad / a.data if b.requires_grad else None
    return to_a, to_b


# %% exercise="cross_entropy" answer="subtracts 1 in the target's column of every row instead of at one place a row"
@patch
def backward(self: SoftmaxCrossEntropy, grad: np.ndarray) -> np.ndarray:
    """Softmax of each row, minus 1 at its target, times `weights`, over `total`. `() -> (N, C)`

    `self.targets (N,)`, `self.weights (N,)` or None and `self.total` were given to the constructor.
    About 7 lines.
    """
    z = self.inputs[0].data
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    p[:, self.targets] -= 1
    if self.weights is not None:
        p = p * self.weights[:, None]
    return grad * p / self.total
