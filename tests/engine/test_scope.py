"""activation_scope: what it counts is what is there, and what it frees is what was made inside."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from tinytorch import (
    Adam,
    CrossEntropyLoss,
    Dropout,
    Generator,
    Linear,
    MSELoss,
    Operation,
    Parameter,
    ReLU,
    Sequential,
    Sigmoid,
    Softmax,
    Tanh,
    Tensor,
    activation_scope,
    no_grad,
)


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    """What dies in these tests dies because nothing refers to it."""
    gc.disable()
    yield
    gc.enable()


def mlp(inputs: int, hidden: int, classes: int) -> Sequential:
    """Two layers."""
    rng = Generator(0)
    return Sequential(Linear(inputs, hidden, rng=rng), ReLU(), Linear(hidden, classes, rng=rng))


def batch(rows: int, inputs: int, classes: int) -> tuple[Tensor, Tensor]:
    """Inputs float32 and targets int64."""
    rng = Generator(1)
    return Tensor(rng.normal(0, 1, (rows, inputs))), Tensor(rng.integers(0, classes, (rows,)))


def is_detached(tensor: Tensor) -> bool:
    """Whether nothing ties the tensor to a graph."""
    return tensor.operation is None and not tensor.requires_grad


@pytest.mark.parametrize(("rows", "inputs", "hidden", "classes"), [(6, 5, 7, 3), (32, 64, 32, 10), (1, 2, 1, 4)])
def test_the_bytes_of_an_mlp_are_those_worked_out_by_hand(rows: int, inputs: int, hidden: int, classes: int) -> None:
    model, (x, y) = mlp(inputs, hidden, classes), batch(rows, inputs, classes)
    with activation_scope() as scope:
        loss = CrossEntropyLoss()(model(x), y)
        found = scope.live()
        loss.backward()
        after = scope.live()
    by_hand = [
        ("input", 1, rows * inputs * 4),
        ("Affine", 2, rows * hidden * 4 + rows * classes * 4),
        ("ReLU", 1, rows * hidden * 4),
        ("SoftmaxCrossEntropy", 4, 4 + rows * 8 + rows * classes * 4 + rows * 4),  # loss; targets, exps, sums saved
    ]
    assert sorted(found) == sorted(by_hand)
    assert [row[2] for row in found] == sorted((row[2] for row in by_hand), reverse=True)
    assert scope.peak == sum(row[2] for row in by_hand)
    assert after == [("SoftmaxCrossEntropy", 1, 4)]  # the loss itself, which the test still holds


def test_the_bytes_are_those_that_python_allocated() -> None:
    model, (x, y) = mlp(50, 200, 30), batch(500, 50, 30)
    with activation_scope() as scope:
        tracemalloc.start()
        loss = CrossEntropyLoss()(model(x), y)
        allocated, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        scope.live()
    made_before = x.nbytes + y.nbytes
    assert scope.peak - made_before <= allocated < 1.01 * (scope.peak - made_before)
    assert loss.shape == ()


def test_a_mask_of_dropout_counts() -> None:
    x = Tensor(np.ones((8, 4)))
    x.requires_grad = True
    with activation_scope() as scope:
        kept = Dropout(0.5, rng=Generator(0))(x)
        assert scope.live() == [("Mul", 1, 8 * 4 * 4), ("input", 1, 8 * 4 * 4)]
    assert is_detached(kept)


def test_views_count_once_and_keep_all_of_their_memory() -> None:
    weight = Parameter(np.ones((6, 4)))
    with activation_scope() as scope:
        doubled = weight * 2.0
        views = [doubled.reshape(4, 6), doubled.T, doubled[1:3], doubled.reshape(24)[::2].reshape(3, 4)]
        assert scope.live() == [("Mul", 1, 6 * 4 * 4), ("input", 1, 4)]
        transposed = weight.T  # the parameter's own memory
        assert scope.live() == [("Mul", 1, 6 * 4 * 4), ("input", 1, 4)]
        del doubled
        assert scope.live() == [("Mul", 1, 6 * 4 * 4), ("input", 1, 4)]
    assert all(is_detached(view) for view in [*views, transposed])
    np.testing.assert_array_equal(views[1].data, np.full((4, 6), 2.0))


def test_a_view_left_over_from_a_freed_graph_still_counts_as_the_whole() -> None:
    weight = Parameter(np.ones((6, 4)))
    with activation_scope() as scope:
        row = (weight * 2.0)[0]
        row.sum().backward()
        assert scope.live() == [("GetItem", 1, 6 * 4 * 4)]


class Windows(Operation):
    """Overlapping windows of 3, as convolutions take them: a view that NumPy makes in a roundabout way."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        return sliding_window_view(a, 3)

    def backward(self, grad: np.ndarray) -> np.ndarray:
        return np.zeros_like(self.inputs[0].data)


class Saves(Operation):
    """Keeps more than its output."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def forward(self, a: np.ndarray) -> np.ndarray:
        self.mask, self.pair, self.number = a > 0, (a.astype(np.float64), "text"), 3
        return a + 1


def test_overlapping_windows_are_a_view_too() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope() as scope:
        held = Windows()(weight * 2.0)
        assert scope.live() == [("Mul", 1, 40), ("input", 1, 4)]
        held.sum().backward()
        assert scope.live() == [("Windows", 1, 40)]  # though its own numbers would take 96


def test_what_an_operation_saves_besides_its_output_counts() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope() as scope:
        held = Saves(Tensor(np.ones(5)))(weight)
        assert scope.live() == [("Saves", 3, 10 * (1 + 8 + 4)), ("input", 1, 20)]
        assert held.requires_grad


def test_what_is_not_recorded_does_not_count() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope() as scope, no_grad():
        held = weight * 2.0
        assert scope.live() == []
    assert (scope.peak, held.shape) == (0, (10,))


def test_the_end_frees_the_graph_and_leaves_numbers_alone() -> None:
    model, (x, y) = mlp(5, 7, 3), batch(6, 5, 3)
    with activation_scope():
        hidden = model[0](x)
        middle = model[1](hidden)
        prediction = model[2](middle)
        before = prediction.data
        arrays = [weakref.ref(middle.data), weakref.ref(hidden.data)]
        del hidden, middle
        assert all(array() is not None for array in arrays)
    assert [array() for array in arrays] == [None, None]
    assert prediction.data is before
    assert is_detached(prediction)
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert CrossEntropyLoss()(prediction, y).operation is None


@pytest.mark.parametrize("retain", [False, True])
def test_a_loss_that_leaves_is_detached(retain: bool) -> None:
    weight = Parameter([1.0, 2.0])
    with activation_scope() as scope:
        squares = weight * weight
        loss = squares.sum()
        squares.retain_grad()
        loss.backward(retain_graph=retain)
    assert is_detached(loss) and is_detached(squares)
    assert loss.item() == 5.0
    assert weight.grad is not None and weight.grad.tolist() == [2.0, 4.0]
    assert squares.grad is not None and squares.grad.tolist() == [1.0, 1.0]
    assert scope.live() == []
    with pytest.raises(RuntimeError, match="requires no gradient"):
        loss.backward()


def test_an_error_passes_and_the_graph_is_freed() -> None:
    weight, held = Parameter([1.0, 2.0]), list[Any]()
    error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt) as caught, activation_scope() as scope:
        held.append((weight * 3.0).exp())
        raise error
    assert caught.value is error
    assert is_detached(held[0])
    assert scope.peak == 4 + 2 * 4 + 2 * 4


def test_a_graph_from_before_stays() -> None:
    weight = Parameter([1.0, 2.0])
    tripled = weight * 3.0
    with activation_scope() as scope:
        inside, view = (tripled * tripled).sum(), tripled[:1]
        assert scope.live() == [("Mul", 1, 8), ("Sum", 1, 4)]
    assert is_detached(inside) and is_detached(view)
    tripled.sum().backward()
    assert weight.grad is not None and weight.grad.tolist() == [3.0, 3.0]


def test_a_graph_freed_before_the_scope_is_none_of_its_own() -> None:
    weight = Parameter([1.0, 2.0])
    old = weight.sum()
    old.backward()
    with activation_scope() as scope:
        assert scope.live() == []
    assert old.requires_grad
    with pytest.raises(RuntimeError, match="freed"):
        old.backward()


def test_an_older_graph_that_is_freed_inside_is_none_of_its_own() -> None:
    old = Parameter([1.0, 2.0]).sum()
    with activation_scope() as scope:
        old.backward()
        assert scope.live() == []
    assert old.requires_grad


def test_scopes_nest() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope() as outer:
        first = weight.exp()
        with activation_scope() as inner:
            second = first.sqrt()
            assert inner.live() == [("Sqrt", 1, 40)]
            assert outer.live() == [("Exp", 1, 40), ("Sqrt", 1, 40)]
        assert is_detached(second) and not is_detached(first)
        first.sum().backward()
        assert inner.live() == []
        assert outer.live() == [("Exp", 1, 40)]  # the rest is no longer any graph's
    assert is_detached(first)
    assert (inner.peak, outer.peak) == (40, 80)
    assert weight.grad is not None


def test_a_closed_scope_takes_no_part_in_what_comes_after() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope() as scope:
        pass
    later = weight.exp()
    assert scope.live() == []
    assert (scope.peak, later.requires_grad) == (0, True)


class Cycle(ReLU):
    """Keeps its output tensor: only the collector could free the two."""

    def apply(self, *inputs: Any) -> Tensor:
        self.result = ReLU.apply(self, *inputs)
        return self.result


def test_a_cycle_is_broken() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope():
        array = weakref.ref(Cycle()(weight).data)
        assert array() is not None
    assert array() is None


class SelfCycle(ReLU):
    """Refers to itself."""

    def forward(self, a: np.ndarray) -> np.ndarray:
        self.again = self.forward
        return ReLU.forward(self, a)


def test_an_operation_that_is_still_held_holds_nothing() -> None:
    weight = Parameter(np.ones(10))
    with activation_scope():
        held = (weight * 2.0).operation
        array = weakref.ref(SelfCycle()(weight).data)
    assert held is not None and held.inputs == ()
    assert array() is None


def test_a_scope_keeps_no_older_graph_alive() -> None:
    older = Parameter(np.ones(10)).exp()
    array = weakref.ref(older.data)
    with activation_scope():
        del older
        assert array() is None


def test_a_deep_graph_is_freed_without_recursion() -> None:
    tensor: Tensor = Parameter([1.0])
    with activation_scope() as scope:
        for _ in range(20_000):
            tensor = -tensor
    assert scope.peak == 4 * 20_000
    assert tensor.data.tolist() == [1.0]


def test_a_step_has_the_same_bits_with_and_without() -> None:
    def trained(scoped: bool) -> list[bytes]:
        model, (x, y) = mlp(5, 7, 3), batch(6, 5, 3)
        optimizer = Adam(model.parameters())
        for _ in range(5):
            if scoped:
                with activation_scope() as scope:
                    loss = CrossEntropyLoss()(model(x), y)
                    scope.live()
                    loss.backward()
            else:
                CrossEntropyLoss()(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        return [array.tobytes() for array in model.state_dict().values()]

    assert trained(True) == trained(False)


def test_the_table_has_rows_and_a_total() -> None:
    model, (x, y) = mlp(5, 7, 3), batch(6, 5, 3)
    with activation_scope() as scope:
        loss = MSELoss()(model(x)[:, 0], Tensor(np.zeros(6)))
        open_table = str(scope)
        loss.backward()
    lines = open_table.splitlines()
    assert lines[0].split() == ["kept", "for", "backward", "arrays", "bytes"]
    assert lines[1].split() == ["Affine", "2", "240"]
    assert lines[-1].split()[0] == "total" and int(lines[-1].split()[-1]) == scope.peak
    assert str(scope) == open_table  # the largest look, also later
    assert y.shape == (6,)


def test_the_table_has_at_most_12_lines_of_78_columns() -> None:
    weight = Parameter(np.ones((100, 100)))
    with activation_scope() as scope:
        results = [-weight, weight + 1, weight - 1, weight * 2, weight / 2, weight**2, weight.exp(), weight.log()]
        results += [weight.sqrt(), weight @ weight, weight.sum(), weight.mean(), Tanh()(weight), Sigmoid()(weight)]
        results += [Softmax(1)(weight)]
        rows, lines = scope.live(), str(scope).splitlines()
    assert (len(rows), len(lines)) == (16, 12)
    assert max(map(len, lines)) <= 78
    assert lines[-2].split()[0] == "others"
    counted = [line.replace(",", "").split() for line in lines[1:]]
    for column in (1, 2):
        assert sum(int(row[column]) for row in counted[:-1]) == int(counted[-1][column])
    assert int(counted[-1][1]) == len(results) + 4  # the constants 1, 1, 2 and 2 came in
