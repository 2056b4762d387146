# %% [markdown]
# # 01 Tensors
#
# A network is arithmetic on grids of numbers. Here is the whole of it in one line:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tinytorch.dtypes import as_array, floating, promote
from tinytorch.generator import Generator

# %%
pixels, weights = np.array([[0.0, 0.5, 1.0]]), np.array([[2.0], [4.0], [6.0]])
(pixels @ weights).item()

# %% [markdown]
# Three pixels, three weights, one answer: `0 * 2 + 0.5 * 4 + 1 * 6`. NumPy did that. In this lesson you wrap NumPy in a
# class of your own, `Tensor`, and give it every operation that the seven later lessons need. In lesson 06 the same
# operations learn to run backward, which NumPy's cannot.

# %% [markdown]
# ## Make a tensor
#
# A tensor owns a NumPy array. Networks use 32-bit floats: half the bytes of Python's own, and precise enough.

# %%
np.array([0.1, 0.2]).nbytes, np.array([0.1, 0.2], dtype=np.float32).nbytes

# %% [markdown]
# Sixteen bytes against eight. So floats become float32 unless you ask for another dtype; integers and booleans stay.
#
# **Shapes** `nested lists, a number or an array -> an array of the same shape`
#
# **By hand** `[[1.5, 2], [3, 4]]` gives four float32 numbers in shape (2, 2); `[1, 2]` gives int64.
#
# The array is always a copy: changing the list or array that was passed does not change the tensor. The class below
# the exercise keeps what you return as its `data`.

# %% exercise="create" points=4
def to_array(data: Any, dtype: Any = None) -> np.ndarray:
    """A new array of the numbers in `data`: nested lists, a number, an array or a tensor.

    Floats become float32 unless `dtype` is given (PyTorch keeps a NumPy array's float64); integers and booleans stay.
    Raises TypeError when the data are not numbers.
    About 6 lines.
    """
    ### BEGIN SOLUTION
    array = np.array(data, dtype=dtype)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"Tensor: needs numbers, got {type(data).__name__} of dtype {array.dtype}")
    if dtype is None and array.dtype.kind == "f":
        array = array.astype(np.float32)
    return array
    ### END SOLUTION


# %% supplied="Tensor"
class Tensor:
    """A grid of numbers of one dtype. `data` is its NumPy array, and its own.

    Floats become float32 unless `dtype` is given (PyTorch keeps a NumPy array's float64); integers and booleans stay.
    Raises TypeError when the data are not numbers.
    """

    __array_ufunc__ = None  # a NumPy array on the left of an operator leaves the work to the tensor
    __hash__ = object.__hash__  # equal numbers do not make two tensors the same object

    def __init__(self, data: Any, dtype: Any = None) -> None:
        self.data = to_array(data, dtype)


# %% supplied="Tensor.wrap"
@patch(classmethod)
def wrap(cls: type[Tensor], array: np.ndarray) -> Tensor:
    """Make a tensor of an array as it is: no copy, dtype kept. For results, which nobody else holds."""
    tensor = Tensor.__new__(Tensor)
    tensor.data = np.asarray(array)
    return tensor


@patch
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Let `np.asarray(tensor)` work."""
    return np.array(self.data, dtype=dtype) if copy else np.asarray(self.data, dtype=dtype)


@patch
def __repr__(self: Tensor) -> str:
    """The numbers as nested lists, with the dtype where it is not the usual one."""
    numbers = np.array2string(self.data, separator=", ", prefix="Tensor(")
    usual = self.data.dtype in (np.float32, np.int64, np.bool_)
    return f"Tensor({numbers})" if usual else f"Tensor({numbers}, dtype={self.data.dtype})"


# %% check="create" points=2
def test_unit_create():
    check("Tensor([[1.5, 2], [3, 4]]).data", want=[[1.5, 2.0], [3.0, 4.0]])
    check("Tensor([1, 2, 3]).data", want=[1, 2, 3])
    check("Tensor([0.5], dtype='float64').data", want=np.array([0.5]), dtype="float64")
    check("Tensor([1, 2], dtype='float32').data", want=[1.0, 2.0])
    check("Tensor(7.0).data.shape", want=())
    raises("Tensor(['a', 'b'])", TypeError)


test_unit_create()

# %% check="create copies" points=2 hidden=true
# A tensor is a copy; booleans, small integers and other tensors work too.
### BEGIN HIDDEN TESTS
@probe
def change_the_source(values):
    tensor = Tensor(values)
    values[0] = 9.0
    return tensor.data


def test_unit_create_copies():
    values = draw.uniform(-1, 1, (4,))
    check(change_the_source(values.copy()), want=values)
    check(change_the_source(values.astype(np.float32)), want=values.astype(np.float32))
    check(change_the_source(np.array([3, 1, 2])), want=[3, 1, 2])
    check("Tensor([True, False]).data", want=[True, False])
    check("Tensor(np.array([1, 2], dtype=np.uint8)).data", want=np.array([1, 2], np.uint8), dtype="uint8")
    check("Tensor(Tensor([[1.5]])).data", want=[[1.5]])


test_unit_create_copies()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.tensor([[1.5, 2], [3, 4]])` is the same; given a float64 array it stays float64, where ours does not.

# %% [markdown]
# ## What a tensor knows of itself
#
# Most errors in machine learning are shapes that do not fit, so the first question to a tensor is what shape it has:

# %%
grid = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
grid.data.shape

# %% [markdown]
# Two rows, three columns. `@patch` adds a method to a class that exists already, so that a class can grow over many
# cells; the first parameter's annotation says which class. Two of these facts are written for you:

# %% twin="Tensor.shape"
@patch(property)
def shape(self: Tensor) -> tuple[int, ...]:
    """How many numbers along each dimension, as `(2, 3)`."""
    return self.data.shape


@patch(property)
def dtype(self: Tensor) -> np.dtype:
    """The kind of number held, as `float32`."""
    return self.data.dtype


# %% [markdown]
# Write three more, of the same pattern.
#
# **Shapes** `a tensor -> one integer`
#
# **By hand** shape (2, 3) in float32 has 2 dimensions, 2 * 3 numbers and 2 * 3 * 4 bytes.

# %% exercise="facts" points=2
@patch(property)
def ndim(self: Tensor) -> int:
    """How many dimensions: 0 for a single number. About 1 line."""
    ### BEGIN SOLUTION
    return self.data.ndim
    ### END SOLUTION


@patch
def numel(self: Tensor) -> int:
    """How many numbers in all: the product of the shape. About 1 line."""
    ### BEGIN SOLUTION
    return self.data.size
    ### END SOLUTION


@patch(property)
def nbytes(self: Tensor) -> int:
    """How many bytes the numbers take: their count times the bytes of one. About 1 line."""
    ### BEGIN SOLUTION
    return self.data.nbytes
    ### END SOLUTION


# %% check="facts" points=2
def test_unit_facts():
    check("Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).ndim", want=2)
    check("Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).numel()", want=6)
    check("Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).nbytes", want=24)
    check("Tensor([1, 2, 3]).nbytes", want=24, says="An int64 takes 8 bytes.")
    check("(Tensor(3.0).ndim, Tensor(3.0).numel(), Tensor([]).numel())", want=(0, 1, 0))


test_unit_facts()

# %% supplied="Tensor.item"
@patch
def item(self: Tensor) -> Any:
    """The one number that the tensor holds, as a Python number. Raises ValueError when it holds more."""
    if self.data.size != 1:
        raise ValueError(f"item: needs a tensor of one number, got shape {self.shape}; pick one with [] first")
    return self.data.item()


@patch
def numpy(self: Tensor) -> np.ndarray:
    """The array itself, not a copy."""
    return self.data


@patch
def __len__(self: Tensor) -> int:
    """The size of the first dimension. Raises TypeError for a single number."""
    if not self.shape:
        raise TypeError("len: a 0-d tensor is a single number and has no length; use .item()")
    return self.shape[0]


@patch
def __float__(self: Tensor) -> float:
    """The one number as a float."""
    return float(self.item())


@patch
def __bool__(self: Tensor) -> bool:
    """Whether the one number is not zero. Raises ValueError when there are more."""
    return bool(self.item())


# %% [markdown]
# **In PyTorch** `t.ndim`, `t.numel()` and `t.nbytes` are the same; `t.shape` there is a class of its own, here a plain tuple.

# %% [markdown]
# ## One operation, one class
#
# Arithmetic goes through small classes, one for each operation. `forward` gets arrays and returns an array.
# Calling an operation applies it to tensors. This plumbing is supplied; trace it once. `promote` and `as_array`, from the
# supplied `dtypes.py`, bring arrays and numbers to one dtype by PyTorch's rules:

# %% supplied="Operation"
class Operation:
    """One step of arithmetic: `forward` takes arrays and returns an array. Settings go to the constructor."""

    forward: Callable[..., np.ndarray]

    def __call__(self, *inputs: Any) -> Tensor:
        """Apply a fresh copy, so that one instance can stand in many places of a network."""
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__)
        return fresh.apply(*inputs)

    def apply(self, *inputs: Any) -> Tensor:
        """Compute the result for tensors, numbers and arrays."""
        return Tensor.wrap(self.forward(*promote([tensor.data for tensor in self.tensors(inputs)])))

    def tensors(self, inputs: tuple[Any, ...]) -> list[Tensor]:
        """The inputs as tensors; a number beside a tensor takes its precision."""
        beside = next(x.data.dtype for x in inputs if isinstance(x, Tensor))
        return [x if isinstance(x, Tensor) else Tensor.wrap(as_array(x, beside)) for x in inputs]


# %% twin="Add"
class Add(Operation):
    """Sum of two, element by element. `(...), (...) -> (...)`, shapes broadcast"""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b


# %% twin="Tensor.add"
@patch
def __add__(self: Tensor, other: Any) -> Tensor:
    return Add().apply(self, other)


@patch
def __radd__(self: Tensor, other: Any) -> Tensor:
    return Add().apply(other, self)


# %% [markdown]
# `+` on two tensors makes an `Add` and applies it; `1 + t` arrives in `__radd__`, since a Python number cannot add tensors:

# %%
1 + Tensor([[1, 2, 3], [4, 5, 6]]) + Tensor([10, 20, 30])

# %% [markdown]
# The row `[10, 20, 30]` was added to both rows: a missing dimension is repeated. That is broadcasting, and NumPy does it.
#
# ## Subtract, multiply, negate
#
# **Shapes** `(...), (...) -> (...)`
#
# **By hand** `[1 2 3] - [10 20 30]` is `[-9 -18 -27]`; `[1 2 3] * [10 20 30]` is `[10 40 90]`.

# %% exercise="arithmetic" points=4
class Sub(Operation):
    """Difference of two. `(...), (...) -> (...)`, shapes broadcast. About 1 line."""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return a - b
        ### END SOLUTION


class Mul(Operation):
    """Product of two, element by element. `(...), (...) -> (...)`, shapes broadcast. About 1 line."""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return a * b
        ### END SOLUTION


class Neg(Operation):
    """Every sign turned. `(...) -> (...)`. About 1 line."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return -a
        ### END SOLUTION


# %% supplied="Tensor.sub"
@patch
def __sub__(self: Tensor, other: Any) -> Tensor:
    return Sub().apply(self, other)


@patch
def __rsub__(self: Tensor, other: Any) -> Tensor:
    return Sub().apply(other, self)


@patch
def __mul__(self: Tensor, other: Any) -> Tensor:
    return Mul().apply(self, other)


@patch
def __rmul__(self: Tensor, other: Any) -> Tensor:
    return Mul().apply(other, self)


@patch
def __neg__(self: Tensor) -> Tensor:
    return Neg().apply(self)


# %% check="arithmetic" points=3
def test_unit_arithmetic():
    check("Tensor([1, 2, 3]) - Tensor([10, 20, 30])", want=[-9, -18, -27])
    check("Tensor([1, 2, 3]) * Tensor([10, 20, 30])", want=[10, 40, 90])
    check("-Tensor([1.5, -2.0])", want=[-1.5, 2.0])
    check("10 - Tensor([[1, 2, 3], [4, 5, 6]])", want=[[9, 8, 7], [6, 5, 4]])
    check("Tensor([[1, 2, 3], [4, 5, 6]]) * 0.5", want=[[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]])


test_unit_arithmetic()

# %% check="arithmetic broadcasts" points=1 hidden=true
# On drawn numbers, with rows against columns and mixed dtypes.
### BEGIN HIDDEN TESTS
def test_unit_arithmetic_broadcasts():
    a, b = draw.integers(-9, 9, (3, 1)), draw.integers(-9, 9, (4,))
    check("Tensor(a) - Tensor(b)", want=a - b, a=a, b=b)
    check("Tensor(a) * Tensor(b)", want=a * b, a=a, b=b)
    check("-Tensor(a)", want=-a, a=a)
    check("Tensor(a) * Tensor([0.5])", want=(a * 0.5).astype(np.float32), a=a)
    check("np.arange(3) * Tensor([1, 2, 3])", want=[0, 2, 6])


test_unit_arithmetic_broadcasts()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `a - b`, `a * b` and `-a` are the same, dtypes included; with a NumPy array on the left PyTorch's result depends on the version.

# %% [markdown]
# ## Divide
#
# Integers divided by integers are seldom integers, so a quotient is always a float. NumPy would give float64:

# %%
(np.array([1, 2]) / np.array([4, 4])).dtype

# %% [markdown]
# `floating`, from the supplied `dtypes.py`, turns integers into float32 and leaves floats alone.
#
# **Shapes** `(...), (...) -> (...)`, float
#
# **By hand** `[1 2] / [4 5]` is `[0.25 0.4]`, in float32.

# %% exercise="divide" points=3
class Div(Operation):
    """Quotient of two, always a float. `(...), (...) -> (...)`, shapes broadcast. About 1 line."""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return floating(a) / floating(b)
        ### END SOLUTION


# %% supplied="Tensor.div"
@patch
def __truediv__(self: Tensor, other: Any) -> Tensor:
    return Div().apply(self, other)


@patch
def __rtruediv__(self: Tensor, other: Any) -> Tensor:
    return Div().apply(other, self)


# %% check="divide" points=2
def test_unit_divide():
    check("Tensor([3.0, 1.0]) / Tensor([2.0, 4.0])", want=[1.5, 0.25])
    check("Tensor([1, 2]) / Tensor([4, 5])", want=[0.25, 0.4], says="Integers divide to float32.")
    check("1 / Tensor([[2.0, 4.0]])", want=[[0.5, 0.25]])


test_unit_divide()

# %% check="divide drawn" points=1 hidden=true
# On drawn numbers, float64 included.
### BEGIN HIDDEN TESTS
def test_unit_divide_drawn():
    a, b = draw.uniform(-2, 2, (2, 3)), draw.uniform(1, 2, (3,))
    check("Tensor(a, dtype='float64') / Tensor(b, dtype='float64')", want=a / b, dtype="float64", a=a, b=b)
    check("Tensor(a) / Tensor(b)", want=(a / b).astype(np.float32), a=a, b=b)
    check("Tensor([7, 8]) / 2", want=[3.5, 4.0])


test_unit_divide_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.tensor([1, 2]) / torch.tensor([4, 5])` is the same; dividing by zero is silent there, while NumPy warns.

# %% [markdown]
# ## Powers and curves
#
# Losses square, activations exponentiate. A number that is no tensor is a setting, so it goes to the constructor: here
# is `Pow`, solved, with its operator.

# %% twin="Pow"
class Pow(Operation):
    """Every number to the power `exponent`, a Python number. `(...) -> (...)`"""

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent

    def forward(self, a: np.ndarray) -> np.ndarray:
        whole = isinstance(self.exponent, int) and self.exponent >= 0
        return (a if whole else floating(a)) ** self.exponent


@patch
def __pow__(self: Tensor, exponent: float) -> Tensor:
    if not isinstance(exponent, (int, float)):
        raise TypeError(f"pow: exponent must be a number, got {type(exponent).__name__}; write (a.log() * b).exp()")
    return Pow(exponent).apply(self)


# %%
Tensor([[1, 2, 3]]) ** 2

# %% [markdown]
# Write three curves. Each takes integers too, and gives floats.
#
# **Shapes** `(...) -> (...)`, float
#
# **By hand** exp(0) is 1, log(1) is 0, sqrt(9) is 3.

# %% exercise="curves" points=3
class Exp(Operation):
    """e to the power of every number. `(...) -> (...)`. About 1 line."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return np.exp(floating(a))
        ### END SOLUTION


class Log(Operation):
    """Natural logarithm of every number. `(...) -> (...)`. About 1 line."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return np.log(floating(a))
        ### END SOLUTION


class Sqrt(Operation):
    """Square root of every number. `(...) -> (...)`. About 1 line."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return np.sqrt(floating(a))
        ### END SOLUTION


# %% supplied="Tensor.exp"
@patch
def exp(self: Tensor) -> Tensor:
    """e to the power of every number."""
    return Exp().apply(self)


@patch
def log(self: Tensor) -> Tensor:
    """Natural logarithm of every number."""
    return Log().apply(self)


@patch
def sqrt(self: Tensor) -> Tensor:
    """Square root of every number."""
    return Sqrt().apply(self)


@patch
def __rpow__(self: Tensor, base: float) -> Tensor:
    """`2 ** t` is exp(t * log(2)). Raises ValueError unless the base is above 0."""
    if not base > 0:
        raise ValueError(f"pow: the base must be above 0, got {base}")
    return (self * math.log(base)).exp()


# %% check="curves" points=2
def test_unit_curves():
    check("Tensor([0.0, 1.0]).exp()", want=[1.0, math.e])
    check("Tensor([1.0, math.e]).log()", want=[0.0, 1.0])
    check("Tensor([[9, 16]]).sqrt()", want=[[3.0, 4.0]])
    check("2 ** Tensor([3.0, 5.0])", want=[8.0, 32.0])


test_unit_curves()

# %% check="curves drawn" points=1 hidden=true
# On drawn numbers in both float dtypes.
### BEGIN HIDDEN TESTS
def test_unit_curves_drawn():
    a = draw.uniform(0.5, 3, (2, 3))
    check("Tensor(a, dtype='float64').exp()", want=np.exp(a), dtype="float64", a=a)
    check("Tensor(a, dtype='float64').log()", want=np.log(a), dtype="float64", a=a)
    check("Tensor(a, dtype='float64').sqrt()", want=np.sqrt(a), dtype="float64", a=a)
    check("[Tensor([1, 2]).exp(), Tensor([1]).log()]", want=[np.exp(np.float32([1, 2])), np.float32([0])])


test_unit_curves_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `t.exp()`, `t.log()`, `t.sqrt()` are the same; PyTorch's `**` also takes a tensor as exponent, ours a number.

# %% [markdown]
# ## Multiply matrices
#
# A layer weighs every input for every output: combine each row of A with each column of B.
#
# **Shapes** `(n, k) @ (k, m) -> (n, m)`, with any equal or broadcasting dimensions in front
#
# **By hand** the row `[1 2 3]` against the column `[7 9 1]`:

# %%
1 * 7 + 2 * 9 + 3 * 1

# %% [markdown]
# Do that for two rows and two columns and you have four numbers. Refuse sizes that do not fit, and say which.

# %% exercise="matmul" points=4
class MatMul(Operation):
    """Matrix product. `(..., n, k) @ (..., k, m) -> (..., n, m)`

    Raises ValueError when a side has under 2 dimensions, or when the inner sizes differ, and says which.
    About 5 lines.
    """

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        if a.ndim < 2 or b.ndim < 2:
            raise ValueError(f"matmul: needs 2 dimensions or more on both sides: {a.shape} @ {b.shape}; reshape first")
        if a.shape[-1] != b.shape[-2]:
            inner = f"{a.shape} @ {b.shape} has {a.shape[-1]} and {b.shape[-2]}"
            raise ValueError(f"matmul: inner sizes differ: {inner}; transpose one side?")
        return a @ b
        ### END SOLUTION


# %% supplied="Tensor.matmul"
@patch
def __matmul__(self: Tensor, other: Any) -> Tensor:
    return MatMul().apply(self, other)


@patch
def __rmatmul__(self: Tensor, other: Any) -> Tensor:
    return MatMul().apply(other, self)


# %% check="matmul" points=3
def test_unit_matmul():
    check("Tensor([[1, 2, 3], [4, 5, 6]]) @ Tensor([[7, 8], [9, 1], [1, 2]])", want=[[28, 16], [79, 49]])
    own = "Say which sizes differ, in words of your own."
    raises("Tensor([[1, 2]]) @ Tensor([[1, 2]])", ValueError, match="^(?!.*core dimension).*2", says=own)
    raises("Tensor([1, 2]) @ Tensor([[1], [2]])", ValueError)


test_unit_matmul()

# %% check="matmul batches" points=1 hidden=true
# Also for stacks of matrices.
### BEGIN HIDDEN TESTS
def test_unit_matmul_batches():
    a, b = draw.integers(-5, 5, (2, 3, 4)), draw.integers(-5, 5, (4, 2))
    check("Tensor(a) @ Tensor(b)", want=np.einsum("bij,jk->bik", a, b), a=a, b=b)
    c = draw.integers(-5, 5, (2, 4, 5))
    check("Tensor(a) @ Tensor(c)", want=np.einsum("bij,bjk->bik", a, c), a=a, c=c)
    raises("Tensor(a) @ Tensor(a)", ValueError, a=a)


test_unit_matmul_batches()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `torch.matmul(a, b)` is the same; for two vectors it gives their dot product, where ours refuses.

# %% [markdown]
# ## Fold a dimension away
#
# `dim` names the dimension that disappears; None means all of them; `keepdim` leaves it with size 1. `Sum` is solved:

# %% twin="Sum"
class Sum(Operation):
    """Sum over `dim`. `(n, m)` over dim 0 gives `(m,)`"""

    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        return a.sum(axis=self.dim, dtype=a.dtype if a.dtype.kind == "f" else np.int64, keepdims=self.keepdim)


@patch
def sum(self: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Sum over `dim`, over everything when None. Booleans and integers give int64."""
    return Sum(dim, keepdim).apply(self)


# %%
Tensor([[1, 2, 3], [4, 5, 6]]).sum(dim=0)

# %% [markdown]
# Dim 0, the rows, is gone; a sum for each of the three columns is left.
#
# The mean divides that sum by how many numbers went into each result. The mean of nothing is nan, and the mean of
# integers is refused, since the answer is no integer.
#
# **Shapes** `(n, m) -> (m,)` for dim 0, `(n, 1)` for dim 1 with keepdim, `()` for None
#
# **By hand** the mean of `[[1 2 3] [4 5 6]]` over dim 1 is `[2 5]`.

# %% exercise="mean" points=4
class Mean(Operation):
    """Mean over `dim`. `(n, m)` over dim 0 gives `(m,)`

    Raises TypeError for integers. The mean of nothing is nan, without a warning.
    About 5 lines.
    """

    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        if a.dtype.kind != "f":
            raise TypeError(f"mean: needs floats, got {a.dtype}; convert with .astype('float32')")
        total = a.sum(axis=self.dim, keepdims=self.keepdim)
        count = a.size // max(total.size, 1)
        return total / count if count else total * math.nan
        ### END SOLUTION


# %% supplied="Tensor.mean"
@patch
def mean(self: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Mean over `dim`, over everything when None. Raises TypeError for integers."""
    return Mean(dim, keepdim).apply(self)


# %% check="mean" points=3
def test_unit_mean():
    check("Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).mean(dim=1)", want=[2.0, 5.0])
    check("Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).mean(dim=0, keepdim=True)", want=[[2.5, 3.5, 4.5]])
    check("Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]]).mean().item()", want=4.0)
    raises("Tensor([1, 2]).mean()", TypeError)


test_unit_mean()

# %% check="mean of nothing" points=1 hidden=true
# Nothing gives nan; two dimensions at once; float64 stays.
### BEGIN HIDDEN TESTS
def test_unit_mean_of_nothing():
    check("Tensor([]).mean()", want=np.float32(np.nan), equal_nan=True)
    check("Tensor(np.zeros((0, 2))).mean(dim=0)", want=np.float32([np.nan, np.nan]), equal_nan=True)
    a = draw.normal((2, 3, 4))
    check("Tensor(a, dtype='float64').mean(dim=(0, 2))", want=a.mean(axis=(0, 2)), dtype="float64", a=a)


test_unit_mean_of_nothing()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `t.mean(dim=1)` is the same, and refuses integers too.

# %% [markdown]
# ## The largest
#
# A classifier's answer is the class with the largest score. Two questions belong to that: how large, and where.
# NumPy's own message for an empty dimension does not help, so give a better one.
#
# **Shapes** `(n, m) -> (n,)` for dim 1, `(n, 1)` with keepdim
#
# **By hand** `[[3 9 4] [8 1 5]]` over dim 1: the largest are `[9 8]`, at `[1 0]`.

# %% exercise="max" points=4
class Max(Operation):
    """Largest over `dim`. `(n, m)` over dim 1 gives `(n,)`

    Raises ValueError where a result would have nothing to choose from.
    About 3 lines.
    """

    def __init__(self, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> None:
        self.dim, self.keepdim = dim, keepdim

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        if a.size == 0 and a.sum(axis=self.dim).size:
            raise ValueError(f"amax: nothing to take the largest of in shape {a.shape} over dim {self.dim}")
        return a.max(axis=self.dim, keepdims=self.keepdim)
        ### END SOLUTION


@patch
def argmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the largest over `dim`, the first of equals, int64. None counts through all numbers.

    Raises ValueError where a result would have nothing to choose from.
    About 3 lines.
    """
    ### BEGIN SOLUTION
    if self.data.size == 0 and self.data.sum(axis=dim).size:
        raise ValueError(f"argmax: nothing to take the largest of in shape {self.shape} over dim {dim}")
    return Tensor(np.argmax(self.data, axis=dim, keepdims=keepdim))
    ### END SOLUTION


# %% supplied="Tensor.max"
class MaxResult(NamedTuple):
    """What `max(dim)` gives: the largest values and where they stand."""

    values: Tensor
    indices: Tensor


@patch
def amax(self: Tensor, dim: int | tuple[int, ...] | None = None, keepdim: bool = False) -> Tensor:
    """Largest over `dim`, over everything when None. Raises ValueError when there is nothing to choose from."""
    return Max(dim, keepdim).apply(self)


@patch
def max(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The largest of all as a tensor; with `dim`, the pair (values, indices) along it, as in PyTorch."""
    if dim is None:
        return self.amax()
    where = self.argmax(dim, keepdim=True)
    grid: list[Any] = list(np.indices(where.shape, sparse=True))
    grid[dim] = where.data
    values = self[tuple(grid)]
    return MaxResult(values, where) if keepdim else MaxResult(values.sum(dim), where.sum(dim))


# %% check="max" points=3
def test_unit_max():
    check("Tensor([[3, 9, 4], [8, 1, 5]]).amax(dim=1)", want=[9, 8])
    check("Tensor([[3, 9, 4], [8, 1, 5]]).argmax(dim=1)", want=[1, 0])
    check("Tensor([[3, 9, 4], [8, 1, 5]]).amax(dim=0, keepdim=True)", want=[[8, 9, 5]])
    check("(Tensor([[3, 1], [8, 9]]).max().item(), Tensor([[3, 1], [8, 9]]).argmax().item())", want=(9, 3))
    better = "NumPy's own message does not help: give a better one."
    raises("Tensor(np.zeros((2, 0))).amax(dim=1)", ValueError, match="^(?!zero-size array)", says=better)
    raises("Tensor([]).argmax()", ValueError, match="^(?!attempt to get)", says=better)


test_unit_max()

# %% check="max keeps dims" points=1 hidden=true
# On drawn numbers, over several dimensions, with ties.
### BEGIN HIDDEN TESTS
def test_unit_max_keeps_dims():
    a = draw.integers(-3, 3, (2, 3, 4))
    check("Tensor(a).amax(dim=(0, 2))", want=a.max(axis=(0, 2)), a=a)
    check("Tensor(a).argmax(dim=-1, keepdim=True)", want=a.argmax(axis=-1, keepdims=True), a=a)
    check("Tensor([-5.0, -2.0]).amax()", want=np.float32(-2.0))
    check("Tensor([4, 7, 7]).argmax()", want=np.int64(1))


test_unit_max_keeps_dims()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `t.amax(dim=1)` and `t.argmax(dim=1)` are the same; argmax there may name any of several equals, ours the first.

# %% [markdown]
# ## New shape, same numbers
#
# An 8 by 8 picture enters a network as 64 numbers in a row. No number moves in memory; only the way of counting changes.

# %%
picture = np.arange(6).reshape(2, 3)
np.shares_memory(picture, picture.reshape(6))

# %% [markdown]
# **Shapes** any shape to any other with the same count; one size may be -1 and is worked out
#
# **By hand** `[[1 2 3] [4 5 6]]` as (3, 2) is `[[1 2] [3 4] [5 6]]`: read on in the same order.

# %% exercise="reshape" points=3
class Reshape(Operation):
    """The same numbers in another shape. `(2, 3) -> (3, 2)`

    Raises ValueError when the counts differ, and names both shapes.
    About 4 lines.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        try:
            return a.reshape(self.shape)
        except ValueError:
            raise ValueError(f"reshape: {a.size} numbers of shape {a.shape} do not fill {self.shape}") from None
        ### END SOLUTION


# %% supplied="Tensor.reshape"
@patch
def reshape(self: Tensor, *shape: Any) -> Tensor:
    """The same numbers in another shape: `t.reshape(3, 2)` or `t.reshape((3, 2))`. Shares memory where it can."""
    return Reshape(tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape).apply(self)


@patch
def view(self: Tensor, *shape: Any) -> Tensor:
    """As `reshape`, and always on the same memory. Raises ValueError where that would need a copy."""
    result = self.reshape(*shape)
    if self.data.size and not np.shares_memory(result.data, self.data):
        raise ValueError(f"view: shape {self.shape} as {result.shape} needs a copy; use reshape")
    return result


# %% check="reshape" points=2
def test_unit_reshape():
    check("Tensor([[1, 2, 3], [4, 5, 6]]).reshape(3, 2)", want=[[1, 2], [3, 4], [5, 6]])
    check("Tensor([[1, 2, 3], [4, 5, 6]]).reshape(-1)", want=[1, 2, 3, 4, 5, 6])
    check("Tensor([[1, 2, 3], [4, 5, 6]]).view(6, 1).shape", want=(6, 1))
    raises("Tensor([[1, 2, 3], [4, 5, 6]]).reshape(4, 2)", ValueError, match=r"\(2, 3\)")
    raises("Tensor([[1, 2, 3], [4, 5, 6]]).reshape(4, 2)", ValueError, match=r"\(4, 2\)")


test_unit_reshape()

# %% check="reshape shares memory" points=1 hidden=true
# The result is a view where it can be.
### BEGIN HIDDEN TESTS
@probe
def write_through_a_reshape():
    tensor = Tensor([[1, 2, 3], [4, 5, 6]])
    tensor.reshape(3, 2).data[0, 0] = 9
    return tensor.data


def test_unit_reshape_shares_memory():
    check(write_through_a_reshape(), want=[[9, 2, 3], [4, 5, 6]])
    raises("Tensor([[1, 2, 3], [4, 5, 6]]).reshape(-1, 4)", ValueError, match=r"\(2, 3\)")


test_unit_reshape_shares_memory()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** `t.reshape(3, 2)` and `t.view(3, 2)` are the same; ours raises ValueError where PyTorch raises RuntimeError.

# %% [markdown]
# ## Reorder dimensions
#
# **Shapes** dims (2, 0, 1) on `(a, b, c)` give `(c, a, b)`: the new dimension i is the old dimension dims[i]
#
# **By hand** `[[1 2 3] [4 5 6]]` with dims (1, 0) is `[[1 4] [2 5] [3 6]]`: rows become columns.

# %% exercise="permute" points=3
class Permute(Operation):
    """Dimensions in another order. `(a, b, c)` with dims (2, 0, 1) gives `(c, a, b)`

    Raises ValueError unless `dims` names every dimension once.
    About 3 lines.
    """

    def __init__(self, dims: tuple[int, ...]) -> None:
        self.dims = dims

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        if sorted(dim % a.ndim if a.ndim else dim for dim in self.dims) != list(range(a.ndim)):
            raise ValueError(f"permute: dims {self.dims} must name each of the {a.ndim} dimensions once")
        return a.transpose(self.dims)
        ### END SOLUTION


# %% supplied="Tensor.permute"
@patch
def permute(self: Tensor, *dims: Any) -> Tensor:
    """Dimensions in the order of `dims`: `t.permute(2, 0, 1)` or `t.permute((2, 0, 1))`. Shares memory."""
    return Permute(tuple(dims[0]) if len(dims) == 1 and not isinstance(dims[0], int) else dims).apply(self)


# %% exercise="transpose" points=2
@patch
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, by `permute`. `(a, b, c)` with dims 0 and 2 gives `(c, b, a)`. About 3 lines."""
    ### BEGIN SOLUTION
    dims = list(range(self.data.ndim))
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return self.permute(*dims)
    ### END SOLUTION


# %% supplied="Tensor.T"
@patch(property)
def T(self: Tensor) -> Tensor:
    """All dimensions in reverse order; of a matrix, its transpose."""
    return self.permute(*reversed(range(self.data.ndim)))


# %% check="permute" points=2
def test_unit_permute():
    check("Tensor([[1, 2, 3], [4, 5, 6]]).permute(1, 0)", want=[[1, 4], [2, 5], [3, 6]])
    check("Tensor([[1, 2, 3], [4, 5, 6]]).T.shape", want=(3, 2))
    check("Tensor(np.zeros((2, 3, 4))).permute(2, 0, 1).shape", want=(4, 2, 3))
    better = "NumPy's own message does not help: give a better one."
    raises("Tensor(np.zeros((2, 3, 4))).permute(0, 1)", ValueError, match="^(?!axes don't match)", says=better)


test_unit_permute()

# %% check="permute drawn" points=1 hidden=true
# On drawn numbers, with negative dims.
### BEGIN HIDDEN TESTS
def test_unit_permute_drawn():
    a = draw.integers(0, 99, (2, 3, 4))
    check("Tensor(a).permute(-1, 0, 1)", want=np.einsum("abc->cab", a), a=a)
    raises("Tensor(a).permute(0, 0, 1)", ValueError, a=a)


test_unit_permute_drawn()
### END HIDDEN TESTS

# %% check="transpose" points=2
def test_unit_transpose():
    check("Tensor([[1, 2, 3], [4, 5, 6]]).transpose(0, 1)", want=[[1, 4], [2, 5], [3, 6]])
    cube = np.arange(24).reshape(2, 3, 4)
    check("Tensor(cube).transpose(0, 1)", want=np.einsum("abc->bac", cube), cube=cube)
    check("Tensor(cube).transpose(-1, 1)", want=np.einsum("abc->acb", cube), cube=cube)


test_unit_transpose()

# %% [markdown]
# **In PyTorch** `t.permute(1, 0)`, `t.transpose(0, 1)` and `t.T` are the same for a matrix; for more dimensions PyTorch asks for `t.mT` or `permute`, ours reverses them all.

# %% [markdown]
# ## Pick and compare
#
# Indexing and comparison are solved; both follow NumPy. Read them, then use them in the last exercise.

# %% twin="GetItem"
class GetItem(Operation):
    """The part that `index` names: integers, slices, arrays of indices, masks."""

    def __init__(self, index: Any) -> None:
        parts = index if isinstance(index, tuple) else (index,)
        self.index = tuple(part.data if isinstance(part, Tensor) else part for part in parts)

    def forward(self, a: np.ndarray) -> np.ndarray:
        return a[self.index]


@patch
def __getitem__(self: Tensor, index: Any) -> Tensor:
    return GetItem(index).apply(self)


@patch
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    self.data[GetItem(index).index] = np.asarray(value)


@patch
def __iter__(self: Tensor) -> Iterator[Tensor]:
    return (self[i] for i in range(len(self)))


# %% twin="Tensor.compare"
@patch
def __eq__(self: Tensor, other: Any) -> Any:
    return Tensor(self.data == np.asarray(other))


@patch
def __ne__(self: Tensor, other: Any) -> Any:
    return Tensor(self.data != np.asarray(other))


@patch
def __lt__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data < np.asarray(other))


@patch
def __le__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data <= np.asarray(other))


@patch
def __gt__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data > np.asarray(other))


@patch
def __ge__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data >= np.asarray(other))


# %%
scores = Tensor([[3, 9, 4], [8, 1, 5]])
scores[:, 1], scores[scores > 4]

# %% supplied="zeros"
class Cast(Operation):
    """The same numbers in another dtype."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)

    def forward(self, a: np.ndarray) -> np.ndarray:
        return a.astype(self.dtype)


@patch
def astype(self: Tensor, dtype: Any) -> Tensor:
    """The same numbers in another dtype."""
    return Cast(dtype).apply(self)


def zeros(*shape: Any, dtype: Any = np.float32) -> Tensor:
    """Tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
    return Tensor.wrap(np.zeros(shape[0] if len(shape) == 1 else shape, dtype=dtype))


def ones(*shape: Any, dtype: Any = np.float32) -> Tensor:
    """Tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
    return Tensor.wrap(np.ones(shape[0] if len(shape) == 1 else shape, dtype=dtype))


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None) -> Tensor:
    """Numbers from `start` (0 when one number is given) up to, not including, `stop`."""
    return Tensor(np.arange(start, stop, step) if stop is not None else np.arange(0, start, step), dtype=dtype)


# %% [markdown]
# ## Put it together: accuracy
#
# Scores `(B, C)` and labels `(B,)`: which share of the rows has its largest score at the label?
#
# **Shapes** `(B, C), (B,) -> a Python float`
#
# **By hand** scores `[[3 9 4] [8 1 5]]` answer classes 1 and 0; with labels `[1 2]` one of two is right: 0.5.

# %% exercise="accuracy" points=3
def accuracy(scores: Tensor, labels: Tensor) -> float:
    """Share of rows whose largest score stands at the label. `(B, C), (B,) -> float` from 0 to 1. About 2 lines."""
    ### BEGIN SOLUTION
    right = scores.argmax(dim=-1) == labels
    return float(right.astype(np.float32).mean())
    ### END SOLUTION


# %% check="accuracy" points=3
def test_unit_accuracy():
    check("accuracy(Tensor([[3, 9, 4], [8, 1, 5]]), Tensor([1, 2]))", want=0.5)
    check("isinstance(accuracy(Tensor([[1, 2]]), Tensor([1])), float)", want=True)
    check("accuracy(Tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]), Tensor([1, 0, 1, 1]))", want=0.75)


test_unit_accuracy()

# %% [markdown]
# ## Break it on purpose
#
# A column against a row does not fail. It broadcasts to a square, and no error says that you meant something else:

# %%
prediction, target = Tensor([[1.0], [2.0], [3.0]]), Tensor([1.0, 2.0, 3.0])
(prediction - target).shape

# %% [markdown]
# Three answers minus three targets gave nine numbers. The losses of lesson 04 refuse shapes that differ for this reason.
#
# ## What it costs
#
# A view has no numbers of its own. Sum the bytes that a transpose and a copy take:

# %%
wide = Tensor(np.ones((1000, 1000)))
np.shares_memory(wide.T.data, wide.data), np.shares_memory((wide + 0).data, wide.data), wide.nbytes

# %% [markdown]
# The transpose costs nothing, the sum four million bytes.
#
# You built the arithmetic that everything else stands on. It is not built to run on a GPU, to have complex numbers or
# sparse storage: none of the later lessons needs them. Next, lesson 02 bends straight lines with activations.
