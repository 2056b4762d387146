# ruff: noqa
# Other right answers to lesson 06, by people who read only the stubs.

# %% exercise="numerical" answer="nudges a copy in place"
def numerical_gradient(f: Callable[[np.ndarray], float], x: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    moved = np.array(x, dtype=np.float64)
    gradient = np.empty_like(moved)
    for place in np.ndindex(moved.shape):
        before = moved[place]
        moved[place] = before + eps
        above = f(moved)
        moved[place] = before - eps
        below = f(moved)
        moved[place] = before
        gradient[place] = (above - below) / (2 * eps)
    return gradient


# %% exercise="numerical" answer="rows of the identity"
def numerical_gradient(f: Callable[[np.ndarray], float], x: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    def slope(direction: np.ndarray) -> float:
        step = eps * direction.reshape(x.shape)
        return float(f(x + step) - f(x - step)) / eps / 2

    return np.array([slope(unit) for unit in np.eye(x.size)], dtype=np.float64).reshape(x.shape)


# %% exercise="record" answer="returns early"
@patch
def apply(self: Operation, *inputs: Any) -> Tensor:
    tensors = self.tensors(inputs)
    output = self.forward(*promote([tensor.data for tensor in tensors]))
    result = Tensor.wrap(output)
    if not is_grad_enabled():
        return result
    if not np.issubdtype(result.dtype, np.floating):
        return result
    if sum(t.requires_grad for t in tensors) == 0:
        return result
    self.number = next(creation)
    self.inputs = tuple(tensors)
    self.output = result.data
    result.operation = self
    result.requires_grad = True
    return result


# %% exercise="record" answer="a nested if and vars"
@patch
def apply(self: Operation, *inputs: Any) -> Tensor:
    tensors = self.tensors(inputs)
    output = self.forward(*promote([tensor.data for tensor in tensors]))
    result = Tensor.wrap(output)
    if is_grad_enabled() and result.dtype.kind == "f":
        needing = [tensor for tensor in tensors if tensor.requires_grad]
        if needing:
            vars(self).update(inputs=tensors, output=result.numpy(), number=next(creation))
            vars(result).update(requires_grad=True, operation=self)
    return result


# %% exercise="record" answer="keeps what forward gave"
@patch
def apply(self: Operation, *inputs: Any) -> Tensor:
    tensors = self.tensors(inputs)
    output = self.forward(*promote([tensor.data for tensor in tensors]))
    result = Tensor.wrap(output)
    needed = any([t.requires_grad for t in tensors]) and result.data.dtype in (np.float32, np.float64)
    if needed and is_grad_enabled():
        self.inputs, self.number = tuple(tensors), next(creation)
        self.output = output
        result.operation = self
    result.requires_grad = needed and is_grad_enabled()
    return result


# %% exercise="unbroadcast" answer="one dimension at a time"
@patch
def unbroadcast(self: Tensor, grad: np.ndarray) -> np.ndarray:
    while grad.ndim > self.ndim:
        grad = grad.sum(axis=0)
    for dim, size in enumerate(self.shape):
        if size == 1:
            grad = grad.sum(axis=dim, keepdims=True)
    return grad


# %% exercise="unbroadcast" answer="all dimensions at once, then reshape"
@patch
def unbroadcast(self: Tensor, grad: np.ndarray) -> np.ndarray:
    padded = (1,) * (grad.ndim - self.ndim) + self.shape
    repeated = tuple(i for i, (have, had) in enumerate(zip(grad.shape, padded)) if have != had)
    return np.add.reduce(grad, axis=repeated).reshape(self.shape)


# %% exercise="receive" answer="starts from nothing"
@patch
def receive(self: Tensor, share: np.ndarray, pending: dict[Operation, np.ndarray]) -> None:
    share = np.asarray(self.unbroadcast(share), dtype=self.data.dtype)
    leaf = self.operation is None
    if leaf or self.retains_grad:
        total = np.array(share)
        if self.grad is not None:
            total = np.asarray(total + self.grad)
        self.grad = total
    if not leaf:
        if self.operation in pending:
            pending[self.operation] = pending[self.operation] + share
        else:
            pending[self.operation] = share


# %% exercise="receive" answer="zeros in front"
@patch
def receive(self: Tensor, share: np.ndarray, pending: dict[Operation, np.ndarray]) -> None:
    share = np.asarray(self.unbroadcast(share), dtype=self.data.dtype)
    zeros = np.zeros_like(share)
    if self.operation is not None:
        pending[self.operation] = np.add(pending.get(self.operation, zeros), share)
    if self.operation is None or self.retains_grad:
        self.grad = np.asarray(np.add(zeros if self.grad is None else self.grad, share))


# %% exercise="walk" answer="newest of what waits"
@patch
def backward(self: Tensor, gradient: Any = None, retain_graph: bool = False) -> None:
    history, pending = self.history(), dict[Operation, np.ndarray]()
    self.receive(self.seed(gradient), pending)
    while pending:
        newest = max(pending, key=lambda operation: operation.number)
        grads = newest.backward(pending.pop(newest))
        if not isinstance(grads, tuple):
            grads = (grads,)
        for i in range(len(grads)):
            if grads[i] is None or not newest.inputs[i].requires_grad:
                continue
            newest.inputs[i].receive(grads[i], pending)
        if not retain_graph:
            newest.release()


# %% exercise="walk" answer="from the end of the list"
@patch
def backward(self: Tensor, gradient: Any = None, retain_graph: bool = False) -> None:
    history, pending = self.history(), dict[Operation, np.ndarray]()
    self.receive(self.seed(gradient), pending)
    for operation in history[::-1]:
        if operation in pending:
            given = operation.backward(pending[operation])
            del pending[operation]
            shares = list(given) if type(given) is tuple else [given]
            for tensor, share in zip(operation.inputs, shares):
                if share is not None and tensor.requires_grad:
                    tensor.receive(share, pending)
        if retain_graph is False:
            operation.release()


# %% exercise="arithmetic" answer="None wherever nothing is needed"
@patch
def backward(self: Sub, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    a, b = self.inputs
    return (grad if a.requires_grad else None), (-grad if b.requires_grad else None)


@patch
def backward(self: Mul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    a, b = self.inputs
    to_a = to_b = None
    if a.requires_grad:
        to_a = b.data * grad
    if b.requires_grad:
        to_b = a.data * grad
    return to_a, to_b


@patch
def backward(self: Div, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    a, b = self.inputs
    to_a = to_b = None
    if a.requires_grad:
        to_a = grad / b.data
    if b.requires_grad:
        to_b = -grad * a.data / b.data**2
    return to_a, to_b


# %% exercise="arithmetic" answer="reciprocals"
@patch
def backward(self: Sub, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    signs = (1, -1)
    return tuple(sign * grad if tensor.requires_grad else None for sign, tensor in zip(signs, self.inputs))


@patch
def backward(self: Mul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    others = self.inputs[::-1]
    return tuple(np.multiply(grad, o.data) if t.requires_grad else None for t, o in zip(self.inputs, others))


@patch
def backward(self: Div, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    top, bottom = self.inputs
    part = grad * (1 / bottom.data)
    return part if top.requires_grad else None, -part * (top.data / bottom.data) if bottom.requires_grad else None


# %% exercise="curves" answer="zeros for the power 0"
@patch
def backward(self: Pow, grad: np.ndarray) -> np.ndarray:
    n = self.exponent
    if not n:
        return np.zeros_like(grad)
    return n * self.inputs[0].data ** (n - 1) * grad


@patch
def backward(self: Exp, grad: np.ndarray) -> np.ndarray:
    return np.exp(self.inputs[0].data) * grad


@patch
def backward(self: Log, grad: np.ndarray) -> np.ndarray:
    return grad * (1 / self.inputs[0].data)


@patch
def backward(self: Sqrt, grad: np.ndarray) -> np.ndarray:
    return 0.5 * grad / np.sqrt(self.inputs[0].data)


# %% exercise="curves" answer="from the outputs"
@patch
def backward(self: Pow, grad: np.ndarray) -> np.ndarray:
    (x,) = self.inputs
    lower = np.ones_like(x.data) if self.exponent in (0, 1) else np.power(x.data, self.exponent - 1)
    return np.multiply(grad, self.exponent * lower)


@patch
def backward(self: Exp, grad: np.ndarray) -> np.ndarray:
    return self.output * grad


@patch
def backward(self: Log, grad: np.ndarray) -> np.ndarray:
    return grad * np.exp(-self.output)


@patch
def backward(self: Sqrt, grad: np.ndarray) -> np.ndarray:
    (x,) = self.inputs
    return grad * self.output / (2 * x.data)


# %% exercise="matmul" answer="einsum"
@patch
def backward(self: MatMul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    a, b = self.inputs
    to_a = np.einsum("...nm,...km->...nk", grad, b.data) if a.requires_grad else None
    to_b = np.einsum("...nk,...nm->...km", a.data, grad) if b.requires_grad else None
    return to_a, to_b


# %% exercise="matmul" answer="moves axes, through a list"
@patch
def backward(self: MatMul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    def turned(array: np.ndarray) -> np.ndarray:
        return np.moveaxis(array, -1, -2)

    a, b = self.inputs
    grads: list[np.ndarray | None] = [None, None]
    if a.requires_grad:
        grads[0] = turned(b.data @ turned(grad))
    if b.requires_grad:
        grads[1] = turned(turned(grad) @ a.data)
    return tuple(grads)


# %% exercise="folds" answer="counts by a sum of ones"
@patch
def backward(self: Mean, grad: np.ndarray) -> np.ndarray:
    ones = np.ones_like(self.inputs[0].data)
    count = ones.sum(axis=self.dim, keepdims=True)
    return ones / count * self.unfold(grad, self.dim, self.keepdim)


@patch
def backward(self: Max, grad: np.ndarray) -> np.ndarray:
    x = self.inputs[0].data
    here = (x == x.max(axis=self.dim, keepdims=True)).astype(x.dtype)
    here /= here.sum(axis=self.dim, keepdims=True)
    return here * self.unfold(grad, self.dim, self.keepdim)


# %% exercise="folds" answer="reshapes by hand"
@patch
def backward(self: Mean, grad: np.ndarray) -> np.ndarray:
    shape = self.inputs[0].shape
    dims = range(len(shape)) if self.dim is None else [self.dim] if isinstance(self.dim, int) else self.dim
    folded = {dim % len(shape) for dim in dims} if shape else set()
    column = grad.reshape([1 if i in folded else size for i, size in enumerate(shape)])
    count = 1
    for i in folded:
        count *= shape[i]
    full = np.empty(shape, dtype=grad.dtype)
    full[...] = column / count if count else 0
    return full


@patch
def backward(self: Max, grad: np.ndarray) -> np.ndarray:
    wide = np.broadcast_to(self.unfold(grad, self.dim, self.keepdim), self.inputs[0].shape)
    best = np.equal(self.inputs[0].data, self.unfold(self.output, self.dim, self.keepdim))
    ties = np.count_nonzero(best, axis=self.dim, keepdims=True)
    return np.where(best, wide / np.asarray(ties, dtype=grad.dtype), 0)


# %% exercise="activations" answer="where and products"
@patch
def backward(self: ReLU, grad: np.ndarray) -> np.ndarray:
    return np.where(self.inputs[0].data > 0, grad, 0)


@patch
def backward(self: Sigmoid, grad: np.ndarray) -> np.ndarray:
    y = self.output
    return (y - y * y) * grad


@patch
def backward(self: Tanh, grad: np.ndarray) -> np.ndarray:
    return grad * (1 + self.output) * (1 - self.output)


@patch
def backward(self: Softmax, grad: np.ndarray) -> np.ndarray:
    weighed = grad * self.output
    return weighed - self.output * weighed.sum(axis=self.dim, keepdims=True)


# %% exercise="activations" answer="a matrix of slopes for each row"
@patch
def backward(self: ReLU, grad: np.ndarray) -> np.ndarray:
    passed = np.array(grad)
    passed[self.output <= 0] = 0
    return passed


@patch
def backward(self: Sigmoid, grad: np.ndarray) -> np.ndarray:
    return np.multiply(np.multiply(self.output, 1 - self.output), grad)


@patch
def backward(self: Tanh, grad: np.ndarray) -> np.ndarray:
    return grad - grad * np.square(self.output)


@patch
def backward(self: Softmax, grad: np.ndarray) -> np.ndarray:
    rows, y = np.moveaxis(grad, self.dim, -1), np.moveaxis(self.output, self.dim, -1)
    slopes = np.einsum("...i,ij->...ij", y, np.eye(y.shape[-1], dtype=y.dtype)) - y[..., :, None] * y[..., None, :]
    return np.moveaxis(np.einsum("...i,...ij->...j", rows, slopes), -1, self.dim)


# %% exercise="affine" answer="einsum"
@patch
def backward(self: Affine, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    x, weight = self.inputs[0], self.inputs[1]
    rows = grad.reshape(-1, grad.shape[-1])
    grads: list[np.ndarray | None] = [None, None]
    if x.requires_grad:
        grads[0] = np.einsum("...o,oi->...i", grad, weight.data)
    if weight.requires_grad:
        grads[1] = np.einsum("bo,bi->oi", rows, x.data.reshape(len(rows), -1))
    if len(self.inputs) == 3:
        grads.append(np.einsum("bo->o", rows) if self.inputs[2].requires_grad else None)
    return tuple(grads)


# %% exercise="affine" answer="a case for the bias"
@patch
def backward(self: Affine, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    x, weight = self.inputs[0], self.inputs[1]
    rows = grad.reshape(-1, grad.shape[-1])
    samples = x.data.reshape(len(rows), weight.shape[1])
    to_x = (rows @ weight.data).reshape(x.shape) if x.requires_grad else None
    to_weight = (samples.T @ rows).T if weight.requires_grad else None
    if len(self.inputs) == 2:
        return to_x, to_weight
    return to_x, to_weight, np.ones(len(rows), dtype=rows.dtype) @ rows


# %% exercise="cross_entropy" answer="one-hot rows"
@patch
def backward(self: SoftmaxCrossEntropy, grad: np.ndarray) -> np.ndarray:
    z = self.inputs[0].data
    beliefs = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    truth = (self.targets[:, None] == np.arange(z.shape[1])).astype(z.dtype)
    weights = 1 if self.weights is None else self.weights.reshape(-1, 1)
    return grad * weights * (beliefs - truth) / self.total


# %% exercise="cross_entropy" answer="row by row"
@patch
def backward(self: SoftmaxCrossEntropy, grad: np.ndarray) -> np.ndarray:
    z = self.inputs[0].data
    result = np.zeros_like(z)
    for i, target in enumerate(self.targets):
        shifted = np.exp(z[i] - z[i].max())
        result[i] = shifted / shifted.sum()
        result[i, target] -= 1
        factor = float(grad) / self.total
        result[i] *= factor if self.weights is None else factor * float(self.weights[i])
    return result
