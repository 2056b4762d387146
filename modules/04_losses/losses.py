# %% [markdown]
# # 04 Losses
#
# Two networks score two classes, and the second class is the true one. How wrong is each? The surprise at the truth
# says it: minus the logarithm of the chance that the network gave to it, computed as it is written:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
import math
from timeit import repeat
from typing import Any

import numpy as np

from tinytorch.activations import LogSoftmax, Sigmoid, Softmax
from tinytorch.require import require_classes, require_same_shape
from tinytorch.tensor import Operation, Tensor

# %%
scores = np.float32([[1, 0], [200, 0]])  # one row a network
with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    surprise = -np.log(chances[:, 1])
surprise

# %% [markdown]
# The first network is wrong by 1.31. The second is wrong by 200, which is a number like any other, and the formula says
# inf: no training could go on from there. A loss is one number that says how wrong a prediction is. In this lesson you
# write losses for numbers, for yes or no and for classes, so that they stay finite wherever the scores do.

# %% [markdown]
# ## One number for a batch
#
# The best known loss is for numbers, not classes: square each error, and take the mean:

# %%
prediction, targets = Tensor([2.0, 5.0]), Tensor([1.0, 8.0])
((prediction - targets) ** 2).mean().item()

# %% [markdown]
# `(1 + 9) / 2`. A mean, not a sum, so that a large batch and a small one can be compared. Now a perfect prediction of
# shape (3, 1), against targets of shape (3,):

# %%
column, row = np.array([[2.0], [5.0], [9.0]]), np.array([2.0, 5.0, 9.0])
(column - row).shape, ((column - row) ** 2).mean().item()

# %% [markdown]
# Every prediction was compared with every target, and a perfect one seems wrong by 16.4. Nothing warns. So the losses
# here refuse shapes that differ, as lesson 01 promised; the refusals stand in the supplied `require.py`.
#
# Three things are asked of a loss. Called, it gives its number; `total_weight` says how much a batch counts beside
# another; `correct` counts right answers, where there are any:

# %% supplied="Loss"
class Loss:
    """How wrong a prediction is, as a mean over the batch: `loss(prediction, targets)` gives a tensor of one number."""

    def total_weight(self, targets: Any) -> float:
        """How much these targets count beside other batches: the number of samples."""
        return float(len(targets))

    def correct(self, prediction: Tensor, targets: Any) -> tuple[int, int] | None:
        """How many answers are right, of how many; None where answers are not right or wrong but near or far."""
        return None


# %% [markdown]
# The squared error, solved. It is made of operations on tensors, which lesson 06 will walk backward:

# %% twin="MSELoss"
class MSELoss(Loss):
    """Mean of the squared differences. `(...), (...) -> ()`

    Raises ValueError when the shapes differ.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        require_same_shape("MSELoss", prediction, targets)
        return ((prediction - targets) ** 2).mean()


# %%
MSELoss()(prediction, targets)

# %% [markdown]
# The 5 from above, as a tensor of one number. `total_weight` and `correct` come from `Loss`.

# %% [markdown]
# ## Absolute error
#
# A square lets one far answer outweigh many near ones. Three errors of 1 and one of 9, in squares and as they are:

# %%
errors = np.array([1.0, 1.0, 1.0, 9.0])
print("means:", (errors**2).mean(), errors.mean())
print("share of the far one:", 9**2 / (errors**2).sum(), 9 / errors.sum())

# %% [markdown]
# The far one makes 0.96 of the squares' sum, and 0.75 of the distances'. Where a few targets are nonsense, the distance
# is the calmer loss:
#
# ![A squared error grows faster and faster with the distance, an absolute one evenly](figures/04_errors.svg)

# %% [markdown]
# It needs one operation that lesson 01 left out. The pattern, solved for the square:

# %%
class Square(Operation):
    def forward(self, a: np.ndarray) -> np.ndarray:
        return a * a


Square()(prediction - targets)

# %% [markdown]
# **Shapes** `Abs: (...) -> (...)`; `L1Loss: (...), (...) -> ()`
#
# **By hand** `[2 5]` against `[1 8]` is off by 1 and 3: the mean is 2, where the squares gave 5

# %% exercise="l1" points=3
class Abs(Operation):
    """Every number without its sign. `(...) -> (...)`. About 1 line."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return np.abs(a)
        ### END SOLUTION


class L1Loss(Loss):
    """Mean of the absolute differences. `(...), (...) -> ()`

    Raises ValueError when the shapes differ.
    About 2 lines.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        ### BEGIN SOLUTION
        require_same_shape("L1Loss", prediction, targets)
        return Abs()(prediction - targets).mean()
        ### END SOLUTION


# %% check="l1" points=2
@probe
def sees_the_prediction():
    z, seen, plain = Tensor([2.0, 5.0]), [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    L1Loss()(z, Tensor([1.0, 8.0]))
    Operation.apply = plain
    return any(each is z for each in seen)


def test_unit_l1():
    check("L1Loss()(Tensor([2.0, 5.0]), Tensor([1.0, 8.0]))", want=np.float32(2.0))
    check("L1Loss()(Tensor([[2.0], [5.0], [-1.0]]), Tensor([[2], [5], [5]]))", want=np.float32(2.0))
    check("Abs()(Tensor([[3, -4]]))", want=[[3, 4]])
    raises("L1Loss()(Tensor([[1.0], [2.0]]), Tensor([1.0, 2.0]))", ValueError)
    check(sees_the_prediction(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_l1()

# %% check="l1 drawn" points=1 hidden=true
# On drawn numbers in two dimensions and both float dtypes; targets may be an array.
### BEGIN HIDDEN TESTS
def test_unit_l1_drawn():
    a, b = draw.normal((3, 4)), draw.normal((3, 4))
    check("L1Loss()(Tensor(a, 'float64'), Tensor(b, 'float64'))", want=np.abs(a - b).mean(), dtype="float64", a=a, b=b)
    check("L1Loss()(Tensor(a), b)", want=np.float32(np.abs(a - b).mean()), a=a, b=b)
    check("MSELoss()(Tensor(a), b)", want=np.float32(((a - b) ** 2).mean()), a=a, b=b)
    raises("L1Loss()(Tensor(a), b[0])", ValueError, a=a, b=b)


test_unit_l1_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a class of the same name; when shapes differ it warns and broadcasts, ours refuses:
# ```python oracle
# torch.nn.L1Loss()(torch.tensor([2.0, 5.0]), torch.tensor([1.0, 8.0])).item() == 2.0
# ```

# %% [markdown]
# ## Yes or no
#
# A network that answers yes or no gives a score z, called a logit; its sigmoid s is the chance of yes. The surprise is
# `-log(s)` where the truth y is 1, `-log(1-s)` where it is 0. As it is written, for y = 0:

# %%
s = Sigmoid()(Tensor([10.0, 20.0, 200.0])).data
with np.errstate(divide="ignore"):
    surprise = -np.log(1 - s)
surprise

# %% [markdown]
# At 10 the last digits are wrong. At 20, where the true surprise is 20, it is inf: `1 - s` was rounded to 0. No care in
# the sigmoid mends that, the digits are gone before the logarithm.

# %% [markdown]
# So rearrange before computing. With `s = 1/(1+exp(-z))`, `-log(s)` is `log(1+exp(-z))`, and `-log(1-s)` is
# `z + log(1+exp(-z))`. Both in one: `z - z*y + log(1+exp(-z))`, safe where z is not negative. Where it is, `exp(-z)`
# can overflow, and the same number is `-z*y + log(1+exp(z))`.

# %% [markdown]
# One line for both is `max(z, 0) - z*y + log(1 + exp(-|z|))`, in which the exponential never gets a positive number:
#
# ![The plain formula jumps to inf at a logit of 17; rearranged, it goes on in a straight line](figures/04_logistic.svg)

# %% [markdown]
# One leak is left. Added to 1, a small number is rounded away; `np.log1p(x)` is log(1 + x) without that sum:

# %%
small = np.float32(1e-9)
np.log(np.float32(1) + small).item(), np.log1p(small).item()

# %% [markdown]
# The first is 0, the second kept the number: a loss that is nearly right stays above 0, and can still be lowered.

# %% [markdown]
# **Shapes** `(...), targets of the same shape -> (...)`
#
# **By hand** z = 0 gives log 2 for either y; z = 200 gives 200 for y = 0, and 0 for y = 1

# %% exercise="logistic" points=4
class LogisticLoss(Operation):
    """Binary cross entropy of each logit z and its target y. `(...) -> (...)`

    That is `-y*log(s) - (1-y)*log(1-s)` with s the sigmoid of z, written so that it never overflows:
    `max(z, 0) - z*y + log(1 + exp(-|z|))`. `targets` is an array of the logits' shape and dtype.
    About 1 line.
    """

    def __init__(self, targets: np.ndarray) -> None:
        self.targets = targets

    def forward(self, z: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        return np.maximum(z, 0) - z * self.targets + np.log1p(np.exp(-np.abs(z)))
        ### END SOLUTION


# %% check="logistic" points=3
def test_unit_logistic():
    check("LogisticLoss(np.float32([0, 1]))(Tensor([0.0, 0.0]))", want=[math.log(2), math.log(2)])
    z = np.float32([200, 200, -200, -200])
    check("LogisticLoss(np.float32([0, 1, 1, 0]))(Tensor(z))", want=[200.0, 0.0, 200.0, 0.0], z=z)
    check("LogisticLoss(np.float32([0, 1]))(Tensor([math.log(3), math.log(3)]))", want=[math.log(4), math.log(4 / 3)])


test_unit_logistic()

# %% check="logistic extremes" points=1 hidden=true
# Against the plain formula in float64, with targets between 0 and 1; logits of 1e30 in size; small losses stay exact.
### BEGIN HIDDEN TESTS
def test_unit_logistic_extremes():
    z, y = draw.normal((3, 4)), draw.uniform(0, 1, (3, 4))
    s = 1 / (1 + np.exp(-z))
    want = -y * np.log(s) - (1 - y) * np.log(1 - s)
    check("LogisticLoss(y)(Tensor(z, 'float64'))", want=want, dtype="float64", z=z, y=y)
    huge = np.float32([1e30, 1e30, -1e30, -1e30])
    check("LogisticLoss(np.float32([1, 0, 1, 0]))(Tensor(z))", want=np.float32([0, 1e30, 1e30, 0]), z=huge)
    check("LogisticLoss(np.float32([1]))(Tensor([30.0]))", want=np.float32([math.exp(-30)]), atol=0)


test_unit_logistic_extremes()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a function, of which `reduction="none"` keeps the losses apart; its targets must be floats, and it can
# weigh the yes more, ours cannot:
# ```python oracle
# z, y = torch.tensor([200.0, 200.0]), torch.tensor([0.0, 1.0])
# F.binary_cross_entropy_with_logits(z, y, reduction="none").tolist() == [200.0, 0.0]
# ```

# %% [markdown]
# ## The loss around it
#
# Checked shapes, one dtype and a mean make the operation a loss; and somebody has to count the right answers. A logit
# above 0 is a chance above one half:

# %%
Sigmoid()(Tensor([-1.0, 0.0, 0.25]))

# %% [markdown]
# So 0.25 is a yes, as a logit. Counting needs no sigmoid, only the sign.

# %% [markdown]
# **Shapes** `(...), (...) -> ()`; `correct` gives two integers
#
# **By hand** logits `[2 -1 3]` with targets `[1 1 0]`: one right of three

# %% exercise="bce" points=4
class BCEWithLogitsLoss(Loss):
    """Mean binary cross entropy of logits, targets from 0 to 1. `(...), (...) -> ()`

    Raises ValueError when the shapes differ, TypeError when the logits are no floats.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        """Take the mean of LogisticLoss, whose targets are an array of the prediction's dtype. About 3 lines."""
        ### BEGIN SOLUTION
        require_same_shape("BCEWithLogitsLoss", prediction, targets)
        array = np.asarray(targets).astype(prediction.dtype)
        return LogisticLoss(array).apply(prediction).mean()
        ### END SOLUTION

    def correct(self, prediction: Tensor, targets: Any) -> tuple[int, int]:
        """How many logits stand on their target's side (above 0, above 0.5), of how many. About 2 lines."""
        ### BEGIN SOLUTION
        right = (prediction.data > 0) == (np.asarray(targets) > 0.5)
        return int(right.sum()), right.size
        ### END SOLUTION


# %% check="bce" points=3
@probe
def sees_the_prediction():
    z, seen, plain = Tensor([2.0, 5.0]), [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    BCEWithLogitsLoss()(z, Tensor([1.0, 0.0]))
    Operation.apply = plain
    return any(each is z for each in seen)


def test_unit_bce():
    check("BCEWithLogitsLoss()(Tensor([0.0, 200.0]), Tensor([1.0, 0.0]))", want=np.float32((math.log(2) + 200) / 2))
    check("BCEWithLogitsLoss()(Tensor([[0.0], [0.0]]), Tensor([[1], [0]]))", want=np.float32(math.log(2)))
    check("BCEWithLogitsLoss().correct(Tensor([2.0, -1.0, 3.0]), Tensor([1, 1, 0]))", want=(1, 3))
    check("BCEWithLogitsLoss().correct(Tensor([0.25]), Tensor([1.0]))", want=(1, 1), says="Logits, not chances.")
    raises("BCEWithLogitsLoss()(Tensor([[1.0], [2.0]]), Tensor([1.0, 0.0]))", ValueError)
    check(sees_the_prediction(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_bce()

# %% check="bce drawn" points=1 hidden=true
# On drawn numbers, with targets as an array, booleans and soft targets; float32 stays.
### BEGIN HIDDEN TESTS
def test_unit_bce_drawn():
    z, y = draw.normal((3, 4)), draw.uniform(0, 1, (3, 4))
    plain = np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))
    check("BCEWithLogitsLoss()(Tensor(z), y)", want=np.float32(plain.mean()), z=z, y=y)
    want = plain.mean()
    check("BCEWithLogitsLoss()(Tensor(z, 'float64'), Tensor(y, 'float64'))", want=want, dtype="float64", z=z, y=y)
    check("BCEWithLogitsLoss()(Tensor([0.0, 0.0]), [True, False])", want=np.float32(math.log(2)))
    check("BCEWithLogitsLoss().correct(Tensor(z), y)", want=(int(((z > 0) == (y > 0.5)).sum()), 12), z=z, y=y)
    check("BCEWithLogitsLoss().correct(Tensor([0.0, 0.2, 0.8]), [0.5, 0.4, 0.9])", want=(2, 3))
    check("BCEWithLogitsLoss().total_weight(Tensor([[1, 0], [0, 1], [1, 1]]))", want=3.0)
    check("MSELoss().correct(Tensor([1.0]), Tensor([1.0]))", want=None)
    raises("BCEWithLogitsLoss()(Tensor([1, 0]), [1, 0])", TypeError)


test_unit_bce_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a class of the same name; integers as targets are an error there, ours takes them:
# ```python oracle
# loss = torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 200.0]), torch.tensor([1.0, 0.0])).item()
# abs(loss - (np.log(2) + 200) / 2) < 1e-5
# ```

# %% [markdown]
# ## Which class
#
# With many classes a row of scores has one number a class, and the target is the index of the true one. A wrong index
# should be an error. NumPy counts a negative one from the end:

# %%
np.array([7, 8, 9])[-1].item()

# %% [markdown]
# Class -1 of three, and no complaint. Some rows, though, shall be left out on purpose: those whose target is
# `ignore_index`. And `weight`, one number a class, lets rare classes count more. What holds both settings is supplied:

# %% supplied="ClassLoss"
class ClassLoss(Loss):
    """What NLLLoss and CrossEntropyLoss have in common: class weights `(C,)`, and an index of rows to leave out."""

    def __init__(self, weight: Any = None, ignore_index: int = -100) -> None:
        self.weight = None if weight is None else np.array(weight, dtype=np.float64)
        self.ignore_index = ignore_index

    def require_fit(self, scores: Tensor, targets: np.ndarray, soft: bool) -> None:
        """Raise ValueError unless scores are (N, C), targets (N,) or (N, C) when `soft`, and weights (C,)."""
        require_classes(type(self).__name__, scores, targets, soft, self.weight)

    def divisor(self, targets: np.ndarray) -> float:
        """What the sum of the kept rows' losses is divided by. Raises ValueError when it is 0."""
        total = float(len(targets)) if self.weight is None else self.total_weight(targets)
        if total == 0:
            raise ValueError(f"{type(self).__name__}: no row counts: all are ignored, weigh 0, or there are none")
        return total


# %% [markdown]
# A comparison of an array gives a mask of booleans, and a mask picks rows, of a tensor too. Solved:

# %%
three, marks = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]), np.array([2, -100, 0])
marks != -100, three[marks != -100]

# %% [markdown]
# Two conditions at once are joined by `&`, and `np.flatnonzero` gives the places where a mask holds:

# %%
(marks >= 0) & (marks < 2), np.flatnonzero((marks >= 0) & (marks < 2))

# %% [markdown]
# One mask serves both, so that scores and targets still belong together:
#
# ![A mask of the targets keeps rows 0 and 2 of scores and targets alike](figures/04_kept.svg)

# %% [markdown]
# **Shapes** `(N, C), (N,) -> (K, C), (K,)` with K rows kept
#
# **By hand** with 3 classes and ignore_index -100, targets `[2 -100 0]` keep rows 0 and 2; `[2 3 0]` is wrong in row 1

# %% exercise="kept_rows" points=5
@patch
def kept_rows(self: ClassLoss, scores: Tensor, targets: np.ndarray) -> tuple[Tensor, np.ndarray]:
    """Leave out the rows whose target is `ignore_index`. `(N, C), (N,) -> (K, C), (K,)`

    Raises TypeError when targets are not integers; ValueError when a kept one is no class, naming row and index.
    About 10 lines.
    """
    ### BEGIN SOLUTION
    name, classes = type(self).__name__, scores.data.shape[1]
    if targets.dtype.kind not in "iu":
        raise TypeError(f"{name}: class indices must be integers, got {targets.dtype}; or give (N, {classes})")
    good = (targets >= 0) & (targets < classes)
    if np.count_nonzero(good) == len(targets) and not 0 <= self.ignore_index < classes:
        return scores, targets
    kept = targets != self.ignore_index
    wrong = np.flatnonzero(kept & ~good)
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"{name}: row {row} has class index {targets[row]}; classes are 0 to {classes - 1}")
    return scores[kept], targets[kept]
    ### END SOLUTION


# %% check="kept_rows" points=3
@probe
def keep(targets, ignore_index):
    scores = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    kept, indices = ClassLoss(ignore_index=ignore_index).kept_rows(scores, np.array(targets))
    return kept.data, indices


def test_unit_kept_rows():
    check(keep([2, -100, 0], -100), want=([[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]], [2, 0]))
    check(keep([2, 1, 0], 1), want=([[1.0, 2.0, 3.0], [7.0, 8.0, 9.0]], [2, 0]))
    check(keep([2, 1, 0], -100)[1], want=[2, 1, 0])
    rows = "ClassLoss().kept_rows(Tensor(np.zeros((3, 3))), t)"
    both = "Name the row and the index."
    raises(rows, ValueError, match="1.*3|3.*1", says=both, t=np.array([2, 3, 0]))
    raises(rows, ValueError, match="2.*-1|-1.*2", says=both, t=np.array([2, 0, -1]))
    raises(rows, TypeError, t=np.array([2.0, 1.0, 0.0]))


test_unit_kept_rows()

# %% check="kept_rows edges" points=2 hidden=true
# Small unsigned integers, everything ignored, an error behind an ignored row.
### BEGIN HIDDEN TESTS
def test_unit_kept_rows_edges():
    scores = draw.normal((6, 4)).astype(np.float32)
    targets = np.array([3, -1, 0, -1, 1, 2])
    kept = [0, 2, 4, 5]
    check("list(ClassLoss(None, -1).kept_rows(Tensor(s), t))", want=[scores[kept], targets[kept]], s=scores, t=targets)
    small = np.uint8([3, 0])
    check("ClassLoss().kept_rows(Tensor(s[:2]), t)[1].astype(int)", want=[3, 0], s=scores, t=small)
    check("ClassLoss().kept_rows(Tensor(s[:2]), np.array([-100, -100]))[0].shape", want=(0, 4), s=scores)
    raises("ClassLoss().kept_rows(Tensor(s[:3]), np.array([-100, 0, 4]))", ValueError, match="2.*4|4.*2", s=scores)
    raises("ClassLoss().kept_rows(Tensor(s[:2]), np.array([True, False]))", TypeError, s=scores)


test_unit_kept_rows_edges()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same setting; a wrong index is an IndexError without the row, ours names it:
# ```python oracle
# z, t = torch.tensor([[0.0, 0.0], [5.0, 1.0]]), torch.tensor([0, 1])
# F.cross_entropy(z, t, ignore_index=1).item() == F.cross_entropy(z[:1], t[:1]).item()
# ```

# %% [markdown]
# ## Count
#
# Three samples have a mean loss of 2, a last batch of one sample has 6. What is the mean of all four?

# %%
(2 + 6) / 2, (3 * 2 + 1 * 6) / (3 + 1)

# %% [markdown]
# The mean of the two means is wrong: it lets one sample count as much as three. The second is right, and for it a loss
# must say how much a batch weighs. With class weights that is the sum of its rows' weights, picked by an index:

# %%
np.array([1.0, 2.0, 5.0])[np.array([2, 0])]

# %% [markdown]
# And an answer is right when the largest score stands at the target; ignored rows are neither right nor counted.
# Targets `(N, C)` are probabilities: each row counts 1, and the largest names the class.

# %% [markdown]
# **Shapes** `(N,) or (N, C) -> float`; `(..., C), (...) or (..., C) -> two integers`
#
# **By hand** weights `[1 2 5]`, targets `[2 -100 0]`: 5 + 1 = 6; without weights 2 rows

# %% exercise="count" points=5
@patch
def total_weight(self: ClassLoss, targets: Any) -> float:
    """Sum of the class weights of the rows kept, or their number; for targets (N, C) N. About 5 lines."""
    ### BEGIN SOLUTION
    array = np.asarray(targets)
    if array.ndim == 2:
        return float(len(array))
    kept = array[array != self.ignore_index]
    return float(len(kept) if self.weight is None else self.weight[kept].sum())
    ### END SOLUTION


@patch
def correct(self: ClassLoss, prediction: Tensor, targets: Any) -> tuple[int, int]:
    """How many rows have their largest score at the target, of how many kept. About 6 lines."""
    ### BEGIN SOLUTION
    array = np.asarray(targets)
    best = prediction.data.argmax(axis=-1)
    if array.ndim > best.ndim:
        return int((best == array.argmax(axis=-1)).sum()), best.size
    kept = array != self.ignore_index
    return int((best == array)[kept].sum()), int(kept.sum())
    ### END SOLUTION


# %% check="count" points=3
def test_unit_count():
    check("ClassLoss([1, 2, 5]).total_weight(Tensor([2, -100, 0]))", want=6.0)
    check("ClassLoss(ignore_index=7).total_weight(Tensor([2, 7, 0, 1]))", want=3.0)
    check("ClassLoss([1, 2, 5]).total_weight(Tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))", want=2.0)
    scores = np.float32([[3, 9, 4], [8, 1, 5], [6, 2, 7], [2, 3, 1]])
    check("ClassLoss().correct(Tensor(s), Tensor([1, 2, 2, 1]))", want=(3, 4), s=scores)
    check("ClassLoss().correct(Tensor(s), Tensor([1, -100, 0, 1]))", want=(2, 3), s=scores)
    check("ClassLoss().correct(Tensor(s[:2]), Tensor([[0, 1, 0], [0.1, 0.9, 0]]))", want=(1, 2), s=scores)


test_unit_count()

# %% check="count drawn" points=2 hidden=true
# On drawn numbers, plain arrays, an ignored class that would have been right, more dimensions.
### BEGIN HIDDEN TESTS
def test_unit_count_drawn():
    scores, targets, weight = draw.normal((40, 3)), draw.integers(0, 3, (40,)), draw.uniform(1, 2, (3,))
    right = scores.argmax(1) == targets
    names = {"s": scores, "t": targets, "w": weight}
    check("ClassLoss(Tensor(w)).total_weight(t)", want=float(weight.astype(np.float32)[targets].sum()), **names)
    check("ClassLoss(w).correct(Tensor(s), t)", want=(int(right.sum()), 40), **names)
    want = (int(right[targets != 1].sum()), int((targets != 1).sum()))
    check("ClassLoss(w, ignore_index=1).correct(Tensor(s), t)", want=want, **names)
    check("ClassLoss().correct(Tensor(s.reshape(4, 10, 3)), t.reshape(4, 10))", want=(int(right.sum()), 40), **names)
    check("ClassLoss(w).total_weight(np.array([-100, -100]))", want=0.0, **names)
    check("ClassLoss().total_weight([2, -100, 0])", want=2.0, says="A list serves for a tensor.")
    few, soft = [[3, 9, 4], [8, 1, 5], [6, 2, 7], [2, 3, 1]], [[0, 1, 0], [0.9, 0.1, 0], [0.2, 0.2, 0.6], [0.8, 0.1, 0.1]]
    check("ClassLoss().correct(Tensor(few), soft)", want=(3, 4), few=few, soft=soft)


test_unit_count_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a loss counts nothing, you write the line yourself; ours also leaves ignored rows out:
# ```python oracle
# scores, targets = torch.tensor([[3.0, 9.0, 4.0], [8.0, 1.0, 5.0]]), torch.tensor([1, 2])
# (scores.argmax(dim=1) == targets).sum().item() == 1
# ```

# %% [markdown]
# ## Negative log-likelihood
#
# `LogSoftmax` of lesson 02 turns scores into logarithms of chances. The surprise at the truth is minus the one at the
# target. Two indices, one for rows and one for columns, pick one number a row:

# %%
logs = Tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
logs[np.arange(2), np.array([2, 0])]

# %% [markdown]
# The third of row 0 and the first of row 1. With weights, each counts by its class, and the sum is divided by theirs.

# %% [markdown]
# **Shapes** `(N, C), (N,) -> ()`
#
# **By hand** `logs` above with targets `[2 0]`: (3 + 4) / 2 = 3.5; with weights `[1 2 5]` it is `(5*3 + 1*4) / 6`

# %% exercise="nll" points=4
class NLLLoss(ClassLoss):
    """Weighted mean of minus the log-probability at the target. `(N, C), (N,) -> ()`

    Raises ValueError when shapes don't fit, an index is no class or no row counts; TypeError for indices that are
    not integers.
    About 6 lines.
    """

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        indices = np.asarray(targets)
        self.require_fit(prediction, indices, soft=False)
        ### BEGIN SOLUTION
        scores, indices = self.kept_rows(prediction, indices)
        total = self.divisor(indices)
        picked = scores[np.arange(len(indices)), indices]
        if self.weight is not None:
            picked = picked * self.weight[indices]
        return -picked.sum() / total
        ### END SOLUTION


# %% check="nll" points=3
@probe
def sees_the_prediction():
    z, seen, plain = Tensor([[-1.0, -2.0]]), [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    NLLLoss()(z, Tensor([1]))
    Operation.apply = plain
    return any(each is z for each in seen)


def test_unit_nll():
    logs = np.float32([[-1, -2, -3], [-4, -5, -6]])
    check("NLLLoss()(Tensor(a), Tensor([2, 0]))", want=np.float32(3.5), a=logs)
    check("NLLLoss([1, 2, 5])(Tensor(a), Tensor([2, 0]))", want=np.float32(19 / 6), a=logs)
    check("NLLLoss()(Tensor(a), Tensor([-100, 1]))", want=np.float32(5.0), a=logs)
    raises("NLLLoss()(Tensor(a), Tensor([-100, -100]))", ValueError, a=logs)
    raises("NLLLoss([0, 2, 5])(Tensor(a), Tensor([0, 0]))", ValueError, a=logs)
    raises("NLLLoss()(Tensor(a), Tensor([0, 3]))", ValueError, a=logs)
    check(sees_the_prediction(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_nll()

# %% check="nll drawn" points=1 hidden=true
# Drawn numbers with weights and ignored rows, both float dtypes; infinities in ignored rows; shapes that are refused.
### BEGIN HIDDEN TESTS
def test_unit_nll_drawn():
    logs, targets, weight = -draw.uniform(0, 5, (9, 4)), draw.integers(0, 4, (9,)), draw.uniform(1, 2, (4,))
    names = {"a": logs, "t": targets, "w": weight}
    kept = np.flatnonzero(targets != 2)
    w = weight[targets[kept]]
    want = -(logs[kept, targets[kept]] * w).sum() / w.sum()
    check("NLLLoss(w, ignore_index=2)(Tensor(a, 'float64'), t)", want=want, dtype="float64", **names)
    check("NLLLoss(w, ignore_index=2)(Tensor(a), Tensor(t))", want=np.float32(want), **names)
    check("NLLLoss(ignore_index=0)(Tensor([[-np.inf, -np.inf], [-1.0, -2.0]]), [0, 1])", want=np.float32(2.0))
    raises("NLLLoss()(Tensor(a), t[:, None])", ValueError, match=r"\(9, 4\) and \(9, 1\)", **names)
    raises("NLLLoss()(Tensor(a), Tensor(a))", ValueError, match="targets", **names)
    raises("NLLLoss(w[:3])(Tensor(a), t)", ValueError, match="4 classes", **names)


test_unit_nll_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a class of the same name; when no row counts it gives nan, ours an error:
# ```python oracle
# logs, weight = torch.tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]]), torch.tensor([1.0, 2.0, 5.0])
# abs(torch.nn.NLLLoss(weight=weight)(logs, torch.tensor([2, 0])).item() - 19 / 6) < 1e-6
# ```

# %% [markdown]
# ## Softmax and cross entropy in one
#
# From scores to the loss takes `LogSoftmax`, then picking, then a mean. As one operation they keep one number instead
# of three arrays, and lesson 06 finds a short way back. A row's loss is `log(sum(exp(z))) - z[target]`, and overflows:

# %%
with np.errstate(over="ignore"):
    overflow = np.log(np.sum(np.exp(np.float32([1000.0, 0.0]))))
overflow.item()

# %% [markdown]
# The chances depend on differences of scores only, so any number may be taken from all scores of a row. Take the
# largest: both terms shrink by as much, no exponential is above 1, and the sum is at least 1:
#
# ![Shift each row by its largest score: no exponential is above 1, and the loss is the same](figures/04_fused.svg)

# %% [markdown]
# **Shapes** `(N, C) -> ()`; the largest of each row `(N, 1)`, the losses `(N,)`
#
# **By hand** z `[[0 0 0] [log 2, 0, 0]]`, targets `[0 1]`: log 3 and log 4, half their sum is log 12 / 2

# %% exercise="fused" points=5
class SoftmaxCrossEntropy(Operation):
    """Mean of `-log softmax(z)[i, targets[i]]` over the rows, in one step. `(N, C) -> ()`

    Row i counts `weights[i]` times (an array `(N,)` of the logits' dtype; None counts each once); the sum is divided by
    `total`.
    About 7 lines.
    """

    def __init__(self, targets: np.ndarray, weights: np.ndarray | None, total: float) -> None:
        self.targets, self.weights, self.total = targets, weights, total

    def forward(self, z: np.ndarray) -> np.ndarray:
        ### BEGIN SOLUTION
        shifted = z - z.max(axis=1, keepdims=True)
        sums = np.exp(shifted).sum(axis=1)  # (N,)
        losses = np.log(sums) - shifted[np.arange(len(z)), self.targets]  # (N,)
        if self.weights is not None:
            losses *= self.weights
        return losses.sum() / self.total
        ### END SOLUTION


# %% check="fused" points=3
def test_unit_fused():
    z, t = np.float32([[0, 0], [math.log(3), 0]]), np.array([0, 1])
    check("SoftmaxCrossEntropy(t, None, 2.0)(Tensor(z))", want=np.float32(1.5 * math.log(2)), z=z, t=t)
    weights = np.float32([3, 1])
    check("SoftmaxCrossEntropy(t, w, 4.0)(Tensor(z))", want=np.float32(1.25 * math.log(2)), z=z, t=t, w=weights)
    check("SoftmaxCrossEntropy(t, None, 2.0)(Tensor([[1000.0, 0.0], [0.0, -1000.0]]))", want=np.float32(500.0), t=t)


test_unit_fused()

# %% check="fused drawn" points=2 hidden=true
# Against the plain formula in float64; logits of 1e30 in size; the logits stay as they were; dtypes kept.
### BEGIN HIDDEN TESTS
@probe
def fused_leaves_its_input(z, t):
    tensor = Tensor(z)
    SoftmaxCrossEntropy(t, None, 3.0)(tensor)
    return tensor.data


def test_unit_fused_drawn():
    z, t, w = draw.normal((5, 3)), draw.integers(0, 3, (5,)), draw.uniform(1, 2, (5,))
    losses = np.log(np.exp(z).sum(axis=1)) - z[np.arange(5), t]
    names = {"z": z, "t": t, "w": w}
    want = (losses * w).sum() / 7.5
    check("SoftmaxCrossEntropy(t, w, 7.5)(Tensor(z, 'float64'))", want=want, dtype="float64", **names)
    check("SoftmaxCrossEntropy(t, None, 5.0)(Tensor(z))", want=np.float32(losses.mean()), **names)
    huge = np.float32([[1e30, -1e30, 0], [1e30, 1e30, -1e30]])
    check("SoftmaxCrossEntropy(np.array([0, 2]), None, 2.0)(Tensor(z))", want=np.float32(1e30), z=huge)
    check(fused_leaves_its_input(z.astype(np.float32), t), want=z.astype(np.float32))


test_unit_fused_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a function, inside in two steps, `log_softmax` and `nll_loss`, where ours is one:
# ```python oracle
# z = torch.tensor([[0.0, 0.0, 0.0], [np.log(2), 0.0, 0.0]])
# abs(F.cross_entropy(z, torch.tensor([0, 1])).item() - np.log(12) / 2) < 1e-6
# ```

# %% [markdown]
# ## Cross entropy
#
# The loss that trains most classifiers. Class indices go to the fused operation. A target may also be a row of
# probabilities q; then a row's loss is `-sum(q * logp)`, and an index is the row with a single 1:

# %%
(np.array([2, 0])[:, None] == np.arange(3)).astype(int)

# %% [markdown]
# To satisfy such a row fully, a network would need an infinite score. `label_smoothing` e asks for less: it takes a
# share e of the certainty and spreads it evenly over all C classes, `(1-e)*q + e/C`:
#
# ![With a share of 0.3 over three classes, 1 becomes 0.8 and each 0 becomes 0.1](figures/04_smoothing.svg)

# %% [markdown]
# Class weights multiply the terms of the sum: `-sum(w * q * logp)`. The loss is supplied around the part you write:

# %% supplied="CrossEntropyLoss"
class CrossEntropyLoss(ClassLoss):
    """Weighted mean of the cross entropy between softmax(logits) and the targets. `(N, C), (N,) or (N, C) -> ()`

    Targets `(N,)` are class indices, `(N, C)` probabilities or one-hot rows. `label_smoothing` is a share from 0 to 1
    (Szegedy and others, "Rethinking the Inception architecture", 2016). Raises ValueError when shapes don't fit, an
    index is no class or no row counts, TypeError for indices that are not integers.
    """

    def __init__(self, weight: Any = None, label_smoothing: float = 0.0, ignore_index: int = -100) -> None:
        ClassLoss.__init__(self, weight, ignore_index)
        if not 0 <= label_smoothing <= 1:
            raise ValueError(f"CrossEntropyLoss: label_smoothing is a share from 0 to 1, got {label_smoothing}")
        self.label_smoothing = label_smoothing

    def __call__(self, prediction: Tensor, targets: Any) -> Tensor:
        array = targets.data if isinstance(targets, Tensor) else np.asarray(targets)
        self.require_fit(prediction, array, soft=True)
        if array.ndim == 1:
            prediction, array = self.kept_rows(prediction, array)
        total = self.divisor(array)
        if array.ndim == 2 or self.label_smoothing:
            return self.soft_sum(prediction, array) / total
        weights = None if self.weight is None else self.weight[array].astype(prediction.dtype)
        return SoftmaxCrossEntropy(array, weights, total).apply(prediction)


# %% [markdown]
# **Shapes** `(N, C), (N,) or (N, C) -> ()`: the sum over all rows, which the caller divides
#
# **By hand** two scores of 0 have logp = -log 2 each. Target 0 with smoothing 0.2 is q = `[0.9 0.1]`: the loss is log 2
# still. With weights `[1 5]` it is `(0.9*1 + 0.1*5) log 2` = 1.4 log 2

# %% exercise="smoothing" points=5
@patch
def soft_sum(self: CrossEntropyLoss, prediction: Tensor, targets: np.ndarray) -> Tensor:
    """Sum of `-w * q * logp` over rows and classes, q the smoothed targets. `(N, C), (N,) or (N, C) -> ()`

    About 6 lines.
    """
    ### BEGIN SOLUTION
    classes = prediction.shape[1]
    q = targets if targets.ndim == 2 else targets[:, None] == np.arange(classes)
    q = (1 - self.label_smoothing) * q + self.label_smoothing / classes
    if self.weight is not None:
        q = q * self.weight
    return -(LogSoftmax(1)(prediction) * q).sum()
    ### END SOLUTION


# %% check="smoothing" points=3
@probe
def sees_the_prediction():
    z, seen, plain = Tensor([[1.0, 2.0]]), [], Operation.apply
    Operation.apply = lambda self, *inputs: seen.extend(inputs) or plain(self, *inputs)
    CrossEntropyLoss(label_smoothing=0.2)(z, Tensor([1]))
    Operation.apply = plain
    return any(each is z for each in seen)


def test_unit_smoothing():
    zeros, log2 = np.zeros((1, 2), np.float32), math.log(2)
    check("CrossEntropyLoss([1, 5], 0.2).soft_sum(Tensor(z), np.array([0]))", want=np.float32(1.4 * log2), z=zeros)
    check("CrossEntropyLoss([1, 5])(Tensor(z), Tensor([[0.25, 0.75]]))", want=np.float32(4 * log2), z=zeros)
    sure, want = np.float32([[math.log(3), 0]]), np.float32(0.9 * math.log(4) + 0.1 * math.log(4 / 3))
    check("CrossEntropyLoss(label_smoothing=0.2)(Tensor(z), Tensor([1]))", want=want, z=sure)
    check("CrossEntropyLoss()(Tensor(z), Tensor([[0, 1]]))", want=np.float32(math.log(4)), z=sure)
    check("CrossEntropyLoss([1, 5], 0.2)(Tensor(z), Tensor([0]))", want=np.float32(1.4 * log2), z=zeros)
    check(sees_the_prediction(), want=True, says="Compute with tensors, not with .data: lesson 06 must see each step.")


test_unit_smoothing()

# %% check="smoothing drawn" points=2 hidden=true
# All settings at once on drawn numbers, against the plain formulas in float64; logits of 1e30 in size; what is refused.
### BEGIN HIDDEN TESTS
def test_unit_smoothing_drawn():
    z, t = draw.normal((8, 3)), draw.integers(0, 3, (8,))
    w, q = draw.uniform(1, 2, (3,)), draw.uniform(0, 1, (8, 3))
    logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    names = {"z": z, "t": t, "w": w, "q": q}
    kept = t != 1
    hard = (t[:, None] == np.arange(3)) * kept[:, None]
    smooth = (0.9 * hard + 0.1 / 3 * kept[:, None]) * w
    smooth, hard = (-(target * logp).sum() / w[t[kept]].sum() for target in (smooth, hard * w))
    check("CrossEntropyLoss(w, 0.1, 1)(Tensor(z, 'float64'), t)", want=smooth, dtype="float64", **names)
    check("CrossEntropyLoss(w, 0.0, 1)(Tensor(z, 'float64'), t)", want=hard, dtype="float64", **names)
    soft = -((0.7 * q + 0.1) * w * logp).sum() / 8
    check("CrossEntropyLoss(w, 0.3)(Tensor(z), Tensor(q))", want=np.float32(soft), **names)
    check("CrossEntropyLoss(label_smoothing=0.5)(Tensor([[1e30, -1e30]]), [0])", want=np.float32(5e29))
    check("CrossEntropyLoss()(Tensor([[1e30, -1e30]]), [[1, 0]])", want=np.float32(0.0))
    raises("CrossEntropyLoss()(Tensor(z), q[:, :2])", ValueError, match=r"\(8, 3\) and \(8, 2\)", **names)
    raises("CrossEntropyLoss()(Tensor(z), [-100] * 8)", ValueError, match="no row", **names)
    raises("CrossEntropyLoss(label_smoothing=1.5)", ValueError, match="0 to 1")


test_unit_smoothing_drawn()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a class of the same name; there classes stand in dimension 1 of any number, here in the last of two:
# ```python oracle
# loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0]), label_smoothing=0.2)
# abs(loss(torch.zeros(1, 2), torch.tensor([0])).item() - 1.4 * np.log(2)) < 1e-6
# ```

# %% [markdown]
# The two networks from the top, and one that knows nothing of ten classes:

# %%
loss = CrossEntropyLoss()
[loss(Tensor(z[None]), [1]).item() for z in scores], loss(Tensor(np.zeros((1, 10))), [1]).item()

# %% [markdown]
# 1.31 and 200, both finite. Equal scores give log 10, about 2.30: what training on ten classes should print first.

# %% [markdown]
# ## Break it on purpose
#
# Softmax first, and the loss of its result: PyTorch and ours take it, and nothing complains:

# %%
logits, truth = Tensor([[9.0, 0.0, 0.0]]), Tensor([0])
CrossEntropyLoss()(logits, truth).item(), CrossEntropyLoss()(Softmax(1)(logits), truth).item()

# %% [markdown]
# The network was all but sure, and right: 0.0002. After two softmaxes the loss says 0.55, and no training brings it
# much below that, since chances differ by 1 at most. A loss wants logits; its name says so where it can.

# %% [markdown]
# ## What it costs
#
# Three operations keep three results, the fused one a single number. For 32 pictures in 10 classes, estimate beside
# count of bytes:

# %%
logits, labels = Tensor(np.zeros((32, 10))), Tensor(np.zeros(32, dtype=np.int64))
beliefs = LogSoftmax(1)(logits)
picked = beliefs[np.arange(32), labels]
4 * (32 * 10 + 32 + 1), beliefs.nbytes + picked.nbytes + picked.mean().nbytes, CrossEntropyLoss()(logits, labels).nbytes

# %% [markdown]
# 1,412 bytes of results against 4. From lesson 06 on each result is kept until the way back has passed it; the fused one
# keeps its exponentials and their sums. And time, the three steps divided by the fused one:

# %%
def seconds(work):
    return min(repeat(work, number=100, repeat=7)) / 100


three_steps = seconds(lambda: NLLLoss()(LogSoftmax(1)(logits), labels))
round(three_steps / seconds(lambda: loss(logits, labels)), 1)

# %% [markdown]
# The fused loss takes less time, since fewer results pass through Python. The stable formula beside the naive one:

# %%
z, t, rows = logits.data, labels.data, np.arange(32)
naive = seconds(lambda: (np.log(np.exp(z).sum(axis=1)) - z[rows, t]).mean())
round(seconds(lambda: SoftmaxCrossEntropy(t, None, 32.0).forward(z)) / naive, 1)

# %% [markdown]
# Stability costs a maximum and a subtraction over all scores. That is more time than the naive formula takes, for a
# number that is right.

# %% [markdown]
# ## Think
#
# **Think** Why does training follow the loss, and not the count of right answers, which is what one wants?
# <details><summary>Answer</summary>A small change of the weights changes no answer, so the count stays where it is and
# says nothing of the direction. The loss changes with every weight.</details>

# %% [markdown]
# **Think** With class weights, why divide by the sum of the rows' weights and not by the number of rows?
# <details><summary>Answer</summary>If every row has a loss of 3, the mean should be 3 whatever the weights are. Divided
# by the number of rows, doubling all weights would double the loss.</details>

# %% [markdown]
# **Think** Training on ten classes starts with a loss of 1000. What is likely to be wrong?
# <details><summary>Answer</summary>A network that knows nothing should give nearly equal scores, and log 10. This one
# is very sure and wrong: its first weights are too large (lesson 03).</details>

# %% [markdown]
# **Think** Why is a row of logits shifted by its own largest, not by the largest of the batch?
# <details><summary>Answer</summary>A row far below the batch's largest would become exponentials that all round to 0,
# and the log of 0 is -inf.</details>

# %% [markdown]
# ## What you built
#
# Losses for numbers, for yes or no, and for classes, with weights, rows to leave out and smoothed targets; each stays
# finite where its scores do. They cost a maximum a row, and the fused one saves the arrays between.
#
# Not built: losses for rankings, because no later lesson has such data; a sum instead of a mean, because `total_weight`
# gives it back. A loss for sequences and a weight for rare yeses come supplied with lesson 08. Next, lesson 05 brings
# batches.
