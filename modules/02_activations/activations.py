# %% [markdown]
# # 02 Activations
# A layer multiplies by a matrix. Two layers, one after the other, on an input of two numbers:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
import tracemalloc
from functools import partial
from timeit import timeit

import numpy as np

from tinytorch.dtypes import floating
from tinytorch.generator import Generator
from tinytorch.tensor import Operation, Tensor

# %%
x = Tensor([[1, 2]])
first, second = Tensor([[1, 0, 2], [3, 1, -1]]), Tensor([[2], [1], [5]])
x @ first @ second

# %% [markdown]
# Now multiply the two matrices by each other first, and the input by their product:

# %%
first @ second, x @ (first @ second)

# %% [markdown]
# The same 16. The second layer bought nothing:
#
# ![An input times two matrices gives 16; the input times the product of the two matrices, a smaller one, gives 16 too.](figures/02_collapse.svg)

# %% [markdown]
# However many matrices you stack, one does as well: straight lines put together stay straight. What can no straight line
# do? Take the absolute value of one number. It falls, and then it rises:

# %%
np.abs(np.array([-2, -1, 0, 1, 2]))

# %% [markdown]
# Between two layers something has to bend. In this lesson you write the bends that networks use, and make them hold for
# scores that overflow on the way. The absolute value comes out of two bends, soon.

# %% [markdown]
# ## An activation is an operation
#
# It maps every number by one curve, or every row to shares that sum to 1. Like `Exp` of lesson 01 it is a class with a
# `forward` from array to array. One of the oldest in use is solved; it squeezes any number between -1 and 1:


# %% twin="Tanh"
class Tanh(Operation):
    """Every number squeezed between -1 and 1, 0 stays 0. `(...) -> (...)`, float"""

    def forward(self, a: np.ndarray) -> np.ndarray:
        return np.tanh(floating(a))


# %%
bend = Tanh()
bend(Tensor([[-10, 0, 10]])), bend(x @ first) @ second

# %% [markdown]
# `floating` of lesson 01 made float32 of the integers. With the bend between them the answer is another, and no single
# matrix stands for the two: double the input, and the answer does not double.

# %%
bend(2 * x @ first) @ second

# %% [markdown]
# Make an instance once, apply it to as many tensors as you like.

# %% [markdown]
# ## Rectify
#
# The cheapest bend keeps what is positive and makes the rest 0 (Fukushima, 1969; in wide use since Nair and Hinton,
# 2010). Write it for arrays of any shape.
#
# **Shapes** `(...) -> (...)`, float
#
# **By hand** `[-2 0 3]` becomes `[0 0 3]`.


# %% exercise="relu" points=4
class ReLU(Operation):
    """Every number below 0 becomes 0, the others stay. `(...) -> (...)`, float

    Integers give float32. The input array is left as it was.
    About 1 line.
    """

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return np.maximum(floating(a), 0)
        ### END SOLUTION


# %% check="relu" points=2
def test_unit_relu():
    check("ReLU()(Tensor([-2.0, 0.0, 3.0]))", want=[0.0, 0.0, 3.0])
    check("ReLU()(Tensor([[-0.5, 0.25, -4.0], [7.0, -1.0, 1.5]]))", want=[[0.0, 0.25, 0.0], [7.0, 0.0, 1.5]])
    check("ReLU()(Tensor([-2, 5]))", want=[0.0, 5.0], says="Integers give float32.")


test_unit_relu()


# %% check="relu drawn" points=2 hidden=true
# On drawn numbers in both float dtypes; large ones, nan, nothing at all; the input stays as it was.
### BEGIN HIDDEN TESTS
@probe
def input_after_relu(values):
    tensor = Tensor(values)
    ReLU()(tensor)
    return tensor.data


def test_unit_relu_drawn():
    a = draw.normal((2, 3, 4))
    check("ReLU()(Tensor(a, dtype='float64'))", want=(a + np.abs(a)) / 2, dtype="float64", a=a)
    check("ReLU()(Tensor([-1e4, 1e4, math.nan]))", want=np.float32([0, 1e4, math.nan]), equal_nan=True)
    check("ReLU()(Tensor(np.zeros((0, 3))))", want=np.zeros((0, 3), np.float32))
    check("ReLU()(Tensor(-3.0))", want=np.float32(0.0))
    check(input_after_relu([-2.0, 3.0]), want=[-2.0, 3.0])


test_unit_relu_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same for floats; it leaves integers integers, where ours gives float32:
# ```python oracle
# torch.relu(torch.tensor([-2, 0, 3])).tolist() == [0, 0, 3] and torch.relu(torch.tensor([-2])).dtype == torch.int64
# ```

# %% [markdown]
# One such bend is a hinge. Put one hinge on the number and one on its negative:

# %%
relu, line = ReLU(), Tensor([-2, -1, 0, 1, 2])
relu(line) + relu(-line)

# %% [markdown]
# The absolute value, which no straight line gives:
#
# ![Two hinges, one opening to the left and one to the right, add up to a V.](figures/02_hinges.svg)

# %% [markdown]
# As a network it has weights 1 and -1, a bend, and weights 1 and 1:

# %%
relu(line.reshape(5, 1) @ Tensor([[1, -1]])) @ Tensor([[1], [1]])

# %% [markdown]
# Both hinges bend at 0. Add a number before the bend, and the corner moves:

# %%
relu(line - 1), relu(line) - 2 * relu(line - 1)

# %% [markdown]
# The first bends at 1. The second has two corners: it rises from 0 to 1, and falls from there. With enough corners two
# layers follow any unbroken curve, between two ends, as closely as you like. Lesson 03 adds those numbers, lessons 06 to
# 08 find them.

# %% [markdown]
# ## Squeeze to a chance
#
# The logistic curve 1 / (1 + exp(-x)) turns a score into a chance between 0 and 1. In float32 the formula as it stands
# overflows on the way, for any score under about -88:

# %%
with np.errstate(over="ignore"):
    print(np.exp(np.float32([88, 89])))

# %% [markdown]
# A second formula, 0.5 (1 + tanh(x / 2)), never overflows. It loses the small chances instead:

# %%
0.5 * (1 + np.tanh(np.float32(-20) / 2)), 1 / (1 + math.exp(20))

# %% [markdown]
# The right-hand number is the true one. Tanh lies twice that far above -1, too near for float32 to tell the two apart.
# Both formulas fail somewhere. Here is how many digits are right, for scores far below zero to above it:
#
# ![Right digits of three formulas: by tanh they are lost from about -2 to the left, by exp(-x) all below -88, by the third only a few, below -88.](figures/02_errors.svg)

# %% [markdown]
# The dashed line is what you write. Multiply the first formula above and below by exp(x): exp(x) / (exp(x) + 1) is
# the same curve, safe where x is negative. Look for one expression that is safe on both sides, in which exp never gets a
# positive number.
#
# **Shapes** `(...) -> (...)`, float between 0 and 1
#
# **By hand** score 0 gives 0.5; log 3 gives 3 / (3 + 1) = 0.75; -log 4 gives 1 / (1 + 4) = 0.2.


# %% exercise="sigmoid" points=4
class Sigmoid(Operation):
    """Logistic curve, 1 / (1 + exp(-x)). `(...) -> (...)`, float between 0 and 1

    Never overflows, and keeps its precision for large negative numbers. Integers give float32.
    About 2 lines.
    """

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        x = floating(a)
        return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))
        ### END SOLUTION


# %% check="sigmoid" points=3
@probe
def sigmoid_safely(values):
    with np.errstate(over="raise", invalid="raise"):
        return Sigmoid()(Tensor(values)).data


def test_unit_sigmoid():
    check("Sigmoid()(Tensor([0.0, math.log(3), -math.log(4)]))", want=[0.5, 0.75, 0.2])
    check("Sigmoid()(Tensor([[0, 2]]))", want=[[0.5, 1 / (1 + math.exp(-2))]], says="Integers give float32.")
    check("Sigmoid()(Tensor([-20.0]))", want=[1 / (1 + math.exp(20))], atol=0, says="A small chance is not 0.")
    check(sigmoid_safely([-10000.0, 10000.0]), want=[0.0, 1.0])


test_unit_sigmoid()


# %% check="sigmoid drawn" points=1 hidden=true
# On drawn numbers: opposite scores have chances that sum to 1; float64 stays; the input stays as it was.
### BEGIN HIDDEN TESTS
@probe
def input_after_sigmoid(values):
    tensor = Tensor(values)
    Sigmoid()(tensor)
    return tensor.data


def test_unit_sigmoid_drawn():
    a = draw.uniform(-30, 30, (3, 4))
    check("Sigmoid()(Tensor(a, dtype='float64'))", want=1 / (1 + np.exp(-a)), rtol=1e-12, atol=0, dtype="float64", a=a)
    check("Sigmoid()(Tensor(a)) + Sigmoid()(Tensor(-a))", want=np.ones((3, 4), np.float32), a=a)
    check("Sigmoid()(Tensor(np.zeros((2, 0))))", want=np.zeros((2, 0), np.float32))
    check(input_after_sigmoid([-2.0, 3.0]), want=[-2.0, 3.0])


test_unit_sigmoid_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, by the first formula: from a score of about -89 down it gives 0, where ours keeps a few digits:
# ```python oracle
# torch.sigmoid(torch.tensor([0.0, -95.0])).tolist() == [0.5, 0.0]
# ```

# %%
Sigmoid()(Tensor([0.0, -95.0])), np.finfo(np.float32).tiny

# %% [markdown]
# Not 0 yet, though below the second number, the smallest float32 that has all its digits.

# %% [markdown]
# ## A soft hinge
#
# GELU weighs each number by the chance that a normally distributed one lies below it: x P(X < x). It bends smoothly
# where ReLU has a corner. Hendrycks and Gimpel (2016) also gave a shortcut by tanh, which GPT-2 uses:
#
# 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))

# %% [markdown]
# Worked out for 1, a number at a time:

# %%
0.5 * 1 * (1 + math.tanh(math.sqrt(2 / math.pi) * (1 + 0.044715)))

# %% [markdown]
# Write the curve for arrays. NumPy raises to a power by a general routine, so `x * x * x` is much cheaper than `x ** 3`.
#
# **Shapes** `(...) -> (...)`, float
#
# **By hand** 0 stays 0; 1 becomes 0.8412, as above; far to the right a number stays, far to the left it becomes 0.


# %% exercise="gelu" points=4
class GELU(Operation):
    """Every number times the chance that a normal one lies below it, by tanh. `(...) -> (...)`, float

    Raises ValueError for another `approximate` than 'tanh'. Integers give float32.
    After Hendrycks and Gimpel, "Gaussian error linear units" (2016).
    About 3 lines.
    """

    def __init__(self, approximate: str = "tanh") -> None:
        if approximate != "tanh":
            raise ValueError(f"GELU: only approximate='tanh' is built, got {approximate!r}; leave the argument out")

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        x = floating(a)
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
        return 0.5 * x * (1 + np.tanh(inner))
        ### END SOLUTION


# %% check="gelu" points=3
def test_unit_gelu():
    check("GELU()(Tensor([0.0, 1.0]))", want=[0.0, 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * 1.044715))])
    check("GELU()(Tensor([[2.0, -3.0]])) - GELU()(Tensor([[-2.0, 3.0]]))", want=[[2.0, -3.0]])
    check("GELU(approximate='tanh')(Tensor([-10000.0, 10000.0]))", want=[0.0, 10000.0])
    check("GELU()(Tensor([0, 50]))", want=[0.0, 50.0], says="Integers give float32.")
    raises("GELU(approximate='none')", ValueError, match="tanh")


test_unit_gelu()


# %% check="gelu drawn" points=1 hidden=true
# On drawn numbers, against the same curve written with exp; float64 stays; the input stays as it was.
### BEGIN HIDDEN TESTS
@probe
def input_after_gelu(values):
    tensor = Tensor(values)
    GELU()(tensor)
    return tensor.data


def test_unit_gelu_drawn():
    a = draw.uniform(-4, 4, (2, 3))
    want = a / (1 + np.exp(-math.sqrt(8 / math.pi) * (a + 0.044715 * a**3)))
    check("GELU()(Tensor(a))", want=want.astype(np.float32), atol=2e-6, a=a)
    check("GELU()(Tensor(a, dtype='float64'))", want=want, rtol=1e-10, dtype="float64", a=a)
    check("GELU()(Tensor(np.zeros((2, 0))))", want=np.zeros((2, 0), np.float32))
    check(input_after_gelu([-2.0, 3.0]), want=[-2.0, 3.0])


test_unit_gelu_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same when asked for; its default is the exact chance by erf, ours this shortcut:
# ```python oracle
# shortcut, exact = F.gelu(torch.tensor(1.0), approximate="tanh").item(), F.gelu(torch.tensor(1.0)).item()
# round(shortcut, 4) == 0.8412 and round(exact, 4) == 0.8413
# ```

# %% [markdown]
# The exact chance is in Python's math library, a number at a time. How far is the shortcut from it at most?

# %%
grid = np.linspace(-5, 5, 1001)
exact = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in grid]
np.abs(GELU()(Tensor(grid)).data - exact).max()

# %% [markdown]
# Under a thousandth, which no training notices. Side by side, a row for each of the four curves:

# %%
for curve in (ReLU(), Sigmoid(), Tanh(), GELU()):
    print(curve(Tensor([-3, -1, 0, 1, 3])).data.round(3), type(curve).__name__)

# %% [markdown]
# GELU dips below 0 at -1 and comes back: it is the only one of the four that ever falls while x grows.
#
# ![The four curves from -4 to 4: ReLU and GELU keep what is large, Tanh and Sigmoid are flat at both ends.](figures/02_curves.svg)

# %% [markdown]
# Where a curve is flat, a change of the score changes nothing. How much comes through, at 0 and at 6?

# %%
for curve in (ReLU(), Sigmoid(), Tanh(), GELU()):
    rise = curve(Tensor([0.01, 6.01])) - curve(Tensor([0.0, 6.0]))
    print((rise / 0.01).data.round(3), type(curve).__name__)

# %% [markdown]
# At 6 the hinges pass on everything, Sigmoid and Tanh hardly anything. Learning, in lesson 06, needs that rise: a flat
# curve between layers stops it, which is why deep networks use hinges.

# %% [markdown]
# ## Shares of a row
#
# A classifier gives C scores a row, and we want shares that sum to 1. For numbers above 0 a division does it. This twin
# is solved:


# %%
class Share(Operation):
    def __init__(self, dim=-1):
        self.dim = dim

    def forward(self, a):
        x = floating(a)
        return x / x.sum(axis=self.dim, keepdims=True)


Share()(Tensor([[1, 2, 5], [3, 3, 4]])), Share()(Tensor([[1, 2, -3.5]]))

# %% [markdown]
# `keepdims` leaves the sums a column, one for each row. But scores may be negative, and those shares are nonsense. The
# exp of any score is above 0. Softmax divides that, by the row's sum:
#
# ![Scores of log 1, log 2 and log 5: exp makes 1, 2 and 5, and division by their sum makes 0.125, 0.25 and 0.625.](figures/02_softmax.svg)

# %% [markdown]
# As exp overflows, subtract the row's largest first; that divides above and below by the same number and changes no
# share. Write it, along any dimension.
#
# **Shapes** `(B, C) -> (B, C)`; along `dim` the shares sum to 1
#
# **By hand** scores log 1, log 2, log 5: exp makes 1, 2, 5, and of their sum 8 the shares are 0.125, 0.25, 0.625.


# %% exercise="softmax" points=5
class Softmax(Operation):
    """Shares along `dim`: exp of every score over the sum of exps. `(B, C) -> (B, C)`, float, sums to 1

    Never overflows: each row's largest score is subtracted first. Integers give float32.
    About 3 lines.
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        x = floating(a)
        exps = np.exp(x - x.max(axis=self.dim, keepdims=True))
        return exps / exps.sum(axis=self.dim, keepdims=True)
        ### END SOLUTION


# %% check="softmax" points=3
@probe
def softmax_safely(values):
    with np.errstate(over="raise", invalid="raise"):
        return Softmax()(Tensor(values)).data


def test_unit_softmax():
    check("Softmax()(Tensor([[math.log(1), math.log(2), math.log(5)]]))", want=[[0.125, 0.25, 0.625]])
    check("Softmax(dim=0)(Tensor([[0.0, 5.0], [math.log(3), 5.0]]))", want=[[0.25, 0.5], [0.75, 0.5]])
    check("Softmax()(Tensor([[1, 2, 3], [6, 4, 5]])).sum(dim=1)", want=[1.0, 1.0])
    check("Softmax()(Tensor([7, 7, 7, 7]))", want=[0.25] * 4, says="Integers give float32.")
    check(softmax_safely([[10000.0, 0.0], [-10000.0, -10000.0]]), want=[[1.0, 0.0], [0.5, 0.5]])


test_unit_softmax()


# %% check="softmax drawn" points=2 hidden=true
# On drawn numbers over every dimension; a shift changes nothing; -inf gets no share; the input stays as it was.
### BEGIN HIDDEN TESTS
@probe
def input_after_softmax(values):
    tensor = Tensor(values)
    Softmax()(tensor)
    return tensor.data


def test_unit_softmax_drawn():
    a = draw.normal((2, 3, 4))
    for dim in (0, 1, -1):
        want = np.exp(a) / np.exp(a).sum(axis=dim, keepdims=True)
        check("Softmax(dim)(Tensor(a, dtype='float64'))", want=want, rtol=1e-10, dtype="float64", a=a, dim=dim)
    check("Softmax(dim=1)(Tensor(a) + 100)", want=np.exp(a) / np.exp(a).sum(1, keepdims=True), rtol=1e-4, a=a)
    check("Softmax()(Tensor([2.0, -math.inf, 2.0]))", want=[0.5, 0.0, 0.5])
    check("Softmax()(Tensor(np.zeros((0, 3))))", want=np.zeros((0, 3), np.float32))
    check(input_after_softmax([1.0, 3.0]), want=[1.0, 3.0])


test_unit_softmax_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, but `dim` must be said, where ours takes the last; integers are refused there:
# ```python oracle
# torch.allclose(torch.softmax(torch.log(torch.tensor([[1.0, 2, 5]])), dim=-1), torch.tensor([[0.125, 0.25, 0.625]]))
# ```

# %% [markdown]
# Only differences of scores count. Add ten to all, or multiply all by ten:

# %%
some = Tensor([[1.0, 2.0, 2.5]])
for scores in (some, some + 10, some * 10):
    print(Softmax()(scores).data.round(3))

# %% [markdown]
# A shift changes nothing; larger differences make the answer surer. And two classes are a sigmoid of the difference:

# %%
Softmax()(Tensor([3.0, 1.0])), Sigmoid()(Tensor(3.0 - 1.0))

# %% [markdown]
# ## The logarithm of the shares
#
# The losses of lesson 04 need log of a share. A share can be too small for float32, and then its logarithm is lost:

# %%
with np.errstate(divide="ignore"):
    print(np.log(Softmax()(Tensor([0.0, -200.0])).data))

# %% [markdown]
# The true answer is -200, within a hair. Take the logarithm on paper: log(exp(x) / sum) is x - log(sum), and no
# share is ever made. The sum needs the same care as before: subtract the largest first. Write it.
#
# **Shapes** `(B, C) -> (B, C)`, none above 0
#
# **By hand** scores log 1, log 2, log 5 become log 0.125, log 0.25, log 0.625.


# %% exercise="log_softmax" points=5
class LogSoftmax(Operation):
    """Logarithm of the shares along `dim`: x - log(sum of exp(x)). `(B, C) -> (B, C)`, float, none above 0

    Never overflows, and never gives -inf for finite scores. Integers give float32.
    About 3 lines.
    """

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        x = floating(a)
        shifted = x - x.max(axis=self.dim, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=self.dim, keepdims=True))
        ### END SOLUTION


# %% check="log_softmax" points=3
@probe
def log_softmax_safely(values):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        return LogSoftmax()(Tensor(values)).data


def test_unit_log_softmax():
    check("LogSoftmax()(Tensor([[math.log(1), math.log(2), math.log(5)]])).exp()", want=[[0.125, 0.25, 0.625]])
    check("LogSoftmax(dim=0)(Tensor([[0.0], [math.log(3)]]))", want=[[math.log(0.25)], [math.log(0.75)]])
    check("LogSoftmax()(Tensor([[7, 7], [2, 2]]))", want=[[-math.log(2)] * 2] * 2, says="Integers give float32.")
    check(log_softmax_safely([[0.0, -200.0]]), want=[[0.0, -200.0]])
    check(log_softmax_safely([[10000.0, -10000.0]]), want=[[0.0, -20000.0]])
    low = log_softmax_safely([[9000.0, 0.0], [-9000.0, -9000.0]])
    check(low, want=[[0, -9000], [-math.log(2)] * 2], atol=1e-3)  # neighbours at 9000 are 0.001 apart


test_unit_log_softmax()


# %% check="log_softmax drawn" points=2 hidden=true
# On drawn numbers over every dimension; float64 stays; the input stays as it was.
### BEGIN HIDDEN TESTS
@probe
def input_after_log_softmax(values):
    tensor = Tensor(values)
    LogSoftmax()(tensor)
    return tensor.data


def test_unit_log_softmax_drawn():
    a = draw.normal((2, 3, 4))
    for dim in (0, 1, -1):
        want = a - np.log(np.exp(a).sum(axis=dim, keepdims=True))
        check("LogSoftmax(dim)(Tensor(a))", want=want.astype(np.float32), a=a, dim=dim)
        check("LogSoftmax(dim)(Tensor(a, dtype='float64'))", want=want, rtol=1e-9, dtype="float64", a=a, dim=dim)
    check("LogSoftmax()(Tensor(np.zeros((0, 3))))", want=np.zeros((0, 3), np.float32))
    check(input_after_log_softmax([1.0, 3.0]), want=[1.0, 3.0])


test_unit_log_softmax_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same, and it refuses integers; ours makes float32 of them:
# ```python oracle
# torch.log_softmax(torch.tensor([0.0, -200.0]), dim=-1).tolist() == [0.0, -200.0]
# ```

# %% [markdown]
# ## Break it on purpose
#
# Softmax as the formula stands, without the largest subtracted, on scores that a badly scaled network really gives:


# %%
def naive_softmax(scores):
    exps = np.exp(scores)
    return exps / exps.sum(axis=1, keepdims=True)


scores = np.float32([[1, 2, 3], [1, 2, 300]])
with np.errstate(over="ignore", invalid="ignore"):
    print(naive_softmax(scores))

# %% [markdown]
# The second row holds nan: inf divided by inf. Only a warning would have said so, and the `with` silenced it. One nan in
# a loss reaches every weight at the next step. With the largest subtracted:

# %%
Softmax()(Tensor(scores))

# %% [markdown]
# A mistake without any warning: the shares of the wrong dimension.

# %%
wrong = Softmax(dim=0)(Tensor([[3.0, 1.0], [2.0, 9.0], [5.0, 4.0]]))
wrong, wrong.sum(dim=0), wrong.sum(dim=1)

# %% [markdown]
# Each number is a share, but of its column: the rows of a batch now compete with each other. Sums over dim 1 tell.

# %% [markdown]
# ## What it costs: time
#
# Is the safe softmax slower? Time both on a thousand rows of a thousand scores, which overflow in neither:

# %%
many = Generator(0).normal(0, 1, (1000, 1000))
naive = timeit(lambda: naive_softmax(many), number=5) / 5
safe = timeit(lambda: Softmax().forward(many), number=5) / 5
print(f"naive {1000 * naive:.1f} ms   safe {1000 * safe:.1f} ms   ratio {safe / naive:.1f}")

# %% [markdown]
# Two passes more, for the largest and the subtraction, cost far less than a second softmax. Being safe is cheap.
#
# ReLU can also be written as a choice. Time it against the maximum:

# %% local="it times instructions for several numbers at once, which Python in a browser does without"
choose = timeit(lambda: np.where(many > 0, many, 0), number=20) / 20
largest = timeit(lambda: np.maximum(many, 0), number=20) / 20
print(f"np.where {1000 * choose:.2f} ms   np.maximum {1000 * largest:.2f} ms   ratio {choose / largest:.1f}")

# %% [markdown]
# The choice makes an array of booleans first, then picks number by number. The maximum is one pass that the processor
# does several numbers at a time. The result is the same.
#
# The curves differ too. A line of milliseconds for each, on the same numbers:

# %% local="it times instructions for several numbers at once, which Python in a browser does without"
for curve in (ReLU(), Tanh(), Sigmoid(), GELU(), Softmax()):
    seconds = timeit(partial(curve.forward, many), number=5) / 5
    print(f"{1000 * seconds:6.2f}  {type(curve).__name__}")

# %% [markdown]
# ReLU is one pass, and so is Tanh, where NumPy has a fast one for your processor. The others take several times as long:
# they make several passes, each with an array of its own, and on large arrays moving numbers costs as much as computing.

# %% [markdown]
# ## What it costs: bytes
#
# The estimate: a result as large as the input. For 256 rows of 1,024 numbers in float32, in MiB:

# %%
layer = Tensor(Generator(1).normal(0, 1, (256, 1024)))
256 * 1024 * 4 / 2**20, ReLU()(layer).nbytes / 2**20

# %% [markdown]
# A network keeps that until it has gone backward. But what does it take while it is being made? The peak that
# Python's bookkeeping of memory counts, as a multiple of the input's bytes:


# %%
def peak_bytes(action):
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


for curve in (ReLU(), Tanh(), Sigmoid(), GELU(), Softmax()):
    print(f"{peak_bytes(partial(curve, layer)) / layer.nbytes:.1f}", type(curve).__name__)

# %% [markdown]
# ReLU and Tanh take their result and no more. The others hold parts of their formula at the same time: Sigmoid what stands
# above and below the line, GELU the inside of tanh as well. One loop over the numbers would need none of these; that is
# what libraries gain by fusing operations.

# %% [markdown]
# ## Think
# **Think** Why does subtracting the largest score change no share?
# <details><summary>Answer</summary>exp(x - m) is exp(x) / exp(m). Every number above the line and the sum below it are
# divided by the same exp(m), which cancels.</details>
#
# **Think** A column of weights with a ReLU after it gives negative scores for every input. What does it add?
# <details><summary>Answer</summary>Nothing: it gives 0 for all, and its rise is 0 too, so learning does not move it. It is
# called dead. GELU's small dip keeps a little of the rise.</details>
#
# **Think** Sigmoid never reaches 1 on paper. Why does it in float32, and where would that hurt?
# <details><summary>Answer</summary>Near 1 float32 has steps, and what lies nearer to 1 than half a step is rounded to it. A
# loss that takes log(1 - chance) then meets log 0. Lesson 04 works from the scores instead.</details>
#
# **Think** May ReLU write its result over its input, to save the memory?
# <details><summary>Answer</summary>Only if nobody needs the input again. Whoever holds the tensor would see its numbers
# change, and an operation before may need them to go backward. So ours makes a new array.</details>
#
# **Think** Why is there no activation after the last layer of a classifier in training?
# <details><summary>Answer</summary>The loss takes the scores and works with log_softmax itself, which is safe. Shares are
# only made to be shown.</details>

# %% [markdown]
# ## What you have
#
# You built five activations beside Tanh, all safe for scores of 10,000; what they cost is a result as large as the input,
# and up to three more while it is made. Not built:
#
# - GELU by erf, for which NumPy has no function
# - relatives of ReLU with a slope on the left, and gated ones: no later lesson needs them
# - results written over the input
#
# Next, lesson 03 puts weights around the bends.
