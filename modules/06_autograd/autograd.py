# %% [markdown]
# # 06 Automatic differentiation
#
# A network is wrong, and each of its weights has a share in that. Which way should each be turned, and how far? Nudge a
# number, and see by how much the answer moves:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinytorch.activations import GELU, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from tinytorch.dtypes import fits, promote, spread
from tinytorch.generator import Generator
from tinytorch.grad_mode import creation, first_gradient, is_grad_enabled, no_grad
from tinytorch.gradcheck import gradcheck
from tinytorch.layers import Affine, Dropout, Linear, Module, Parameter
from tinytorch.losses import Abs, BCEWithLogitsLoss, CrossEntropyLoss, L1Loss
from tinytorch.losses import LogisticLoss, NLLLoss, SoftmaxCrossEntropy
from tinytorch.tensor import Add, Cast, Div, Exp, GetItem, Log, MatMul, Max, Mean, Mul, Neg
from tinytorch.tensor import Operation, Permute, Pow, Reshape, Sqrt, Sub, Sum, Tensor, to_array

# %%
x = 3.0
(x + 0.001) ** 2

# %% [markdown]
# Read the digits: 9 was there before; 6 is what became of the nudge; the last 1 is the nudge squared. A small nudge of x
# comes out about 6 times as large:

# %%
((x + 0.001) ** 2 - x**2) / 0.001

# %% [markdown]
# This factor is the *slope*; the slopes by all inputs together are the *gradient*. Training asks for it, for every
# weight, again and again. This lesson gives every operation the means to answer.

# %% [markdown]
# ## Nudge both ways
#
# The 1 in the last place is the error of a step to one side. Step to both sides, and it cancels:

# %%
((x + 0.001) ** 2 - (x - 0.001) ** 2) / 0.002

# %% [markdown]
# What is still wrong is rounding. The cube has the slope 12 at 2. To one side, then to both, with smaller and smaller
# steps:

# %%
for eps in (1e-1, 1e-3, 1e-5, 1e-7, 1e-9):
    print(f"{eps:.0e}  {((2 + eps) ** 3 - 8) / eps:.11f}  {((2 + eps) ** 3 - (2 - eps) ** 3) / (2 * eps):.11f}")

# %% [markdown]
# Count the right digits. They become more, to both sides twice as fast, and then fewer: two numbers that are nearly
# equal have a difference that is mostly rounding.

# %% [markdown]
# ![The error of a central difference falls until the step is near 1e-5, then rounding makes it grow again](figures/06_digits.svg)

# %% [markdown]
# Float32 never gets beyond a few digits, so gradients are checked in float64. With the step 1e-6:

# %%
def slope(f: Callable[[Any], Any], x: Any, eps: Any = 1e-6) -> Any:
    return (f(x + eps) - f(x - eps)) / (2 * eps)


slope(lambda x: x**3, 2.0), slope(lambda x: x**3, np.float32(2.0), np.float32(1e-6))

# %% [markdown]
# Twelve to ten digits, and 11.4. Now write it for an array: nudge one number at a time, the others stay. That is slow,
# two evaluations for every number, and very good to check with.
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
# **In PyTorch** `gradcheck` compares with the same difference; it wants float64 from you, ours converts:
# ```python oracle
# torch.autograd.gradcheck(lambda x: x[0] * x[1], torch.tensor([2.0, 5.0], requires_grad=True).double())
# ```

# %% [markdown]
# ## One chain by hand
#
# A million weights would need two million passes. Paper is enough to find a better way. Take y = (2 x + 1) squared at
# x = 3. Go forward and keep every number:

# %%
a = 2 * x
b = a + 1
y = b**2
a, b, y

# %% [markdown]
# Now backward. A nudge of b reaches y 2 b times as large; one of a reaches b as it is; one of x reaches a doubled. So
# start with 1 at y, and multiply your way back:

# %%
to_b = 2 * b * 1.0
to_a = to_b
to_x = 2 * to_a
to_x, ((2 * (x + 0.001) + 1) ** 2 - (2 * (x - 0.001) + 1) ** 2) / 0.002

# %% [markdown]
# Both say 28. Each step back needed only its own rule and numbers kept from the way forward.

# %% [markdown]
# ![Forward 3, 6, 7, 49; backward 1, 14, 14, 28: each step multiplies by its own slope](figures/06_chain.svg)

# %% [markdown]
# A program can write down one rule a step while it computes, and take them from the end afterwards. Here are the record
# and the walk in five lines:

# %%
record = [lambda g: 2 * g, lambda g: g, lambda g: 2 * b * g]
g = 1.0
while record:
    g = record.pop()(g)
g

# %% [markdown]
# The rest of this lesson asks who writes the record, what if a number is used twice, and which rule each operation has.

# %% [markdown]
# ## A rule for each operation
#
# An operation has a method `forward`. It now gets a second, `backward`: from the gradient of its output to those of its
# inputs. For a sum that is short, since a nudge of either input moves the sum as much:

# %% twin="Add.backward"
@patch
def backward(self: Operation, grad: np.ndarray) -> np.ndarray | tuple[np.ndarray | None, ...]:
    """Gradient of the output -> gradient of each input: an array, or one a input in a tuple; None for none."""
    raise NotImplementedError(f"{type(self).__name__} has no backward")


@patch
def backward(self: Add, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    return grad, grad


# %% twin="Neg.backward"
@patch
def backward(self: Neg, grad: np.ndarray) -> np.ndarray:
    return -grad


@patch
def backward(self: Cast, grad: np.ndarray) -> np.ndarray:
    return grad


# %% [markdown]
# The first raises for operations without a rule. An operation of one input returns an array, one of more a tuple.

# %% [markdown]
# ## What a tensor carries from now on
#
# A tensor may require a gradient, hold one, and know the operation that made it; a *leaf* was made by hand and knows
# none. These are class attributes: a tensor that needs none of them costs no more than before.

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
# keeps its inputs, its output array and its number, and the result knows its operation. By hand, for one sum:

# %%
add, x = Add(), Tensor([2.0], requires_grad=True)
y = Tensor([5.0])
add.inputs, add.output, add.number = (x, Tensor([3.0])), y.data, next(creation)
y.requires_grad, y.operation = True, add

# %% [markdown]
# Three notes on the operation, two on the result. The operation keeps the output's *array*, never the output tensor:
# that would be a circle, and Python frees circles late. Now let `apply` do it.
#
# **Shapes** `inputs -> one tensor`, as before
#
# **By hand** with x requiring a gradient, `y = x + 1` has `y.operation` an `Add`, whose `inputs[0]` is x.

# %% exercise="record" points=4
@patch
def apply(self: Operation, *inputs: Any) -> Tensor:
    """Compute the result, and record how when recording is on and an input requires a gradient.

    Only float results are recorded. Numbers are `next(creation)`. About 5 lines, after lesson 01's three.
    """
    tensors = self.tensors(inputs)
    output = self.forward(*promote([tensor.data for tensor in tensors]))
    result = Tensor.wrap(output)
    ### BEGIN SOLUTION
    wanted = is_grad_enabled() and any([tensor.requires_grad for tensor in tensors])
    if wanted and result.data.dtype.kind == "f":
        self.inputs, self.output, self.number = tensors, result.data, next(creation)
        result.requires_grad, result.operation = True, self
    return result
    ### END SOLUTION


# %% check="record" points=3
@probe
def record_one_sum():
    x = Tensor([2.0], requires_grad=True)
    y = x + 1
    add, later = y.operation, y + 1
    kept = [type(add).__name__, len(add.inputs), add.inputs[0] is x, add.output is y.data]
    return [*kept, y.requires_grad, add.number < later.operation.number]


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
def record_twice(a, k):
    x = Tensor(a, requires_grad=True)
    cut = x.astype("int64")
    with no_grad():
        x + 1
    add = Add()
    first, second = add(x, x), add(x, k)
    kept = [[tensor.data for tensor in result.operation.inputs] for result in (first, second)]
    return [cut.requires_grad, first.requires_grad, kept, add.inputs]


def test_unit_record_floats():
    a, k = draw.normal((2,)).astype(np.float32), draw.normal((2,)).astype(np.float32)
    check(record_twice(a, k), want=[False, True, [[a, a], [a, k]], ()])


test_unit_record_floats()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `grad_fn` is the record; it keeps the functions before it, where ours keeps the input tensors:
# ```python oracle
# x = torch.tensor([2.0], requires_grad=True)
# y = x + 1
# y.grad_fn.name() == "AddBackward0" and y.grad_fn.next_functions[0][0].variable is x
# ```

# %% [markdown]
# ## Undo broadcasting
#
# A row of 3 added to a (2, 3) grid is used once for every row of the grid, so it gets a gradient from every row:

# %%
grad = np.array([[1, 2, 3], [4, 5, 6]])
grad[0] + grad[1], grad.sum(axis=0), grad.sum(axis=1, keepdims=True)

# %% [markdown]
# The first two are what a row of shape (3,) gets, the last what a column of shape (2, 1) gets.

# %% [markdown]
# ![A gradient of shape (2, 3) is summed down to a row and across to a column: what was repeated is added](figures/06_unbroadcast.svg)

# %% [markdown]
# Write it for any tensor.
#
# **Shapes** `gradient of the result's shape -> gradient of this tensor's shape`: leading dimensions that this tensor
# does not have are summed away, dimensions where it has size 1 are summed and kept
#
# **By hand** for a tensor of shape (3,), `[[1 2 3] [4 5 6]]` becomes `[5 7 9]`; for (2, 1) it becomes `[[6] [15]]`.

# %% exercise="unbroadcast" points=4
@patch
def unbroadcast(self: Tensor, grad: np.ndarray) -> np.ndarray:
    """Sum `grad` over what broadcasting repeated. `(2, 3) -> (3,)` or `(2, 1)`, as this tensor is. About 6 lines."""
    ### BEGIN SOLUTION
    if grad.shape == self.data.shape:
        return grad
    if grad.ndim > self.data.ndim:
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
# **In PyTorch** `sum_to_size` is the same; it refuses a shape that cannot have been broadcast, ours trusts its caller:
# ```python oracle
# torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).sum_to_size(2, 1).tolist() == [[6.0], [15.0]]
# ```

# %% [markdown]
# ## Receive
#
# A number used in two places is nudged in both at once. Nudge one place at a time, then both:

# %%
slope(lambda left: left * 3, 3.0), slope(lambda right: 3 * right, 3.0), slope(lambda both: both * both, 3.0)

# %% [markdown]
# 3 and 3 make 6: shares are added. The first is kept as it is: no array of zeros. Later ones are added, never with `+=`,
# which would write into an array that others hold too. In a plain dict:

# %%
waiting = {}
for share in (np.array([2.0]), np.array([5.0])):
    waiting["x"] = share if waiting.get("x") is None else waiting["x"] + share
waiting

# %% [markdown]
# A leaf keeps the sum in `grad`, as an array of its own. Any other tensor lets it wait in `pending` for the operation
# that made it, which will run backward later.
#
# **Shapes** `share of the result's shape -> nothing; grad or pending grows`
#
# **By hand** a leaf that receives 2 and then 5 has grad 7.

# %% exercise="receive" points=4
@patch
def receive(self: Tensor, share: np.ndarray, pending: dict[Operation, np.ndarray]) -> None:
    """Add one share of the gradient: to `grad` of a leaf or where it is retained, else to what waits in `pending`.

    The share is brought to this tensor's shape and dtype first. A leaf copies its first share. About 5 lines.
    """
    if not fits(share, self.data):
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
    return [between.grad, pending[between.operation]]


def test_unit_receive():
    leaf, first = receive_two_shares(np.array([2.0, 3.0]), np.array([5.0, 7.0]))
    check(leaf, want=[7.0, 10.0])
    check(first, want=np.array([2.0, 3.0]), dtype="float64", says="The share belongs to somebody else: add, do not write into it.")
    check(receive_between(), want=[None, np.float32([5.0])], says="Only a leaf keeps its gradient.")


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


@probe
def receive_numbers(shares):
    leaf = Tensor(0.0, requires_grad=True)
    for share in shares:
        leaf.receive(share, {})
    return leaf.grad if isinstance(leaf.grad, np.ndarray) else type(leaf.grad).__name__


def test_unit_receive_copies():
    shares = draw.integers(1, 9, (2,)).astype(np.float32)
    check(receive_numbers(shares), want=shares.sum(), says="A gradient is an array, of a single number too.")
    share = draw.integers(1, 9, (1,)).astype(np.float64)
    got = receive_shared(share)
    check(got[0], want=share.astype(np.float32))
    check(got[1], want=share.astype(np.float32))
    check(got[2], want=(2 * share).astype(np.float32))
    check(got[3], want=(2 * share).astype(np.float32))


test_unit_receive_copies()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `x.grad` is the same sum, over calls too; it is a tensor there, an array here:
# ```python oracle
# x = torch.tensor([0.0], requires_grad=True)
# (2 * x).backward(), (5 * x).backward()
# x.grad.item() == 7.0
# ```

# %% [markdown]
# ## Walk back
#
# An operation may run backward only when all its shares are in. Whatever used its result was made later, so the newest
# first is always right: that is what the numbers are for. `history` is supplied. It finds the operations with a list
# instead of recursion, so that a chain of a million steps is no problem:

# %% supplied="Tensor.history"
@patch
def history(self: Tensor) -> list[Operation]:
    """Every recorded operation that this tensor came from, oldest first. Raises RuntimeError when one was freed."""
    found: dict[int, Operation] = {}  # by number
    stack = [self]
    while stack:
        operation = stack.pop().operation
        if operation is not None:
            if not operation.inputs:
                raise RuntimeError("backward: an earlier backward freed this graph; pass it retain_graph=True")
            if operation.number not in found:
                found[operation.number] = operation
                stack.extend(operation.inputs)
    return [found[number] for number in sorted(found)]


# %%
x = Tensor([3.0], requires_grad=True)
[type(operation).__name__ for operation in ((2 * x + 1) ** 2).history()]

# %% [markdown]
# The chain from above: three steps, oldest first, so that `pop` gives the newest. Also supplied: the gradient to start
# from, and forgetting what was kept.

# %% supplied="Tensor.seed"
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


# %% [markdown]
# Four more that follow: `detach` leaves the record, `retain_grad` keeps a gradient on the way, writing into a recorded
# tensor is refused, and a module forgets its gradients.

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
# Now the walk by hand, over `z = y + x` where `y = x + x`. At first, 1 waits for the operation that made z:

# %%
x = Tensor([3.0], requires_grad=True)
y = x + x
z = y + x
history, pending = z.history(), {}
z.receive(z.seed(None), pending)

# %% [markdown]
# A step takes the newest operation and what waits for it, calls its `backward`, and hands a share to each input. Two
# steps:

# %%
for _ in range(2):
    newest = history.pop()
    for tensor, share in zip(newest.inputs, newest.backward(pending.pop(newest))):
        tensor.receive(share, pending)
    print(x.grad, list(pending.values()))

# %% [markdown]
# After the first, x has one share, and 1 waits for the operation that made y. After the second x has three, and nothing
# waits.

# %% [markdown]
# ![The walk over z = y + x and y = x + x: newest first, x receives one share from z and two from y](figures/06_walk.svg)

# %% [markdown]
# Your `backward` does this as long as there is history, also where an operation returns an array instead of a tuple, an
# input requires no gradient, or a gradient is None. It releases each operation, unless the graph is to be retained.
#
# **Shapes** `gradient of this tensor's shape, or none for a single number -> nothing; the leaves' grads grow`
#
# **By hand** `x + x` at any x: two shares of 1, grad 2.

# %% exercise="walk" points=6
@patch
def backward(self: Tensor, gradient: Any = None, retain_graph: bool = False) -> None:
    """Compute the gradient of this tensor by every leaf that it came from, and add it to the leaf's `grad`.

    `gradient` has this tensor's shape and may be left out for a single number. The graph is freed on the way unless
    `retain_graph`. Raises RuntimeError when nothing requires a gradient or the graph was freed.
    The method: Linnainmaa, "Taylor expansion of the accumulated rounding error", BIT 16, 1976. About 8 lines.
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
    z = -(y + x + y)
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
def walk_a_row(grad):
    row, grid = Tensor([1.0, 2.0, 3.0], requires_grad=True), Tensor(np.ones((2, 3)), requires_grad=True)
    (grid + row).backward(grad)
    return [row.grad, grid.grad]


def test_unit_walk():
    grad = np.float32([[1, 2, 3], [4, 5, 6]])
    check(walk_a_row(grad), want=[np.float32([5, 7, 9]), grad])
    check(walk_a_diamond(), want=[-5.0], says="x + x, used twice, and x once more: five shares.")
    check(walk_a_chain(5000), want=[1.0], says="A recursive walk ends at about 1,000 steps.")


test_unit_walk()

# %% check="walk frees" points=2 hidden=true
# Freed graphs, retained ones, inputs that need nothing, several calls that add up.
### BEGIN HIDDEN TESTS
@probe
def walk_twice(retain, grad):
    x = Tensor([2.0, 3.0], requires_grad=True)
    y = x + x
    y.backward(grad, retain_graph=retain)
    try:
        y.backward(grad)
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
def walk_beside_a_constant(grad):
    x, constant = Tensor([2.0, 3.0], requires_grad=True), Tensor([3.0])
    middle = x + constant
    middle.retain_grad()
    (middle + middle).backward(grad)
    return [x.grad, constant.grad, middle.grad]


@probe
def walk_past_nothing(grad):
    class First(Operation):
        def forward(self, a, b):
            return a + 0 * b

        def backward(self, grad):
            return grad, None

    x, y = (Tensor([value] * 2, requires_grad=True) for value in (2.0, 3.0))
    First()(x, y).backward(grad)
    return [x.grad, y.grad]


def test_unit_walk_frees():
    grad, n = draw.normal((2,)).astype(np.float32), int(draw.integers(50, 60, ()))
    got = walk_past_nothing(grad)
    check(got[0], want=grad)
    check(got[1], want=None, says="An operation may give None, even to an input that requires a gradient.")
    check(walk_twice(True, grad), want=4 * grad)
    check(walk_twice(False, grad), want="freed", says="Release each operation, so that its memory is free.")
    check(walk_doubling(n), want=np.array([2.0**n]), dtype="float64")
    check(walk_beside_a_constant(grad), want=[2 * grad, None, 2 * grad])


test_unit_walk_frees()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `backward` is the same, frees the graph too, and runs in C++, with a thread for each device:
# ```python oracle
# x = torch.tensor([3.0], requires_grad=True)
# y = x + x
# (y + x).backward()
# x.grad.item() == 3.0
# ```

# %% [markdown]
# ## Backward, operation by operation
#
# The engine runs. From here on each exercise is the second half of operations that you wrote. Is a rule right? The
# supplied `gradcheck` compares it with the central difference. Here the rule of `Neg`, and one without its minus:

# %%
class Wrong(Neg):
    def backward(self, grad: np.ndarray) -> np.ndarray:
        return grad


gradcheck(Neg(), [np.array([1.0, 2.0])])
try:
    gradcheck(Wrong(), [np.array([1.0, 2.0])])
except ValueError as error:
    print(error)

# %% [markdown]
# It names the argument, the index and both numbers; 1.33 is a random weight, so that every output counts.
#
# Now three rules. A difference moves with a and against b; a product moves with a as much as b is large. An input that
# requires no gradient gets None, which saves the work.
#
# **Shapes** `gradient of the result -> (gradient for a, gradient for b)`; broadcasting is undone by `receive`
#
# **By hand** for a * b at a = 3, b = 5: a gets 5 times the gradient, b gets 3 times. For a / b: `1 / 5` and `-3 / 25`.

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
    to_a = grad / b.data
    return to_a if a.requires_grad else None, -to_a * self.output if b.requires_grad else None
    ### END SOLUTION


# %% check="arithmetic" points=3
@probe
def product_and_quotient():
    a, b = Tensor([3.0], requires_grad=True), Tensor([5.0], requires_grad=True)
    (a * b - a / b).backward()
    return [a.grad, b.grad]


def test_unit_arithmetic():
    check(product_and_quotient(), want=[np.float32([4.8]), np.float32([3.12])])
    a, b = draw.uniform(1, 2, (2, 3)), draw.uniform(1, 2, (3,))
    check("gradcheck(lambda a, b: a - b, [a, b])", want=True, a=a, b=b)
    check("gradcheck(lambda a, b: a * b, [a, b])", want=True, a=a, b=b)
    check("gradcheck(lambda a, b: a / b, [a, b])", want=True, a=a, b=b)


test_unit_arithmetic()

# %% check="arithmetic with constants" points=1 hidden=true
# Beside numbers that need no gradient, on both sides.
### BEGIN HIDDEN TESTS
@probe
def gradients_beside_a_constant(a, b, grad):
    x, c = Tensor(a, requires_grad=True), Tensor(b)
    pairs = [(operation, pair) for operation in (Sub(), Mul(), Div()) for pair in ((x, c), (c, x))]
    return [list(operation(*pair).operation.backward(grad)) for operation, pair in pairs]


@probe
def gradients_as_arrays(a, b, grad):
    x, y = Tensor(a, requires_grad=True), Tensor(b, requires_grad=True)
    found = [operation(x, y).operation.backward(grad) for operation in (Sub(), Mul(), Div())]
    return [each if isinstance(each, np.ndarray) else type(each).__name__ for pair in found for each in pair]


@probe
def slope_of_a_mix(a, grad):
    x = Tensor(a, "float64", requires_grad=True)
    (3.0 - 2.0 / x * (x - 1.0)).backward(grad)
    return x.grad


def test_unit_arithmetic_with_constants():
    a, b, g = draw.uniform(1, 2, (3, 4)).astype(np.float32)
    want = [g, -g, g * b, g * a, g / b, -g * a / b**2]
    check(gradients_as_arrays(a, b, g), want=want, says="Compute with .data: a tensor would be recorded again.")
    got = gradients_beside_a_constant(a, b, g)
    check(got[1][1], want=-g)  # to the constant a of a - b the gradient itself may go: that costs nothing
    want = [[g, None], [g * b, None], [None, g * b], [g / b, None], [None, -g * b / a**2]]
    check([got[0], *got[2:]], want=want, says="None to an input that requires no gradient.")
    x, grad = draw.uniform(1, 2, (2, 2, 3))
    check(slope_of_a_mix(x, grad), want=-2 * grad / x**2, dtype="float64", says="The mix is 1 + 2 / x.")


test_unit_arithmetic_with_constants()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the rules are lines of a table, `derivatives.yaml`; it also notices when a or b was overwritten since:
# ```python oracle
# a, b = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
# (a * b - a / b).backward()
# np.allclose([a.grad, b.grad], [4.8, 3.12])
# ```

# %% [markdown]
# ## Backward of powers and curves
#
# One input each, and the slopes that calculus knows. `self.output` saves computing twice.
#
# **Shapes** `gradient of the result -> gradient of the input`, both `(...)`
#
# **By hand** `x**3` has the slope `3 * x**2`, at 2 it is 12. exp is its own; that of log x is 1 / x; that of sqrt x is
# 1 / (2 sqrt x), at 9 it is `1 / 6`.

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
def slopes_at_zero(k):
    slopes = []
    for exponent in (0, 1, 2):
        x = Tensor([0.0, k], requires_grad=True)
        (x**exponent).backward(np.ones(2))
        slopes.append(x.grad)
    return slopes


@probe
def gradients_of_curves(a, grad):
    curves = (lambda x: x**0, lambda x: x**2, Tensor.exp, Tensor.log, Tensor.sqrt)
    found = [curve(Tensor(a, requires_grad=True)).operation.backward(grad) for curve in curves]
    return [each if isinstance(each, np.ndarray) else type(each).__name__ for each in found], grad


def test_unit_curves_at_zero():
    a, g = draw.uniform(1, 3, (2, 4)).astype(np.float32)
    arrays, grad = gradients_of_curves(a, g)
    want = [0 * g, 2 * g * a, g * np.exp(a), g / a, g / (2 * np.sqrt(a))]
    check(arrays, want=want, says="Compute with .data: a tensor would be recorded again.")
    check(grad, want=g, says="The gradient belongs to somebody else: do not write into it.")
    got = slopes_at_zero(a[0])
    check(got[0], want=[0.0, 0.0])
    check(got[1], want=[1.0, 1.0])
    check(got[2], want=[0.0, 2 * a[0]])


test_unit_curves_at_zero()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, and infinite at the root of 0 as ours is, but without NumPy's warning:
# ```python oracle
# x = torch.tensor([0.0, 4.0], requires_grad=True)
# x.sqrt().sum().backward()
# x.grad.tolist() == [float("inf"), 0.25]
# ```

# %% [markdown]
# ## Backward of a matrix product
#
# The number `a[i, k]` meets every number of `b[k]`, and ends in row i. So its gradient is a sum along that row. Slow and
# obvious first:

# %%
a, b, grad = np.array([[1, 2, 3], [4, 5, 6]]), np.arange(12).reshape(3, 4), np.array([[1, 0, 2, 0], [0, 3, 0, 1]])
to_a = np.zeros((2, 3))
for i, k, j in np.ndindex(2, 3, 4):
    to_a[i, k] += grad[i, j] * b[k, j]
to_a

# %% [markdown]
# A sum of products along rows is a matrix product, with b turned:

# %%
(grad @ b.T == to_a).all()

# %% [markdown]
# ![The gradient (2, 4) times b turned (4, 3) has the shape of a, (2, 3)](figures/06_matmul.svg)

# %% [markdown]
# With b it is the same the other way round, with a turned.
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
def matmul_for_a_stack(a, b, grad):
    stack, matrix = Tensor(a, "float64", requires_grad=True), Tensor(b, "float64", requires_grad=True)
    (stack @ matrix).backward(grad)
    return [stack.grad, matrix.grad]


@probe
def matmul_beside_a_constant(a, b, grad):
    left = (Tensor(a, requires_grad=True) @ Tensor(b)).operation.backward(grad)
    right = (Tensor(a) @ Tensor(b, requires_grad=True)).operation.backward(grad)
    return [*left, *right]


def test_unit_matmul_broadcast():
    a, b, g = draw.normal((2, 2, 3)), draw.normal((3, 4)), draw.normal((2, 2, 4))
    got, want = matmul_for_a_stack(a, b, g), [g @ b.T, np.einsum("abi,abo->io", a, g)]
    check(got, want=want, dtype="float64", says="The one matrix gets the sum over the stack.")
    a, b, g = (each.astype(np.float32) for each in (a[0], b, g[0]))
    check(matmul_beside_a_constant(a, b, g), want=[g @ b.T, None, None, a.T @ g], rtol=1e-4, atol=1e-5)


test_unit_matmul_broadcast()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same two products; it also multiplies vectors, each case with a rule of its own, where ours refuses:
# ```python oracle
# a, b = torch.ones(2, 3, requires_grad=True), torch.ones(3, 4)
# (a @ b).sum().backward()
# a.grad.tolist() == [[4.0] * 3] * 2 and b.grad is None
# ```

# %% [markdown]
# ## Backward of shapes and sums
#
# Reshape and permute undo themselves. A sum gives its gradient to every number that went in. These are solved; `unfold`
# gives the dimension back that a fold took away, with size 1, so that the rest is broadcasting (`spread` is
# `np.broadcast_to`, but quick where arrays are small).

# %% twin="Sum.backward"
@patch
def unfold(self: Operation, folded: np.ndarray, dim: int | tuple[int, ...] | None, keepdim: bool) -> np.ndarray:
    """Give back with size 1 what was folded away. `(2,)` from `(2, 3)` over dim 1 becomes `(2, 1)`"""
    if keepdim or folded.ndim == 0:
        return folded
    return np.expand_dims(folded, tuple(range(self.inputs[0].data.ndim)) if dim is None else dim)


@patch
def backward(self: Sum, grad: np.ndarray) -> np.ndarray:
    return spread(self.unfold(grad, self.dim, self.keepdim), self.inputs[0].data.shape)


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
# One gradient for each of two sums becomes three in each row, without a copy:

# %%
x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
x.sum(dim=1).backward([1.0, -1.0])
x.grad

# %% [markdown]
# Now the mean and the largest. A mean is a sum divided by a count. The largest passes its gradient to where it stood,
# and several equals share it.
#
# **Shapes** `gradient (n,) or (n, 1) -> (n, m)` for dim 1
#
# **By hand** the mean of 4 numbers with gradient 1 gives each `1 / 4`; the largest of `[3 7 7]` gives `[0 1/2 1/2]`.

# %% exercise="folds" points=5
@patch
def backward(self: Mean, grad: np.ndarray) -> np.ndarray:
    """An equal part to every number. `(n,) -> (n, m)`. About 4 lines."""
    ### BEGIN SOLUTION
    (a,) = self.inputs
    count = a.data.size // max(self.output.size, 1)
    share = self.unfold(grad, self.dim, self.keepdim) / max(count, 1)
    return spread(share, a.data.shape)
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
# With keepdim, several dimensions, all dimensions, no numbers at all.
### BEGIN HIDDEN TESTS
@probe
def mean_of_no_rows():
    x = Tensor(np.zeros((0, 2)), requires_grad=True)
    x.mean(dim=1).sum().backward()
    return x.grad


@probe
def slopes_of(fold, a, grad, **settings):
    x = Tensor(a, "float64", requires_grad=True)
    folds = {"mean": Tensor.mean, "first": lambda x, dim: x[:, :, :1].mean(dim), "amax": Tensor.amax}
    folds[fold](x, **settings).backward(grad)
    return x.grad


def test_unit_folds_keepdim():
    a, g = draw.permutation(24).reshape(2, 3, 4) * 0.1, draw.uniform(1, 2, (2, 3, 4))
    rows, column, one = g[:, :1], g[:1, :, :1], g[0, 0, 0]
    check(slopes_of("mean", a, column[0, :, 0], dim=(0, 2)), want=column / 8 + 0 * a, dtype="float64")
    check(slopes_of("mean", a, rows, dim=1, keepdim=True), want=rows / 3 + 0 * a, dtype="float64")
    want = g * [1, 0, 0, 0]
    check(slopes_of("first", a, g[:, :, 0], dim=2), want=want, dtype="float64", says="The mean of one number is itself.")
    check(slopes_of("amax", a, rows, dim=1, keepdim=True), want=rows * (a == a.max(1, keepdims=True)), dtype="float64")
    check(mean_of_no_rows(), want=np.zeros((0, 2), np.float32))
    want = column * (a == a.max((0, 2), keepdims=True))
    check(slopes_of("amax", a, column[0, :, 0], dim=(0, 2)), want=want, dtype="float64")
    check(slopes_of("amax", a, one), want=one * (a == a.max()), dtype="float64")


test_unit_folds_keepdim()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `amax` shares among equals and `max(dim)` gives all to one, as ours do; its grad is a tensor, no array:
# ```python oracle
# x = torch.tensor([3.0, 7.0, 7.0], requires_grad=True)
# x.amax().backward(), x.max(dim=0).values.backward()
# x.grad.tolist() == [0.0, 1.5, 0.5]
# ```

# %% [markdown]
# ## Backward of activations
#
# Five of these six need nothing but the output. `LogSoftmax` and `GELU` are solved:

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
# Softmax is the one of yours whose outputs hang together: raise one input, and the other outputs fall. That is one
# weighted sum, taken off the gradient first.
#
# **Shapes** `gradient of the result -> gradient of the input`, both `(...)`
#
# **By hand** ReLU passes where the output is above 0. Sigmoid: y (1 - y), at y = 1/2 it is 1/4. Tanh: `1 - y**2`. Softmax:
# y (grad - sum of grad * y); outputs `[1/2 1/2]` with gradient `[4 0]` give `[1 -1]`.

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


@probe
def slopes_of_shares(a, grad):
    x, y = Tensor(a, "float64", requires_grad=True), Tensor(a, "float64", requires_grad=True)
    Softmax(dim=0)(x).backward(grad)
    LogSoftmax(dim=-1)(y).backward(grad)
    return x.grad, y.grad


def test_unit_activations_far_out():
    got = slopes_far_out()
    check(got[0], want=[0.0, 0.0, 1.0])
    check(got[1], want=[0.0, 0.25, 0.0])
    check(got[2], want=[0.0, 1.0, 0.0])
    a, g = draw.normal((2, 3, 2, 2))
    down, across = (np.exp(a) / np.exp(a).sum(axis=dim, keepdims=True) for dim in (0, -1))
    want = down * (g - (g * down).sum(axis=0)), g - across * g.sum(axis=-1, keepdims=True)
    check(slopes_of_shares(a, g), want=want, dtype="float64")


test_unit_activations_far_out()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, ReLU at 0 included; but its `gelu`, unless asked, is the exact curve, where ours takes the one with tanh:
# ```python oracle
# x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
# F.relu(x).sum().backward()
# x.grad.tolist() == [0.0, 0.0, 1.0]
# ```

# %% [markdown]
# ## Backward of a layer
#
# `Affine` is x @ weight.T + bias in one step. The bias reached every row, so it gets the sum over rows. Let the shapes
# lead:

# %%
x, weight, grad = np.ones((4, 3)), np.ones((2, 3)), np.ones((4, 2))
(grad @ weight).shape, (grad.T @ x).shape, grad.sum(axis=0).shape

# %% [markdown]
# Those of x, of the weight and of the bias. Dimensions in front of the last count as rows: flatten them.
#
# **Shapes** `grad (B, out), x (B, in), weight (out, in) -> (B, in), (out, in), (out,)`
#
# **By hand** one row x = `[1 2 3]` and grad `[1 10]`: the weight gets `[[1 2 3] [10 20 30]]`, the bias `[1 10]`.

# %% exercise="affine" points=4
@patch
def backward(self: Affine, grad: np.ndarray) -> tuple[np.ndarray | None, ...]:
    """Of x @ weight.T + bias: grad @ weight, grad.T @ x, the sum of grad's rows, if there is a bias. About 3 lines."""
    x, weight = self.inputs[0], self.inputs[1]
    rows = grad.reshape(-1, grad.shape[-1])
    ### BEGIN SOLUTION
    to_x = grad.dot(weight.data) if x.requires_grad else None
    to_weight = rows.T.dot(x.data.reshape(-1, x.data.shape[-1])) if weight.requires_grad else None
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
def affine_of_plain_input(x, grad):
    x, weight, bias = Tensor(x), Parameter(np.zeros((2, 3))), Parameter([0.0, 0.0])
    grads = Affine()(x, weight, bias).operation.backward(grad)
    bare = Affine()(x, weight).operation.backward(grad)
    return [*grads, len(bare)]


@probe
def affine_of_a_stack(dtype, grad, *arrays):
    inputs = [Tensor(array, dtype, requires_grad=True) for array in arrays]
    grads = Affine()(*inputs).operation.backward(grad)
    Affine()(*inputs).backward(grad)
    grads = [each if isinstance(each, np.ndarray) else type(each).__name__ for each in grads]
    return [grads, [tensor.grad for tensor in inputs]]


def test_unit_affine_stack():
    x, weight, bias, g = draw.normal((2, 4, 3)), draw.normal((2, 3)), draw.normal((2,)), draw.normal((2, 4, 2))
    want = [g @ weight, np.einsum("abo,abi->oi", g, x), g.sum(axis=(0, 1))]
    grads, walked = affine_of_a_stack("float64", g, x, weight, bias)
    check(walked, want=want, dtype="float64")
    check(grads, want=want, dtype="float64", says="Compute with .data: a tensor would be recorded again.")
    x, g = x[0].astype(np.float32), g[0].astype(np.float32)
    got = affine_of_plain_input(x, g)
    check(got[0], want=None, says="The plain input needs no gradient, so it gets None.")
    check(got[1:3], want=[g.T @ x, g.sum(axis=0)], rtol=1e-4, atol=1e-5)
    check(got[3], want=2, says="Without a bias there are two inputs.")


test_unit_affine_stack()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same; for a bias that requires no gradient it leaves the sum out, which ours computes in vain:
# ```python oracle
# x, weight, bias = torch.ones(4, 3), torch.ones(2, 3, requires_grad=True), torch.zeros(2, requires_grad=True)
# F.linear(x, weight, bias).sum().backward()
# weight.grad.tolist() == [[4.0] * 3] * 2 and bias.grad.tolist() == [4.0, 4.0]
# ```

# %% [markdown]
# ## Backward of losses
#
# Here every walk of training begins. `Abs` and `LogisticLoss` are solved: the sign, and the sigmoid minus the target.

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
# Softmax and cross entropy together have a short gradient. What the network believed, minus what is true:

# %%
believed, true = np.array([0.2, 0.7, 0.1]), np.array([0.0, 1.0, 0.0])
believed - true

# %% [markdown]
# ![Beliefs 0.2, 0.7, 0.1 minus the truth 0, 1, 0 give the gradient 0.2, -0.3, 0.1](figures/06_beliefs.svg)

# %% [markdown]
# The right class is pushed up by what its belief lacks, the others down. Do so for all rows at once.
#
# **Shapes** `grad (), logits (N, C), targets (N,), weights (N,) or None -> (N, C)`
#
# **By hand** beliefs `[0.2 0.7 0.1]` with class 1 right give `[0.2 -0.3 0.1]`; times the row's weight, over the total.

# %% supplied="SoftmaxCrossEntropy.forward"
@patch
def forward(self: SoftmaxCrossEntropy, z: np.ndarray) -> np.ndarray:
    """As before, but the exps and their sums are kept, for backward needs them."""
    shifted, rows = z - z.max(axis=1, keepdims=True), np.arange(len(z))
    self.exps = np.exp(shifted)
    self.sums = self.exps.sum(axis=1)
    losses = np.log(self.sums) - shifted[rows, self.targets]
    if self.weights is not None:
        losses *= self.weights
    return losses.sum() / self.total


# %% exercise="cross_entropy" points=4
@patch
def backward(self: SoftmaxCrossEntropy, grad: np.ndarray) -> np.ndarray:
    """Softmax of each row, minus 1 at its target, times `weights`, over `total`. `() -> (N, C)`

    `self.targets (N,)`, `self.weights (N,)` or None and `self.total` were given to the constructor; forward kept
    `self.exps (N, C)` and `self.sums (N,)`. About 5 lines.
    """
    ### BEGIN SOLUTION
    to_logits: np.ndarray = self.exps / self.sums[:, None]
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
def slopes_of_losses():
    signs, class_1, smooth = Tensor([[-1.0, 1.0]]), Tensor([1]), CrossEntropyLoss(label_smoothing=0.2)
    slopes = []
    for loss, target in ((L1Loss(), signs), (BCEWithLogitsLoss(), signs), (NLLLoss(), class_1), (smooth, class_1)):
        z = Tensor([[0.0, 0.0]], requires_grad=True)
        loss(z, target).backward()
        slopes.append(z.grad)
    x = Tensor(np.ones((1, 40)), requires_grad=True)
    dropped = Dropout(0.75, rng=Generator(0))(x)
    dropped.sum().backward()
    return [slopes, x.grad, dropped.data]


def test_unit_losses_way_back():
    slopes, to_x, dropped = slopes_of_losses()
    for got, want in zip(slopes, ([[0.5, -0.5]], [[0.75, -0.25]], [[0.0, -1.0]], [[0.4, -0.4]])):
        check(got, want=want, says="The gradient got lost: compute with tensors, not .data, in lesson 03 or 04.")
    check(to_x, want=dropped, says="The gradient got lost: compute with tensors, not .data, in lesson 03.")


test_unit_losses_way_back()

# %% check="cross_entropy weighted" points=1 hidden=true
# With class weights, ignored rows, a starting gradient other than 1, and large logits.
### BEGIN HIDDEN TESTS
@probe
def slope_of_cross_entropy(logits, targets, times, **settings):
    z = Tensor(logits, "float64", requires_grad=True)
    (CrossEntropyLoss(**settings)(z, Tensor(targets)) * times).backward()
    return z.grad


@probe
def far_out_logits():
    logits = Tensor([[10000.0, -10000.0], [0.0, 10000.0]], requires_grad=True)
    CrossEntropyLoss()(logits, Tensor([1, 1])).backward(6.0)
    return logits.grad


@probe
def rows_far_apart():
    logits = Tensor([[1000.0, 1000.0], [0.0, 0.0]], requires_grad=True)
    CrossEntropyLoss()(logits, Tensor([1, 0])).backward()
    return logits.grad


def test_unit_cross_entropy_weighted():
    z, targets, weight = draw.normal((3, 3)), draw.permutation(3), draw.uniform(1, 5, (3,)).astype(np.float32)
    slope = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True) - np.eye(3)[targets]
    weighted, kept = weight[targets][:, None] / weight.sum(), (targets != 0)[:, None]
    check(slope_of_cross_entropy(z, targets, 3.0, weight=weight), want=3 * weighted * slope, dtype="float64")
    check(slope_of_cross_entropy(z, targets, 1.0, ignore_index=0), want=kept * slope / 2, dtype="float64")
    check(far_out_logits(), want=[[3.0, -3.0], [0.0, 0.0]])
    check(rows_far_apart(), want=[[0.25, -0.25], [-0.25, 0.25]], atol=1e-4, says="Each row has a largest logit of its own.")


test_unit_cross_entropy_weighted()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same numbers, from two nodes, `log_softmax` and `nll_loss`, where ours is one:
# ```python oracle
# z = torch.zeros(2, 2, requires_grad=True)
# F.cross_entropy(z, torch.tensor([1, 0])).backward()
# z.grad.tolist() == [[0.25, -0.25], [-0.25, 0.25]]
# ```

# %% [markdown]
# ## A whole network
#
# Two layers, a loss, one walk, and every parameter has a gradient of its own shape:

# %%
hidden, out = Linear(3, 4, rng=Generator(0)), Linear(4, 2, rng=Generator(1))
rows, targets = Tensor([[1.0, 2.0, 3.0], [-1.0, 0.0, 1.0]]), Tensor([1, 0])
CrossEntropyLoss()(out(Tanh()(hidden(rows))), targets).backward()
[parameter.grad.shape for layer in (hidden, out) for parameter in layer.parameters()]

# %% [markdown]
# Is it right? Nudge each of the hidden weights, and take the largest difference from what the walk found:

# %%
def loss_by(weight: np.ndarray) -> float:
    inside = Tanh()(Affine()(rows, Tensor(weight, dtype="float64"), hidden.bias))
    return float(CrossEntropyLoss()(out(inside), targets).item())


nudged = numerical_gradient(loss_by, hidden.weight.data.astype(np.float64))
bool(abs(nudged - hidden.weight.grad).max() < 1e-6)

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
# That one spoke. Two are silent. Gradients add up over calls; after a second pass without zeroing it is 8, not 4:

# %%
(w * w).backward()
w.grad

# %% [markdown]
# And the record holds the tensor, not a copy of its numbers. Write into `data` between forward and backward, and
# backward reads what stands there now:

# %%
w = Tensor([2.0], requires_grad=True)
squared = w * w
w.data[0] = 5.0
squared.backward()
w.grad

# %% [markdown]
# At 2, where the square was computed, the slope is 4; this is 10, the slope at 5. PyTorch counts writes and
# refuses to walk, but sees none through `.data` either. An optimizer may write there: it comes after the walk.

# %% [markdown]
# ## What it costs
#
# First the time. The layer has 300 weights, so nudging takes 600 passes forward; the walk takes one, and about two more
# for the way back:

# %%
import time

rows, weight = Tensor(np.ones((20, 30))), Parameter(np.ones((10, 30)))


def seconds(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


# %%
def loss(weight: Tensor) -> Tensor:
    return (Affine()(rows, weight) ** 2).mean()


walking = min(seconds(lambda: loss(weight).backward()) for _ in range(5))
nudging = seconds(lambda: numerical_gradient(lambda w: loss(Tensor(w)).item(), weight.data))
weight.numel(), 2 * weight.numel(), round(nudging / walking)

# %% [markdown]
# The last number is how many times as long nudging took, and it grows with every weight.

# %% [markdown]
# Then the memory of ten activations of 256 by 1,024 numbers, in MiB: recorded, not recorded, and ten outputs as the
# estimate:

# %%
import tracemalloc


def kept(x: Tensor) -> float:
    tracemalloc.start()
    for _ in range(10):
        x = Tanh()(x)
    bytes_now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(bytes_now / 2**20, 1)


# %%
x = Tensor(np.ones((256, 1024)), requires_grad=True)
recorded = kept(x)
with no_grad():
    unrecorded = kept(x)
recorded, unrecorded, 10 * x.nbytes / 2**20

# %% [markdown]
# Every output waits for the walk, as estimated; unrecorded, only the last one is left. In training this is often what
# fills the memory, and it grows with the batch.

# %% [markdown]
# A layer norm and a softmax of your operations; and each as one node, supplied, which writes over its own arrays:

# %%
from tinytorch.fused import layer_norm, softmax


def composed(x: Tensor) -> Tensor:
    centred = x - x.mean(1, keepdim=True)
    normal = centred / ((centred * centred).mean(1, keepdim=True) + 1e-5).sqrt()
    return Softmax(1)(normal)


def fused(x: Tensor) -> Tensor:
    return softmax(layer_norm(x, 1024))


# %% [markdown]
# Outputs and slopes agree, and milliseconds forward and back:

# %%
x, y = (Tensor(Generator(0).normal(0, 1, (256, 1024)), requires_grad=i == 0) for i in range(2))


def slopes(f: Callable[[Tensor], Tensor]) -> np.ndarray:
    x.grad = None
    (f(x) * y).sum().backward()
    return np.array(x.grad)


def milliseconds(f: Callable[[Tensor], Tensor]) -> float:
    return round(1000 * min(seconds(lambda: slopes(f)) for _ in range(5)), 1)


same = np.allclose(composed(x), fused(x), rtol=1e-4), np.allclose(slopes(composed), slopes(fused), atol=1e-6)
same, milliseconds(composed), milliseconds(fused)

# %% [markdown]
# ## Think
#
# **Think** Why is walking back cheap for a million weights and one loss, and dear for one weight and a million outputs?
# <details><summary>Answer</summary>One walk gives the slopes of one output by all inputs. A million outputs would need
# a million walks; there one nudge of the one input, which moves all outputs at once, is the better way.</details>
#
# **Think** Why newest first, and not any operation that has something waiting?
# <details><summary>Answer</summary>An operation that runs before all its shares are in passes on too little, and has to
# run again for the rest. Along a chain of doublings the number of such runs doubles at every step.</details>
#
# **Think** What breaks if a leaf keeps its first share without copying it?
# <details><summary>Answer</summary>Both inputs of a sum get the same array. When clipping or an optimizer then scales
# the gradient of one in place, it scales the other's too; and the share of a sum is a view that refuses to be written.
# </details>
#
# **Think** A mean over the batch gives each row 1/B of the gradient. Why does the bias get the sum over rows then?
# <details><summary>Answer</summary>The division happened at the loss, and its rule passed it on. The bias was used once
# for every row, so it adds what arrives; to divide again would divide twice.</details>

# %% [markdown]
# ## What you have
#
# You built the engine of a deep-learning framework: a record, a walk, and a rule for every operation. It costs about two
# passes more, and all outputs kept. Not built, and why:
#
# - second derivatives: `backward` works on plain arrays, which nobody records
# - a count of writes, which would catch the last of the silent errors: NumPy does not tell when an array is changed
# - recomputing outputs instead of keeping them, and hooks: both are layers over this engine
#
# Lesson 07 puts the gradients to use.
