"""Which samples an epoch has, and in which order. Supplied with lesson 05: trace it, don't write it.

A sampler is an object with `__len__`, how many samples an epoch has, and `order(epoch)`, their numbers; nothing else
goes into that order than the sampler's settings and the epoch. Begin at `SequentialSampler`, then `SampledLoader`.
`Subset` and `stratified_split` cut a dataset in parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinytorch.dataloader import DataLoader, Dataset
from tinytorch.generator import Generator
from tinytorch.settings import integer, setting
from tinytorch.tensor import Tensor

__all__ = ["SequentialSampler", "RandomSampler", "WeightedSampler", "SampledLoader", "Subset", "stratified_split"]


class SequentialSampler:
    """The numbers 0 to n - 1, in every epoch. Raises TypeError or ValueError when n is no integer from 0 up."""

    def __init__(self, n: int) -> None:
        self.n = integer("SequentialSampler: n", n)

    def __len__(self) -> int:
        return self.n

    def order(self, epoch: int) -> np.ndarray:
        """Int64 `(n,)`."""
        return np.arange(self.n, dtype=np.int64)


class RandomSampler:
    """`num_samples` of the numbers 0 to n - 1, n if not given, in an order that each epoch draws anew.

    With replacement each is drawn from all n. Without, the order is that of `DataLoader(shuffle=True, seed=seed)`, and
    beyond n samples the next shuffle follows. Raises TypeError or ValueError when n or num_samples is no integer from 1
    up, replacement no bool, or the seed none that a Generator takes.
    """

    def __init__(self, n: int, seed: int = 0, replacement: bool = False, num_samples: int | None = None) -> None:
        self.n = integer("RandomSampler: n", n, least=1)
        wanted = self.n if num_samples is None else num_samples
        self.num_samples = integer("RandomSampler: num_samples", wanted, least=1)
        self.seed, self.replacement = _checked_seed(seed), _flag("RandomSampler: replacement", replacement)

    def __len__(self) -> int:
        return self.num_samples

    def order(self, epoch: int) -> np.ndarray:
        """Int64 `(num_samples,)`."""
        stream = _stream(self.seed, epoch)
        if self.replacement:
            return stream.integers(0, self.n, self.num_samples)
        shuffles = [stream.permutation(self.n) for _ in range(0, self.num_samples, self.n)]
        return np.concatenate(shuffles)[: self.num_samples]


class WeightedSampler:
    """`num_samples` numbers, i with a chance proportional to `weights[i]`: torch's WeightedRandomSampler.

    Without replacement each is drawn from those that are left, so the first of them are likely the heavy ones. Never
    drawn is a sample of weight 0. Weights `(N,)` need no particular sum.

    Raises TypeError or ValueError when weights are no finite numbers from 0 up or all 0, when num_samples is no integer
    from 1 up, or without replacement more than there are weights above 0; for replacement and seed as RandomSampler.
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, seed: int = 0) -> None:
        self.weights = _checked_weights(weights)
        self.num_samples = integer("WeightedSampler: num_samples", num_samples, least=1)
        self.seed, self.replacement = _checked_seed(seed), _flag("WeightedSampler: replacement", replacement)
        drawable = np.count_nonzero(self.weights)
        if not replacement and self.num_samples > drawable:
            raise ValueError(
                f"WeightedSampler: {drawable} samples have a weight above 0 and num_samples is {num_samples}; "
                "ask for fewer, or give replacement=True"
            )

    def __len__(self) -> int:
        return self.num_samples

    def order(self, epoch: int) -> np.ndarray:
        """Int64 `(num_samples,)`."""
        draw = self._with_replacement if self.replacement else self._without_replacement
        return draw(_stream(self.seed, epoch)).astype(np.int64, copy=False)

    def _with_replacement(self, stream: Generator) -> np.ndarray:
        """Sample i owns a stretch as long as its weight; each draw is a point on all the stretches in a row.

        Source: Devroye, "Non-uniform random variate generation", 1986, section III.2 (inversion).
        """
        ends = np.cumsum(self.weights / self.weights.max())  # whose sum neither overflows nor vanishes
        return np.searchsorted(ends, _uniform(stream, self.num_samples) * ends[-1], side="right")

    def _without_replacement(self, stream: Generator) -> np.ndarray:
        """Each sample waits for a time that is exponential with its weight as rate; the earliest are drawn.

        That is their key log(u) / weight, largest first, as the logarithm of its negative: no weight is too small.
        Source: Efraimidis and Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97,
        2006.
        """
        drawable = np.flatnonzero(self.weights)
        times = np.log(-np.log(_uniform(stream, len(drawable)))) - np.log(self.weights[drawable])
        return drawable[np.argsort(times, kind="stable")[: self.num_samples]]


class SampledLoader(DataLoader):
    """Batches of the samples that `sampler` names, in its order; an epoch has `len(sampler)` of them.

    Batch g depends on the dataset, the sampler's settings, `batch_size`, `drop_last` and g. The sampler stays as it is:
    another one needs another loader. Raises TypeError when it is no sampler, ValueError when an epoch has no batch or a
    number is none of the dataset's; dataset and batch_size as in DataLoader.
    """

    def __init__(self, dataset: Dataset, sampler: Any, batch_size: int = 1, drop_last: bool = False) -> None:
        DataLoader.__init__(self, dataset, batch_size, drop_last=drop_last)
        if not callable(getattr(sampler, "order", None)) or not hasattr(sampler, "__len__"):
            kind = type(sampler).__name__
            raise TypeError(f"SampledLoader: a sampler has __len__ and order(epoch), {kind} has not; use RandomSampler")
        self._sampler = sampler
        if len(self) == 0:
            raise ValueError(f"SampledLoader: {len(sampler)} samples make no batch of {batch_size}; draw more of them")
        self.draw_order(0)  # a sampler that does not fit is refused here, not at the first batch

    @property
    def sampler(self) -> Any:
        """The sampler, which cannot be set: its order may have been drawn already."""
        return self._sampler

    def __len__(self) -> int:
        """How many batches an epoch has. A short last one counts unless `drop_last`."""
        whole, rest = divmod(len(self._sampler), self.batch_size)
        return whole + 1 if rest and not self.drop_last else whole

    def draw_order(self, epoch: int) -> np.ndarray:
        """The sampler's order of this epoch as a new array, int64 `(len(sampler),)`.

        Raises TypeError when it is not of integers, ValueError for another length or a number outside the dataset.
        """
        order = np.asarray(self._sampler.order(epoch))
        if order.shape != (len(self._sampler),):
            wanted = f"({len(self._sampler)},)"
            raise ValueError(f"SampledLoader: the order of epoch {epoch} has shape {order.shape}, its sampler {wanted}")
        return _checked_numbers("SampledLoader", order, len(self.dataset))


class Subset(Dataset):
    """The samples `indices` of a dataset, in that order: sample i is `dataset[indices[i]]`. A number may stand twice.

    Raises TypeError when the dataset is no Dataset or an index no integer, ValueError when one is outside the dataset.
    """

    def __init__(self, dataset: Dataset, indices: Any) -> None:
        if not isinstance(dataset, Dataset):
            raise TypeError(f"Subset: needs a Dataset, got {type(dataset).__name__}; write TensorDataset(x, y)")
        self.dataset = dataset
        self.indices = _checked_numbers("Subset", _row("Subset: indices", indices), len(dataset))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        """One sample by its number within the subset."""
        return self.dataset[int(self.indices[index])]

    def gather(self, indices: np.ndarray) -> Any:
        """The batch of these samples, by one call of the dataset's own `gather`."""
        return self.dataset.gather(self.indices[indices])


def stratified_split(labels: Any, fraction: float, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cut the numbers 0 to N - 1 in two, each class by the same `fraction`; labels `(N,)` -> int64 (first, second).

    `fraction` of each class stands in `first`, rounded down or up, the rest in `second`, both in random order. Where
    0 < fraction < 1, a class of two samples or more stands in both. Within these bounds `first` has as near as can be
    to fraction * N samples: classes are rounded up in the order of their remainders (the method of Hare and Hamilton).

    Raises TypeError when the fraction is no number or rng no Generator, ValueError when the fraction is not from 0 to 1
    or the labels are not of shape (N,) with N above 0.

        train, test = stratified_split(labels, 0.8, Generator(0))
        loader = DataLoader(Subset(dataset, train), batch_size=32, shuffle=True)
    """
    if setting("stratified_split: fraction", fraction) > 1:
        raise ValueError(f"stratified_split: fraction must be from 0 to 1, got {fraction}")
    if not isinstance(rng, Generator):
        raise TypeError(f"stratified_split: rng must be a Generator, got {rng!r}; write Generator(0)")
    array = _row("stratified_split: labels", labels)
    if len(array) == 0:
        raise ValueError("stratified_split: there are no labels; give one for each sample")
    _, classes, sizes = np.unique(array, return_inverse=True, return_counts=True)
    order = rng.permutation(len(array))
    order = order[np.argsort(classes[order], kind="stable")]  # class by class, each in random order
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # of each within its class
    is_first = place < np.repeat(_shares(sizes, fraction), sizes)
    first, second = order[is_first], order[~is_first]
    return first[rng.permutation(len(first))], second[rng.permutation(len(second))]


def _shares(sizes: np.ndarray, fraction: float) -> np.ndarray:
    """How many of each class stand in the first part. `(C,) -> (C,)`"""
    share = np.round(fraction * sizes, 6)  # 0.29 * 100 is a hair below 29
    kept = (sizes > 1) & (0 < fraction < 1)  # as a number: the least that each part has of the class
    low, high = (np.clip(bound, kept, sizes - kept).astype(np.int64) for bound in (np.floor(share), np.ceil(share)))
    total = np.clip(round(fraction * int(sizes.sum())), low.sum(), high.sum())
    by_remainder = np.argsort(np.where(low < high, low - share, 1), kind="stable")
    low[by_remainder[: total - low.sum()]] += 1
    return low


def _uniform(stream: Generator, n: int) -> np.ndarray:
    """Float64 `(n,)` between 0 and 1, neither of which comes.

    From 52 bits: with the 24 of `Generator.uniform`, a sample that is rarer than one in 16 million could not be drawn.
    """
    return (stream.integers(0, 2**52, n) + 0.5) / 2**52


def _stream(seed: int, epoch: int) -> Generator:
    return Generator(seed).split(f"epoch {epoch}")


def _checked_seed(seed: int) -> int:
    Generator(seed)  # which refuses a wrong one
    return seed


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _row(name: str, values: Any) -> np.ndarray:
    """A new array `(N,)`. Raises ValueError for another shape."""
    array = np.array(values.data if isinstance(values, Tensor) else values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have the shape (N,), got {array.shape}")
    return array


def _checked_weights(weights: Any) -> np.ndarray:
    """Float64 `(N,)`, read-only."""
    array = _row("WeightedSampler: weights", weights)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"WeightedSampler: weights must be numbers, got dtype {array.dtype}")
    array = array.astype(np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all() and array.any()):
        raise ValueError("WeightedSampler: weights must be finite and 0 or more, and one of them above 0")
    array.setflags(write=False)
    return array


def _checked_numbers(name: str, numbers: np.ndarray, n: int) -> np.ndarray:
    """`numbers` as int64. Raises TypeError unless they are integers, ValueError unless each is from 0 to n - 1."""
    if numbers.dtype.kind not in "iu" and numbers.size:  # an empty list makes an array of floats
        raise TypeError(f"{name}: sample numbers must be integers, got dtype {numbers.dtype}")
    outside = numbers[(numbers < 0) | (numbers >= n)]
    if outside.size:
        raise ValueError(f"{name}: the dataset has {n} samples, counted from 0, and none of number {outside[0]}")
    return numbers.astype(np.int64)
