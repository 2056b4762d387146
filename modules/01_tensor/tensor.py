# %% [markdown]
# # 01 Tensors
# A picture of nine pixels, 1 for ink. How much ink is in its left column, and how much in its top row?

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
import tracemalloc
from collections.abc import Callable, Iterator
from timeit import timeit
from typing import Any, NamedTuple

import numpy as np

from tinytorch.dtypes import as_array, floating, promote
from tinytorch.generator import Generator

# %%
picture = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]])
weights = np.array([[1, 1], [0, 1], [0, 1], [1, 0], [0, 0], [0, 0], [1, 0], [0, 0], [0, 0]])
picture.reshape(1, 9) @ weights

# %% [markdown]
# Three at the left, one on top: this bar stands. One column of the weights asks the first question, one the second:
#
# ![A picture times two sets of weights gives two scores, 3 for the left column and 1 for the top row.](figures/01_score.svg)

# %% [markdown]
# A network is that, many times over: a grid of numbers, multiplied by weights and added up. Here the weights were made by
# hand; in lesson 08 they are learned. NumPy did the arithmetic. In this lesson you wrap it in a class of your own,
# `Tensor`, with every operation that the later lessons need. NumPy forgets how a result came about; your class is built
# so that lesson 06 can remember.
#
# Where a cell says `raise NotImplementedError`, you write. Run the check below it, or `tito test` in a terminal; `tito
# hint` helps in three steps. At the end your tensor sorts four such pictures, and you measure how well.

# %% [markdown]
# ## Make a tensor
# A tensor owns a NumPy array. Bytes of two numbers as NumPy makes them, bytes of two 32-bit floats, and what is lost:

# %%
np.array([0.1, 0.2]).nbytes, np.array([0.1, 0.2], dtype=np.float32).nbytes, float(np.float32(0.1))

# %% [markdown]
# Half the bytes, and still seven or eight right digits, more than a weight needs. So floats become float32 unless another
# dtype, NumPy's word for the kind of number, is asked for. Integers and booleans stay: they count, name or choose.
#
# A smaller relative of the first exercise is solved. It takes labels, which say by a number to which class each sample
# belongs, and refuses anything but integers:


# %%
def to_labels(data):
    array = np.array(data)
    if array.dtype.kind != "i":
        raise TypeError(f"labels: need integers, got {type(data).__name__} of dtype {array.dtype}")
    return array


# %% [markdown]
# `np.array` copies. `dtype.kind` is a letter: b for booleans, i and u for integers with and without sign, f for floats.
#
# Now write what all numbers of a tensor go through: a copy, of numbers only, floats in float32. The class below keeps
# what you return as its `data`. Plumbing like `wrap`, which takes an array without a copy, is supplied throughout.
#
# **Shapes** `nested lists, a number or an array -> an array of the same shape`.
#
# **By hand** `[[1.5, 2, 3], [4, 5, 6]]` gives six float32 numbers in shape (2, 3); `[1, 2]` gives int64.


# %% exercise="create" points=4
def to_array(data: Any, dtype: Any = None) -> np.ndarray:
    """A new array of the numbers in `data`: nested lists, a number, an array or a tensor.

    Floats become float32 unless `dtype` is given, integers and booleans stay. Raises TypeError for what is no number.
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

    Floats become float32 unless `dtype` is given, integers and booleans stay. Raises TypeError for what is no number.
    """

    __array_ufunc__ = None  # a NumPy array on the left of an operator leaves the work to the tensor
    __hash__ = object.__hash__  # equal numbers do not make two tensors the same object

    def __init__(self, data: Any, dtype: Any = None) -> None:
        self.data = to_array(data, dtype)


# %% [markdown]
# Three more methods are supplied. `@patch` adds a method to a class that exists already, so that a class can grow over
# many cells; the first parameter's annotation says which class:

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
    values, flags = draw.uniform(-1, 1, (4,)), draw.integers(0, 2, (8,)) == 1
    check(change_the_source(values.copy()), want=values)
    check(change_the_source(values.astype(np.float32)), want=values.astype(np.float32))
    check(change_the_source(np.array([3, 1, 2])), want=[3, 1, 2])
    check("Tensor(flags).data", want=flags, flags=flags.tolist())
    check("Tensor(np.array([1, 2], dtype=np.uint8)).data", want=np.array([1, 2], np.uint8), dtype="uint8")
    check("Tensor(Tensor([[1.5]])).data", want=[[1.5]])


test_unit_create_copies()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, but a float64 array stays float64 there:
# ```python oracle
# (torch.tensor([[1.5, 2, 3], [4, 5, 6]]).dtype, torch.tensor(np.array([0.5])).dtype) == (torch.float32, torch.float64)
# ```

# %% [markdown]
# ## What a tensor knows of itself
# Most errors in machine learning are shapes that do not fit, so the first question to a tensor is its shape:

# %%
grid = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
grid.data.shape

# %% [markdown]
# Two rows, three columns. `@patch(property)` adds a method that is read without a call. Two such facts are written for
# you:


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
# Write three more, of the same pattern. The ways out of a tensor, to plain Python, are supplied after the check.
#
# **Shapes** `a tensor -> one integer`.
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

# %% [markdown]
# **In PyTorch** the same; `shape` there is a class of its own, which is a tuple too, here it is a plain tuple:
# ```python oracle
# (torch.zeros(2, 3).numel(), torch.zeros(2, 3).nbytes, type(torch.zeros(2, 3).shape)) == (6, 24, torch.Size)
# ```


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
# `item` is for one number. What does it say to six? The helper keeps an error's words, here and below:


# %%
def refusal(action):
    try:
        action()
    except ValueError as error:
        return str(error)


Tensor([[7.5]]).item(), refusal(lambda: grid.item())

# %% [markdown]
# An error in this course names the operation, what is wrong, the shapes, and what to do. Yours will too.

# %% [markdown]
# ## One operation, one class
# Arithmetic goes through small classes, one for each operation: `forward` gets arrays and returns an array. A class,
# because an operation must have a place to keep things once it runs backward. This plumbing is supplied; trace it once:


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

    def tensors(self, inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """The inputs as tensors; a number beside a tensor takes its precision."""
        for x in inputs:
            if not isinstance(x, Tensor):
                break
        else:
            return inputs
        beside = next(x.data.dtype for x in inputs if isinstance(x, Tensor))
        return tuple(x if isinstance(x, Tensor) else Tensor.wrap(as_array(x, beside)) for x in inputs)


# %% [markdown]
# `promote` and `as_array`, from the supplied file `dtypes.py`, bring everything to one dtype. Addition is solved:


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
# `+` on two tensors makes an `Add` and applies it. `1 + t` arrives in `__radd__`, since an int cannot add tensors:

# %%
1 + Tensor([1, 2, 3]), (Tensor([1, 2, 3]) + 0.5).dtype

# %% [markdown]
# Python's 0.5 has twice the bits. Floats beat integers, but a bare number never makes a tensor's numbers longer.
#
# Shapes may differ as well. Add a row of three to two rows of three:

# %%
left, row = np.array([[1, 2, 3], [4, 5, 6]]), np.array([10, 20, -30])
Tensor(left) + Tensor(row), refusal(lambda: Tensor(left) + Tensor([10, 20]))

# %% [markdown]
# The row went to both rows; the row of two was refused. That is broadcasting:
#
# ![A row of three added to a grid of two rows: the row is repeated, once for each row of the grid.](figures/01_broadcast.svg)
#
# The rule: line the two shapes up at their right ends. In each place the sizes are equal, or one of them is 1 or missing
# and is repeated. Three against two is neither.

# %% [markdown]
# ## Subtract, multiply, negate
# Write three more operations, each like `Add`. Their operators below are supplied, two for each: `t - 1` and `1 - t`.
#
# **Shapes** `(...), (...) -> (...)`, broadcast; one input for `Neg`.
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
# **In PyTorch** the same; a negative of booleans is refused in both, in NumPy with a TypeError, in PyTorch a RuntimeError:
# ```python oracle
# (torch.tensor([1, 2, 3]) - torch.tensor([10, 20, 30])).tolist() == [-9, -18, -27]
# ```

# %% [markdown]
# ## Divide
# Integers divided by integers are seldom integers, so a quotient is a float. NumPy's is long; `floating` shortens:

# %%
(np.array([1, 2]) / np.array([4, 5])).dtype, floating(np.array([1, 2])).dtype

# %% [markdown]
# `floating`, from `dtypes.py`, makes float32 of integers and leaves floats alone. Write a quotient that does the same.
#
# **Shapes** `(...), (...) -> (...)`, float.
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
# **In PyTorch** the same; dividing by zero is silent there, while NumPy warns:
# ```python oracle
# (torch.tensor([1, 2]) / torch.tensor([4, 5])).dtype == torch.float32 and torch.isinf(torch.tensor(1.0) / 0).item()
# ```

# %% [markdown]
# ## Powers and curves
# Losses square, activations exponentiate. A number that is no tensor is a setting, and goes to the constructor. Here is
# `Pow`, solved, with its operator:


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
Tensor([[1, 2, 3]]) ** 2, Tensor([[1, 2, 4]]) ** -1

# %% [markdown]
# Whole powers of integers stay integers; others need floats. Write three curves that take integers too and give floats.
# Their methods are supplied below; so is `2 ** t`, made of your `Exp`.
#
# **Shapes** `(...) -> (...)`, float.
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
# **In PyTorch** the same; its `**` also takes a tensor as exponent, ours a number only:
# ```python oracle
# (torch.tensor([9, 16]).sqrt().tolist(), (torch.tensor([2, 3]) ** torch.tensor([5, 2])).tolist()) == ([3, 4], [32, 9])
# ```

# %% [markdown]
# ## Multiply matrices
# The picture at the top met its weights in a matrix product: each row on the left with each column on the right.
#
# ![Row 0 of a matrix with two rows meets column 0 of one with three rows: 1 times 7, 2 times 9 and 3 times 1 make 28.](figures/01_matmul.svg)

# %% [markdown]
# All four numbers, slowly. This twin is the definition, one loop for each letter of the shapes:


# %%
def slow_matmul(a, b):
    (n, k), m = a.shape, b.shape[1]
    result = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for x in range(k):
                result[i, j] += a[i, x] * b[x, j]
    return result


slow_matmul(left, np.array([[7, 8], [9, 1], [1, 2]])), refusal(lambda: np.ones((2, 3)) @ np.ones((2, 4)))

# %% [markdown]
# NumPy's `@` does the loops, but its refusal is written for its developers. Write the product with `@`, and refuse in
# words of your own what does not fit.
#
# **Shapes** `(n, k) @ (k, m) -> (n, m)`, with any equal or broadcasting dimensions in front.
#
# **By hand** `[[1 2 3] [4 5 6]] @ [[7 8] [9 1] [1 2]]` is `[[28 16] [79 49]]`, as above.


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
    raises("Tensor([[1, 2]]) @ Tensor([1, 2])", ValueError)


test_unit_matmul_batches()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same; for two vectors it gives their dot product, where ours refuses:
# ```python oracle
# torch.matmul(torch.tensor([1, 2, 3]), torch.tensor([7, 9, 1])).item() == 28
# ```

# %% [markdown]
# How much faster than the loops? `Generator`, supplied, draws numbers, the same ones for the same seed:

# %%
drawn = Generator(0)
a, b = drawn.normal(0, 1, (60, 50)), drawn.normal(0, 1, (50, 40))
slow = timeit(lambda: slow_matmul(a, b), number=1)
fast = timeit(lambda: Tensor(a) @ Tensor(b), number=100) / 100
print(f"loops {1e3 * slow:.1f} ms   @ {1e3 * fast:.3f} ms   {slow / fast:.0f} times")
np.allclose(slow_matmul(a, b), Tensor(a) @ Tensor(b), atol=1e-4)

# %% [markdown]
# Equal but for rounding, and more than a hundred times apart. A Python loop looks up names and makes an object for every number;
# `@` hands the arrays to machine code once. So a network is written as a few large operations.

# %% [markdown]
# ## Fold a dimension away
# `dim` names the dimension that disappears; None means all of them; `keepdim` leaves it with size 1. `Sum`, below, is solved.
#
# ![Summing a grid of shape 2 by 3: over dim 0 one number a column is left, over dim 1 one a row.](figures/01_fold.svg)


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
Tensor(left).sum(dim=0), Tensor(left).sum(dim=1, keepdim=True), left.size // left.sum(axis=1).size

# %% [markdown]
# Over dim 0 the shape (2, 3) became (3,). With `keepdim` over dim 1 it became (2, 1), still a column. The last number is
# how many went into each sum: all numbers, shared among the sums.
#
# Write the mean: a sum divided by that count. The mean of nothing is nan; that of integers is refused, as it seldom is one.
#
# **Shapes** `(n, m) -> (m,)` for dim 0, `(n, 1)` for dim 1 with keepdim, `()` for None.
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
# Nothing gives nan, without a warning; two dimensions at once; float64 stays.
### BEGIN HIDDEN TESTS
@probe
def mean_of_nothing(shape, dim):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Tensor(np.zeros(shape)).mean(dim).data


def test_unit_mean_of_nothing():
    check("Tensor([]).mean()", want=np.float32(np.nan), equal_nan=True)
    check(mean_of_nothing((0, 2), None), want=np.float32(np.nan), equal_nan=True)
    check(mean_of_nothing((0, 2), 0), want=np.float32([np.nan, np.nan]), equal_nan=True)
    check(mean_of_nothing((0, 2), 1), want=np.zeros(0, np.float32), says="No rows, no means.")
    a = draw.normal((2, 3, 4))
    check("Tensor(a, dtype='float64').mean(dim=(0, 2))", want=a.mean(axis=(0, 2)), dtype="float64", a=a)


test_unit_mean_of_nothing()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same; PyTorch refuses integers with a RuntimeError, ours is a TypeError:
# ```python oracle
# torch.tensor([[1.0, 2, 3], [4, 5, 6]]).mean(dim=1).tolist() == [2.0, 5.0]
# ```

# %% [markdown]
# What `keepdim` is for: take from every row its own mean.

# %%
grid - grid.mean(dim=1, keepdim=True)

# %% [markdown]
# Both rows are now centred at 0. Without `keepdim`, two means meet rows of three, and broadcasting refuses.

# %% [markdown]
# ## The largest
# A classifier's answer is the class with the largest score. Two questions belong to that: how large, and where? There
# may be no answer, and NumPy's words for that do not help:

# %%
refusal(lambda: np.zeros((2, 0)).max(axis=1)), np.zeros((0, 3)).max(axis=1).shape, np.zeros((2, 0)).sum(axis=1)

# %% [markdown]
# Nothing has no largest. No rows at all are no problem: no answer is wanted there. A sum of nothing is 0, so the sum
# over the same dimension tells how many answers are wanted.
#
# Write both, and refuse in your own words where an answer is wanted and there is nothing to choose from.
#
# **Shapes** `(n, m) -> (n,)` for dim 1, `(n, 1)` with keepdim.
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
    check("Tensor(a).argmax(dim=0).data", want=a.argmax(axis=0), a=a, says="A tensor, which holds its numbers in data.")


test_unit_max_keeps_dims()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, the first of equals included; over a dim of size 0 it raises IndexError, ours ValueError:
# ```python oracle
# torch.tensor([[3, 9, 9], [8, 1, 5]]).max(dim=1).indices.tolist() == [1, 0]
# ```

# %% [markdown]
# ## New shape, same numbers
# The picture at the top entered as nine numbers in a row. No number moved in memory; only the counting changed:

# %%
np.shares_memory(picture, picture.reshape(9)), refusal(lambda: left.reshape(4, 2))

# %% [markdown]
# ![Six numbers lie in memory in one order. As 2 by 3 and 3 by 2 they are read on in that order; the transpose jumps.](figures/01_order.svg)
#
# NumPy's refusal names only one of the two shapes. To say it better, let it try, and raise an error of your own. This
# twin does so for `float`:


# %%
def to_number(text):
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"to_number: {text!r} is no number; write it like 1.5") from None


# %% [markdown]
# `from None` hides the first error, so that only yours is shown. Write `Reshape` in the same way.
#
# **Shapes** any shape to any other with the same count; one size may be -1 and is worked out.
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
def write_through_a_reshape(values, number):
    tensor = Tensor(values)
    tensor.reshape(3, 2).data[0, 0] = number
    return tensor.data


def test_unit_reshape_shares_memory():
    values = draw.integers(1, 99, (2, 3))
    first, *rest = values.ravel().tolist()
    check(write_through_a_reshape(values, -first), want=np.reshape([-first, *rest], (2, 3)))
    raises("Tensor([[1, 2, 3], [4, 5, 6]]).reshape(-1, 4)", ValueError, match=r"\(2, 3\)")


test_unit_reshape_shares_memory()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same; where ours raises ValueError, PyTorch raises RuntimeError:
# ```python oracle
# torch.tensor([[1, 2, 3], [4, 5, 6]]).view(3, -1).tolist() == [[1, 2], [3, 4], [5, 6]]
# ```

# %% [markdown]
# ## Reorder dimensions
# Reshape reads on; a transpose turns rows into columns. Write `Permute`, which takes any order of the dimensions, and
# refuses dims that leave one out or name one twice. Dims may count from the end: of three, `-1 % 3` is 2, the last.
#
# **Shapes** dims (2, 0, 1) on `(a, b, c)` give `(c, a, b)`: the new dimension i is the old dimension dims[i].
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
# On drawn numbers, with negative dims, of a single number.
### BEGIN HIDDEN TESTS
def test_unit_permute_drawn():
    a = draw.integers(0, 99, (2, 3, 4))
    check("Tensor(a).permute(-1, 0, 1)", want=np.einsum("abc->cab", a), a=a)
    raises("Tensor(a).permute(0, 0, 1)", ValueError, a=a)
    raises("Tensor(5).permute(0)", ValueError)


test_unit_permute_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same; wrong dims are a RuntimeError there, a ValueError here:
# ```python oracle
# torch.zeros(2, 3, 4).permute(-1, 0, 1).shape == (4, 2, 3)
# ```

# %% [markdown]
# Often one dimension moves and the rest stay. A twin brings the last to the front, and leaves the work to `permute`:


# %%
def last_first(tensor):
    dims = list(range(tensor.ndim))
    return tensor.permute(dims[-1], *dims[:-1])


last_first(Tensor(np.zeros((2, 3, 4)))).shape

# %% [markdown]
# Write the exchange of two dimensions.
#
# **Shapes** dims 0 and 2 of `(a, b, c)` give `(c, b, a)`.
#
# **By hand** shape (2, 3, 4) with dims 0 and 1 becomes (3, 2, 4).


# %% exercise="transpose" points=2
@patch
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged, by `permute`. `(a, b, c)` with dims 0 and 2 gives `(c, b, a)`. About 3 lines."""
    ### BEGIN SOLUTION
    dims = list(range(self.data.ndim))
    dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    return self.permute(*dims)
    ### END SOLUTION


# %% check="transpose" points=2
def test_unit_transpose():
    check("Tensor([[1, 2, 3], [4, 5, 6]]).transpose(0, 1)", want=[[1, 4], [2, 5], [3, 6]])
    cube = np.arange(24).reshape(2, 3, 4)
    check("Tensor(cube).transpose(0, 1)", want=np.einsum("abc->bac", cube), cube=cube)
    check("Tensor(cube).transpose(-1, 1)", want=np.einsum("abc->acb", cube), cube=cube)


test_unit_transpose()

# %% [markdown]
# **In PyTorch** the same; `T` of more than two dimensions is deprecated there, ours reverses them all:
# ```python oracle
# torch.zeros(2, 3, 4).transpose(0, 1).shape == (3, 2, 4)
# ```

# %% [markdown]
# ## Pick and compare
# Indexing and comparison are solved; both follow NumPy. So are a few ways to make and convert tensors:


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
def _beside(self: Tensor, other: Any) -> np.ndarray:
    """The other side's numbers; those of no tensor in this one's precision, so that `Tensor([0.1]) == 0.1`."""
    return other.data if isinstance(other, Tensor) else as_array(other, self.data.dtype)


@patch
def __eq__(self: Tensor, other: Any) -> Any:
    return Tensor(self.data == self._beside(other))


@patch
def __ne__(self: Tensor, other: Any) -> Any:
    return Tensor(self.data != self._beside(other))


@patch
def __lt__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data < self._beside(other))


@patch
def __le__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data <= self._beside(other))


@patch
def __gt__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data > self._beside(other))


@patch
def __ge__(self: Tensor, other: Any) -> Tensor:
    return Tensor(self.data >= self._beside(other))


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


# %%
scores = Tensor([[3, 9, 4], [8, 1, 5]])
scores[:, 1], scores > 4, scores[scores > 4], (scores > 4).astype("float32").mean()

# %% [markdown]
# A slice takes a column; a comparison gives booleans of the same shape; booleans pick where they are True. Made floats,
# their mean is the share that is True, here half.

# %% [markdown]
# ## Put it together: accuracy
# Scores `(B, C)` and labels `(B,)`: which share of the rows has its largest score at the label?
#
# **Shapes** `(B, C), (B,) -> a Python float`.
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
    check("accuracy(Tensor([[3, 9, 4], [8, 1, 5], [0, 1, 2]]), Tensor([1, 0, 2]))", want=1.0)


test_unit_accuracy()

# %% [markdown]
# **In PyTorch** the same; there is no function for it in PyTorch itself, and its conversion is called `float`:
# ```python oracle
# (torch.tensor([[3, 9, 4], [8, 1, 5]]).argmax(dim=-1) == torch.tensor([1, 2])).float().mean().item() == 0.5
# ```

# %% [markdown]
# Four bars now, at the left, on top, and both moved to the middle. Class 0 stands, class 1 lies:

# %%
bars = np.zeros((4, 3, 3))
bars[0, :, 0] = bars[1, 0, :] = bars[2, :, 1] = bars[3, 1, :] = 1
scores = Tensor(bars).reshape(4, 9) @ Tensor(weights)
scores, accuracy(scores, Tensor([0, 1, 0, 1]))

# %% [markdown]
# The first two are right and the last two wrong: weights made by hand know only what their maker thought of.

# %% [markdown]
# ## Break it on purpose
# Three predictions, equal to their targets. The mean of the squared differences must be 0:

# %%
prediction, target = Tensor([[1.0], [2.0], [3.0]]), Tensor([1.0, 2.0, 3.0])
((prediction - target) ** 2).mean(), (prediction - target).shape

# %% [markdown]
# It is not, and nothing failed. A column against a row broadcasts to a square: every prediction met every target.
#
# ![A column of three minus a row of three is a square of nine differences; only its diagonal was meant.](figures/01_square.svg)
#
# `target.reshape(3, 1)` mends it, and the losses of lesson 04 refuse shapes that differ.

# %% [markdown]
# A second surprise: write to a reshaped tensor, then look at the one it came from.

# %%
source = Tensor([[1, 2, 3], [4, 5, 6]])
source.reshape(6)[0] = 99
source

# %% [markdown]
# One memory, two tensors. Before you write to a result, know whether it is a view; `Tensor(result)` makes a copy.

# %% [markdown]
# ## What it costs: bytes
# The estimate is the count of numbers times the bytes of one. Beside it, in turn: what the tensor says, and what Python's
# own bookkeeping of memory says of a sum, a transpose and a reshape:


# %%
def peak_bytes(action):
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


estimate, wide = 1000 * 1000 * 4, ones(1000, 1000)
estimate, wide.nbytes, peak_bytes(lambda: wide + 1), peak_bytes(lambda: wide.T), peak_bytes(lambda: wide.reshape(-1))

# %% [markdown]
# The sum took its estimate and a little for the objects. The two views took the little only, whatever the size:
#
# ![Memory against size: a copy takes four bytes a number, a view none.](figures/01_growth.svg)

# %% [markdown]
# How can a transpose move nothing? An array is memory and steps in bytes: to the next row, to the next column.

# %%
wide.data.strides, wide.T.data.strides, np.broadcast_to(row, (2, 3)).strides

# %% [markdown]
# The transpose exchanged the two steps. A repeated row has a step of 0: the same row is read again, and takes no memory.
# The result does. A column and a row of a thousand each:

# %%
column, line = ones(1000, 1), ones(1000)
column.nbytes + line.nbytes, peak_bytes(lambda: column + line), peak_bytes(lambda: wide * wide + wide)

# %% [markdown]
# Eight thousand bytes went in, four million came out. The last expression held eight million at its peak: its product is
# still there while the sum is made. In training, lesson 06 has to keep all such results.

# %% [markdown]
# ## What it costs: time
# A sum of two (n, n) matrices does n * n additions. Their product does n multiplications and n additions for each result:

# %%
n = 400
x = Tensor(Generator(1).normal(0, 1, (n, n)))
add, product = (timeit(action, number=20) / 20 for action in (lambda: x + x, lambda: x @ x))
print(f"arithmetic {2 * n} times   time {product / add:.0f} times")

# %% [markdown]
# Much more arithmetic, but not in proportion more time. The sum waits for memory: three numbers are moved for one
# addition. In the product each number that was fetched is used n times.

# %% [markdown]
# ## Think
# **Think** `t - t.mean(dim=0)` needs no `keepdim`, and `t - t.mean(dim=1)` does. Why?
# <details><summary>Answer</summary>For shape (n, m) the first mean has shape (m,), which lines up with the right end of
# (n, m). The second has shape (n,), and n would meet m. With `keepdim` it is (n, 1).</details>
#
# **Think** And for a square t, what does `t - t.mean(dim=1)` do?
# <details><summary>Answer</summary>It runs, and is wrong: the mean of row j is taken from column j. Try non-square shapes
# first; a square hides this.</details>
#
# **Think** Why may `reshape` have to copy after a transpose?
# <details><summary>Answer</summary>A shape and one step for each dimension describe a view. Reading a transpose on, row by
# row, jumps through memory in a way that no single step describes.</details>
#
# **Think** Why does `sum` take integers when `mean` refuses them?
# <details><summary>Answer</summary>A sum of integers is one. A mean seldom is: rounding it would be wrong, and choosing a
# float dtype in silence hides that the data were labels or counts.</details>

# %% [markdown]
# ## What you have
# You built a class with its arithmetic; what it costs is one new array an operation, and nothing for a view. Not built,
# since no later lesson needs it:
#
# - graphics processors: one more place for an array, with the same operations
# - in place operators: lesson 06 needs every result as it was
# - dot products of vectors, complex numbers, sparse storage, and floats of 16 bits
#
# Next, lesson 02: two matrix products after each other are one; something has to bend between them.
