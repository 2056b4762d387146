# %% [markdown]
# # 06 Automatic differentiation
#
# Nudge a number, and see by how much the answer moves:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytorch.activations import GELU, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from tinytorch.generator import Generator
from tinytorch.grad_mode import creation, first_gradient, is_grad_enabled, no_grad
from tinytorch.gradcheck import gradcheck
from tinytorch.layers import Affine, Dropout, Linear, Module, Parameter
from tinytorch.losses import (
    Abs,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    LogisticLoss,
    NLLLoss,
    SoftmaxCrossEntropy,
)
from tinytorch.tensor import (
    Add,
    Cast,
    Div,
    Exp,
    GetItem,
    Log,
    MatMul,
    Max,
    Mean,
    Mul,
    Neg,
    Operation,
    Permute,
    Pow,
    Reshape,
    Sqrt,
    Sub,
    Sum,
    Tensor,
    promote,
    to_array,
)

# %%
x = 3.0
((x + 0.001) ** 2 - x**2) / 0.001

# %% [markdown]
# Near 3, the square grows about 6 times as fast as its input. That factor is the gradient, and training is nothing but
# asking for it, for every weight, again and again. This lesson gives every operation the means to answer.

# %% [markdown]
# ## Nudge both ways
#
# A step to one side is off by half a step: 6.001. A step to both sides cancels that:

# %%
((x + 0.001) ** 2 - (x - 0.001) ** 2) / 0.002

# %% [markdown]
# This is the central difference. It needs two evaluations for every number, far too slow to train with, and very good to check with.
#
# **Shapes** `f: array -> number, x (...) -> gradient (...)`
#
# **By hand** f(x) = x[0] * x[1] at `[2 5]` has the gradient `[5 2]`.

# %% exercise="numerical" points=3
def numerical_gradient(f: Callable[[np.ndarray], float], x: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """Central difference of `f` by every number of `x`. `f: (...) -> number`, `(...) -> (...)` in float64.

    Leaves `x` as it was. About 6 lines.
    """
    ### BEGIN SOLUTION
    slope = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[index] = eps
        slope[index] = (f(x + step) - f(x - step)) / (2 * eps)
    return slope
    ### END SOLUTION


# %% check="numerical" points=2
def test_unit_numerical():
    check("numerical_gradient(lambda x: x[0] * x[1], np.array([2.0, 5.0]))", want=np.array([5.0, 2.0]), dtype="float64")
    check("numerical_gradient(lambda x: x.sum(), np.zeros((2, 3)))", want=np.ones((2, 3)), dtype="float64")


test_unit_numerical()

# %% check="numerical both sides" points=1 hidden=true
# The step goes both ways, by eps, and x stays.
### BEGIN HIDDEN TESTS
@probe
def difference_of_a_cube(x, eps):
    return [numerical_gradient(lambda x: float((x**3).sum()), x, eps), x]


def test_unit_numerical_both_sides():
    x = draw.uniform(1, 2, (3,))
    got = difference_of_a_cube(x, 0.1)
    check(got[0], want=3 * x**2 + 0.01, dtype="float64", says="A central difference of x**3 is 3 x**2 + eps**2.")
    check(got[1], want=x, dtype="float64")


test_unit_numerical_both_sides()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.autograd.gradcheck(f, x)` does the same comparison; it wants double precision, ours converts.

# %% [markdown]
# ## One chain by hand
#
# Take y = (2 x + 1) squared at x = 3. Go forward and keep every number:

# %%
a = 2 * x
b = a + 1
y = b**2
a, b, y

# %% [markdown]
# Now backward. `b**2` passes on 2 b times what it gets; `+ 1` passes on what it gets; `2 *` passes on twice that:

# %%
to_b = 2 * b * 1.0
to_a = to_b
to_x = 2 * to_a
to_x, ((2 * (x + 0.001) + 1) ** 2 - (2 * (x - 0.001) + 1) ** 2) / 0.002

# %% [markdown]
# Both say 28. Each step needed only its own rule and the numbers kept from the way forward. So: an operation keeps its
# `inputs` and `output`, and gets a method `backward` that turns the gradient of its output into those of its inputs.

# %% twin="Add.backward"
@patch
def backward(self: Operation, grad: np.ndarray) -> np.ndarray | tuple[np.ndarray | None, ...]:
    """Gradient of the output -> gradient of each input: an array, or one a input in a tuple; None for none."""
    raise NotImplementedError(f"{type(self).__name__} has no backward")


@patch
def backward(self: Add, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    return grad, grad


# %% [markdown]
# A sum passes its gradient on unchanged, to both.
#
# ## What a tensor carries from now on
#
# These are class attributes: a tensor made by hand needs none of its own, and costs nothing more than before.

# %% supplied="Tensor.requires_grad"
Tensor.requires_grad: bool = False
Tensor.grad: np.ndarray | None = None
Tensor.operation: Operation | None = None  # the one that made this tensor; None for a leaf
Tensor.retains_grad: bool = False
Operation.inputs: tuple[Tensor, ...] = ()  # empty before it is recorded, and again once it is freed
Parameter.requires_grad: bool = True


@patch
def __init__(self: Tensor, data: Any, dtype: Any = None, requires_grad: bool = False) -> None:
    self.data = to_array(data, dtype)
    if requires_grad and self.data.dtype.kind != "f":
        raise TypeError(f"Tensor: only floats can require a gradient, got {self.data.dtype}; pass dtype='float32'")
    if requires_grad:
        self.requires_grad = True


@patch
def __init__(self: Parameter, data: Any, dtype: Any = None) -> None:
    Tensor.__init__(self, data, dtype, requires_grad=True)


# %% [markdown]
# ## Record
#
# `apply` computed a result. Now it also notes how: if recording is on and some input requires a gradient, the operation
# keeps its inputs, its output array and its number, and the result knows its operation.
#
# The operation keeps the output's *array*, never the output tensor: that would be a circle, and Python frees circles late.
#
# **Shapes** `inputs -> one tensor`, as before
#
# **By hand** with x requiring a gradient, `y = x + 1` has `y.operation` an `Add`, whose `inputs[0]` is x.

# %% exercise="record" points=4
@patch
def apply(self: Operation, *inputs: Any) -> Tensor:
    """Compute the result, and record how when recording is on and an input requires a gradient.

    Only float results are recorded. Numbers are `next(creation)`.
    About 7 lines, the first three are lesson 01's.
    """
    tensors = self.tensors(inputs)
    output = self.forward(*promote([tensor.data for tensor in tensors]))
    result = Tensor.wrap(output)
    ### BEGIN SOLUTION
    wanted = is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if wanted and result.data.dtype.kind == "f":
        self.inputs, self.output, self.number = tuple(tensors), result.data, next(creation)
        result.requires_grad, result.operation = True, self
    return result
    ### END SOLUTION


# %% check="record" points=3
@probe
def record_one_sum():
    x = Tensor([2.0], requires_grad=True)
    y = x + 1
    later = y + 1
    kept = [type(y.operation).__name__, len(y.operation.inputs), y.operation.inputs[0] is x, y.operation.output is y.data]
    return kept + [y.requires_grad, y.operation.number < later.operation.number]


@probe
def record_nothing():
    x = Tensor([2.0], requires_grad=True)
    plain = Tensor([1.0]) + 1
    with no_grad():
        hidden = x + 1
    return [plain.requires_grad, plain.operation, hidden.requires_grad, hidden.operation]


def test_unit_record():
    check(record_one_sum(), want=["Add", 2, True, True, True, True])
    check(record_nothing(), want=[False, None, False, None])


test_unit_record()

# %% check="record floats" points=1 hidden=true
# Integers are not recorded; recording comes back after no_grad; one instance in two places keeps two records.
### BEGIN HIDDEN TESTS
@probe
def record_twice():
    x = Tensor([2.0, 3.0], requires_grad=True)
    cut = x.astype("int64")
    with no_grad():
        x + 1
    add = Add()
    first, second = add(x, x), add(x, 1.0)
    return [cut.requires_grad, first.requires_grad, first.operation is second.operation, add.inputs]


def test_unit_record_floats():
    check(record_twice(), want=[False, True, False, ()])


test_unit_record_floats()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `y.grad_fn` is the record; it points to the next functions, where ours keeps the input tensors.

# %% [markdown]
# ## Undo broadcasting
#
# A row of 3 added to a (2, 3) grid is used twice, so it gets two gradients, and their sum is its own.
#
# **Shapes** `gradient of the result's shape -> gradient of this tensor's shape`: leading dimensions that this tensor
# does not have are summed away, dimensions where it has size 1 are summed and kept
#
# **By hand** for a tensor of shape (3,), `[[1 2 3] [4 5 6]]` becomes `[5 7 9]`; for (2, 1) it becomes `[[6] [15]]`.

# %% exercise="unbroadcast" points=4
@patch
def unbroadcast(self: Tensor, grad: np.ndarray) -> np.ndarray:
    """Sum `grad` over what broadcasting repeated, down to this tensor's shape. `(2, 3) -> (3,)` or `(2, 1)`

    About 5 lines.
    """
    ### BEGIN SOLUTION
    if grad.shape == self.data.shape:
        return grad
    grad = grad.sum(axis=tuple(range(grad.ndim - self.data.ndim)))
    stretched = tuple(i for i, size in enumerate(self.data.shape) if size == 1)
    return grad.sum(axis=stretched, keepdims=True)
    ### END SOLUTION


# %% check="unbroadcast" points=3
def test_unit_unbroadcast():
    check("Tensor([0, 0, 0]).unbroadcast(np.array([[1, 2, 3], [4, 5, 6]]))", want=[5, 7, 9])
    check("Tensor([[0], [0]]).unbroadcast(np.array([[1, 2, 3], [4, 5, 6]]))", want=[[6], [15]])
    check("Tensor([[0, 0, 0], [0, 0, 0]]).unbroadcast(np.array([[1, 2, 3], [4, 5, 6]]))", want=[[1, 2, 3], [4, 5, 6]])
    check("Tensor(0).unbroadcast(np.array([[1, 2, 3], [4, 5, 6]]))", want=np.int64(21))


test_unit_unbroadcast()

# %% check="unbroadcast both" points=1 hidden=true
# Missing and stretched dimensions at once.
### BEGIN HIDDEN TESTS
def test_unit_unbroadcast_both():
    grad = draw.integers(-9, 9, (5, 2, 3, 4))
    want = grad.sum(axis=(0, 2)).reshape(2, 1, 4)
    check("Tensor(np.zeros((2, 1, 4))).unbroadcast(grad)", want=want, grad=grad)


test_unit_unbroadcast_both()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `grad.sum_to_size(2, 1)` is the same.

# %% [markdown]
# ## Receive
#
# A tensor used in three places receives three shares, and its gradient is their sum. The first share is kept as it is,
# each later one added: no array of zeros, and never `+=`, which would write into an array that others hold too.
#
# A leaf keeps the sum in `grad`, as an array of its own. Any other tensor lets it wait for the operation that made it.
#
# **Shapes** `share of the result's shape -> nothing; grad or pending grows`
#
# **By hand** a leaf that receives 2 and then 5 has grad 7.

# %% exercise="receive" points=4
@patch
def receive(self: Tensor, share: np.ndarray, pending: dict[Operation, np.ndarray]) -> None:
    """Add one share of the gradient: to `grad` of a leaf or where it is retained, else to what waits in `pending`.

    The share is brought to this tensor's shape and dtype first. A leaf copies its first share. About 8 lines.
    """
    share = np.asarray(self.unbroadcast(share), dtype=self.data.dtype)
    ### BEGIN SOLUTION
    if self.operation is None or self.retains_grad:
        self.grad = share.copy() if self.grad is None else np.asarray(self.grad + share)
    if self.operation is not None:
        waiting = pending.get(self.operation)
        pending[self.operation] = share if waiting is None else waiting + share
    ### END SOLUTION


# %% check="receive" points=3
@probe
def receive_two_shares(first, second):
    leaf = Tensor([0.0, 0.0], requires_grad=True)
    leaf.receive(first, {})
    leaf.receive(second, {})
    return [leaf.grad, first]


@probe
def receive_between():
    between = Tensor([1.0], requires_grad=True) + 1
    pending = {}
    between.receive(np.array([2.0]), pending)
    between.receive(np.array([3.0]), pending)
    return [between.grad, pending[between.operation], len(pending)]


def test_unit_receive():
    got = receive_two_shares(np.array([2.0, 3.0]), np.array([5.0, 7.0]))
    check(got[0], want=[7.0, 10.0])
    check(got[1], want=np.array([2.0, 3.0]), dtype="float64", says="The share belongs to somebody else: add, do not write into it.")
    got = receive_between()
    check(got[0], want=None, says="Only a leaf keeps its gradient.")
    check(got[1], want=[5.0])


test_unit_receive()

# %% check="receive copies" points=1 hidden=true
# The first share is copied; a retained gradient is kept on the way.
### BEGIN HIDDEN TESTS
@probe
def receive_shared(share):
    one, two = Tensor([0.0], requires_grad=True), Tensor([0.0], requires_grad=True)
    share = share.astype(np.float32)
    one.receive(share, {})
    two.receive(share, {})
    one.grad[0] = 9.0
    between = Tensor([1.0], requires_grad=True) + 1
    between.retains_grad = True
    pending = {}
    between.receive(share, pending)
    between.receive(share, pending)
    return [two.grad, share, between.grad, pending[between.operation]]


def test_unit_receive_copies():
    share = draw.integers(1, 9, (1,)).astype(np.float64)
    got = receive_shared(share)
    check(got[0], want=share.astype(np.float32))
    check(got[1], want=share.astype(np.float32))
    check(got[2], want=(2 * share).astype(np.float32))
    check(got[3], want=(2 * share).astype(np.float32))


test_unit_receive_copies()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `x.grad` is the same sum; `retain_grad()` asks for it in between, as here.

# %% [markdown]
# ## Walk back
#
# `history` is supplied: every operation that this tensor came from, oldest first, found with a list instead of recursion,
# so that a chain of a million steps is no problem. Taking from its end gives the newest.
#
# An operation may only run backward when all its shares are in. Everything that used its result was made later, so
# newest first is always right.

# %% supplied="Tensor.history"
@patch
def history(self: Tensor) -> list[Operation]:
    """Every recorded operation that this tensor came from, oldest first. Raises RuntimeError when one was freed."""
    found: set[Operation] = set()
    stack = [self]
    while stack:
        operation = stack.pop().operation
        if operation is not None and operation not in found:
            if not operation.inputs:
                raise RuntimeError("backward: an earlier backward freed this graph; pass it retain_graph=True")
            found.add(operation)
            stack.extend(operation.inputs)
    return sorted(found, key=lambda operation: operation.number)


@patch
def seed(self: Tensor, gradient: Any) -> np.ndarray:
    """The gradient to start from: the one given, or 1 for a single number."""
    if not self.requires_grad:
        raise RuntimeError("backward: this tensor requires no gradient; make an input with requires_grad=True")
    return first_gradient(self.data, gradient)


@patch
def release(self: Operation) -> None:
    """Let go of everything kept for backward."""
    self.__dict__.clear()


# %% supplied="Tensor.detach"
@patch
def detach(self: Tensor) -> Tensor:
    """A tensor on the same numbers that requires no gradient."""
    return Tensor.wrap(self.data)


@patch
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor too, though it is no leaf. Raises RuntimeError when it requires none."""
    if not self.requires_grad:
        raise RuntimeError("retain_grad: this tensor requires no gradient; make an input with requires_grad=True")
    self.retains_grad = True


@patch
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    if self.requires_grad and is_grad_enabled():
        raise RuntimeError("t[i] = v: the tensor requires a gradient, and this is unrecorded; use with no_grad():")
    self.data[GetItem(index).index] = np.asarray(value)


@patch
def zero_grad(self: Module) -> None:
    """Forget the gradient of every parameter."""
    for parameter in self.parameters():
        parameter.grad = None


# %% [markdown]
# Now the walk: start with the seed, and as long as there is history, take the newest operation and what waits for it,
# call its `backward`, and let every input that requires a gradient receive its share. Release it, unless told to retain.
#
# **By hand** `x + x` at any x: two shares of 1, grad 2.

# %% exercise="walk" points=6
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
    ### BEGIN SOLUTION
    while history:
        operation = history.pop()
        grads = operation.backward(pending.pop(operation))
        for tensor, grad in zip(operation.inputs, grads if isinstance(grads, tuple) else (grads,)):
            if tensor.requires_grad and grad is not None:
                tensor.receive(grad, pending)
        if not retain_graph:
            operation.release()
    ### END SOLUTION


# %% check="walk" points=4
@probe
def walk_a_diamond():
    x = Tensor([3.0], requires_grad=True)
    y = x + x
    z = y + x + y
    z.backward()
    return x.grad


@probe
def walk_a_chain(n):
    x = Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(n):
        y = y + 1.0
    y.backward()
    return x.grad


@probe
def walk_a_row():
    row, grid = Tensor([1.0, 2.0, 3.0], requires_grad=True), Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    (grid + row).backward(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    return [row.grad, grid.grad]


def test_unit_walk():
    check(walk_a_diamond(), want=[5.0], says="x + x, used twice, and x once more: five shares of 1.")
    check(walk_a_row()[0], want=[5.0, 7.0, 9.0])
    check(walk_a_row()[1], want=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    check(walk_a_chain(5000), want=[1.0], says="A recursive walk ends at about 1,000 steps.")


test_unit_walk()

# %% check="walk frees" points=2 hidden=true
# Freed graphs, retained ones, inputs that need nothing, several calls that add up.
### BEGIN HIDDEN TESTS
@probe
def walk_twice(retain):
    x = Tensor([2.0], requires_grad=True)
    y = x + x
    y.backward(retain_graph=retain)
    try:
        y.backward()
    except RuntimeError:
        return "freed"
    return x.grad


@probe
def walk_doubling(n):
    x = Tensor([1.0], dtype="float64", requires_grad=True)
    y = x
    for _ in range(n):
        y = y + y
    y.backward()
    return x.grad


@probe
def walk_beside_a_constant():
    x, constant = Tensor([2.0], requires_grad=True), Tensor([3.0])
    middle = x + constant
    middle.retain_grad()
    (middle + middle).backward()
    return [x.grad, constant.grad, middle.grad]


def test_unit_walk_frees():
    check(walk_twice(True), want=[4.0])
    check(walk_twice(False), want="freed", says="Release each operation, so that its memory is free.")
    check(walk_doubling(60), want=np.array([2.0**60]), dtype="float64")
    got = walk_beside_a_constant()
    check(got[0], want=[2.0])
    check(got[1], want=None)
    check(got[2], want=[2.0])


test_unit_walk_frees()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `y.backward()` is the same; PyTorch's walk runs in C++ and on several threads.

# %% [markdown]
# ## Backward, operation by operation
#
# From here on each exercise is the second half of operations that you wrote. `gradcheck` compares with the central
# difference. An input that requires no gradient gets None, which saves the work. `Neg` is solved:

# %% twin="Neg.backward"
@patch
def backward(self: Neg, grad: np.ndarray) -> np.ndarray:
    return -grad


@patch
def backward(self: Cast, grad: np.ndarray) -> np.ndarray:
    return grad


# %%
gradcheck(lambda a: -a, [np.array([1.0, 2.0])])

# %% [markdown]
# **Shapes** `gradient of the result -> (gradient for a, gradient for b)`; broadcasting is undone by `receive`
#
# **By hand** for a * b at a = 3, b = 5: a gets 5 times the gradient, b gets 3 times. For a / b: 1/5 and -3/25.

# %% exercise="arithmetic" points=4
@patch
def backward(self: Sub, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a - b: the gradient to a, its negative to b. About 2 lines."""
    ### BEGIN SOLUTION
    a, b = self.inputs
    return grad, -grad if b.requires_grad else None
    ### END SOLUTION


@patch
def backward(self: Mul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a * b: to each the gradient times the other. About 2 lines."""
    ### BEGIN SOLUTION
    a, b = self.inputs
    return grad * b.data if a.requires_grad else None, grad * a.data if b.requires_grad else None
    ### END SOLUTION


@patch
def backward(self: Div, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a / b: grad / b to a, -grad * a / b**2 to b. About 3 lines."""
    ### BEGIN SOLUTION
    a, b = self.inputs
    to_b = -grad * self.output / b.data if b.requires_grad else None
    return grad / b.data if a.requires_grad else None, to_b
    ### END SOLUTION


# %% check="arithmetic" points=3
@probe
def product_and_quotient():
    a, b = Tensor([3.0], requires_grad=True), Tensor([5.0], requires_grad=True)
    (a * b - a / b).backward()
    return [a.grad, b.grad]


def test_unit_arithmetic():
    got = product_and_quotient()
    check(got[0], want=[4.8])
    check(got[1], want=[3.12])
    a, b = draw.uniform(1, 2, (2, 3)), draw.uniform(1, 2, (3,))
    check("gradcheck(lambda a, b: a - b, [a, b])", want=True, a=a, b=b)
    check("gradcheck(lambda a, b: a * b, [a, b])", want=True, a=a, b=b)
    check("gradcheck(lambda a, b: a / b, [a, b])", want=True, a=a, b=b)


test_unit_arithmetic()

# %% check="arithmetic with constants" points=1 hidden=true
# Beside numbers that need no gradient, on both sides.
### BEGIN HIDDEN TESTS
@probe
def gradients_beside_a_constant():
    x, c = Tensor([2.0], requires_grad=True), Tensor([4.0])
    found = []
    for operation in (Sub(), Mul(), Div()):
        for pair in ((x, c), (c, x)):
            grads = operation(*pair).operation.backward(np.ones(1, np.float32))
            found.append([grad is None for grad in grads])
    return found


def test_unit_arithmetic_with_constants():
    got = gradients_beside_a_constant()
    check(got[1][1], want=False)  # to the constant a of a - b the gradient itself may go: that costs nothing
    check([got[0], got[2], got[4]], want=[[False, True]] * 3, says="None to an input that requires no gradient.")
    check([got[3], got[5]], want=[[True, False]] * 2, says="None to an input that requires no gradient.")
    a = draw.uniform(1, 2, (2, 3))
    check("gradcheck(lambda a: 3.0 - 2.0 / a * (a - 1.0), [a])", want=True, a=a)


test_unit_arithmetic_with_constants()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** these rules stand in `derivatives.yaml`, one line for each operation.

# %% [markdown]
# ## Backward of powers and curves
#
# **Shapes** `gradient of the result -> gradient of the input`, both `(...)`
#
# **By hand** d(x**3) is 3 x**2; exp is its own; d(log x) is 1 / x; d(sqrt x) is 1 / (2 sqrt x). `self.output` saves work.

# %% exercise="curves" points=4
@patch
def backward(self: Pow, grad: np.ndarray) -> np.ndarray:
    """Of a ** n: n * a ** (n - 1); to the power 0 nothing flows. About 4 lines."""
    ### BEGIN SOLUTION
    (a,) = self.inputs
    if self.exponent == 0:
        return grad * 0
    return grad * self.exponent * a.data ** (self.exponent - 1)
    ### END SOLUTION


@patch
def backward(self: Exp, grad: np.ndarray) -> np.ndarray:
    """Of e ** a: itself. About 1 line."""
    ### BEGIN SOLUTION
    return grad * self.output
    ### END SOLUTION


@patch
def backward(self: Log, grad: np.ndarray) -> np.ndarray:
    """Of log a: 1 / a. About 1 line."""
    ### BEGIN SOLUTION
    return grad / self.inputs[0].data
    ### END SOLUTION


@patch
def backward(self: Sqrt, grad: np.ndarray) -> np.ndarray:
    """Of the square root: 1 / (2 sqrt a). About 1 line."""
    ### BEGIN SOLUTION
    return grad / (2 * self.output)
    ### END SOLUTION


# %% check="curves" points=3
def test_unit_curves():
    a = draw.uniform(0.5, 2, (2, 3))
    check("gradcheck(lambda a: a ** 3, [a])", want=True, a=a)
    check("gradcheck(lambda a: a ** -1.5, [a])", want=True, a=a)
    check("gradcheck(lambda a: a.exp(), [a])", want=True, a=a)
    check("gradcheck(lambda a: a.log(), [a])", want=True, a=a)
    check("gradcheck(lambda a: a.sqrt(), [a])", want=True, a=a)


test_unit_curves()

# %% check="curves at zero" points=1 hidden=true
# The power 0 has no slope, not even at 0.
### BEGIN HIDDEN TESTS
@probe
def slopes_at_zero():
    slopes = []
    for exponent in (0, 1, 2):
        x = Tensor([0.0, 3.0], requires_grad=True)
        (x**exponent).backward(np.ones(2))
        slopes.append(x.grad)
    return slopes


def test_unit_curves_at_zero():
    got = slopes_at_zero()
    check(got[0], want=[0.0, 0.0])
    check(got[1], want=[1.0, 1.0])
    check(got[2], want=[0.0, 6.0])


test_unit_curves_at_zero()
### END HIDDEN TESTS

# %% [markdown]
# ## Backward of a matrix product
#
# Each number of A meets a row of B, so A's gradient is made of the gradient and B, turned so that the shapes fit.
#
# **Shapes** `grad (n, m), a (n, k), b (k, m) -> (n, k) = grad @ b.T and (k, m) = a.T @ grad`
#
# **By hand** for shapes (2, 3) @ (3, 4) the gradient is (2, 4): only grad @ b.T gives (2, 3). With dimensions in front,
# turn the last two.

# %% exercise="matmul" points=4
@patch
def backward(self: MatMul, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of a @ b: grad @ b.T to a, a.T @ grad to b, None to what requires none. About 4 lines."""
    ### BEGIN SOLUTION
    a, b = self.inputs
    to_a = grad @ b.data.swapaxes(-1, -2) if a.requires_grad else None
    to_b = a.data.swapaxes(-1, -2) @ grad if b.requires_grad else None
    return to_a, to_b
    ### END SOLUTION


# %% check="matmul" points=3
def test_unit_matmul():
    check("gradcheck(lambda a, b: a @ b, [a, b])", want=True, a=draw.normal((2, 3)), b=draw.normal((3, 4)))
    check("gradcheck(lambda a, b: a @ b, [a, b])", want=True, a=draw.normal((2, 2, 3)), b=draw.normal((2, 3, 2)))


test_unit_matmul()

# %% check="matmul broadcast" points=1 hidden=true
# One matrix for a whole stack; a constant side gets no gradient.
### BEGIN HIDDEN TESTS
@probe
def matmul_beside_a_constant():
    x, c = Tensor([[2.0]], requires_grad=True), Tensor([[4.0]])
    left = (x @ c).operation.backward(np.ones((1, 1), np.float32))
    right = (c @ x).operation.backward(np.ones((1, 1), np.float32))
    return [left[1] is None, right[0] is None, left[0], right[1]]


def test_unit_matmul_broadcast():
    check("gradcheck(lambda a, b: a @ b, [a, b])", want=True, a=draw.normal((2, 2, 3)), b=draw.normal((3, 4)))
    got = matmul_beside_a_constant()
    check([got[0], got[1]], want=[True, True])
    check(got[2], want=[[4.0]])
    check(got[3], want=[[4.0]])


test_unit_matmul_broadcast()
### END HIDDEN TESTS

# %% [markdown]
# ## Backward of shapes and sums
#
# Reshape and permute undo themselves. A sum gives its gradient to every number that went in. These are solved; `unfold`
# gives the dimension back that a fold took away, with size 1, so that the rest is broadcasting.

# %% twin="Sum.backward"
@patch
def unfold(self: Operation, folded: np.ndarray, dim: int | tuple[int, ...] | None, keepdim: bool) -> np.ndarray:
    """Give back with size 1 what was folded away. `(2,)` from `(2, 3)` over dim 1 becomes `(2, 1)`"""
    if keepdim:
        return folded
    return np.expand_dims(folded, tuple(range(self.inputs[0].data.ndim)) if dim is None else dim)


@patch
def backward(self: Sum, grad: np.ndarray) -> np.ndarray:
    return np.broadcast_to(self.unfold(grad, self.dim, self.keepdim), self.inputs[0].shape)


@patch
def backward(self: Reshape, grad: np.ndarray) -> np.ndarray:
    return grad.reshape(self.inputs[0].shape)


@patch
def backward(self: Permute, grad: np.ndarray) -> np.ndarray:
    return grad.transpose(np.argsort([dim % grad.ndim for dim in self.dims]))


@patch
def backward(self: GetItem, grad: np.ndarray) -> np.ndarray:
    full = np.zeros_like(self.inputs[0].data)
    np.add.at(full, self.index, grad)  # an index may name one place twice, and both shares count
    return full


# %% [markdown]
# Now the mean and the largest. The largest passes its gradient to where it stood; several equals share it.
#
# **Shapes** `gradient (n,) or (n, 1) -> (n, m)` for dim 1
#
# **By hand** the mean of 4 numbers with gradient 1 gives each 0.25; the largest of `[3 7 7]` gives `[0 0.5 0.5]`.

# %% exercise="folds" points=5
@patch
def backward(self: Mean, grad: np.ndarray) -> np.ndarray:
    """An equal part to every number. `(n,) -> (n, m)`. About 4 lines."""
    ### BEGIN SOLUTION
    (a,) = self.inputs
    count = a.data.size // max(self.output.size, 1)
    share = self.unfold(grad, self.dim, self.keepdim) / max(count, 1)
    return np.broadcast_to(share, a.shape)
    ### END SOLUTION


@patch
def backward(self: Max, grad: np.ndarray) -> np.ndarray:
    """To the largest; equals share. `(n,) -> (n, m)`. About 4 lines."""
    ### BEGIN SOLUTION
    best = self.inputs[0].data == self.unfold(self.output, self.dim, self.keepdim)
    count = best.sum(axis=self.dim, keepdims=True)
    return best * self.unfold(grad, self.dim, self.keepdim) / count.astype(grad.dtype)
    ### END SOLUTION


# %% check="folds" points=3
@probe
def share_the_largest():
    x = Tensor([[3.0, 7.0, 7.0], [9.0, 1.0, 2.0]], requires_grad=True)
    x.amax(dim=1).sum().backward()
    return x.grad


@probe
def share_the_mean():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x.mean().backward()
    return x.grad


def test_unit_folds():
    check(share_the_largest(), want=[[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    check(share_the_mean(), want=[[0.25, 0.25], [0.25, 0.25]])
    check("gradcheck(lambda a: a.mean(dim=1), [a])", want=True, a=draw.normal((2, 3)))


test_unit_folds()

# %% check="folds keepdim" points=2 hidden=true
# With keepdim, several dimensions, all dimensions.
### BEGIN HIDDEN TESTS
def test_unit_folds_keepdim():
    a = draw.permutation(24).reshape(2, 3, 4) * 0.1
    check("gradcheck(lambda a: a.mean(dim=(0, 2)), [a])", want=True, a=a)
    check("gradcheck(lambda a: a.mean(dim=1, keepdim=True), [a])", want=True, a=a)
    check("gradcheck(lambda a: a.amax(dim=1, keepdim=True), [a])", want=True, a=a)
    check("gradcheck(lambda a: a.amax(dim=(0, 2)), [a])", want=True, a=a)
    check("gradcheck(lambda a: a.amax(), [a])", want=True, a=a)


test_unit_folds_keepdim()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `amax` shares among equals too; `max(dim)` gives all to one of them.

# %% [markdown]
# ## Backward of activations
#
# All from the output alone. `LogSoftmax` and `GELU` are solved:

# %% twin="LogSoftmax.backward"
@patch
def backward(self: LogSoftmax, grad: np.ndarray) -> np.ndarray:
    return grad - np.exp(self.output) * grad.sum(axis=self.dim, keepdims=True)


@patch
def backward(self: GELU, grad: np.ndarray) -> np.ndarray:
    x = self.inputs[0].data
    bent = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x**2)
    return grad * (0.5 * (1 + bent) + 0.5 * x * (1 - bent**2) * slope)


# %% [markdown]
# **Shapes** `gradient of the result -> gradient of the input`, both `(...)`
#
# **By hand** ReLU passes where the output is above 0. Sigmoid: y (1 - y). Tanh: 1 - y**2. Softmax: y (grad - sum of grad * y).

# %% exercise="activations" points=5
@patch
def backward(self: ReLU, grad: np.ndarray) -> np.ndarray:
    """Where the output is above 0. About 1 line."""
    ### BEGIN SOLUTION
    return grad * (self.output > 0)
    ### END SOLUTION


@patch
def backward(self: Sigmoid, grad: np.ndarray) -> np.ndarray:
    """y (1 - y). About 1 line."""
    ### BEGIN SOLUTION
    return grad * self.output * (1 - self.output)
    ### END SOLUTION


@patch
def backward(self: Tanh, grad: np.ndarray) -> np.ndarray:
    """1 - y**2. About 1 line."""
    ### BEGIN SOLUTION
    return grad * (1 - self.output**2)
    ### END SOLUTION


@patch
def backward(self: Softmax, grad: np.ndarray) -> np.ndarray:
    """y (grad - sum of grad * y over dim). About 2 lines."""
    ### BEGIN SOLUTION
    along = (grad * self.output).sum(axis=self.dim, keepdims=True)
    return self.output * (grad - along)
    ### END SOLUTION


# %% check="activations" points=3
def test_unit_activations():
    a = draw.uniform(0.5, 2, (2, 3)) * np.array([1, -1, 1])
    check("gradcheck(ReLU(), [a])", want=True, a=a)
    check("gradcheck(Sigmoid(), [a])", want=True, a=a)
    check("gradcheck(Tanh(), [a])", want=True, a=a)
    check("gradcheck(Softmax(dim=1), [a])", want=True, a=a)


test_unit_activations()

# %% check="activations far out" points=2 hidden=true
# At zero, far from zero, and over another dimension.
### BEGIN HIDDEN TESTS
@probe
def slopes_far_out():
    x = Tensor([-10000.0, 0.0, 10000.0], requires_grad=True)
    slopes = []
    for bend in (ReLU(), Sigmoid(), Tanh()):
        x.grad = None
        bend(x).sum().backward()
        slopes.append(x.grad)
    return slopes


def test_unit_activations_far_out():
    got = slopes_far_out()
    check(got[0], want=[0.0, 0.0, 1.0])
    check(got[1], want=[0.0, 0.25, 0.0])
    check(got[2], want=[0.0, 1.0, 0.0])
    check("gradcheck(Softmax(dim=0), [a])", want=True, a=draw.normal((3, 2, 2)))
    check("gradcheck(LogSoftmax(dim=-1), [a])", want=True, a=draw.normal((2, 3)))


test_unit_activations_far_out()
### END HIDDEN TESTS

# %% [markdown]
# ## Backward of a layer
#
# `Affine` is x @ weight.T + bias in one step. The bias reached every row, so it gets the sum over the rows.
#
# **Shapes** `grad (B, out), x (B, in), weight (out, in) -> (B, in), (out, in), (out,)`
#
# **By hand** check the shapes: grad @ weight is (B, in); grad.T @ x is (out, in). Dimensions in front of the last count as rows.

# %% exercise="affine" points=4
@patch
def backward(self: Affine, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of x @ weight.T + bias: grad @ weight, grad.T @ x, sum of the rows of grad; as many as there are inputs.

    About 6 lines.
    """
    x, weight = self.inputs[0], self.inputs[1]
    rows = grad.reshape(-1, grad.shape[-1])
    ### BEGIN SOLUTION
    to_x = grad @ weight.data if x.requires_grad else None
    to_weight = rows.T @ x.data.reshape(-1, x.shape[-1]) if weight.requires_grad else None
    return (to_x, to_weight, rows.sum(axis=0))[: len(self.inputs)]
    ### END SOLUTION


# %% check="affine" points=3
def test_unit_affine():
    x, weight, bias = draw.normal((4, 3)), draw.normal((2, 3)), draw.normal((2,))
    check("gradcheck(Affine(), [x, weight, bias])", want=True, x=x, weight=weight, bias=bias)
    check("gradcheck(Affine(), [x, weight])", want=True, x=x, weight=weight)


test_unit_affine()

# %% check="affine stack" points=1 hidden=true
# With dimensions in front, and a plain input that needs no gradient.
### BEGIN HIDDEN TESTS
@probe
def affine_of_plain_input():
    x, weight, bias = Tensor([[1.0, 2.0, 3.0]]), Parameter(np.zeros((2, 3))), Parameter([0.0, 0.0])
    grads = Affine()(x, weight, bias).operation.backward(np.ones((1, 2), np.float32))
    bare = Affine()(x, weight).operation.backward(np.ones((1, 2), np.float32))
    return [grads[0] is None, grads[1], grads[2], len(bare)]


def test_unit_affine_stack():
    x, weight, bias = draw.normal((2, 4, 3)), draw.normal((2, 3)), draw.normal((2,))
    check("gradcheck(Affine(), [x, weight, bias])", want=True, x=x, weight=weight, bias=bias)
    got = affine_of_plain_input()
    check(got[0], want=True, says="The plain input needs no gradient, so it gets None.")
    check(got[1], want=[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    check(got[2], want=[1.0, 1.0])
    check(got[3], want=2, says="Without a bias there are two inputs.")


test_unit_affine_stack()
### END HIDDEN TESTS

# %% [markdown]
# ## Backward of losses
#
# `Abs` and `LogisticLoss` are solved: the sign, and the sigmoid minus the target.

# %% twin="losses"
@patch
def backward(self: Abs, grad: np.ndarray) -> np.ndarray:
    return grad * np.sign(self.inputs[0].data)


@patch
def backward(self: LogisticLoss, grad: np.ndarray) -> np.ndarray:
    z = self.inputs[0].data
    small = np.exp(-np.abs(z))
    return grad * (np.where(z >= 0, 1, small) / (1 + small) - self.targets)


# %% [markdown]
# The gradient of softmax and cross entropy together is short: what the network believed minus what is true.
#
# **Shapes** `grad (), logits (N, C), targets (N,), weights (N,) or None -> (N, C)`
#
# **By hand** beliefs `[0.2 0.7 0.1]` with class 1 right give `[0.2 -0.3 0.1]`; times the row's weight, over the total.

# %% exercise="cross_entropy" points=4
@patch
def backward(self: SoftmaxCrossEntropy, grad: np.ndarray) -> np.ndarray:
    """Softmax of each row, minus 1 at its target, times `weights`, over `total`. `() -> (N, C)`

    `self.targets (N,)`, `self.weights (N,)` or None and `self.total` were given to the constructor.
    About 7 lines.
    """
    z = self.inputs[0].data
    ### BEGIN SOLUTION
    exps = np.exp(z - z.max(axis=1, keepdims=True))
    to_logits: np.ndarray = exps / exps.sum(axis=1, keepdims=True)
    to_logits[np.arange(len(to_logits)), self.targets] -= 1
    if self.weights is not None:
        to_logits *= self.weights[:, None]
    return to_logits * (grad / self.total)
    ### END SOLUTION


# %% check="cross_entropy" points=3
@probe
def believe_evenly():
    logits = Tensor([[0.0, 0.0], [0.0, 0.0]], requires_grad=True)
    CrossEntropyLoss()(logits, Tensor([1, 0])).backward()
    return logits.grad


def test_unit_cross_entropy():
    check(believe_evenly(), want=[[0.25, -0.25], [-0.25, 0.25]])
    loss = "gradcheck(lambda z: CrossEntropyLoss()(z, Tensor([2, 0, 1])), [z])"
    check(loss, want=True, z=draw.normal((3, 3)))


test_unit_cross_entropy()

# %% check="losses way back" points=1
@probe
def slopes_of_losses(z, y):
    slopes = []
    smooth = CrossEntropyLoss(label_smoothing=0.2)
    for loss, target in ((L1Loss(), y), (BCEWithLogitsLoss(), y), (NLLLoss(), [1]), (smooth, [1])):
        logits = Tensor(z, requires_grad=True)
        loss(logits, Tensor(target)).backward()
        slopes.append(logits.grad)
    return slopes


@probe
def slope_of_dropout():
    x = Tensor(np.ones((1, 40)), requires_grad=True)
    y = Dropout(0.75, rng=Generator(0))(x)
    y.sum().backward()
    return [x.grad, y.data]


def test_unit_losses_way_back():
    lost = "The gradient got lost: compute with tensors, not with .data, in lesson 03 or 04."
    got = slopes_of_losses(np.float32([[0, 0]]), np.float32([[-1, 1]]))
    check(got[0], want=[[0.5, -0.5]], says=lost)
    check(got[1], want=[[0.75, -0.25]], says=lost)
    check(got[2], want=[[0.0, -1.0]], says=lost)
    check(got[3], want=[[0.4, -0.4]], says=lost)
    got = slope_of_dropout()
    check(got[0], want=got[1], says=lost)


test_unit_losses_way_back()

# %% check="cross_entropy weighted" points=1 hidden=true
# With class weights, ignored rows, a starting gradient other than 1, and large logits.
### BEGIN HIDDEN TESTS
@probe
def far_out_logits():
    logits = Tensor([[10000.0, -10000.0], [0.0, 10000.0]], requires_grad=True)
    CrossEntropyLoss()(logits, Tensor([1, 1])).backward(6.0)
    return logits.grad


def test_unit_cross_entropy_weighted():
    weighted = "gradcheck(lambda z: CrossEntropyLoss(weight=[1.0, 2.0, 5.0])(z, Tensor([2, 0, 1])) * 3.0, [z])"
    ignoring = "gradcheck(lambda z: CrossEntropyLoss(ignore_index=0)(z, Tensor([2, 0, 1])), [z])"
    check(weighted, want=True, z=draw.normal((3, 3)))
    check(ignoring, want=True, z=draw.normal((3, 3)))
    check(far_out_logits(), want=[[3.0, -3.0], [0.0, 0.0]])


test_unit_cross_entropy_weighted()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.nn.functional.cross_entropy` has the same gradient, also as one node.

# %% [markdown]
# ## Break it on purpose
#
# Twice backward through one graph, and the record is gone, since the walk freed it:

# %%
w = Tensor([2.0], requires_grad=True)
squared = w * w
squared.backward()
try:
    squared.backward()
except RuntimeError as error:
    print(error)

# %% [markdown]
# And the silent one: gradients add up over calls. After a second pass without zeroing, the gradient is 8, not 4:

# %%
(w * w).backward()
w.grad

# %% [markdown]
# ## What it costs
#
# A step forward and back through a chain of 10,000 additions, in microseconds a step:

# %%
import time

start = time.perf_counter()
link = w
for _ in range(10_000):
    link = link + 1.0
link.backward()
round((time.perf_counter() - start) / 10_000 * 1e6, 1)

# %% [markdown]
# The chain also held 10,000 small arrays until the walk let them go. In a network this is the memory of training:
# every output is kept until backward has passed it.
#
# You built the engine of a deep-learning framework. It has no second derivatives, since backward works on plain arrays,
# and no hooks. Next, lesson 07 puts the gradients to use.
