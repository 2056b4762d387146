# %% [markdown]
# # 05 Data loading
#
# A training run sees its data a few samples at a time, and their order decides what comes out. Here are the
# targets of a thousand samples, the numbers to be predicted: zeros first and then ones, as a file often has them:

# %% imports
from tito.notebook import check, draw, patch, probe, raises
from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter
from timeit import timeit
import tracemalloc
from typing import Any

import numpy as np

from tinytorch.collate import stack_samples
from tinytorch.generator import Generator
from tinytorch.settings import integer
from tinytorch.tensor import Tensor

# %%
targets = np.repeat([0.0, 1.0], 500)  # (N,)
float(targets.mean())

# %% [markdown]
# The smallest model of these targets is one number. It starts at the right answer, 0.5, and every batch of 100 pulls it
# part of the way to the batch's own mean. Once through the data, in the file's order and in a drawn one:

# %%
def learn(order: np.ndarray) -> float:
    w = 0.5
    for start in range(0, 1000, 100):
        w += 0.3 * float(targets[order[start : start + 100]].mean() - w)
    return round(w, 2)


learn(np.arange(1000)), learn(Generator(0).permutation(1000))

# %% [markdown]
# In the file's order the model ends at 0.85: ones came last, and the zeros are forgotten. In a drawn order the same
# model, on the same data, stays near 0.5.
#
# ![In the file's order the learned number swings between the classes; in a drawn order it stays near one half](figures/05_order.svg)

# %% [markdown]
# In this lesson you build a loader. It gives every sample once an epoch (one time through the data), a batch at a time,
# in a new order each epoch, and any of it can be had again tomorrow.

# %% [markdown]
# ## A batch is rows, picked by number
#
# The first idea is NumPy's: an array of row numbers, used as an index, picks those rows.

# %%
rows = Tensor([[0, 1], [10, 11], [20, 21], [30, 31], [40, 41], [50, 51]])  # (N, D)
rows[np.array([4, 0, 3])]  # (B, D)

# %% [markdown]
# Rows 4, 0 and 3, in that order. A batch is such a tensor: B rows of the N there are.
#
# ![Row numbers 4, 0 and 3 pick three of six rows, in that order](figures/05_gather.svg)

# %% [markdown]
# ## Samples by number
#
# A dataset knows how many samples it has and gives sample `i`: two methods, which a subclass writes. Supplied:

# %% supplied="Dataset"
class Dataset:
    """Samples by number. A subclass has `__len__`, and `__getitem__` that takes an integer and gives a tuple."""

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__}: a Dataset needs a method __len__, the number of its samples")

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(f"{type(self).__name__}: a Dataset needs a method __getitem__, one sample by its number")


# %% [markdown]
# Here is a dataset that holds nothing and works out each sample when it is asked: a number and its square.

# %%
class Squares(Dataset):
    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> tuple[int, int]:
        return index, index**2


Squares()[7]

# %% [markdown]
# Whoever uses a dataset asks these two questions and no other, so files, tables and formulas all serve.

# %% [markdown]
# ## Gather a batch
#
# A batch turns samples sideways: from a list of pairs to a pair of lists. Three samples, one after the other:

# %%
samples = [Squares()[i] for i in (7, 3, 5)]
samples

# %% [markdown]
# `zip(*samples)` hands every sample to `zip`, which takes the first parts of all, then the second parts:

# %%
list(zip(*samples))

# %% [markdown]
# Each of those columns becomes a tensor. `stack_samples`, from the supplied `collate.py`, makes one of numbers, lists
# or tensors that share a shape. The second column, solved:

# %%
stack_samples([square for _, square in samples])  # (B,)

# %% [markdown]
# Now write it for any dataset and any number of parts, slow and obvious: ask for each sample, then stack the columns.
#
# **Shapes** samples `((D,), ())`, B of them, give `((B, D), (B,))`
#
# **By hand** samples 7 and 3 of Squares are (7, 49) and (3, 9); the batch is `[7 3]` and `[49 9]`.

# %% exercise="gather" points=4
@patch
def gather(self: Dataset, indices: np.ndarray) -> Any:
    """The samples at `indices` as one batch: a tuple of tensors `(B, ...)`, one for each part of a sample.

    A sample is a tuple or a list of parts; samples that are single things give a single tensor `(B, ...)`.
    Every sample is asked for by a Python integer, once, in the order of `indices`.
    About 4 lines.
    """
    ### BEGIN SOLUTION
    samples = [self[int(i)] for i in indices]
    if not isinstance(samples[0], (tuple, list)):
        return stack_samples(samples)
    return tuple(stack_samples(column) for column in zip(*samples, strict=True))
    ### END SOLUTION


# %% check="gather" points=3
@probe
def batch_of(samples, indices):
    class Listed(Dataset):
        def __getitem__(self, index):
            return samples[index]

    return Listed().gather(np.array(indices))


def test_unit_gather():
    check(batch_of([(0, 10), (1, 11), (2, 12)], [2, 0]), want=([2, 0], [12, 10]))
    check(batch_of([([0.5, 1.5], 3), ([2.5, 3.5], 7), ([4.5, 5.5], 1)], [1]), want=([[2.5, 3.5]], [7]))
    check(batch_of([(1, 2, 3), (4, 5, 6)], [0, 1]), want=([1, 4], [2, 5], [3, 6]))
    check(batch_of([5, 6, 7], [2, 2, 1]), want=[7, 7, 6], says="A sample that is no tuple gives one tensor.")


test_unit_gather()

# %% check="gather asks" points=1 hidden=true
# Samples are asked for once, by Python integers; a list serves for a tuple; float64 tensors stay float64.
### BEGIN HIDDEN TESTS
@probe
def asked(indices):
    seen = []

    class Watched(Dataset):
        def __getitem__(self, index):
            seen.append((type(index).__name__, index))
            return [Tensor([index, 0.5], dtype="float64"), np.float64(index)]

    return seen, Watched().gather(indices)


@probe
def single_things(indices):
    class Numbers(Dataset):
        def __getitem__(self, index):
            return index

    found = Numbers().gather(indices)
    return found if isinstance(found, Tensor) else type(found).__name__


def test_unit_gather_asks():
    indices = draw.permutation(99)[:3]
    check(single_things(indices), want=indices, says="A sample that is no tuple gives one tensor.")
    seen, batch = asked(indices)
    check(seen, want=[("int", index) for index in indices.tolist()])
    check(batch[0], want=np.stack([indices, np.full(3, 0.5)], axis=1), dtype="float64")
    check(batch[1], want=indices.astype(np.float32))


test_unit_gather_asks()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the same step is called collating; it gives a list of the parts where ours gives a tuple:
# ```python oracle
# from torch.utils.data import default_collate
# batch = default_collate([(7, 49), (3, 9)])
# type(batch) is list and [part.tolist() for part in batch] == [[7, 3], [49, 9]]
# ```

# %% [markdown]
# ## All samples in memory
#
# Most data of this course fit in memory as whole tensors, one row a sample. Then no loop is needed: a tensor takes an
# integer, a slice or many row numbers as its index. The index of a dataset of one tensor, solved:

# %%
class Rows(Dataset):
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return (self.tensor[index],)


Rows(rows)[2], Rows(rows)[[4, 0, 3]]

# %% [markdown]
# One sample is a row, three are a batch, by the same line. Now for several tensors that belong together row by row,
# such as inputs and targets.
#
# **Shapes** tensors `(N, ...)` and `(N, ...)`; `dataset[i]` drops the first dimension, `dataset[[4, 0, 3]]` makes it 3
#
# **By hand** of `[[0 1] [10 11] [20 21]]` and `[5 6 7]`, sample 2 is `[20 21]` and 7.

# %% exercise="tensor_dataset" points=5
class TensorDataset(Dataset):
    """Rows of tensors that belong together: `(N, ...)`, `(N, ...)`. An index gives a tuple with a tensor of each.

    Raises TypeError for what is no tensor; ValueError, with the sizes, when first sizes differ or there are none.
    About 8 lines in all.
    """

    def __init__(self, *tensors: Tensor) -> None:
        ### BEGIN SOLUTION
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"TensorDataset: needs tensors, got {type(tensor).__name__}; write Tensor(array)")
        sizes = [len(tensor) for tensor in tensors]
        if len(set(sizes)) != 1:
            raise ValueError(f"TensorDataset: needs tensors of one first size, got sizes {sizes}")
        self.tensors = tensors
        ### END SOLUTION

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        """One sample for an integer; several, along the first dimension, for a slice or integers in an array."""
        ### BEGIN SOLUTION
        return tuple(tensor[index] for tensor in self.tensors)
        ### END SOLUTION

    def gather(self, indices: np.ndarray) -> tuple[Tensor, ...]:
        """The batch of these samples, by one index operation on each tensor's array, which nothing records."""
        ### BEGIN SOLUTION
        return tuple([Tensor.wrap(tensor.data.take(indices, axis=0)) for tensor in self.tensors])
        ### END SOLUTION


# %% check="tensor_dataset" points=4
def test_unit_tensor_dataset():
    pairs = "TensorDataset(Tensor([[0, 1], [10, 11], [20, 21]]), Tensor([5.0, 6.0, 7.0]))"
    check(f"{pairs}[2]", want=([20, 21], 7.0))
    check(f"{pairs}[[2, 0]]", want=([[20, 21], [0, 1]], [7.0, 5.0]))
    check(f"{pairs}.gather(np.array([1, 1, 2]))", want=([[10, 11], [10, 11], [20, 21]], [6.0, 6.0, 7.0]))
    check(f"[type(part).__name__ for part in {pairs}.gather(np.array([1]))]", want=["Tensor", "Tensor"])
    check("len(TensorDataset(Tensor([[1, 2], [3, 4], [5, 6]])))", want=3)
    raises("TensorDataset(Tensor([1, 2, 3]), Tensor([1, 2]))", ValueError, match="3.*2|2.*3")
    raises("TensorDataset()", ValueError)
    raises("TensorDataset(np.zeros((3, 2)))", TypeError)


test_unit_tensor_dataset()

# %% check="tensor_dataset batches" points=1 hidden=true
# Slices; batches equal to those of the slow way, without a sample asked for alone; the sizes stand in the message.
### BEGIN HIDDEN TESTS
@probe
def slow_and_fast(x, y, indices):
    asked = []

    class Watched(TensorDataset):
        def __getitem__(self, index):
            asked.append(np.ndim(index))
            return super().__getitem__(index)

    fast = Watched(Tensor(x), Tensor(y)).gather(indices)
    return fast, asked.count(0), Dataset.gather(TensorDataset(Tensor(x), Tensor(y)), indices)


def test_unit_tensor_dataset_batches():
    x, y, indices = draw.normal((6, 2)), draw.integers(0, 9, (6,)), draw.integers(0, 6, (4,))
    fast, asked_alone, slow = slow_and_fast(x, y, indices)
    check([fast, slow], want=[(x[indices].astype(np.float32), y[indices])] * 2)
    check(asked_alone, want=0, says="A batch is one index operation, not one a sample.")
    check("TensorDataset(Tensor(x), Tensor(y))[1:3]", want=(x[1:3].astype(np.float32), y[1:3]), x=x, y=y)
    raises("TensorDataset(Tensor([[1, 2]]), Tensor([[1], [2], [3]]), Tensor([[1]]))", ValueError, match="3")


test_unit_tensor_dataset_batches()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** the class has the same name; tensors of unlike first sizes raise AssertionError there, ValueError here:
# ```python oracle
# from torch.utils.data import TensorDataset
# x, y = torch.tensor([[0, 1], [10, 11], [20, 21]]), torch.tensor([5.0, 6.0, 7.0])
# [part.tolist() for part in TensorDataset(x, y)[2]] == [[20, 21], 7.0]
# ```

# %% [markdown]
# Sizes that differ are refused where the mistake was made, and not three cells later:

# %%
try:
    TensorDataset(rows, Tensor([5, 6, 7]))
except ValueError as error:
    print(error)

# %% [markdown]
# The slow way is still there under its own name, `Dataset.gather`. Both give the same batch:

# %%
pairs = TensorDataset(rows, Tensor([100, 101, 102, 103, 104, 105]))
Dataset.gather(pairs, np.array([4, 0, 3])), pairs.gather(np.array([4, 0, 3]))

# %% [markdown]
# Which is faster, and by how much, is measured below.

# %% [markdown]
# ## The loader and its length
#
# The loader keeps the settings. What it remembers of the past is one integer, `position`: how many batches have been
# handed out since the beginning. Everything else follows from that and the settings. Trace it:

# %% supplied="DataLoader"
class DataLoader:
    """Batches of a dataset. Batch g depends on the settings and g alone: g counts on through the epochs from 0.

    Raises TypeError when the dataset is no Dataset, TypeError or ValueError when batch_size is no integer from 1 up.
    """

    def __init__(
        self, dataset: Dataset, batch_size: int = 1, shuffle: bool = False, drop_last: bool = False, seed: int = 0
    ) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"DataLoader: needs a Dataset, got {type(dataset).__name__}; write TensorDataset(x, y)")
        self.dataset, self.batch_size = dataset, integer("DataLoader: batch_size", batch_size, least=1)
        Generator(seed)  # a wrong seed is refused here, not at the first batch
        self.shuffle, self.drop_last, self.seed = shuffle, drop_last, seed
        self.position = 0


# %% [markdown]
# Samples seldom divide evenly into batches. Seven samples, three at a time:

# %%
divmod(7, 3)

# %% [markdown]
# Two whole batches and one sample over. It makes a short last batch, unless `drop_last` leaves it out.
#
# **Shapes** `N samples, batches of B -> one integer`
#
# **By hand** 7 samples in batches of 3 are 3 + 3 + 1: three batches, two with drop_last; 6 samples are two either way.

# %% exercise="length" points=2
@patch
def __len__(self: DataLoader) -> int:
    """How many batches an epoch has. A short last one counts unless `drop_last`. About 2 lines."""
    ### BEGIN SOLUTION
    whole, rest = divmod(len(self.dataset), self.batch_size)
    return whole + 1 if rest and not self.drop_last else whole
    ### END SOLUTION


# %% check="length" points=2
def test_unit_length():
    for n, size, whole, short in ((7, 3, 2, 3), (6, 3, 2, 2), (2, 5, 0, 1), (0, 5, 0, 0)):
        rows = f"TensorDataset(Tensor(np.arange({n})))"
        check(f"len(DataLoader({rows}, batch_size={size}))", want=short)
        check(f"len(DataLoader({rows}, batch_size={size}, drop_last=True))", want=whole)


test_unit_length()

# %% [markdown]
# **In PyTorch** `len` is the same where the length is known; for a stream, which has none, it is a TypeError there:
# ```python oracle
# from torch.utils.data import DataLoader
# len(DataLoader(range(7), batch_size=3)) == 3 and len(DataLoader(range(7), batch_size=3, drop_last=True)) == 2
# ```

# %% [markdown]
# ## An order for each epoch
#
# A new order is 0 to N - 1, shuffled. It is tempting to draw each number on its own. A thousand numbers below a
# thousand, drawn both ways, and how many differ:

# %%
alone, together = Generator(0).integers(0, 1000, 1000), Generator(0).permutation(1000)
len(set(alone.tolist())), len(set(together.tolist()))

# %% [markdown]
# Drawn alone, only 642 samples came; the others wait for a later epoch, while some came several times. That is the
# rule: a sample is missed by 1000 draws with a chance of (1 - 1 / 1000) ** 1000, about 1 / e, over a third. A permutation
# has each once.
#
# ![Drawn with replacement a third of the samples is missed in the first epoch; a permutation misses none](figures/05_seen.svg)

# %% [markdown]
# The second question is where the numbers come from. Drawn from one long stream, an order depends on all that was drawn
# before it:

# %%
stream = Generator(0)
stream.permutation(6), stream.permutation(6)

# %% [markdown]
# To have the second you must draw the first. A stream named by its epoch needs nothing before it:

# %%
Generator(0).split("epoch 5").permutation(6), Generator(0).split("epoch 6").permutation(6)

# %% [markdown]
# Run that cell twice: `split` draws nothing, so the seed and the name give the same numbers every time.
#
# **Shapes** `an epoch -> (N,) of int64`, every number from 0 to N - 1 once
#
# **By hand** without shuffle the order of 4 samples is `[0 1 2 3]` in every epoch.

# %% exercise="order" points=3
@patch
def draw_order(self: DataLoader, epoch: int) -> np.ndarray:
    """Sample numbers in the order of this epoch, int64 `(N,)`: 0 to N - 1, shuffled if the loader shuffles.

    Shuffled, it is the permutation that the stream "epoch 0", "epoch 1", ... of Generator(self.seed) draws first.
    About 3 lines.
    """
    ### BEGIN SOLUTION
    if not self.shuffle:
        return np.arange(len(self.dataset))
    return Generator(self.seed).split(f"epoch {epoch}").permutation(len(self.dataset))
    ### END SOLUTION


# %% check="order" points=3
@probe
def stream(seed, epoch, n):
    return Generator(seed).split(f"epoch {epoch}").permutation(n)


def test_unit_order():
    rows = "TensorDataset(Tensor(np.arange(10)))"
    check(f"DataLoader({rows}, batch_size=3).draw_order(4)", want=np.arange(10))
    check(f"np.sort(DataLoader({rows}, 3, shuffle=True).draw_order(0))", want=np.arange(10), says="Each sample once.")
    check(f"DataLoader({rows}, 3, shuffle=True).draw_order(0)", want=stream(0, 0, 10))
    check(f"DataLoader({rows}, 3, shuffle=True, seed=6).draw_order(2)", want=stream(6, 2, 10))


test_unit_order()

# %% [markdown]
# **In PyTorch** each order is drawn from where the generator stands, so an epoch cannot be had without those before it:
# ```python oracle
# from torch.utils.data import RandomSampler
# sampler = RandomSampler(range(10), generator=torch.Generator().manual_seed(0))
# first, second = list(sampler), list(sampler)
# sorted(first) == sorted(second) == list(range(10)) and first != second
# ```

# %% [markdown]
# All batches of an epoch share its order. Drawing it anew for each can cost more than the batch, so the last one drawn
# is kept, beside what it was drawn from. That is no state: without it every result is the same. Supplied:

# %% supplied="DataLoader.order"
DataLoader._drawn: tuple[Any, np.ndarray] | None = None


@patch
def order(self: DataLoader, epoch: int) -> np.ndarray:
    """As `draw_order`, which is asked once an epoch. Read-only, since all batches of the epoch share it."""
    key = (epoch, len(self.dataset), self.shuffle, self.seed)
    drawn = self._drawn
    if drawn is None or drawn[0] != key:
        drawn = self._drawn = (key, self.draw_order(epoch))
        drawn[1].setflags(write=False)
    return drawn[1]


# %% [markdown]
# ## Any batch, by its number
#
# The numbers of batches run on through the epochs. With three batches an epoch, batch 3 is the first of epoch 1:
#
# ![Two epochs of seven samples in batches of three: numbers 0 to 2, then 3 to 5; the third batch of each is short](figures/05_epochs.svg)

# %% [markdown]
# From the number to the epoch is one division, solved:

# %% twin="DataLoader.locate"
@patch
def locate(self: DataLoader, g: int) -> tuple[int, int]:
    """The epoch of batch `g`, and its number within that epoch; all three count from 0.

    Raises ValueError when g is negative, or when an epoch has no batch.
    """
    if g < 0:
        raise ValueError(f"DataLoader: batches are numbered from 0, got {g}")
    batches = len(self)
    if batches == 0:
        raise ValueError(f"DataLoader: {len(self.dataset)} samples make no batch of {self.batch_size}; add samples")
    return divmod(g, batches)


# %%
DataLoader(Squares(), batch_size=400).locate(7)

# %% [markdown]
# A thousand squares make three batches of up to 400, so batch 7 is number 1 of epoch 2. Now the batch itself: find its
# epoch, take its part of that epoch's order, gather.
#
# **Shapes** `a batch number -> what gather gives: ((B, ...), (B, ...))`
#
# **By hand** 7 samples in batches of 3, not shuffled: batch 0 is `[0 1 2]`, batch 2 is `[6]`, batch 4 is `[3 4 5]`.

# %% exercise="batch_at" points=5
@patch
def batch_at(self: DataLoader, g: int) -> Any:
    """Batch `g`, which is batch `g % len(self)` of epoch `g // len(self)`. `position` stays where it is.

    Raises ValueError when g is negative, or when an epoch has no batch.
    About 3 lines.
    """
    ### BEGIN SOLUTION
    epoch, i = self.locate(g)
    start = i * self.batch_size
    return self.dataset.gather(self.order(epoch)[start : start + self.batch_size])
    ### END SOLUTION


# %% check="batch_at" points=3
@probe
def shuffled(seed, epoch, n):
    return Generator(seed).split(f"epoch {epoch}").permutation(n)


def test_unit_batch_at():
    seven = "TensorDataset(Tensor(np.arange(7)))"
    check(f"DataLoader({seven}, 3).batch_at(0)", want=([0, 1, 2],))
    check(f"DataLoader({seven}, 3).batch_at(2)", want=([6],), says="The last batch is short.")
    check(f"DataLoader({seven}, 3).batch_at(4)", want=([3, 4, 5],), says="Batch 3 is the first of epoch 1.")
    check(f"DataLoader({seven}, 3, drop_last=True).batch_at(3)", want=([3, 4, 5],))
    check(f"DataLoader({seven}, 3, shuffle=True, seed=5).batch_at(7)", want=(shuffled(5, 2, 7)[3:6],))
    raises(f"DataLoader({seven}, 3).batch_at(-1)", ValueError)
    raises(f"DataLoader({seven}, 8, drop_last=True).batch_at(0)", ValueError)


test_unit_batch_at()

# %% check="batch_at alone" points=2 hidden=true
# Any dataset serves; every sample comes once an epoch; a batch depends on nothing but its number; position stays.
### BEGIN HIDDEN TESTS
@probe
def stacked(g):
    class Quarters(Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            return [index / 4, 1.0], index

    return DataLoader(Quarters(), 4).batch_at(g)


@probe
def batches(samples, numbers, **settings):
    loader = DataLoader(TensorDataset(Tensor(samples)), 3, shuffle=True, **settings)
    return [loader.batch_at(g)[0] for g in numbers], loader.position


def test_unit_batch_at_alone():
    check(stacked(2), want=([[2.0, 1.0], [2.25, 1.0]], [8, 9]))
    samples = draw.permutation(999)[:20]
    check(np.sort(np.concatenate(batches(samples, [21, 22, 23, 24, 25, 26, 27])[0])), want=np.sort(samples))
    dropped = np.concatenate(batches(samples, [6, 7, 8, 9, 10, 11], drop_last=True)[0])
    check(len(set(dropped.tolist()) & set(samples.tolist())), want=18)
    (*_, last), position = batches(samples, [11, 2, 40, 25])
    check(last, want=batches(samples, [25])[0][0])
    check(position, want=0)


test_unit_batch_at_alone()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** a loader has no `batch_at`: batch 2 is had by running through those before it.
# ```python oracle
# from itertools import islice
# from torch.utils.data import DataLoader
# next(islice(DataLoader(range(7), batch_size=3), 2, None)).tolist() == [6]
# ```

# %% [markdown]
# A batch depends on the settings and its number. Two loaders, one of which has given other batches before:

# %%
busy, fresh = (DataLoader(Squares(), 4, shuffle=True, seed=1) for _ in range(2))
busy.batch_at(900), busy.batch_at(2)
busy.batch_at(7)[0].data, fresh.batch_at(7)[0].data

# %% [markdown]
# The same four samples. Whatever ran before, batch 7 is batch 7.

# %% [markdown]
# ## Run through an epoch
#
# A `for` loop over the loader goes from `position` to the end of that epoch. A method with `yield` in it does that: it
# hands out a value, and waits there until the loop asks for the next. What if the loop never asks?

# %%
def counted(log: list[str]) -> Iterator[int]:
    for number in (10, 20, 30):
        log.append(f"before {number}")
        yield number
        log.append(f"after {number}")


log: list[str] = []
for number in counted(log):
    if number == 20:
        break
log

# %% [markdown]
# The loop stopped at 20, and what stands after that `yield` never ran. So a batch must be counted in `position`
# *before* it is handed out: then the next loop, or a crashed run that gets its `position` back, goes on with the batch
# after it.
#
# **Shapes** `batches, one after the other, as batch_at gives them`
#
# **By hand** 3 batches an epoch, position 4: the loop gives batches 4 and 5, and leaves position at 6.

# %% exercise="iterate" points=5
@patch
def __iter__(self: DataLoader) -> Iterator[Any]:
    """Yield the batches from `position` to the end of its epoch, and count each in `position` before it is yielded.

    Raises ValueError when an epoch has no batch.
    About 6 lines.
    """
    ### BEGIN SOLUTION
    epoch, _ = self.locate(self.position)
    end = (epoch + 1) * len(self)
    while self.position < end:
        batch = self.batch_at(self.position)
        self.position += 1
        yield batch
    ### END SOLUTION


# %% check="iterate" points=3
@probe
def run(position=0, epochs=1, stop=None):
    loader = DataLoader(TensorDataset(Tensor(np.arange(7))), 3)
    loader.position, seen = position, []
    for _ in range(epochs):
        for (numbers,) in loader:
            seen.append(numbers.data.tolist())
            if len(seen) in (stop, 20):
                break
    return seen, loader.position


def test_unit_iterate():
    check(run(), want=([[0, 1, 2], [3, 4, 5], [6]], 3))
    check(run(position=4), want=([[3, 4, 5], [6]], 6))
    check(run(epochs=2)[0], want=[[0, 1, 2], [3, 4, 5], [6]] * 2, says="The next loop is the next epoch.")
    check(run(stop=1), want=([[0, 1, 2]], 1), says="position counts a batch before it is yielded.")
    check(run(stop=2, epochs=2)[0], want=[[0, 1, 2], [3, 4, 5], [6]], says="After a break, on with the next batch.")
    raises("list(DataLoader(TensorDataset(Tensor([])), 2))", ValueError)


test_unit_iterate()

# %% check="iterate resumes" points=2 hidden=true
# A loader that is given a position goes on as one that was never stopped; shuffled epochs differ.
### BEGIN HIDDEN TESTS
@probe
def resumed(samples, position, epochs=1):
    loader = DataLoader(TensorDataset(Tensor(samples)), 4, shuffle=True, seed=2)
    loader.position, seen = position, []
    for _ in range(epochs):
        for batch in loader:
            seen.append(batch[0])
            if len(seen) > 20:
                break
    return seen, loader.position


def test_unit_iterate_resumes():
    samples, position = draw.permutation(999)[:22], int(draw.integers(7, 12, ()))
    whole, end = resumed(samples, 0, epochs=3)
    check(end, want=18)
    check(resumed(samples, position), want=(whole[position:12], 12))
    epochs = [np.concatenate(whole[6:12]), np.concatenate(whole[:6])]
    check(np.sort(epochs), want=np.sort([samples, samples]))
    check(len(np.unique(epochs, axis=0)), want=2, says="Epochs differ.")


test_unit_iterate_resumes()
### END HIDDEN TESTS

# %% [markdown]
# **In PyTorch** there is no `position`: a loop that was stopped starts over, where ours would go on with `[3 4 5]`.
# ```python oracle
# from torch.utils.data import DataLoader
# loader = DataLoader(range(7), batch_size=3)
# next(iter(loader)).tolist() == next(iter(loader)).tolist() == [0, 1, 2]
# ```

# %% [markdown]
# Two epochs of the squares, with the epoch, the position, the shape and the first samples of each batch:

# %%
loader = DataLoader(Squares(), batch_size=400, shuffle=True)
for epoch in range(2):
    for numbers, squares in loader:
        print(epoch, loader.position, numbers.shape, numbers[:3].data, squares[:3].data)

# %% [markdown]
# The third batch of each epoch is short, the orders differ, and every square stands beside its number. Now a run that
# stops after one batch, and another that is given nothing but the position:

# %%
next(iter(loader))
resumed = DataLoader(Squares(), batch_size=400, shuffle=True)
resumed.position = loader.position
resumed.position, next(iter(resumed))[0][:3].data, loader.batch_at(7)[0][:3].data

# %% [markdown]
# The second run begins with batch 7, as the first would have gone on.

# %% [markdown]
# ## Break it on purpose
#
# Shuffle inputs and targets each on its own. Here each target equals its input, so the pairs left whole can be counted:

# %%
same = Tensor(np.arange(1000))
inputs, targets = (DataLoader(TensorDataset(same), 1000, shuffle=True, seed=s).batch_at(0)[0] for s in (0, 1))
float((inputs == targets).astype("float32").mean())

# %% [markdown]
# No error, and the shapes fit. What a model would learn of such pairs shows in the slope of a line fitted to them:

# %%
round(float(np.polyfit(inputs.data, targets.data, 1)[0]), 3)

# %% [markdown]
# The slope should be 1 and is next to 0: the inputs say nothing of the targets any more. A loss that stays flat from
# the first step has this for one of its causes. One dataset, one order:

# %%
inputs, targets = DataLoader(TensorDataset(same, same), 1000, shuffle=True).batch_at(0)
float((inputs == targets).astype("float32").mean())

# %% [markdown]
# ## What a batch costs
#
# Rows that lie side by side are a view: no byte is copied. Rows picked by number are a copy:

# %%
x = Tensor(Generator(0).normal(0, 1, (10_000, 64)))  # (N, D)
chosen = Generator(0).permutation(10_000)[:256]
np.shares_memory(x[:256].data, x.data), np.shares_memory(x[chosen].data, x.data)

# %% [markdown]
# So a shuffled epoch copies every sample once, one batch at a time. By estimate a batch takes B times the bytes of a
# sample, 64 floats of 4 bytes and a label of 8, and the order takes 8 for each of N. Beside what is measured:

# %%
data = TensorDataset(x, Tensor(np.arange(10_000)))
loader = DataLoader(data, batch_size=256, shuffle=True)
tracemalloc.start()
batch, (held, _) = loader.batch_at(0), tracemalloc.get_traced_memory()
tracemalloc.stop()
print("estimate", 256 * (64 * 4 + 8) + 10_000 * 8, "  measured", held, "  the data", x.nbytes)

# %% [markdown]
# The order of an epoch weighs about as much as a batch, so no more than one is kept. Now the time of a batch, in
# microseconds: sample by sample, by one index operation, and the drawing of an order:

# %%
slow = timeit(partial(Dataset.gather, data, chosen), number=5) / 5
fast = timeit(partial(data.gather, chosen), number=50) / 50
drawing = timeit(partial(loader.draw_order, 0), number=50) / 50
print(f"sample by sample {1e6 * slow:.0f}   one index operation {1e6 * fast:.0f}   draw an order {1e6 * drawing:.0f}")

# %% [markdown]
# Both copy the same bytes. The slow way spends its time on Python's calls, a few for each sample. And an order takes
# longer to draw than a batch to gather, which is why it is kept for its epoch.

# %% [markdown]
# ## What the batch size costs
#
# Each batch has a fixed price besides its bytes: calls, a slice, two tensors. Milliseconds for a whole epoch:

# %%
for size in (1, 16, 256):
    start = perf_counter()
    count = sum(1 for _ in DataLoader(data, size, shuffle=True))
    print(f"batches of {size:3}: {count:5} batches, {1000 * (perf_counter() - start):6.1f} ms")

# %% [markdown]
# The same bytes again, and batches of one take many times as long as batches of 256. What do large ones buy besides
# speed? The mean of a batch stands for the mean of all the data, and misses it by chance. The spread of those means,
# for numbers that have a spread of 1 themselves, beside its estimate `1 / sqrt(B)`:

# %%
values = Generator(1).normal(0, 1, 65_536)
for size in (1, 16, 256):
    means = values.reshape(-1, size).mean(axis=1)  # (N / B,)
    print(f"batches of {size:3}: spread {means.std():.3f}, estimate {size**-0.5:.3f}")

# %% [markdown]
# Sixteen times the samples for a quarter of the noise. Past some size the noise no longer matters and the work still
# grows, which is why batches of a few dozen to a few hundred are common.
#
# ![Four times the batch halves the noise: measured spread of batch means against batch size](figures/05_noise.svg)

# %% [markdown]
# ## Think
#
# **Think** Seven samples in batches of 3 give three mean losses. Is the mean of the three the loss of the epoch?
# <details><summary>Answer</summary>No. The last batch has one sample, and that sample would count three times as much
# as any other. Weight each mean by its batch's size: add up sums, divide by seven at the end.</details>

# %% [markdown]
# **Think** With `drop_last`, does the same sample miss every epoch?
# <details><summary>Answer</summary>Not when the loader shuffles: the one left over is whichever stands last in that
# epoch's order. Without shuffling it is always the last of the file, which is then never trained on.</details>

# %% [markdown]
# **Think** Why is epoch 1 drawn from `split("epoch 1")` and not from `Generator(seed + 1)`?
# <details><summary>Answer</summary>Because seed 0 in epoch 1 would then have the order of seed 1 in epoch 0. Two runs
# whose seeds differ by 1 would share all orders but one, and are meant to share none.</details>

# %% [markdown]
# **Think** What must a saved run hold, so that its loader goes on with the very next batch?
# <details><summary>Answer</summary>The position, one integer, if it is made again with the same settings and data. The
# orders follow from the seed and the epoch; no stream of random numbers has to be stored.</details>

# %% [markdown]
# **Think** In the first cells the file's order spoilt the result. Does it matter with one batch of all the samples?
# <details><summary>Answer</summary>No: a mean over all samples does not ask for their order. The price is one step an
# epoch, where batches of 100 make ten.</details>

# %% [markdown]
# ## What you built
#
# A dataset of tensors, a batch by one index operation, and a loader whose batches depend on a seed and a number. It
# costs one copy of each sample an epoch, and one order in memory.
#
# Not built:
# - worker processes that load while the model computes, because index operations on data in memory are no bottleneck
#   here
# - streams without a length, and files read while training, because this course's data fit in memory
# - sampling by weight or by class, and changing samples on the way (crops, flips), which a `Dataset` of your own can do
#
# Next, lesson 06: tensors that know how they were made, and find the slope of a loss by themselves.
