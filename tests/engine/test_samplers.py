"""Samplers, subsets and splits: their chances, their orders, and that a batch depends on settings and number alone."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    DataLoader,
    Dataset,
    Generator,
    PrefetchLoader,
    RandomSampler,
    SampledLoader,
    SequentialSampler,
    Subset,
    Tensor,
    TensorDataset,
    WeightedSampler,
    stratified_split,
)

SAMPLERS = {
    "sequential": SequentialSampler(7),
    "shuffled": RandomSampler(7, seed=3),
    "fewer": RandomSampler(7, num_samples=4),
    "more": RandomSampler(7, num_samples=17),
    "replaced": RandomSampler(7, seed=1, replacement=True, num_samples=9),
    "weighted": WeightedSampler([1, 0, 2, 0.5, 0, 3, 1], 12),
    "weighted without replacement": WeightedSampler([1, 0, 2, 0.5, 0, 3, 1], 4, replacement=False, seed=5),
}


def tens(n: int) -> TensorDataset:
    """Sample i is the number 10 * i."""
    return TensorDataset(Tensor(10 * np.arange(n)))


def batches(loader: Any) -> list[list[int]]:
    return [batch[0].data.tolist() for batch in loader]


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_order_depends_on_the_epoch_alone(name: str) -> None:
    sampler = SAMPLERS[name]
    orders = {epoch: sampler.order(epoch) for epoch in (3, 0, 2)}
    for epoch in (0, 2, 3):
        np.testing.assert_array_equal(sampler.order(epoch), orders[epoch])
        assert orders[epoch].shape == (len(sampler),) and orders[epoch].dtype == np.int64
        assert set(orders[epoch].tolist()) <= set(range(7))
    assert (orders[0].tolist() == orders[2].tolist()) == (name == "sequential")


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_the_random_order_is_that_of_a_loader_that_shuffles(epoch: int) -> None:
    loader = DataLoader(tens(11), shuffle=True, seed=8)
    for count in (4, 11, None):
        found = RandomSampler(11, seed=8, num_samples=count).order(epoch)
        np.testing.assert_array_equal(found, loader.draw_order(epoch)[:count])


def test_beyond_n_samples_the_next_shuffle_follows() -> None:
    order = RandomSampler(5, num_samples=13).order(0).tolist()
    assert sorted(order[:5]) == sorted(order[5:10]) == [0, 1, 2, 3, 4]
    assert order[:5] != order[5:10] and len(set(order[10:])) == 3


def test_seeds_differ() -> None:
    for kind in (lambda s: RandomSampler(50, s), lambda s: WeightedSampler(np.ones(50), 50, seed=s)):
        assert kind(0).order(0).tolist() != kind(1).order(0).tolist()


def close(counts: np.ndarray, chances: np.ndarray) -> None:
    """Each count within five standard deviations of what its chance makes of all of them, and none where it is 0."""
    n = counts.sum()
    spread = np.sqrt(n * chances * (1 - chances))
    assert (abs(counts - n * chances) <= 5 * spread + 1e-6).all(), (counts, n * chances)


def test_chances_with_replacement() -> None:
    weights = np.array([0, 3, 0, 0.5, 1e-3, 7, 0, 1, 0])
    for scale in (1, 1e-200, 1e300 / 7):
        order = WeightedSampler(weights * scale, 400_000, seed=1).order(2)
        close(np.bincount(order, minlength=9), weights / weights.sum())
    close(np.bincount(RandomSampler(6, replacement=True, num_samples=60_000).order(0), minlength=6), np.full(6, 1 / 6))


def test_chances_without_replacement() -> None:
    """Every order of three out of four, against the product of the chances among those that are left."""
    weights = np.array([1.0, 2.0, 0.0, 4.0, 0.5])
    sampler = WeightedSampler(weights, 3, replacement=False)
    found = [tuple(sampler.order(epoch).tolist()) for epoch in range(12_000)]
    orders = list(itertools.permutations([0, 1, 3, 4], 3))
    assert set(found) <= set(orders)
    a, b, c = np.array([[weights[i] for i in order] for order in orders]).T
    chances = a / 7.5 * b / (7.5 - a) * c / (7.5 - a - b)
    close(np.array([found.count(order) for order in orders]), chances)


@given(
    weights=st.lists(st.just(0.0) | st.floats(0, 1e308, allow_subnormal=True), min_size=1, max_size=12).filter(any),
    seed=st.integers(0, 9),
    part=st.floats(0, 1),
)
@settings(max_examples=100, deadline=None)
def test_no_sample_of_weight_0_is_drawn_and_none_twice(weights: list[float], seed: int, part: float) -> None:
    heavy = [i for i, weight in enumerate(weights) if weight > 0]
    count = max(1, round(part * len(heavy)))
    drawn = WeightedSampler(weights, count, replacement=False, seed=seed).order(0).tolist()
    assert len(set(drawn)) == count and set(drawn) <= set(heavy)
    assert set(WeightedSampler(weights, 50, seed=seed).order(0).tolist()) <= set(heavy)
    with pytest.raises(ValueError, match=f"{len(heavy)} samples have a weight above 0"):
        WeightedSampler(weights, len(heavy) + 1, replacement=False)


def test_heavy_and_light_weights_come_in_their_order() -> None:
    weights = [1e-300, 1e300, 5e-324, 1.0]
    assert WeightedSampler(weights, 4, replacement=False).order(0).tolist() == [1, 3, 0, 2]


def test_rare_samples_are_all_within_reach() -> None:
    """65,536 samples share 1/16,384 of the weight: 24 random bits would tell 1,024 of them apart."""
    weights = np.full(2**16 + 1, 2.0**-30)
    weights[0] = 1
    drawn = WeightedSampler(weights, 2**22).order(0)
    rare = drawn[drawn > 0]
    assert 180 < len(rare) < 340 and len(set(rare.tolist())) > 0.97 * len(rare)


def test_no_two_of_a_million_equal_weights_tie() -> None:
    """Half of the steps go up. Of 24 bits one in 32 would be a tie, which goes up."""
    order = WeightedSampler(np.ones(2**20), 2**20, replacement=False).order(0)
    assert abs((np.diff(order) > 0).mean() - 0.5) < 0.002


@pytest.mark.parametrize("kind", [list, tuple, np.array, Tensor, lambda w: np.array(w, dtype=np.float32)])
def test_weights_of_any_kind(kind: Any) -> None:
    sampler = WeightedSampler(kind([1, 2, 4]), 20)
    np.testing.assert_array_equal(sampler.order(0), WeightedSampler([1.0, 2.0, 4.0], 20).order(0))


def test_weights_are_the_samplers_own() -> None:
    weights = np.array([0.0, 1.0])
    sampler = WeightedSampler(weights, 5)
    weights[:] = [1.0, 0.0]
    assert sampler.order(0).tolist() == [1] * 5


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1, math.nan], [1, math.inf], [[1]], 1, ["a"], [None]])
def test_what_is_no_weights_is_refused(weights: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="WeightedSampler: weights"):
        WeightedSampler(weights, 1)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: SequentialSampler(-1), "SequentialSampler: n"),
        (lambda: SequentialSampler(2.0), "SequentialSampler: n"),  # type: ignore[arg-type]
        (lambda: RandomSampler(0), "RandomSampler: n"),
        (lambda: RandomSampler(3, num_samples=0), "RandomSampler: num_samples"),
        (lambda: RandomSampler(3, seed=-1), "seed"),
        (lambda: RandomSampler(3, replacement=7), "RandomSampler: replacement"),  # type: ignore[arg-type]
        (lambda: WeightedSampler([1], True), "WeightedSampler: num_samples"),
        (lambda: WeightedSampler([1], 1, seed=1.5), "seed"),  # type: ignore[arg-type]
        (lambda: WeightedSampler([1], 1, replacement=0), "WeightedSampler: replacement"),  # type: ignore[arg-type]
    ],
)
def test_wrong_settings_are_refused(make: Any, match: str) -> None:
    with pytest.raises((TypeError, ValueError), match=match):
        make()


class Fixed:
    """A sampler of given orders, one for each epoch; the last holds on."""

    def __init__(self, *orders: Any) -> None:
        self.orders = orders

    def __len__(self) -> int:
        return len(self.orders[0])

    def order(self, epoch: int) -> Any:
        return self.orders[min(epoch, len(self.orders) - 1)]


class TestSampledLoader:
    """A DataLoader in the sampler's order."""

    @pytest.mark.parametrize("drop_last", [True, False])
    @pytest.mark.parametrize("batch_size", [1, 3, 7])
    def test_with_the_order_of_a_data_loader_it_is_one(self, batch_size: int, drop_last: bool) -> None:
        for shuffle, sampler in ((True, RandomSampler(7, seed=4)), (False, SequentialSampler(7))):
            plain = DataLoader(tens(7), batch_size, shuffle=shuffle, drop_last=drop_last, seed=4)
            loader = SampledLoader(tens(7), sampler, batch_size, drop_last)
            assert len(loader) == len(plain)
            for _ in range(3):
                assert batches(loader) == batches(plain)
                assert loader.position == plain.position

    def test_an_epoch_is_as_long_as_the_sampler(self) -> None:
        loader = SampledLoader(tens(3), Fixed([2, 2, 0, 1, 2], [0, 0, 0, 1, 1]), batch_size=2)
        assert len(loader) == 3
        assert batches(loader) == [[20, 20], [0, 10], [20]]
        assert batches(loader) == [[0, 0], [0, 10], [10]]
        short = SampledLoader(tens(9), Fixed([8, 0, 3]), batch_size=2, drop_last=True)
        assert len(short) == 1 and batches(short) == [[80, 0]] and short.position == 1

    @pytest.mark.parametrize("name", SAMPLERS)
    def test_a_batch_depends_on_its_number_alone(self, name: str) -> None:
        straight = SampledLoader(tens(7), SAMPLERS[name], batch_size=3)
        run = [batch for _ in range(4) for batch in batches(straight)]
        for g in reversed(range(len(run))):
            assert straight.batch_at(g)[0].data.tolist() == run[g]
        resumed = SampledLoader(tens(7), SAMPLERS[name], batch_size=3)
        resumed.position = len(straight) + 1
        assert batches(resumed) == run[len(straight) + 1 : 2 * len(straight)]
        ahead = PrefetchLoader(SampledLoader(tens(7), SAMPLERS[name], batch_size=3))
        assert [batch for _ in range(4) for batch in batches(ahead)] == run

    @pytest.mark.parametrize("order", [[0, 3], [-1, 0], np.array([0, 2**40]), np.array([2**63], dtype=np.uint64)])
    def test_a_number_outside_the_dataset_is_refused(self, order: Any) -> None:
        with pytest.raises(ValueError, match="SampledLoader: the dataset has 3 samples"):
            SampledLoader(tens(3), Fixed(order))
        later = SampledLoader(tens(3), Fixed([0] * len(order), order))
        assert batches(later) == [[0]] * len(order)
        with pytest.raises(ValueError, match="SampledLoader: the dataset has 3 samples"):
            next(iter(later))

    def test_what_is_no_order_is_refused(self) -> None:
        with pytest.raises(TypeError, match="integers"):
            SampledLoader(tens(3), Fixed([0.0, 1.0]))
        with pytest.raises(TypeError, match="integers"):
            SampledLoader(tens(3), Fixed([True, False]))
        with pytest.raises(ValueError, match="shape"):
            SampledLoader(tens(3), Fixed([[0], [1]]))
        later = SampledLoader(tens(3), Fixed([0, 1], [0]))
        with pytest.raises(ValueError, match="shape"):
            later.batch_at(2)

    def test_what_is_no_sampler_is_refused(self) -> None:
        for wrong in ([0, 1], 3, None, iter([0])):
            with pytest.raises(TypeError, match="sampler"):
                SampledLoader(tens(3), wrong)
        with pytest.raises(TypeError, match="Dataset"):
            SampledLoader([1, 2], SequentialSampler(2))  # type: ignore[arg-type]

    def test_an_epoch_without_batches_is_refused(self) -> None:
        for sampler in (SequentialSampler(0), SequentialSampler(2)):
            with pytest.raises(ValueError, match=f"{len(sampler)} samples make no batch of 3"):
                SampledLoader(tens(3), sampler, batch_size=3, drop_last=True)

    def test_the_samplers_array_stays_writable_and_apart(self) -> None:
        order = np.array([1, 0])
        loader = SampledLoader(tens(2), Fixed(order))
        next(iter(loader))
        order[:] = 1
        assert batches(loader) == [[0]]

    def test_the_sampler_cannot_be_exchanged(self) -> None:
        loader = SampledLoader(tens(2), SequentialSampler(2))
        with pytest.raises(AttributeError):
            loader.sampler = SequentialSampler(1)  # type: ignore[misc]


class Asked(Dataset):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: Any) -> Any:
        self.asked.append((type(index), index))
        return (index, -index)

    def gather(self, indices: np.ndarray) -> Any:
        self.asked.append(indices.tolist())
        return (Tensor(indices),)


class TestSubset:
    """Some samples of a dataset."""

    def test_samples_and_batches(self) -> None:
        dataset = Asked()
        subset = Subset(dataset, [7, 2, 2, 9])
        assert len(subset) == 4 and subset[0] == (7, -7) and subset[-1] == (9, -9)
        assert batches(DataLoader(subset, batch_size=3)) == [[7, 2, 2], [9]]
        assert dataset.asked == [(int, 7), (int, 9), [7, 2, 2], [9]]
        with pytest.raises(IndexError):
            subset[4]

    def test_a_subset_of_a_subset(self) -> None:
        assert batches(DataLoader(Subset(Subset(tens(9), [8, 6, 4, 2]), np.array([3, 1])))) == [[20], [60]]

    def test_none(self) -> None:
        assert len(Subset(tens(3), [])) == 0

    def test_indices_are_its_own(self) -> None:
        indices = np.array([0, 1])
        subset = Subset(tens(2), indices)
        indices[:] = 1
        assert subset[0][0].item() == 0

    @pytest.mark.parametrize("indices", [[3], [-1], [0.0], [True, False, True], [[0]], 0, ["a"]])
    def test_what_is_no_index_is_refused(self, indices: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="Subset"):
            Subset(tens(3), indices)
        with pytest.raises(TypeError, match="Dataset"):
            Subset([1, 2, 3], [0])  # type: ignore[arg-type]


def counts(labels: np.ndarray, fraction: float, seed: int = 0) -> dict[int, int]:
    """How many of each class stand in the first part, after a look at what always holds."""
    first, second = stratified_split(labels, fraction, Generator(seed))
    assert first.dtype == second.dtype == np.int64
    assert sorted([*first, *second]) == list(range(len(labels)))
    return {label: int((labels[first] == label).sum()) for label in np.unique(labels).tolist()}


class TestStratifiedSplit:
    """Each class cut by the same fraction."""

    @pytest.mark.parametrize(
        ("sizes", "fraction", "want"),
        [
            ([10, 20, 30], 0.5, [5, 10, 15]),
            ([5, 3, 2], 0.5, [3, 1, 1]),  # 2.5, 1.5, 1: one of the halves up, 5 in all
            ([7, 7, 7], 0.5, [4, 3, 3]),  # 10.5 in all, to the even 10
            ([4, 9, 3], 0.3, [1, 3, 1]),  # 1.2, 2.7, 0.9: both large remainders up
            ([2, 2, 2, 100], 0.1, [1, 1, 1, 10]),  # small classes stand in both parts
            ([2, 2, 2, 100], 0.9, [1, 1, 1, 90]),
            ([100, *[2] * 100], 0.29, [29, *[1] * 100]),  # 0.29 * 100 is 28.999999999999996
            ([1, 1, 1, 1], 0.5, [1, 1, 0, 0]),
            ([1], 0.4, [0]),
            ([3, 2], 0, [0, 0]),
            ([3, 2], 1, [3, 2]),
        ],
    )
    def test_by_hand(self, sizes: list[int], fraction: float, want: list[int]) -> None:
        labels = np.repeat(np.arange(len(sizes)), sizes)
        assert list(counts(labels, fraction).values()) == want

    @given(
        sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
        percent=st.integers(1, 99),
        seed=st.integers(0, 5),
    )
    @settings(max_examples=150, deadline=None)
    def test_even_and_near(self, sizes: list[int], percent: int, seed: int) -> None:
        """In hundredths of a sample: each class within 1 of its share or at its least, the total as near as can be."""
        labels = Generator(seed).permutation(sum(sizes)) % 1000
        labels = np.repeat(np.arange(len(sizes)), sizes)[labels]
        found = list(counts(labels, percent / 100, seed).values())
        allowed = []
        for size in sizes:
            least, most = (1, size - 1) if size > 1 else (0, 1)
            near = [k for k in range(least, most + 1) if abs(100 * k - percent * size) < 100]
            allowed.append(near or [least if percent * size < 100 else most])
        assert all(k in choice for k, choice in zip(found, allowed))
        off = [abs(100 * sum(choice) - percent * sum(sizes)) for choice in itertools.product(*allowed)]
        assert abs(100 * sum(found) - percent * sum(sizes)) == min(off)
        for (n, k), (m, j) in itertools.permutations(zip(sizes, found), 2):
            if 100 * k > percent * n and 100 * j < percent * m and k > 1 and j < m - 1:  # up, and down by its share
                assert (percent * n) % 100 >= (percent * m) % 100

    def test_both_parts_are_in_random_order(self) -> None:
        labels = np.repeat([0, 1], [900, 100])
        first, second = stratified_split(labels, 0.5, Generator(2))
        for part in (first, second):
            assert abs((np.diff(part) > 0).mean() - 0.5) < 0.08
            rare = np.flatnonzero(labels[part])
            assert abs(rare.mean() - 249.5) < 60
        again = stratified_split(labels, 0.5, Generator(2))
        other = stratified_split(labels, 0.5, Generator(3))
        np.testing.assert_array_equal(first, again[0])
        assert set(first) != set(other[0])

    def test_every_sample_has_the_same_chance(self) -> None:
        labels, rng = np.array([0, 1, 0, 0, 1, 0, 1, 1]), Generator(0)
        often = np.bincount(np.concatenate([stratified_split(labels, 0.25, rng)[0] for _ in range(4000)]), minlength=8)
        assert (abs(often - 1000) < 5 * math.sqrt(750)).all()

    @pytest.mark.parametrize(
        "labels", [["b", "a", "b", "a"], [True, False, True, False], Tensor([3, 1, 3, 1]), (2, 0, 2, 0)]
    )
    def test_labels_of_any_kind(self, labels: Any) -> None:
        first, second = stratified_split(labels, 0.5, Generator(0))
        assert sorted(i % 2 for i in first.tolist()) == sorted(i % 2 for i in second.tolist()) == [0, 1]

    def test_its_parts_are_subsets_of_a_dataset(self) -> None:
        train, test = stratified_split([0, 0, 0, 1, 1, 1], 2 / 3, Generator(0))
        loaders = [DataLoader(Subset(tens(6), part), batch_size=6) for part in (train, test)]
        assert sorted(x for loader in loaders for batch in batches(loader) for x in batch) == [0, 10, 20, 30, 40, 50]

    @pytest.mark.parametrize("labels", [[], [[0, 1]], 3])
    def test_what_is_no_labels_is_refused(self, labels: Any) -> None:
        with pytest.raises(ValueError, match="stratified_split"):
            stratified_split(labels, 0.5, Generator(0))

    @pytest.mark.parametrize("fraction", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True])
    def test_what_is_no_fraction_is_refused(self, fraction: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="stratified_split: fraction"):
            stratified_split([0, 1], fraction, Generator(0))

    def test_what_is_no_generator_is_refused(self) -> None:
        with pytest.raises(TypeError, match="Generator"):
            stratified_split([0, 1], 0.5, np.random)  # type: ignore[arg-type]
