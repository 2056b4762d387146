"""Every operation against a central difference, on shapes of any kind inside its domain and away from kinks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tinytorch import (
    GELU,
    Abs,
    Affine,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    L1Loss,
    LogSoftmax,
    MSELoss,
    NLLLoss,
    ReLU,
    Sigmoid,
    Softmax,
    Tanh,
    Tensor,
    gradcheck,
)

Function = Callable[..., Tensor]

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
MATRICES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=3)

# Any real input; each has a slope everywhere.
SMOOTH: dict[str, Function] = {
    "neg": lambda a: -a,
    "exp": lambda a: a.exp(),
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "power 0": lambda a: a**0,
    "times a number": lambda a: 2.5 * a,
    "minus a number": lambda a: 1 - a,
    "base 2": lambda a: 2**a,
    "sigmoid": Sigmoid(),
    "tanh": Tanh(),
    "gelu": GELU(),
    "sum": lambda a: a.sum(),
    "astype": lambda a: a.astype("float64"),
    "reshape": lambda a: a.reshape(-1),
    "T": lambda a: a.T,
    "twice": lambda a: a + a,
    "shared": lambda a: a * a + a,
}
# Inputs at least 0.5 from zero, where these have a kink or end.
AWAY_FROM_ZERO: dict[str, Function] = {"relu": ReLU(), "abs": Abs(), "reciprocal": lambda a: 1 / a}
POSITIVE: dict[str, Function] = {
    "log": lambda a: a.log(),
    "sqrt": lambda a: a.sqrt(),
    "power -1.5": lambda a: a**-1.5,
    "power 0.5": lambda a: a**0.5,
}
PAIRS: dict[str, Function] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Numbers between 0.5 and 2 of either sign."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape)


@pytest.mark.parametrize("name", SMOOTH)
@given(shape=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_smooth(name: str, shape: tuple[int, ...], seed: int) -> None:
    if name == "reshape" and 0 in shape:
        shape = (1,)  # -1 cannot be worked out of nothing
    assert gradcheck(SMOOTH[name], [numbers(shape, seed)])


@pytest.mark.parametrize("name", AWAY_FROM_ZERO)
@given(shape=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_away_from_zero(name: str, shape: tuple[int, ...], seed: int) -> None:
    assert gradcheck(AWAY_FROM_ZERO[name], [numbers(shape, seed)])


@pytest.mark.parametrize("name", POSITIVE)
@given(shape=SHAPES, seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_positive(name: str, shape: tuple[int, ...], seed: int) -> None:
    assert gradcheck(POSITIVE[name], [np.abs(numbers(shape, seed))])


@pytest.mark.parametrize("name", PAIRS)
@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3), seed=st.integers(0, 99)
)
@settings(max_examples=25, deadline=None)
def test_pairs_broadcast(name: str, shapes: hnp.BroadcastableShapes, seed: int) -> None:
    first, second = shapes.input_shapes
    assert gradcheck(PAIRS[name], [numbers(first, seed), numbers(second, seed + 1)])


@given(
    shapes=hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, min_side=0, max_side=3),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_matmul(shapes: hnp.BroadcastableShapes, seed: int) -> None:
    first, second = shapes.input_shapes
    if len(first) < 2 or len(second) < 2:
        first, second = (2, 3), (3, 1)
    assert gradcheck(lambda a, b: a @ b, [numbers(first, seed), numbers(second, seed + 1)])


@pytest.mark.parametrize("fold", ["sum", "mean", "amax"])
@given(shape=MATRICES, seed=st.integers(0, 99), keepdim=st.booleans(), data=st.data())
@settings(max_examples=30, deadline=None)
def test_folds(fold: str, shape: tuple[int, ...], seed: int, keepdim: bool, data: st.DataObject) -> None:
    dims = st.sets(st.integers(-len(shape), -1), min_size=1).map(tuple)
    dim = data.draw(st.one_of(st.none(), dims, st.integers(-len(shape), len(shape) - 1)))
    spread = np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape) * 0.1  # no two are equal
    assert gradcheck(lambda a: getattr(a, fold)(dim=dim, keepdim=keepdim), [spread])


@given(shape=MATRICES, seed=st.integers(0, 99), keepdim=st.booleans(), data=st.data())
@settings(max_examples=20, deadline=None)
def test_max_values(shape: tuple[int, ...], seed: int, keepdim: bool, data: st.DataObject) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    spread = np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape) * 0.1
    assert gradcheck(lambda a: a.max(dim, keepdim=keepdim).values, [spread])
    values, indices = Tensor(spread).max(dim, keepdim=keepdim)
    np.testing.assert_array_equal(values.data, Tensor(spread).amax(dim, keepdim=keepdim).data)
    np.testing.assert_array_equal(indices.data, spread.argmax(axis=dim, keepdims=keepdim))


@pytest.mark.parametrize("soft", [Softmax, LogSoftmax])
@given(shape=MATRICES, seed=st.integers(0, 99), data=st.data())
@settings(max_examples=20, deadline=None)
def test_softmax(soft: type, shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert gradcheck(soft(dim=dim), [numbers(shape, seed)])


@given(shape=MATRICES, seed=st.integers(0, 99), data=st.data())
@settings(max_examples=30, deadline=None)
def test_indexing(shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    repeated = hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4))
    index = data.draw(st.one_of(basic, repeated))
    assert gradcheck(lambda a: a[index], [numbers(shape, seed)])
    mask = numbers(shape, seed) > 0
    assert gradcheck(lambda a: a[mask], [numbers(shape, seed)])


@given(shape=MATRICES, seed=st.integers(0, 99), data=st.data())
@settings(max_examples=20, deadline=None)
def test_permute_and_transpose(shape: tuple[int, ...], seed: int, data: st.DataObject) -> None:
    dims = data.draw(st.permutations(range(len(shape))))
    assert gradcheck(lambda a: a.permute(*dims), [numbers(shape, seed)])
    assert gradcheck(lambda a: a.transpose(0, -1) * 2.0, [numbers(shape, seed)])


@given(front=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_affine(front: tuple[int, ...], seed: int) -> None:
    x, weight, bias = numbers((*front, 3), seed), numbers((2, 3), seed + 1), numbers((2,), seed + 2)
    assert gradcheck(Affine(), [x, weight, bias])
    assert gradcheck(Affine(), [x, weight])


@given(rows=st.integers(1, 4), classes=st.integers(1, 4), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_losses(rows: int, classes: int, seed: int) -> None:
    logits, rng = numbers((rows, classes), seed), np.random.default_rng(seed)
    labels = Tensor(rng.integers(0, classes, rows))
    weight = rng.uniform(0.5, 2, classes)
    shares = rng.dirichlet(np.ones(classes), rows)
    for loss in (
        lambda z: CrossEntropyLoss()(z, labels),
        lambda z: CrossEntropyLoss(weight=weight, label_smoothing=0.1)(z, labels),
        lambda z: CrossEntropyLoss(weight=weight)(z, Tensor(shares, dtype="float64")),
        lambda z: NLLLoss(weight=weight)(LogSoftmax()(z), labels),
        lambda z: MSELoss()(z, Tensor(shares, dtype="float64")),
        lambda z: L1Loss()(z, Tensor(shares + 9.0, dtype="float64")),
        lambda z: BCEWithLogitsLoss()(z, Tensor(shares, dtype="float64")),
    ):
        assert gradcheck(loss, [logits], rtol=1e-4)
