"""The walk of backward: deep and shared graphs, memory, sharing of arrays, and what it refuses."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from tinytorch import (
    Adam,
    Add,
    CrossEntropyLoss,
    Generator,
    Linear,
    MSELoss,
    Parameter,
    ReLU,
    Sequential,
    Tensor,
    is_grad_enabled,
    no_grad,
)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """The cyclic garbage collector switched off."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_million_operations() -> None:
    x = Tensor([1.0], requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    y.backward()
    np.testing.assert_array_equal(x.grad, [1.0])


def test_a_million_operations_dropped_without_backward() -> None:
    y = Tensor([1.0], requires_grad=True)
    for _ in range(1_000_000):
        y = y + 1.0
    del y


def test_every_operation_of_a_shared_graph_runs_backward_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk along every path would take 2 ** 1000 calls."""
    calls, plain = [0], Add.backward

    def counted(self: Add, grad: np.ndarray) -> object:
        calls[0] += 1
        return plain(self, grad)

    monkeypatch.setattr(Add, "backward", counted)
    x = Tensor([1.0], dtype="float64", requires_grad=True)
    y = x
    for _ in range(1000):
        y = y + y
    y.backward()
    assert x.grad is not None and x.grad[0] == 2.0**1000
    assert calls == [1000]


def test_no_node_refers_to_itself(no_collector: None) -> None:
    x = Tensor([1.0], requires_grad=True)
    y = (x * 2.0 + 1.0).exp()
    between = weakref.ref(y.operation)
    del y
    assert between() is None


def test_memory_is_freed_by_backward(no_collector: None) -> None:
    x = Tensor(np.ones(4), requires_grad=True)
    middle = x * 2.0
    kept = weakref.ref(middle.operation.inputs[1])
    middle.sum().backward()
    assert kept() is None


def test_training_holds_no_more_objects_step_by_step(no_collector: None) -> None:
    model = Sequential(Linear(8, 16, rng=Generator(0)), ReLU(), Linear(16, 4, rng=Generator(1)))
    optimizer, loss_fn = Adam(model.parameters()), CrossEntropyLoss()
    x, labels = Tensor(Generator(2).normal(0, 1, (32, 8))), Tensor(Generator(3).integers(0, 4, 32))

    def step() -> None:
        optimizer.zero_grad()
        loss_fn(model(x), labels).backward()
        optimizer.step()

    for _ in range(10):
        step()
    before = len(gc.get_objects())
    for _ in range(300):
        step()
    assert len(gc.get_objects()) - before < 50


def test_everything_stays_float32() -> None:
    model = Sequential(Linear(3, 5, rng=Generator(0)), ReLU(), Linear(5, 2, rng=Generator(1)))
    optimizer = Adam(model.parameters(), weight_decay=0.01)
    for g in range(100):
        x = Tensor(Generator(g).normal(0, 1, (4, 3)))
        optimizer.zero_grad()
        MSELoss()(model(x), Tensor(np.ones((4, 2)))).backward()
        assert all(p.grad.dtype == np.float32 for p in model.parameters())
        optimizer.step()
    assert all(p.data.dtype == np.float32 for p in model.parameters())

    def arrays(value: object) -> Iterator[np.ndarray]:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, dict):
            for inner in value.values():
                yield from arrays(inner)
        elif isinstance(value, (list, tuple)):
            for inner in value:
                yield from arrays(inner)

    moments = list(arrays(optimizer.state_dict()))
    assert moments and all(moment.dtype == np.float32 for moment in moments if moment.dtype.kind == "f")


class TestSharing:
    """Gradients that reach several parents as one array."""

    def test_one_tensor_twice(self) -> None:
        y = Tensor([3.0], requires_grad=True)
        z = y + y
        (z + z).backward()
        np.testing.assert_array_equal(y.grad, [4.0])

    def test_two_leaves_do_not_share_an_array(self) -> None:
        a, b = Tensor([1.0], requires_grad=True), Tensor([2.0], requires_grad=True)
        (a + b).backward()
        a.grad *= 5
        np.testing.assert_array_equal(b.grad, [1.0])

    def test_a_leaf_does_not_share_the_gradient_it_was_given(self) -> None:
        a, given = Tensor([1.0, 2.0], requires_grad=True), np.array([3.0, 4.0], dtype=np.float32)
        (a + 0.0).backward(given)
        a.grad *= 2
        np.testing.assert_array_equal(given, [3.0, 4.0])

    def test_a_weight_used_twice(self) -> None:
        weight = Parameter([[2.0]])
        x = Tensor([[3.0]])
        ((x @ weight) @ weight).sum().backward()
        np.testing.assert_array_equal(weight.grad, [[12.0]])

    def test_a_residual(self) -> None:
        x = Tensor([2.0, -1.0], requires_grad=True)
        y = x + ReLU()(x)
        (y + ReLU()(y)).sum().backward()
        np.testing.assert_array_equal(x.grad, [4.0, 1.0])

    def test_a_sum_hands_out_a_writable_gradient(self) -> None:
        x = Tensor(np.zeros((2, 3)), requires_grad=True)
        x.sum().backward()
        x.grad += 1
        np.testing.assert_array_equal(x.grad, np.full((2, 3), 2.0))


class TestRefusals:
    """What backward does not do, and says so."""

    def test_nothing_requires_a_gradient(self) -> None:
        with pytest.raises(RuntimeError, match="requires_grad=True"):
            Tensor([1.0]).backward()

    def test_several_numbers_without_a_gradient(self) -> None:
        with pytest.raises(RuntimeError, match=r"\(2,\).*sum"):
            (Tensor([1.0, 2.0], requires_grad=True) * 2).backward()

    def test_a_gradient_of_another_shape(self) -> None:
        with pytest.raises(ValueError, match=r"\(3,\).*\(2,\)"):
            (Tensor([1.0, 2.0], requires_grad=True) * 2).backward(np.ones(3))

    def test_a_freed_graph_leaves_gradients_as_they_were(self) -> None:
        x = Tensor([2.0], requires_grad=True)
        middle = x * x
        middle.backward()
        with pytest.raises(RuntimeError, match="retain_graph=True"):
            (middle * 3.0).backward()
        np.testing.assert_array_equal(x.grad, [4.0])

    def test_a_retained_graph(self) -> None:
        x = Tensor([2.0], requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        np.testing.assert_array_equal(x.grad, [8.0])

    def test_item_assignment(self) -> None:
        x = Tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(RuntimeError, match="no_grad"):
            x[0] = 5.0
        with no_grad():
            x[0] = 5.0
        np.testing.assert_array_equal(x.data, [5.0, 2.0])
        plain = Tensor([1.0, 2.0])
        plain[1] = Tensor(7.0)
        np.testing.assert_array_equal(plain.data, [1.0, 7.0])

    def test_integers_require_no_gradient(self) -> None:
        with pytest.raises(TypeError, match="float"):
            Tensor([1, 2], requires_grad=True)


class TestModes:
    """no_grad, detach, retain_grad."""

    def test_no_grad_nests_and_ends_with_an_error(self) -> None:
        switch = no_grad()
        with switch, switch:
            assert not is_grad_enabled()
        assert is_grad_enabled()
        with pytest.raises(KeyError), no_grad():
            raise KeyError
        assert is_grad_enabled()

    def test_no_grad_as_decorator(self) -> None:
        @no_grad()
        def double(x: Tensor) -> Tensor:
            return x * 2

        assert not double(Tensor([1.0], requires_grad=True)).requires_grad

    def test_no_grad_holds_for_its_thread_only(self) -> None:
        seen: list[bool] = []
        with no_grad():
            thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
            thread.start()
            thread.join()
        assert seen == [True]

    def test_detach_shares_the_numbers(self) -> None:
        x = Tensor([1.0], requires_grad=True)
        cut = x.detach()
        cut.data[0] = 9.0
        assert x.data[0] == 9.0 and not cut.requires_grad

    def test_retain_grad(self) -> None:
        x = Tensor([3.0], requires_grad=True)
        y = x * 2
        y.retain_grad()
        (y * y).backward()
        np.testing.assert_array_equal(y.grad, [12.0])
        np.testing.assert_array_equal(x.grad, [24.0])

    def test_gradients_are_arrays_of_the_tensors_dtype(self) -> None:
        small, large = Tensor(2.0, requires_grad=True), Tensor(3.0, dtype="float64", requires_grad=True)
        (small * large).backward()
        assert type(small.grad) is np.ndarray and small.grad.dtype == np.float32
        assert type(large.grad) is np.ndarray and large.grad.dtype == np.float64
        (small * 1.0).backward()
        assert type(small.grad) is np.ndarray and small.grad.shape == ()
