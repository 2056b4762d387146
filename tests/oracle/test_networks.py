"""Layers, losses, optimizers and training beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tinytorch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import Generator, Linear, Parameter, ReLU, Sequential, Tensor

LOGITS = st.tuples(st.integers(1, 6), st.integers(2, 5), st.integers(0, 999))


def drawn(rows: int, classes: int, seed: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 3, (rows, classes)).astype(dtype)


def compare_losses(ours: Any, theirs: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    """Equal loss and equal gradient at the logits."""
    z, t = Tensor(logits, requires_grad=True), torch.tensor(logits, requires_grad=True)
    mine, its = ours(z, Tensor(targets)), theirs(t, torch.tensor(targets))
    np.testing.assert_allclose(mine.data, its.detach().numpy(), rtol=2e-5, atol=2e-6)
    mine.backward()
    its.backward()
    np.testing.assert_allclose(z.grad, t.grad.numpy(), rtol=5e-5, atol=2e-6)


@given(size=LOGITS, weighted=st.booleans(), smoothing=st.sampled_from([0.0, 0.1, 0.7]), ignored=st.integers(-1, 1))
@settings(max_examples=150, deadline=None)
def test_cross_entropy_of_indices(size: tuple[int, int, int], weighted: bool, smoothing: float, ignored: int) -> None:
    rows, classes, seed = size
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, rows)
    if ignored >= 0 and (targets == ignored).all():
        targets[0] = 1 - ignored
    weight = rng.uniform(0.2, 3, classes).astype(np.float32) if weighted else None
    options = {"label_smoothing": smoothing, "ignore_index": ignored if ignored >= 0 else -100}
    theirs = torch.nn.CrossEntropyLoss(weight=None if weight is None else torch.tensor(weight), **options)
    compare_losses(tinytorch.CrossEntropyLoss(weight=weight, **options), theirs, drawn(*size), targets)


@given(size=LOGITS, weighted=st.booleans(), smoothing=st.sampled_from([0.0, 0.1, 0.7]))
@settings(max_examples=60, deadline=None)
def test_cross_entropy_of_probabilities(size: tuple[int, int, int], weighted: bool, smoothing: float) -> None:
    rows, classes, seed = size
    rng = np.random.default_rng(seed)
    targets = rng.dirichlet(np.ones(classes), rows).astype(np.float32)
    weight = rng.uniform(0.2, 3, classes).astype(np.float32) if weighted else None
    theirs = torch.nn.CrossEntropyLoss(
        weight=None if weight is None else torch.tensor(weight), label_smoothing=smoothing
    )
    ours = tinytorch.CrossEntropyLoss(weight=weight, label_smoothing=smoothing)
    compare_losses(ours, theirs, drawn(*size), targets)


@given(size=LOGITS, weighted=st.booleans(), ignored=st.integers(-1, 1))
@settings(max_examples=60, deadline=None)
def test_nll(size: tuple[int, int, int], weighted: bool, ignored: int) -> None:
    rows, classes, seed = size
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, rows)
    if ignored >= 0 and (targets == ignored).all():
        targets[0] = 1 - ignored
    weight = rng.uniform(0.2, 3, classes).astype(np.float32) if weighted else None
    options = {"ignore_index": ignored if ignored >= 0 else -100}
    theirs = torch.nn.NLLLoss(weight=None if weight is None else torch.tensor(weight), **options)
    compare_losses(tinytorch.NLLLoss(weight=weight, **options), theirs, drawn(*size), targets)


@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "BCEWithLogitsLoss"])
@given(size=LOGITS, scale=st.sampled_from([1.0, 1e3]))
@settings(max_examples=40, deadline=None)
def test_elementwise_losses(name: str, size: tuple[int, int, int], scale: float) -> None:
    targets = np.random.default_rng(size[2] + 1).uniform(0, 1, size[:2]).astype(np.float32)
    logits = drawn(*size) * np.float32(scale)
    compare_losses(getattr(tinytorch, name)(), getattr(torch.nn, name)(), logits, targets)


def test_linear_starts_in_the_same_range() -> None:
    ours, theirs = Linear(400, 300, rng=Generator(0)), torch.nn.Linear(400, 300)
    for mine, its in ((ours.weight.data, theirs.weight), (ours.bias.data, theirs.bias)):
        its = its.detach().numpy()
        assert mine.shape == its.shape and mine.dtype == its.dtype
        np.testing.assert_allclose([mine.min(), mine.max()], [-0.05, 0.05], rtol=0.02)
        np.testing.assert_allclose([its.min(), its.max()], [-0.05, 0.05], rtol=0.02)
        np.testing.assert_allclose(mine.std(), its.std(), rtol=0.1)


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.2}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
@pytest.mark.parametrize(("dtype", "rtol", "atol"), [("float32", 1e-5, 2e-6), ("float64", 1e-10, 1e-10)])
def test_optimizers_with_the_same_gradients(
    name: str, options: dict[str, Any], dtype: str, rtol: float, atol: float
) -> None:
    rng = np.random.default_rng(0)
    start = rng.normal(0, 1, (3, 4)).astype(dtype)
    mine, its = Parameter(start, dtype=dtype), torch.nn.Parameter(torch.tensor(start))
    ours, theirs = getattr(tinytorch, name)([mine], **options), getattr(torch.optim, name)([its], **options)
    for step in range(100):
        gradient = rng.normal(0, 1, start.shape).astype(dtype)
        if step % 7 == 3:
            mine.grad, its.grad = None, None  # a parameter without a gradient is left alone
        else:
            mine.grad, its.grad = gradient, torch.tensor(gradient)
        ours.step()
        theirs.step()
        np.testing.assert_allclose(mine.data, its.detach().numpy(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("max_norm", [0.1, 1.0, 100.0])
def test_clip_grad_norm(max_norm: float) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.normal(0, 1, shape).astype(np.float32) for shape in ((3, 4), (5,))]
    ours, theirs = [Parameter(a) for a in arrays], [torch.nn.Parameter(torch.tensor(a)) for a in arrays]
    for mine, its, array in zip(ours, theirs, arrays):
        mine.grad, its.grad = array.copy(), torch.tensor(array)
    norm = tinytorch.clip_grad_norm(ours, max_norm)
    np.testing.assert_allclose(norm, torch.nn.utils.clip_grad_norm_(theirs, max_norm).item(), rtol=1e-6)
    for mine, its in zip(ours, theirs):
        np.testing.assert_allclose(mine.grad, its.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_a_network_trained_for_100_steps(name: str, options: dict[str, Any]) -> None:
    """Float64, so that what remains is the rules, not the rounding."""
    model = Sequential(Linear(6, 8, rng=Generator(0)), ReLU(), Linear(8, 3, rng=Generator(1)))
    twin = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).double()
    for parameter, its in zip(model.parameters(), twin.parameters()):
        parameter.data = parameter.data.astype(np.float64)
        its.data = torch.tensor(parameter.data)
    options = {**options, "lr": 0.01}
    ours = getattr(tinytorch, name)(model.parameters(), **options)
    theirs = getattr(torch.optim, name)(twin.parameters(), **options)
    rng = np.random.default_rng(2)
    for _ in range(100):
        x, labels = rng.normal(0, 1, (5, 6)), rng.integers(0, 3, 5)
        ours.zero_grad()
        theirs.zero_grad()
        loss = tinytorch.CrossEntropyLoss()(model(Tensor(x, dtype="float64")), Tensor(labels))
        its_loss = torch.nn.CrossEntropyLoss()(twin(torch.tensor(x)), torch.tensor(labels))
        np.testing.assert_allclose(loss.item(), its_loss.item(), rtol=1e-9)
        loss.backward()
        its_loss.backward()
        ours.step()
        theirs.step()
    for parameter, its in zip(model.parameters(), twin.parameters()):
        np.testing.assert_allclose(parameter.data, its.detach().numpy(), rtol=1e-9, atol=1e-10)


def test_state_dict_names_and_shapes() -> None:
    model = Sequential(Linear(6, 8, rng=Generator(0)), ReLU(), Linear(8, 3, bias=False, rng=Generator(1)))
    twin = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3, bias=False))
    twin.load_state_dict({name: torch.tensor(array) for name, array in model.state_dict().items()})
    x = drawn(4, 6, 0)
    np.testing.assert_allclose(model(Tensor(x)).data, twin(torch.tensor(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
