"""The fast optimizers do what the lesson's do, whatever happens between steps, and stop and resume without a trace."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinytorch import (
    SGD,
    Adam,
    AdamW,
    CheckpointError,
    CosineLR,
    CrossEntropyLoss,
    DataLoader,
    Dropout,
    FastAdam,
    FastAdamW,
    FastSGD,
    Generator,
    Linear,
    Optimizer,
    Parameter,
    ReLU,
    Sequential,
    Tensor,
    TensorDataset,
    Trainer,
    checkpoint,
    clip_grad_norm,
)
from tinytorch.flat import STRETCH
from tinytorch.snapshot import gather

STEPS = 100
FAST: dict[type[Optimizer], type[Optimizer]] = {SGD: FastSGD, Adam: FastAdam, AdamW: FastAdamW}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sgd": (SGD, {"lr": 0.1}),
    "decay": (SGD, {"lr": 0.1, "weight_decay": 0.01}),
    "momentum": (SGD, {"lr": 0.1, "momentum": 0.9}),
    "momentum and decay": (SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    "nesterov": (SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}),
    "adam": (Adam, {}),
    "adam, decay": (Adam, {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    "adamw": (AdamW, {"lr": 0.01, "weight_decay": 0.1}),
}
SHAPES: list[tuple[int, ...]] = [(3, 4), (), (5,), (1,), (2, 3, 2)]
LARGE: list[tuple[int, ...]] = [(5,), (260, 300), (2,), (STRETCH,), (3,), (400, 500), (7,)]  # stretches of all kinds
Between = Callable[[int, Optimizer], None]


def parameters(shapes: list[tuple[int, ...]] = SHAPES, dtype: str = "float32") -> list[Parameter]:
    rng = Generator(1)
    return [Parameter(rng.normal(0, 1, shape), dtype=dtype) for shape in shapes]


def give_gradients(step: int, optimizer: Optimizer) -> None:
    """Of every size from 0.001 to 1000, the same for every optimizer."""
    rng = Generator(7).split(f"step {step}")
    for i, parameter in enumerate(optimizer.params):
        parameter.grad = np.asarray(rng.normal(0, 10.0 ** (i % 7 - 3), parameter.shape), dtype=parameter.dtype)


def run(optimizer: Optimizer, between: Between = lambda step, optimizer: None, steps: int = STEPS) -> Optimizer:
    for step in range(optimizer.step_count, steps):
        give_gradients(step, optimizer)
        between(step, optimizer)
        optimizer.step()
        optimizer.zero_grad()
    return optimizer


def assert_same(fast: Optimizer, slow: Optimizer, rtol: float = 1e-6) -> None:
    """Weights, states, counts; an entry may be off by `rtol` of the largest of its array."""
    assert fast.step_count == slow.step_count
    for ours, theirs in zip(fast.params, slow.params):
        assert_close(ours.data, theirs.data, rtol)
    for mine, other in zip(fast.state, slow.state):
        assert list(mine) == list(other) and mine.get("step") == other.get("step")
        for name in mine.keys() - {"step"}:
            assert_close(mine[name], other[name], rtol)


def assert_close(ours: np.ndarray, theirs: np.ndarray, rtol: float) -> None:
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * float(np.abs(theirs).max(initial=0)))


def bits(optimizer: Optimizer) -> bytes:
    return pickle.dumps([[parameter.data.tobytes() for parameter in optimizer.params], optimizer.state_dict()])


def compare(case: str, between: Between, shapes: list[tuple[int, ...]] = SHAPES, steps: int = STEPS) -> Optimizer:
    kind, settings = CASES[case]
    fast = run(FAST[kind](parameters(shapes), **settings), between, steps)
    assert_same(fast, run(kind(parameters(shapes), **settings), between, steps))
    return fast


@pytest.mark.parametrize("case", CASES)
def test_same_results(case: str) -> None:
    fast = compare(case, lambda step, optimizer: None)
    assert len({id(parameter.data.base) for parameter in fast.params}) == 1
    assert type(fast.params[1].data) is np.ndarray and fast.params[1].shape == ()


@pytest.mark.parametrize("case", CASES)
def test_large_parameters(case: str) -> None:
    def between(step: int, optimizer: Optimizer) -> None:
        if step == 2:
            optimizer.params[1].grad = None
        if step == 4:
            optimizer.params[5].grad = np.asfortranarray(optimizer.params[5].grad)

    compare(case, between, LARGE, steps=6)


@pytest.mark.parametrize("case", CASES)
def test_a_schedule_and_clipping(case: str) -> None:
    schedule = CosineLR(0.1, total_steps=STEPS, min_lr=0.001)

    def between(step: int, optimizer: Optimizer) -> None:
        clip_grad_norm(optimizer.params, 0.5)
        optimizer.lr = schedule.lr_at(step)

    compare(case, between)


@pytest.mark.parametrize("case", CASES)
def test_parameters_without_a_gradient(case: str) -> None:
    """One never has one, one begins late, one misses some, and in one step all do."""

    def between(step: int, optimizer: Optimizer) -> None:
        for i, missing in enumerate([True, step < 30, step % 7 == 3, step == 50]):
            if missing or step == 50:
                optimizer.params[i].grad = None

    fast = compare(case, between)
    assert fast.state[0] == {}


@pytest.mark.parametrize("case", CASES)
def test_data_that_was_set_anew(case: str) -> None:
    def between(step: int, optimizer: Optimizer) -> None:
        if step % 20 == 10:
            first, second = optimizer.params[0], optimizer.params[4]
            first.data = first.data * np.float32(0.5)
            second.data = second.data[::-1]

    compare(case, between)


def test_exchanged_data_and_states() -> None:
    def between(step: int, optimizer: Optimizer) -> None:
        first, second = optimizer.params[:2]
        if step == 40:
            first.data, second.data = second.data, first.data
            optimizer.state[:2] = optimizer.state[1::-1]
        if step == 60:
            optimizer.state[0] = {}
        if step == 70:
            optimizer.state[1]["exp_avg"] = optimizer.state[1]["exp_avg"] * np.float32(2)

    compare("adam", between, [(2, 3), (2, 3), (4,)])


def test_weights_that_share_memory() -> None:
    def between(step: int, optimizer: Optimizer) -> None:
        if step in (0, 30):
            optimizer.params[1].data = optimizer.params[0].data.T

    for case in ("momentum", "adam"):
        fast = compare(case, between, [(2, 3), (3, 2), (4,)])
        assert np.shares_memory(fast.params[0].data, fast.params[1].data)


def test_no_numbers_at_all() -> None:
    compare("adamw", lambda step, optimizer: None, [(0, 3), (2,)])
    compare("momentum", lambda step, optimizer: None, [(0,)])


def test_the_order_of_the_numbers_stays() -> None:
    fast = FastAdam([Parameter(np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])), Parameter([1.0])])
    run(fast, steps=3)
    assert fast.params[0].data.flags.f_contiguous


def test_gradients_as_they_come() -> None:
    """Another dtype, another order, a shape that spreads, the weights themselves: and they stay as they were."""

    def between(step: int, optimizer: Optimizer) -> None:
        first, _, third, _, last = optimizer.params
        if step % 3 == 0 and step > 0:  # the lesson's moments take the dtype of the first
            third.grad = third.grad.astype(np.float64)
            first.grad = first.grad[:1]
        if step % 3 == 1:
            third.grad, last.grad = third.data, np.asfortranarray(last.grad)
        if step % 3 == 2:
            last.grad.flags.writeable = False

    for case in ("nesterov", "adam, decay"):
        compare(case, between)


@pytest.mark.parametrize("case", CASES)
def test_gradients_stay(case: str) -> None:
    kind, settings = CASES[case]
    for shapes in (SHAPES, [(20,)], LARGE):
        optimizer = FAST[kind](parameters(shapes), **settings)
        for step in range(2):
            give_gradients(step, optimizer)
            before = [parameter.grad.copy() for parameter in optimizer.params if parameter.grad is not None]
            optimizer.step()
            for parameter, grad in zip(optimizer.params, before):
                np.testing.assert_array_equal(parameter.grad, grad)


def test_each_dtype_by_itself() -> None:
    def mixed() -> list[Parameter]:
        pairs = zip(parameters([(2, 3), (4,)]), parameters([(3, 3), (2,)], "float64"))
        return [parameter for pair in pairs for parameter in pair]

    fast, slow = run(FastAdam(mixed())), run(Adam(mixed()))
    assert_same(fast, slow)
    assert {str(parameter.dtype) for parameter in fast.params} == {"float32", "float64"}
    for ours, theirs in zip(fast.params[1::2], slow.params[1::2]):
        np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_one_by_one_gives_the_same_bits(case: str) -> None:
    """So it cannot be seen later which steps were made in blocks."""
    kind, settings = CASES[case]
    together = FAST[kind](parameters(LARGE), **settings)
    alone = [FAST[kind]([parameter], **settings) for parameter in parameters(LARGE)]
    for step in range(4):
        give_gradients(step, together)
        together.step()
        for parameter, optimizer in zip(together.params, alone):
            optimizer.update(optimizer.params[0].data, parameter.grad, optimizer.state[0])
    for parameter, optimizer in zip(together.params, alone):
        np.testing.assert_array_equal(parameter.data, optimizer.params[0].data)


@pytest.mark.parametrize("case", CASES)
def test_states_are_exchanged(case: str) -> None:
    """From the lesson's optimizer to the fast one and back."""
    kind, settings = CASES[case]
    straight = run(kind(parameters(), **settings))
    params, maker, state = parameters(), kind, None
    for steps in (0, 30, 60, STEPS):
        optimizer = maker(params, **settings)
        if state:
            optimizer.load_state_dict(state)
        state = run(optimizer, steps=steps).state_dict()
        maker = FAST[kind] if maker is kind else kind
    assert_same(optimizer, straight)


@pytest.mark.parametrize("case", CASES)
def test_a_state_is_a_copy_and_comes_back(case: str) -> None:
    kind, settings = CASES[case]
    optimizer = run(FAST[kind](parameters(), **settings), steps=5)
    state, weights = optimizer.state_dict(), [parameter.data.copy() for parameter in optimizer.params]
    after = bits(run(optimizer, steps=10))
    for parameter, weight in zip(optimizer.params, weights):
        parameter.data[...] = weight
    optimizer.load_state_dict(state)
    assert bits(run(optimizer, steps=10)) == after


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    optimizer = run(FastAdam(parameters()), steps=5)
    before, state = bits(optimizer), optimizer.state_dict()
    state["state"][2]["exp_avg"] = np.zeros(3, np.float32)
    with pytest.raises(ValueError, match="exp_avg"):
        optimizer.load_state_dict(state)
    assert bits(optimizer) == before
    assert bits(run(optimizer, steps=9)) == bits(run(FastAdam(parameters()), steps=9))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_goes_its_own_way(copied: Callable[[Any], Any]) -> None:
    original = run(FastAdam(parameters()), steps=5)
    other, before = copied(original), bits(original)
    ran = bits(run(other, steps=12))
    assert bits(original) == before
    assert bits(run(original, steps=12)) == ran


def test_settings_change_between_steps() -> None:
    def between(step: int, optimizer: Any) -> None:
        optimizer.momentum = 0.0 if step < 10 or 40 < step < 60 else 0.9
        optimizer.weight_decay = 0.01 * (step % 2)

    compare("sgd", between)


def test_two_in_turn_on_the_same_parameters() -> None:
    def both(first: type[Any], second: type[Any]) -> Optimizer:
        one = first(parameters(), lr=0.1, momentum=0.5)
        two = second(one.params)
        for step in range(10):
            for optimizer in (one, two):
                give_gradients(step, optimizer)
                optimizer.step()
        return two

    assert_same(both(FastSGD, FastAdam), both(SGD, Adam))


def test_refusals_are_the_lessons() -> None:
    with pytest.raises(ValueError, match="nesterov needs momentum"):
        FastSGD(parameters(), lr=0.1, nesterov=True)
    with pytest.raises(ValueError, match="FastAdam: lr"):
        FastAdam(parameters(), lr=-1)
    with pytest.raises(ValueError, match="comes twice"):
        FastAdamW(parameters()[:1] * 2)
    assert FastAdamW(parameters()).weight_decay == AdamW(parameters()).weight_decay


def build(optimizer: Callable[[Any], Optimizer]) -> tuple[Trainer, DataLoader]:
    rng = Generator(3)
    first, last = Linear(4, 8, rng=rng.split("a")), Linear(8, 3, rng=rng.split("c"))
    model = Sequential(first, ReLU(), Dropout(0.3, rng=rng.split("b")), last)
    rows, labels = Generator(9).normal(0, 1, (22, 4)), Generator(9).integers(0, 3, (22,))
    loader = DataLoader(TensorDataset(Tensor(rows), Tensor(labels)), batch_size=4, shuffle=True, seed=5)
    schedule = CosineLR(0.05, total_steps=30, min_lr=0.001)
    return Trainer(model, optimizer(model.parameters()), CrossEntropyLoss(), schedule, grad_clip_norm=1.0), loader


def everything(trainer: Trainer) -> bytes:
    return checkpoint._file_bytes(gather(trainer))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, case: str, stop: int) -> None:
    kind, settings = CASES[case]

    def made(params: Any) -> Optimizer:
        return FAST[kind](params, **settings)

    straight, loader = build(made)
    for epoch in range(5):
        if epoch == stop:
            straight.save_checkpoint(tmp_path / "run.ckpt")
        straight.train_epoch(loader, accumulation_steps=2)
    (resumed, other), (_, loader) = build(made), build(made)
    resumed.train_epoch(other)  # so that it has blocks, and other weights
    resumed.load_checkpoint(tmp_path / "run.ckpt", loader if stop else None)
    for _ in range(stop, 5):
        resumed.train_epoch(loader, accumulation_steps=2)
    assert everything(resumed) == everything(straight)


def test_a_trainer_learns_the_same() -> None:
    (fast, loader), (slow, same) = build(FastAdamW), build(AdamW)
    for _ in range(5):
        fast.train_epoch(loader)
        slow.train_epoch(same)
    np.testing.assert_allclose(fast.history["train_loss"], slow.history["train_loss"], rtol=1e-5)


def test_a_checkpoint_names_its_optimizer(tmp_path: Path) -> None:
    (slow, _), (fast, _) = build(Adam), build(FastAdam)
    slow.save_checkpoint(tmp_path / "run.ckpt")
    with pytest.raises(CheckpointError, match="FastAdam"):
        fast.load_checkpoint(tmp_path / "run.ckpt")


def test_an_error_within_a_step_confuses_nothing() -> None:
    """A gradient of no fitting shape is refused as the lesson refuses it, and the run goes on."""

    def between(step: int, optimizer: Optimizer) -> None:
        if step == 5:
            optimizer.params[2].grad = np.ones(4, np.float32)
            with pytest.raises(ValueError, match="broadcast"):
                optimizer.step()
            optimizer.params[2].grad = None

    compare("adam", between, [(2,), (3,), (5,)])


def test_a_pickle_holds_every_number_once() -> None:
    fast, slow = run(FastAdam(parameters(LARGE)), steps=1), run(Adam(parameters(LARGE)), steps=1)
    assert len(pickle.dumps(fast)) < 1.01 * len(pickle.dumps(slow))
