"""Fused nodes against central differences and against the same composed of small operations.

What others may hold is read-only memory here, so that writing to it is an error.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tinytorch import (
    LayerNorm,
    Linear,
    LogSoftmax,
    Sequential,
    Softmax,
    Tensor,
    gradcheck,
    layer_norm,
    log_softmax,
    no_grad,
    softmax,
)
from tinytorch.generator import Generator

SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)
DTYPES = st.sampled_from(["float32", "float64"])
ROWS: dict[str, Callable[..., Tensor]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": lambda x: layer_norm(x, x.shape[-1]),
}


def numbers(shape: tuple[int, ...], seed: int, dtype: str = "float64") -> np.ndarray:
    """Numbers of which no two in a row are closer than 0.3, in any order."""
    rng = np.random.default_rng(seed)
    apart = rng.permuted(np.broadcast_to(np.arange(shape[-1]) / 2.0, shape), axis=-1)
    return (apart + rng.uniform(-0.6, -0.4, shape)).astype(dtype)


def leaf(array: Any) -> Tensor:
    """A tensor that requires a gradient, on read-only memory."""
    tensor = Tensor(array, dtype=np.asarray(array).dtype, requires_grad=True)
    tensor.data.setflags(write=False)
    return tensor


def composed(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Layer norm of the operations of lesson 01."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / ((centred * centred).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


def slopes(output: Tensor, leaves: list[Tensor], gradient: Any) -> list[np.ndarray]:
    """The gradients of `leaves`, which are forgotten again."""
    output.backward(gradient)
    found = [tensor.grad for tensor in leaves]
    for tensor in leaves:
        tensor.grad = None
    return [grad for grad in found if grad is not None]


def agree(ours: Tensor, theirs: Tensor, leaves: list[Tensor], seed: int) -> None:
    """Equal numbers, gradients and dtypes, to 1e-5 in float32 and 1e-10 in float64."""
    near = 1e-5 if ours.dtype == np.float32 else 1e-10
    assert ours.dtype == theirs.dtype == leaves[0].dtype and ours.shape == theirs.shape
    np.testing.assert_allclose(ours.data, theirs.data, rtol=near, atol=near)
    gradient = np.random.default_rng(seed).uniform(-1, 1, ours.shape).astype(ours.dtype)
    gradient.setflags(write=False)
    wanted = slopes(theirs, leaves, gradient)
    for got, want, tensor in zip(slopes(ours, leaves, gradient), wanted, leaves, strict=True):
        assert got.dtype == tensor.dtype and got.shape == tensor.shape
        np.testing.assert_allclose(got, want, rtol=near, atol=near * max(1, np.abs(want).max(initial=0)))


# --- the numbers ---


def test_by_hand() -> None:
    x = Tensor([[1, 3], [10, 6]], dtype="float64")
    np.testing.assert_allclose(layer_norm(x, 2, eps=0).data, [[-1, 1], [1, -1]])
    np.testing.assert_allclose(layer_norm(x, 2, Tensor([2, 3]), Tensor([10, 20]), eps=0).data, [[8, 23], [12, 17]])
    np.testing.assert_allclose(layer_norm(x, 2, Tensor([2, 3]), eps=0).data, [[-2, 3], [2, -3]])
    np.testing.assert_allclose(layer_norm(x, 2, bias=Tensor([10, 20]), eps=0).data, [[9, 21], [11, 19]])
    np.testing.assert_allclose(layer_norm(x, 2, eps=3).data, [[-0.5, 0.5], [2 / 7**0.5, -2 / 7**0.5]])
    np.testing.assert_allclose(softmax(Tensor(np.log([[1.0, 3.0]]), dtype="float64")).data, [[0.25, 0.75]])
    np.testing.assert_allclose(log_softmax(Tensor([[0, 0], [5, 5]])).data, -np.log([[2, 2], [2, 2]]), rtol=1e-6)


@pytest.mark.parametrize("ours, theirs", [(softmax, Softmax), (log_softmax, LogSoftmax)])
@given(shape=SHAPES, seed=st.integers(0, 99), dtype=DTYPES, size=st.sampled_from([1, 100, 1e4]), data=st.data())
@settings(max_examples=40, deadline=None)
def test_softmaxes_are_those_of_the_lesson(
    ours: Any, theirs: Any, shape: tuple[int, ...], seed: int, dtype: str, size: float, data: st.DataObject
) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = leaf((numbers(shape, seed) * size).astype(dtype))
    agree(ours(x, dim), theirs(dim)(x), [x], seed)


@given(front=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), size=st.integers(1, 40),
       seed=st.integers(0, 99), dtype=DTYPES, eps=st.sampled_from([1e-5, 0.1, 2]))  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_layer_norm_is_the_composed_one(front: tuple[int, ...], size: int, seed: int, dtype: str, eps: float) -> None:
    rng = np.random.default_rng(seed)
    x, weight, bias = leaves = [leaf(numbers(shape, seed, dtype)) for shape in ((*front, size), (size,), (size,))]
    agree(layer_norm(x, size, weight, bias, eps), composed(x, weight, bias, eps), leaves, int(rng.integers(99)))


def test_wide_rows_in_float32() -> None:
    rng = np.random.default_rng(0)
    shapes = (64, 1024), (1024,), (1024,)
    x, weight, bias = leaves = [leaf(rng.standard_normal(shape, dtype=np.float32)) for shape in shapes]
    agree(layer_norm(x, 1024, weight, bias), composed(x, weight, bias, 1e-5), leaves, 1)
    agree(softmax(x), Softmax()(x), [x], 2)
    agree(log_softmax(x), LogSoftmax()(x), [x], 3)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@given(shape=SHAPES, seed=st.integers(0, 99), data=st.data())
@settings(max_examples=20, deadline=None)
def test_slopes_of_softmaxes(name: str, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert gradcheck(lambda x: ROWS[name](x, dim), [numbers(shape, seed)])


@given(front=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3), size=st.integers(1, 4),
       seed=st.integers(0, 99), eps=st.sampled_from([1e-2, 2]))  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_slopes_of_layer_norm(front: tuple[int, ...], size: int, seed: int, eps: float) -> None:
    x, weight, bias = (numbers(shape, seed) for shape in ((*front, size), (size,), (size,)))
    assert gradcheck(lambda x, w, b: layer_norm(x, size, w, b, eps), [x, weight, bias])
    assert gradcheck(lambda x: layer_norm(x, size, eps=eps), [x])


def upside_down(y: Tensor) -> Tensor:
    """One number of all, whose gradient by `y` is a transposed array."""
    return (y.T * np.arange(y.numel()).reshape(y.T.shape)).sum()


@pytest.mark.parametrize("name", ROWS)
def test_layouts_in_memory(name: str) -> None:
    """Transposed inputs, every second number, rows backwards; gradients of one number spread out, or transposed."""
    whole = np.random.default_rng(0).uniform(-2, 2, (6, 8))
    for view in (whole.T, whole[:, ::2], whole[::-1]):
        strided, tidy = leaf(view), leaf(np.ascontiguousarray(view))
        strided.data = view
        for last in (Tensor.sum, upside_down):
            got, want = (slopes(last(ROWS[name](x)), [x], None) for x in (strided, tidy))
            np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_one_number_spread_out_is_as_exact_as_written_out(name: str) -> None:
    """The gradient of a sum repeats one number in memory, which BLAS does not take: a plain loop loses digits."""
    rng = np.random.default_rng(0)
    x, weight = leaf(rng.standard_normal(1_000_000, np.float32)), leaf(0.5 + rng.random(1_000_000, np.float32))
    y = layer_norm(x, 1_000_000, weight) if name == "layer_norm" else ROWS[name](x)
    spread = np.broadcast_to(np.float32(1.1), y.shape)
    y.backward(spread, retain_graph=True)
    got, x.grad = x.grad, None
    y.backward(spread.copy())
    assert np.abs(got - x.grad).max() <= 1e-6 * np.abs(y.data).max()


def test_minus_infinity_is_a_share_of_nothing() -> None:
    x = leaf(np.float32([[0, -np.inf, 0]]))
    y = softmax(x)
    assert y.data.tolist() == [[0.5, 0, 0.5]]
    assert slopes(y, [x], [[4, 2, 0]])[0].tolist() == [[1, 0, -1]]
    z = log_softmax(x)
    assert z.data[0, 1] == -np.inf
    assert slopes(z, [x], [[1, 0, 0]])[0].tolist() == [[0.5, 0, -0.5]]


# --- what others hold ---


@pytest.mark.parametrize("name", ROWS)
def test_only_own_arrays_are_written_to(name: str) -> None:
    """Inputs and gradient are read-only, and so is the output once it is there: a write would be an error."""
    x, gradient = leaf(numbers((3, 4), 0)), numbers((3, 4), 1)
    y = ROWS[name](x)
    y.data.setflags(write=False)
    before = y.data.copy()
    gradient.setflags(write=False)
    y.backward(gradient, retain_graph=True)
    once = x.grad
    x.grad = None
    y.backward(gradient)  # what the first one used up would be missing now
    np.testing.assert_array_equal(x.grad, once)
    np.testing.assert_array_equal(y.data, before)
    assert not np.shares_memory(y.data, x.data)


@pytest.mark.parametrize("name", ROWS)
@given(seed=st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_sharing(name: str, seed: int) -> None:
    """An input, an output and a gradient that several operations hold."""
    made = ROWS[name]
    x = numbers((2, 3), seed)
    assert gradcheck(lambda a: made(a) + made(a), [x])
    assert gradcheck(lambda a: made(a) * made(a) + a, [x], rtol=1e-4)
    assert gradcheck(lambda a: made(made(a) + a), [x], rtol=1e-4)

    def doubled(a: Tensor) -> Tensor:
        y = made(a)
        return y + y

    assert gradcheck(doubled, [x])


def test_one_tensor_as_weight_and_bias_and_input() -> None:
    assert gradcheck(lambda a, b: layer_norm(a, 3, b, b), [numbers((2, 3), 0), numbers((3,), 1)])
    assert gradcheck(lambda a: layer_norm(a, 3, a, a), [numbers((3,), 2)])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_one_node_of_one_dtype_which_backward_empties(name: str, dtype: str) -> None:
    x = leaf(numbers((3, 4), 0, dtype))
    y = ROWS[name](x)
    assert len(y.history()) == 1 and y.operation is not None and y.dtype == dtype
    arrays = [value for value in vars(y.operation).values() if isinstance(value, np.ndarray)]
    assert {array.dtype for array in arrays} == {np.dtype(dtype)}
    kept = [weakref.ref(array) for array in arrays]
    del arrays
    gc.disable()
    try:
        y.sum().backward()
        del y
        assert [ref() for ref in kept] == [None] * len(kept)
    finally:
        gc.enable()


def test_nothing_is_computed_for_a_plain_input() -> None:
    x, weight, bias = Tensor(numbers((2, 3), 0)), leaf(numbers((3,), 1)), leaf(numbers((3,), 2))
    operation = layer_norm(x, 3, weight, bias).operation
    assert operation is not None
    assert [grad is None for grad in operation.backward(np.ones((2, 3)))] == [True, False, False]
    with no_grad():
        assert layer_norm(x, 3, weight, bias).operation is None


# --- dtypes, and no rows ---


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_integers_give_float32(name: str) -> None:
    assert ROWS[name](Tensor([[1, 2]])).dtype == ROWS[name](Tensor([[True, False]])).dtype == np.float32


def test_precision_of_unlike_ones() -> None:
    """The result takes the larger precision, each gradient its own tensor's."""
    x, weight, bias = leaves = [leaf(np.float64([[1, 3]])), leaf(np.float32([2, 3])), leaf(np.float32([10, 20]))]
    y = layer_norm(x, 2, weight, bias)
    assert y.dtype == np.float64
    assert [grad.dtype for grad in slopes(y.sum(), leaves, None)] == [np.float64, np.float32, np.float32]


def test_no_rows() -> None:
    for made in ROWS.values():
        x = leaf(np.zeros((0, 3), np.float32))
        assert [grad.shape for grad in slopes(made(x).sum(), [x], None)] == [(0, 3)]
    weight, bias = leaf(np.float32([1, 1])), leaf(np.float32([0, 0]))
    y = layer_norm(Tensor(np.zeros((0, 2))), 2, weight, bias)
    assert [grad.tolist() for grad in slopes(y.sum(), [weight, bias], None)] == [[0, 0], [0, 0]]


# --- the layer ---


def test_layer() -> None:
    layer = LayerNorm(3, eps=0.5)
    state = layer.state_dict()
    assert {name: array.tolist() for name, array in state.items()} == {"weight": [1, 1, 1], "bias": [0, 0, 0]}
    assert {array.dtype for array in state.values()} == {np.dtype("float32")}
    assert repr(layer) == "LayerNorm(3, eps=0.5, elementwise_affine=True)"
    layer.load_state_dict({"weight": np.float32([1, 2, 3]), "bias": np.float32([4, 5, 6])})
    x = Tensor(numbers((2, 4, 3), 0, "float32"))
    wanted = layer_norm(x, 3, Tensor([1, 2, 3]), Tensor([4, 5, 6]), eps=0.5)
    np.testing.assert_array_equal(layer(x).data, wanted.data)
    plain = LayerNorm(3, elementwise_affine=False)
    assert list(plain.parameters()) == [] and plain.weight is None and plain.bias is None
    np.testing.assert_array_equal(plain(x).data, layer_norm(x, 3).data)


def test_every_parameter_of_a_network_gets_its_gradient() -> None:
    rng = Generator(0)
    model = Sequential(Linear(4, 3, rng=rng), LayerNorm(3), Linear(3, 2, rng=rng), log_softmax)
    model(Tensor(numbers((5, 4), 0, "float32"))).sum().backward()
    assert [(name, p.grad is not None and p.grad.dtype == np.float32) for name, p in model.named_parameters()] == [
        (f"{layer}.{name}", True) for layer in (0, 1, 2) for name in ("weight", "bias")
    ]


# --- what is refused ---

X = Tensor(np.zeros((2, 3), np.float32))
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "array": (lambda: softmax(X.data), TypeError, "softmax: needs a tensor, got ndarray"),
    "dim": (lambda: log_softmax(X, 2), ValueError, r"log_softmax: shape \(2, 3\) has no dimension 2"),
    "dim below": (lambda: softmax(X, -3), ValueError, "softmax: dim must be -2 or more, got -3"),
    "dim of nothing": (lambda: softmax(X, None), TypeError, "softmax: dim must be an integer, got None"),
    "single number": (lambda: softmax(Tensor(3.0), 0), ValueError, r"shape \(\) has no dimension 0"),
    "integers": (lambda: layer_norm(Tensor([1, 2]), 2), TypeError, "needs a tensor of floats, got int64"),
    "rows of an array": (lambda: layer_norm(X.data, 3), TypeError, "needs a tensor of floats, got ndarray"),
    "width": (lambda: layer_norm(X, 2), ValueError, r"x \(2, 3\) must end in 2, the normalized_shape"),
    "no dimension": (lambda: layer_norm(Tensor(1.0), 1), ValueError, r"x \(\) must end in 1"),
    "tuple": (lambda: LayerNorm((3,)), TypeError, r"normalized_shape must be an integer, got \(3,\)"),
    "none": (lambda: LayerNorm(0), ValueError, "normalized_shape must be 1 or more, got 0"),
    "eps": (lambda: LayerNorm(3, eps=-1), ValueError, "eps must be 0 or more"),
    "weight": (lambda: layer_norm(X, 3, Tensor([1.0])), ValueError, r"weight must be \(3,\), .*, got \(1,\)"),
    "bias": (lambda: layer_norm(X, 3, bias=X), ValueError, r"bias must be \(3,\), .*, got \(2, 3\)"),
    "called": (lambda: LayerNorm(2)(X), ValueError, r"layer_norm: x \(2, 3\) must end in 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        call()
