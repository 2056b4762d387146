"""The Trainer: a step depends on a window's samples and not on their cut; an error leaves everything as it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    SGD,
    Adam,
    BCEWithLogitsLoss,
    CosineSchedule,
    CrossEntropyLoss,
    DataLoader,
    Dropout,
    Generator,
    L1Loss,
    Linear,
    MSELoss,
    NLLLoss,
    Parameter,
    Sequential,
    Tanh,
    Tensor,
    TensorDataset,
    Trainer,
    clip_grad_norm,
)
from tinytorch import LogSoftmax as LogSoftmaxOperation
from tinytorch.checkpoint import _file_bytes
from tinytorch.snapshot import gather

Batch = tuple[Tensor, Tensor]
IGNORED = -100


def state(trainer: Trainer) -> tuple[bytes, list[Any]]:
    """Everything of a trainer that an error must leave alone, and its gradients."""
    return _file_bytes(gather(trainer)), [parameter.grad for parameter in trainer.model.parameters()]


def line(**settings: Any) -> Trainer:
    """A model of one weight, 1.0, under the squared error."""
    model = Linear(1, 1, bias=False, rng=Generator(0))
    model.weight.data[:] = 1.0
    return Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss(), **settings)


def pairs(*rows: tuple[list[float], list[float]]) -> list[Batch]:
    return [(Tensor([[x] for x in xs]), Tensor([[y] for y in ys])) for xs, ys in rows]


GOOD = pairs(([1.0, 2.0], [0.0, 0.0]))[0]


@st.composite
def cut_windows(draw: st.DrawFn) -> tuple[int, list[list[int]]]:
    """A number of samples, and several ways to cut them into batches."""
    n = draw(st.integers(2, 12))
    cut = st.lists(st.integers(1, n - 1), unique=True, max_size=n - 1).map(sorted)
    return n, [[], *draw(st.lists(cut, min_size=1, max_size=3))]


def loss_and_targets(name: str, n: int, rng: Generator) -> tuple[Any, np.ndarray]:
    classes = rng.integers(0, 3, (n,))
    if name in ("weighted", "ignoring", "log-likelihood"):
        classes[n // 2 :: 3] = IGNORED
        classes[0] = 1
    weight = [0.5, 2.0, 7.0]
    return {
        "mse": (MSELoss(), rng.normal(0, 1, (n, 3))),
        "l1": (L1Loss(), rng.normal(0, 1, (n, 3))),
        "logits": (BCEWithLogitsLoss(), rng.integers(0, 2, (n, 3))),
        "classes": (CrossEntropyLoss(), classes),
        "smoothed": (CrossEntropyLoss(weight=weight, label_smoothing=0.1), classes),
        "weighted": (CrossEntropyLoss(weight=weight), classes),
        "ignoring": (CrossEntropyLoss(), classes),
        "log-likelihood": (on_logits(NLLLoss(weight=weight)), classes),
        "probabilities": (CrossEntropyLoss(), np.abs(rng.normal(0, 1, (n, 3)))),
        "function": (lambda p, t: ((p - t) ** 2).mean(), rng.normal(0, 1, (n, 3))),
    }[name]


def on_logits(loss: NLLLoss) -> Any:
    """The loss on logits, with its weights."""

    class OnLogits:
        total_weight, correct = loss.total_weight, loss.correct

        def __call__(self, prediction: Tensor, targets: Tensor) -> Tensor:
            return loss(LogSoftmaxOperation(1)(prediction), targets)

    return OnLogits()


def trained_on(name: str, n: int, edges: list[int], seed: int, clip: float | None) -> list[Any]:
    """One epoch of one window, cut at `edges`, then an evaluation of the same cut."""
    rng = Generator(seed)
    inputs, (loss_fn, targets) = rng.normal(0, 1, (n, 4)), loss_and_targets(name, n, rng)
    model = Sequential(Linear(4, 5, rng=Generator(1)), Tanh(), Linear(5, 3, rng=Generator(2)))
    trainer = Trainer(model, SGD(model.parameters(), lr=0.5), loss_fn, grad_clip_norm=clip)
    pieces = [slice(a, b) for a, b in zip([0, *edges], [*edges, n])]
    weighs = getattr(loss_fn, "total_weight", len)
    batches = [(Tensor(inputs[p]), Tensor(targets[p])) for p in pieces if weighs(Tensor(targets[p]))]
    loss = trainer.train_epoch(batches, accumulation_steps=len(pieces))
    assert trainer.step == 1
    return [loss, *trainer.evaluate(batches), *model.state_dict().values()]


LOSSES = [
    "mse", "l1", "logits", "classes", "smoothed", "weighted", "ignoring", "log-likelihood", "probabilities", "function"
]  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=15, deadline=None)
@given(window=cut_windows(), seed=st.integers(0, 99), clip=st.sampled_from([None, 0.05]))
def test_any_cut_of_a_window_gives_the_same_step(
    name: str, window: tuple[int, list[list[int]]], seed: int, clip: float | None
) -> None:
    n, cuts = window
    at_once, *others = [trained_on(name, n, edges, seed, clip) for edges in cuts]
    for other in others:
        for one, two in zip(at_once, other):
            if one is None:
                assert two is None
            else:
                np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=8), accumulation_steps=st.integers(1, 9))
def test_windows_step_by_their_own_samples(sizes: list[int], accumulation_steps: int) -> None:
    rng, trainer = Generator(len(sizes)), line()
    data = [(rng.normal(0, 1, (size, 1)), rng.normal(0, 1, (size, 1))) for size in sizes]
    loss = trainer.train_epoch([(Tensor(x), Tensor(y)) for x, y in data], accumulation_steps)
    weight, total = 1.0, 0.0
    for start in range(0, len(data), accumulation_steps):
        x, y = (np.concatenate(part) for part in zip(*data[start : start + accumulation_steps]))
        total += ((weight * x - y) ** 2).sum()
        weight -= 0.1 * (2 * x * (weight * x - y)).mean()
    np.testing.assert_allclose(trainer.model.weight.data, [[weight]], rtol=1e-5, atol=1e-6)
    assert loss == pytest.approx(total / sum(sizes), rel=1e-5)
    assert trainer.step == trainer.optimizer.step_count == math.ceil(len(sizes) / accumulation_steps)


def test_history_has_its_keys_from_the_start_and_grows() -> None:
    trainer = line(scheduler=CosineSchedule(0.8, 0.2, 2))
    assert trainer.history == dict.fromkeys(trainer.history, [])
    losses = [trainer.train_epoch([GOOD]) for _ in range(3)]
    found = trainer.evaluate([GOOD])
    assert trainer.history == {
        "train_loss": losses,
        "learning_rates": [0.8, 0.5, 0.2],
        "step_learning_rates": [0.8, 0.5, 0.2],
        "eval_loss": [found[0]],
        "accuracy": [None],
    }
    assert all(type(value) is float for value in [*losses, found[0], *trainer.history["learning_rates"]])
    assert (trainer.epoch, trainer.step) == (3, 3)


def test_the_rate_is_set_before_the_first_step() -> None:
    trainer, seen = line(scheduler=CosineSchedule(0.8, 0.2, 2)), []
    step = trainer.optimizer.step
    trainer.optimizer.step = lambda: (seen.append(trainer.optimizer.lr), step())
    trainer.train_epoch([GOOD, GOOD])
    trainer.train_epoch([GOOD])
    assert seen == [0.8, 0.8, 0.5]


def test_old_gradients_do_not_leak_into_the_first_window() -> None:
    fresh, stale = line(), line()
    stale.model.weight.grad = np.float32([[100.0]])
    fresh.train_epoch([GOOD])
    stale.train_epoch([GOOD])
    np.testing.assert_array_equal(fresh.model.weight.data, stale.model.weight.data)


def test_float32_stays() -> None:
    model = Linear(2, 3, rng=Generator(0))
    trainer = Trainer(model, Adam(model.parameters()), CrossEntropyLoss(weight=[1, 2, 3]), grad_clip_norm=np.float64(1))
    for _ in range(100):
        trainer.train_epoch([(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([0, 2]))])
    arrays = [p.data for p in model.parameters()]
    arrays += [memory[name] for memory in trainer.optimizer.state for name in ("exp_avg", "exp_avg_sq")]
    assert {array.dtype for array in arrays} == {np.dtype(np.float32)}


# Arguments


@pytest.mark.parametrize("loader", [[], iter([]), (), None, 3])
def test_a_loader_that_gives_nothing_is_refused_before_anything_changes(loader: Any) -> None:
    trainer = line(scheduler=CosineSchedule(0.8, 0.2, 2))
    trainer.model.weight.grad = np.float32([[7.0]])
    trainer.model.eval()
    before = state(trainer)
    for run in (trainer.train_epoch, trainer.evaluate):
        with pytest.raises((ValueError, TypeError), match="loader"):
            run(loader)
    assert state(trainer) == before
    assert not trainer.model.training


@pytest.mark.parametrize("steps", [0, -1, True, False, 1.0, 2.5, "2", None])
def test_accumulation_steps_must_be_a_positive_integer(steps: Any) -> None:
    trainer = line()
    before = state(trainer)
    with pytest.raises((ValueError, TypeError), match="accumulation_steps"):
        trainer.train_epoch([GOOD], steps)
    assert state(trainer) == before


@pytest.mark.parametrize("norm", [0, -1.0, math.nan, math.inf, "1", True])
def test_parts_that_cannot_be_meant(norm: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="grad_clip_norm"):
        line(grad_clip_norm=norm)
    with pytest.raises(TypeError, match="scheduler"):
        line(scheduler=0.1)


# Batches


class Odd(Exception):
    """Takes two arguments and keeps neither in args."""

    def __init__(self, path: str, number: int) -> None:
        self.path, self.number = path, number

    def __str__(self) -> str:
        return f"{self.path} at {self.number}"


ERRORS: dict[str, Callable[[], Exception]] = {
    "plain": lambda: ValueError("as it is"),
    "repr of its argument": lambda: KeyError("name"),
    "number and file": lambda: OSError(2, "No such file", "data.bin"),
    "five arguments": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"),
    "named arguments": lambda: ImportError("no", name="x"),
    "no text": NotImplementedError,
    "own constructor": lambda: Odd("there", 5),
    "two arguments": lambda: ArithmeticError("two", "arguments"),
    "memory": MemoryError,
}


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("place", ["model", "loader", "loss"])
def test_an_error_keeps_its_type_and_names_the_batch(kind: str, place: str) -> None:
    error, calls = ERRORS[kind](), [0]
    text = str(error)

    def fail() -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise error

    def batches() -> Iterator[Batch]:
        while True:
            if place == "loader":
                fail()
            yield GOOD

    trainer = line()
    inner = trainer.model.forward
    if place == "model":
        trainer.model.forward = lambda x: (fail(), inner(x))[1]
    if place == "loss":
        trainer.loss_fn = lambda p, t: (fail(), ((p - t) ** 2).mean())[1]
    with pytest.raises(type(error)) as caught:
        trainer.train_epoch(batches())
    assert str(caught.value) == f"batch 2: {text}"
    assert type(caught.value).__name__ == type(error).__name__
    assert trainer.step == 2
    for name in ("path", "number", "errno", "filename", "reason"):
        assert getattr(caught.value, name, None) == getattr(error, name, None)


BAD: dict[str, Any] = {
    "empty": (Tensor(np.zeros((0, 1))), Tensor(np.zeros((0, 1)))),
    "empty targets": (Tensor([[1.0]]), Tensor(np.zeros((0, 1)))),
    "nan": (Tensor([[1.0]]), Tensor([[math.nan]])),
    "infinite": (Tensor([[1.0]]), Tensor([[math.inf]])),
    "shapes": (Tensor([[1.0], [2.0]]), Tensor([[1.0]])),
    "array": (np.ones((1, 1)), np.ones((1, 1))),
    "triple": (GOOD[0], GOOD[1], GOOD[1]),
    "no pair": 5,
    "none": None,
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_bad_batch_leaves_everything_as_after_the_last_whole_step(kind: str, at: int, steps: int) -> None:
    trainer = line(scheduler=CosineSchedule(0.1, 0.0, 4), grad_clip_norm=1.0)
    whole = line(scheduler=CosineSchedule(0.1, 0.0, 4), grad_clip_norm=1.0)
    for one in (trainer, whole):
        one.train_epoch([GOOD])
    if at >= steps:
        whole.train_epoch([GOOD] * (at // steps * steps), steps)
    with pytest.raises((ValueError, TypeError)) as caught:
        trainer.train_epoch([GOOD] * at + [BAD[kind]] + [GOOD], steps)
    assert str(caught.value).startswith(f"batch {at}: ")
    assert (trainer.epoch, trainer.step) == (1, whole.step)
    assert {name: len(values) for name, values in trainer.history.items()} == {
        "train_loss": 1, "learning_rates": 1, "step_learning_rates": whole.step, "eval_loss": 0, "accuracy": 0
    }  # fmt: skip
    assert trainer.model.weight.grad is None
    assert trainer.optimizer.lr == whole.optimizer.lr
    np.testing.assert_array_equal(trainer.model.weight.data, whole.model.weight.data)


@pytest.mark.parametrize("settings", [{"weight": [0.0, 1.0]}, {"ignore_index": 0}])
def test_a_batch_that_weighs_nothing_is_an_error_there(settings: Any) -> None:
    model = Linear(1, 2, rng=Generator(0))
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), CrossEntropyLoss(**settings))
    fine, nothing = (Tensor([[1.0]]), Tensor([1])), (Tensor([[1.0]]), Tensor([0]))
    for run in (trainer.train_epoch, trainer.evaluate):
        with pytest.raises(ValueError, match="^batch 1: .*weight"):
            run([fine, nothing, fine])


def test_a_gradient_that_is_not_finite_is_an_error_at_the_window_s_last_batch() -> None:
    trainer = line(grad_clip_norm=1.0)

    def loss_fn(prediction: Tensor, targets: Tensor) -> Tensor:
        zero = prediction.detach() * 0.0
        return (((prediction - prediction.detach()) + zero).sqrt() * 1.0).mean()

    trainer.loss_fn = loss_fn
    before = state(trainer)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="^batch 2: .*norm"):
        trainer.train_epoch([GOOD] * 3, accumulation_steps=4)
    assert state(trainer) == before


@pytest.mark.parametrize(("at", "steps", "stands"), [(0, 1, 3), (1, 1, 4), (2, 2, 5), (1, 2, 3)])
def test_after_an_error_the_loader_stands_behind_the_last_whole_step(at: int, steps: int, stands: int) -> None:
    data = TensorDataset(Tensor(np.ones((6, 1))), Tensor(np.ones((6, 1))))
    loader, trainer = DataLoader(data, batch_size=2, shuffle=True), line()
    trainer.train_epoch(loader)
    plain, calls = trainer.judge, [0]

    def judge(inputs: Tensor, targets: Tensor) -> Any:
        calls[0] += 1
        if calls[0] == at + 1:
            raise KeyboardInterrupt
        return plain(inputs, targets)

    trainer.judge = judge
    with pytest.raises(KeyboardInterrupt):
        trainer.train_epoch(loader, steps)
    assert loader.position == stands
    assert trainer.model.weight.grad is None


# Evaluation


def modes(trainer: Trainer) -> list[bool]:
    return [module.training for module in trainer.model.modules()]


def frozen_in_part() -> Trainer:
    model = Sequential(Dropout(0.5, rng=Generator(0)), Linear(1, 1, rng=Generator(0)), Dropout(0.5, rng=Generator(1)))
    model[2].eval()
    return Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss())


@pytest.mark.parametrize("bad", [None, *BAD.values()], ids=["fine", *BAD])
def test_evaluation_gives_every_module_its_mode_back(bad: Any) -> None:
    trainer = frozen_in_part()
    before, kept = modes(trainer), state(trainer)
    if bad is None:
        trainer.evaluate([GOOD])
    else:
        with pytest.raises((ValueError, TypeError), match="^batch 1: "):
            trainer.evaluate([GOOD, bad])
        assert state(trainer) == kept
    assert modes(trainer) == before == [True, True, True, False]
    assert trainer.model(GOOD[0]).requires_grad


def test_evaluation_draws_nothing_and_leaves_the_loader_where_it_stands() -> None:
    data = TensorDataset(Tensor(np.ones((5, 1))), Tensor(np.zeros((5, 1))))
    loader, trainer = DataLoader(data, batch_size=2), frozen_in_part()
    for position in (0, 1, 2, 3, 7):
        loader.position = position
        drawn = trainer.model[0].rng.state_dict()
        sizes = []
        trainer.accuracy = lambda prediction, targets, sizes=sizes: sizes.append(len(targets)) or 1.0
        assert trainer.evaluate(loader)[1] == 1.0
        assert (loader.position, sum(sizes)) == (position, 5)
        assert trainer.model[0].rng.state_dict() == drawn


def test_accuracy_is_the_loss_s_business() -> None:
    model = Sequential(lambda x: x)
    weight = Parameter([1.0])

    def accuracy(loss_fn: Any, prediction: Any, targets: Any, **settings: Any) -> Any:
        trainer = Trainer(model, SGD([weight], lr=0.1), loss_fn, **settings)
        return trainer.evaluate([(Tensor(prediction), Tensor(targets))])[1]

    logits = [[3.0, 1.0], [0.0, 2.0], [5.0, 4.0], [1.0, 9.0]]
    assert accuracy(CrossEntropyLoss(), logits, [0, 1, 1, IGNORED]) == pytest.approx(2 / 3)
    assert accuracy(NLLLoss(), logits, [0, 0, 0, 1]) == 0.75
    assert accuracy(BCEWithLogitsLoss(), [[2.0], [-1.0], [3.0]], [[1.0], [1.0], [0.0]]) == pytest.approx(1 / 3)
    assert accuracy(MSELoss(), logits, logits) is None
    assert accuracy(L1Loss(), logits, logits) is None
    assert accuracy(lambda p, t: (p * 0.0).mean(), logits, [0, 1, 1, 1]) is None
    assert accuracy(MSELoss(), logits, logits, accuracy=lambda p, t: np.float32(0.25)) == 0.25


# Pieces


@settings(max_examples=50, deadline=None)
@given(
    high=st.floats(1e-6, 10), share=st.floats(0, 1), total=st.integers(1, 50), epoch=st.integers(0, 120)
)  # fmt: skip
def test_the_schedule(high: float, share: float, total: int, epoch: int) -> None:
    low = high * share
    rate = CosineSchedule(high, low, total).get_lr(epoch)
    assert rate == pytest.approx(low + (high - low) * (1 + math.cos(math.pi * min(epoch, total) / total)) / 2)
    assert type(rate) is float
    if epoch >= total:
        assert rate == low


@settings(max_examples=50, deadline=None)
@given(scale=st.floats(1e-18, 1e30), max_norm=st.floats(1e-6, 1e6), seed=st.integers(0, 9))
def test_clipping(scale: float, max_norm: float, seed: int) -> None:
    rng = Generator(seed)
    parameters = [Parameter(np.zeros(shape)) for shape in ((2, 3), (), (4,))]
    for parameter in parameters[:2]:
        parameter.grad = np.asarray(rng.normal(0, 1, parameter.shape) * np.float32(scale), np.float32)
    before = [np.array(p.grad, np.float64) for p in parameters[:2]]
    norm = math.sqrt(sum((grad**2).sum() for grad in before))
    arrays = [p.grad for p in parameters]
    assert clip_grad_norm(iter(parameters), max_norm) == pytest.approx(norm)
    factor = min(1.0, max_norm / norm) if norm else 1.0
    for parameter, array, grad in zip(parameters[:2], arrays, before):
        assert parameter.grad is array and array.dtype == np.float32
        np.testing.assert_allclose(array, grad * factor, rtol=1e-5)
    assert parameters[2].grad is None
