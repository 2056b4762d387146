"""Runs that nobody watches: odd loaders and models, signals at bad moments, full disks, damaged and vanished files."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runs_of import ACCUMULATION, EPOCHS, build, state
from tinytorch import (
    SGD,
    Adam,
    CrossEntropyLoss,
    DataLoader,
    Dropout,
    Generator,
    Linear,
    Module,
    PrefetchLoader,
    RandomSampler,
    ReLU,
    Run,
    SampledLoader,
    Sequential,
    Tensor,
    TensorDataset,
    Trainer,
    WarmupCosineLR,
    WeightedSampler,
    load_model,
)

Parts = tuple[Any, Any, Any]


def fit(parts: Parts, run_dir: Path | None = None, epochs: int = EPOCHS, **options: Any) -> Run:
    trainer, train, val = parts
    options = {"accumulation_steps": ACCUMULATION, "save_interval": 2, "quiet": True, **options}
    return trainer.fit(train, val, epochs=epochs, run_dir=run_dir, **options)


def until(step: int) -> Callable[..., bool]:
    return lambda trainer, row: trainer.step >= step


def assert_exact(tmp_path: Path, make: Callable[[], Parts], stops: tuple[int, ...] = (1, 4, 5)) -> None:
    """Stopped at each of these steps and gone on with by new parts, a run ends with the bits of one never stopped."""
    parts = make()
    fit(parts)
    for stop in stops:
        fit(make(), tmp_path / str(stop), batch_callback=until(stop))
        assert threading.active_count() == 1
        resumed = make()
        resumed[0].model.load_state_dict({name: 0 * array for name, array in parts[0].model.state_dict().items()})
        fit(resumed, tmp_path / str(stop), resume=True)
        assert state(resumed[0]) == state(parts[0])


def steps_of(run: Run) -> list[int]:
    return [row["step"] for row in run.rows if row["kind"] == "step"]


# Loaders


class Endless:
    """Batches without a length and without a place."""

    def __init__(self, loader: DataLoader) -> None:
        self.batches = list(loader)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)


LOADERS: dict[str, Callable[[DataLoader], Any]] = {
    "prefetched": lambda loader: PrefetchLoader(loader, 3),
    "sampled": lambda loader: SampledLoader(loader.dataset, RandomSampler(22, seed=5), 4),
    "prefetched and sampled": lambda loader: PrefetchLoader(
        SampledLoader(loader.dataset, WeightedSampler(np.arange(22) + 1, 17, seed=5), 4)
    ),
    "list": lambda loader: list(DataLoader(loader.dataset, 4)),
    "prefetched list": lambda loader: PrefetchLoader(list(DataLoader(loader.dataset, 4))),
    "without a length": lambda loader: Endless(DataLoader(loader.dataset, 4)),
    "prefetched, without a length": lambda loader: PrefetchLoader(Endless(DataLoader(loader.dataset, 4))),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_run_on_any_loader_goes_on_with_the_same_bits(tmp_path: Path, name: str) -> None:
    def make() -> Parts:
        trainer, train, val = build()
        return trainer, LOADERS[name](train), val

    assert_exact(tmp_path, make)


@pytest.mark.parametrize("name", ["prefetched", "list"])
def test_the_training_loader_may_validate(tmp_path: Path, name: str) -> None:
    def make() -> Parts:
        trainer, train, _ = build()
        loader = LOADERS[name](train)
        return trainer, loader, loader

    assert_exact(tmp_path, make)


def few(batch_size: int = 50) -> DataLoader:
    return DataLoader(TensorDataset(Tensor([[1.0]]), Tensor([0])), batch_size, drop_last=True)


WRONG: dict[str, dict[str, Any]] = {
    "train: fit: train gives no batch": {"train": few()},
    "train: fit: train gives no batch;": {"train": []},
    "train: fit: train must be an iterable": {"train": 3},
    "val: fit: val gives no batch": {"val": few()},
    "val: fit: val must be an iterable": {"val": 0.5},
    "callbacks: must be functions in a list": {"callbacks": print},
    "callbacks: must be functions in a list,": {"callbacks": [3]},
    "callbacks: must be functions in a list, got None": {"callbacks": None},
    "batch_callback: must be a function or None": {"batch_callback": [print]},
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_meant_is_refused_before_a_run_is_made(tmp_path: Path, text: str) -> None:
    trainer, train, val = build()
    before = state(trainer)
    wanted = {"train": train, "val": val, **WRONG[text]}
    with pytest.raises((TypeError, ValueError), match=text.split(": ", 1)[1]):
        trainer.fit(**wanted, epochs=1, run_dir=tmp_path / "runs", quiet=True)
    assert state(trainer) == before and not (tmp_path / "runs").exists()


def test_evaluating_on_no_batch_says_so() -> None:
    with pytest.raises(ValueError, match="1 samples make no batch of 50"):
        build()[0].evaluate(few())


# Models and settings


def trained_by(model: Module, dtype: Any = np.float32, **settings: Any) -> Parts:
    _, train, _ = build()
    rows, labels = train.dataset.tensors
    data = TensorDataset(Tensor(rows.data.astype(dtype)), labels)
    settings = {"scheduler": WarmupCosineLR(0.05, 3, 2 * EPOCHS), "grad_clip_norm": 0.5, **settings}
    trainer = Trainer(model, Adam(model.parameters()), CrossEntropyLoss(), **settings)
    return trainer, DataLoader(data, 4, shuffle=True, seed=5), DataLoader(data, 10)


def tied() -> Parts:
    first, second = (Linear(4, 4, rng=Generator(seed)) for seed in (0, 1))
    second.weight = first.weight
    return trained_by(Sequential(first, ReLU(), second, first, Linear(4, 3, rng=Generator(2))))


def dropped_twice() -> Parts:
    rng = Generator(0)
    dropout = Dropout(0.4, rng=rng)
    return trained_by(Sequential(Linear(4, 8, rng=rng), dropout, ReLU(), dropout, Linear(8, 3, rng=rng)), rng=rng)


def of_float64() -> Parts:
    model = Sequential(Linear(4, 8, rng=Generator(0)), Dropout(0.4, rng=Generator(1)), Linear(8, 3, rng=Generator(2)))
    for parameter in model.parameters():
        parameter.data = parameter.data.astype(np.float64)
    return trained_by(model, np.float64)


def with_a_function() -> Parts:
    return trained_by(Sequential(Linear(4, 3, rng=Generator(0)), lambda x: x * 2))


@pytest.mark.parametrize("make", [tied, dropped_twice, of_float64, with_a_function])
def test_an_odd_model_goes_on_with_the_same_bits(tmp_path: Path, make: Callable[[], Parts]) -> None:
    held = make()  # so that the next has other addresses, as in another process
    assert_exact(tmp_path, make)
    assert held[0].step == 0


class Masked(Module):
    def __init__(self) -> None:
        self.linear = Linear(4, 3, rng=Generator(0))
        self.mask = Tensor([0.0, 0.0, -math.inf])

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) + self.mask


def test_a_mask_of_minus_infinity_may_be_saved(tmp_path: Path) -> None:
    model = Masked()
    data = DataLoader(TensorDataset(Tensor(Generator(0).normal(0, 1, (4, 4))), Tensor([0, 1, 1, 0])), 2)
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), CrossEntropyLoss())
    run = trainer.fit(data, epochs=1, run_dir=tmp_path, quiet=True)
    other = Masked()
    load_model(other, run)
    np.testing.assert_array_equal(other.mask.data, [0, 0, -math.inf])


def test_numpy_s_numbers_are_as_good_as_python_s(tmp_path: Path) -> None:
    half, weights = np.float32(0.5), np.float32([1, 2, 3])
    parts = build(grad_clip_norm=half)
    fit(parts, tmp_path, epochs=np.int64(1), save_interval=np.int32(2), class_weights=list(weights))
    for epochs, same in ((2, [1.0, 2.0, 3.0]), (3, weights), (4, Tensor(weights))):
        parts = build(grad_clip_norm=0.5)
        fit(parts, tmp_path, epochs=epochs, class_weights=same, resume=True)
        assert parts[0].epoch == epochs and len(Run.all(tmp_path)) == 1


class Bounded(CrossEntropyLoss):
    def __init__(self) -> None:
        super().__init__()
        self.least, self.most = -math.inf, math.inf


def test_a_loss_may_have_infinite_arguments(tmp_path: Path) -> None:
    for epochs in (1, 2):
        trainer, train, val = build()
        trainer.loss_fn = Bounded()
        run = fit((trainer, train, val), tmp_path, epochs=epochs, resume=True)
    assert steps_of(run) == [1, 2, 3, 4]


# Going on


def test_a_second_fit_without_an_epoch_to_train_leaves_a_run_that_holds_the_model(tmp_path: Path) -> None:
    parts = build()
    first, second = fit(parts, tmp_path), fit(parts, tmp_path)
    assert first.name != second.name and [step for step, _ in second.step_files()] == [2 * EPOCHS]
    other = build(seed=4)[0].model
    assert load_model(other).name == second.name
    for name, array in parts[0].model.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], array)


def test_a_named_run_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        fit(build(), tmp_path, save_interval=100, batch_callback=fails_at(3))
    [run] = Run.all(tmp_path)
    assert steps_of(run) == [1, 2] and not run.step_files()
    fit(build(), tmp_path, save_interval=100, resume=run.name)
    assert steps_of(run) == list(range(1, 2 * EPOCHS + 1))


def fails_at(step: int) -> Callable[..., None]:
    """Fails in the first batch behind the step before."""

    def callback(trainer: Any, row: dict[str, Any]) -> None:
        if trainer.step == step - 1:
            raise RuntimeError("killed")

    return callback


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def change_an_opcode(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[2] ^= 1  # one bit of EMPTY_DICT, which makes it no opcode: "refused"
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [cut, change_an_opcode])
def test_a_damaged_newest_checkpoint_does_not_outlive_the_whole_ones(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    straight = build()
    fit(straight)
    fit(build(), tmp_path, keep_last_n=2, batch_callback=until(9))
    [run] = Run.all(tmp_path)
    damage(run.step_files()[-1][1])
    last = run.step_files()[-1][0]
    with pytest.raises(RuntimeError, match="killed"):  # before it comes to that step again
        fit(build(), tmp_path, keep_last_n=1, save_interval=1, resume=True, batch_callback=fails_at(last))
    assert (run.folder / f"step_{last}.ckpt.damaged").exists()
    assert [step for step, _ in run.step_files()] == [last - 1]
    parts = build()
    fit(parts, tmp_path, keep_last_n=1, resume=True)
    assert state(parts[0]) == state(straight[0]) and steps_of(run) == list(range(1, 2 * EPOCHS + 1))


def test_a_run_without_a_whole_checkpoint_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    run = fit(build(), tmp_path, epochs=2)
    for _, path in run.step_files():
        cut(path)
    before = {path: path.read_bytes() for path in run.folder.glob("*.ckpt")}
    for _ in range(2):
        with pytest.raises(ValueError, match=r"no checkpoint of run .* is whole: step_4.ckpt, step_2.ckpt; "):
            fit(build(), tmp_path, resume=True)
    assert {path: path.read_bytes() for path in run.folder.glob("*.ckpt*")} == before


def test_kept_between_saving_and_removing_the_older_file_is_found_and_removed(tmp_path: Path) -> None:
    run = fit(build(), tmp_path, epochs=2, keep_last_n=1)
    [(step, path)] = run.step_files()
    shutil.copy(path, run.folder / f"step_{step - 2}.ckpt")  # as if killed between the two
    fit(build(), tmp_path, epochs=3, keep_last_n=1, resume=True)
    assert [step for step, _ in run.step_files()] == [6]


def test_a_checkpoint_is_loaded_between_epochs_and_not_within_one(tmp_path: Path) -> None:
    straight = build()
    fit(straight)
    run = fit(build(), tmp_path, epochs=2)
    path = run.step_files()[-1][1]

    def load_at(batch: int) -> Callable[..., Any]:
        batches = itertools.count(1)
        return lambda trainer, row: next(batches) == batch and trainer.load_checkpoint(path)

    for batch in (6 + 2, 6 + 4):  # in a window, and at the boundary behind it
        parts = build()
        with pytest.raises(RuntimeError, match="load_checkpoint: an epoch is running"):
            fit(parts, batch_callback=load_at(batch))
        parts[0].load_checkpoint(path)
        fit(parts)
        assert state(parts[0]) == state(straight[0])


@pytest.mark.parametrize("extra", [[], 0, "", (), {"a": True}, {"a": 1.5}, {"a": None}, {1: 2}, {"a": np.int64(1)}])
def test_extra_holds_integers_and_text_alone(tmp_path: Path, extra: Any) -> None:
    trainer = build()[0]
    with pytest.raises(TypeError, match="extra"):
        trainer.save_checkpoint(tmp_path / "a", extra=extra)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("at", [2, 4, 5, 8, 11])
def test_after_an_error_the_same_process_goes_on_with_the_same_bits(at: int) -> None:
    """The dropouts drew for batches that no step has used: when these come again, so do their masks."""
    straight, parts, batches = build(), build(), itertools.count(1)
    fit(straight)
    with pytest.raises(ZeroDivisionError):
        fit(parts, batch_callback=lambda trainer, row: 1 // 0 if next(batches) == at else None)
    fit(parts)
    assert state(parts[0]) == state(straight[0])


# Signals, disks, folders


class Struck(DataLoader):
    """Sends this process a signal in the evaluation of the third epoch."""

    trainer: Any
    number: signal.Signals

    def batch_at(self, g: int) -> Any:
        if self.trainer.step == 6 and g == 0:
            os.kill(os.getpid(), self.number)
        return super().batch_at(g)


SIGNALS = {"SIGINT": KeyboardInterrupt, "SIGTERM": SystemExit} if os.name == "posix" else {"SIGINT": KeyboardInterrupt}


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("where", ["callback", "evaluation"])
def test_a_signal_between_epochs_ends_the_run_behind_the_epoch(tmp_path: Path, name: str, where: str) -> None:
    straight, (trainer, train, val) = build(), build()
    fit(straight)
    struck = Struck(val.dataset, batch_size=10)
    struck.trainer, struck.number = trainer, signal.Signals[name]
    strike = lambda trainer, row: os.kill(os.getpid(), signal.Signals[name]) if row["epoch"] == 3 else None  # noqa: E731
    at = {"callbacks": [strike]} if where == "callback" else {}
    with pytest.raises(SIGNALS[name]):
        fit((trainer, train, val if at else struck), tmp_path, save_interval=100, **at)
    assert [step for step, _ in Run.all(tmp_path)[0].step_files()] == [6]
    parts = build()
    run = fit(parts, tmp_path, save_interval=100, resume=True)
    assert state(parts[0]) == state(straight[0]) and steps_of(run) == list(range(1, 2 * EPOCHS + 1))


def test_a_folder_that_vanishes_ends_the_run_and_the_process_can_go_on(tmp_path: Path) -> None:
    straight, parts = build(), build()
    fit(straight)

    def remove(trainer: Any, row: dict[str, Any]) -> None:
        if row["epoch"] == 2:
            shutil.rmtree(tmp_path / "runs")

    with pytest.raises(FileNotFoundError, match="model_last.ckpt"):
        fit(parts, tmp_path / "runs", callbacks=[remove], save_interval=100)
    fit(parts)
    assert state(parts[0]) == state(straight[0])


if os.name == "posix":

    @pytest.mark.parametrize("largest", [100, 500, 900, 2000, 3000])
    def test_a_full_disk_ends_the_run_which_goes_on_when_there_is_room(tmp_path: Path, largest: int) -> None:
        """No file may grow over so many bytes: metrics, or a checkpoint, do not fit."""
        import resource

        straight, parts = build(), build()
        fit(straight)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

        def fill(trainer: Any, row: dict[str, Any]) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))

        try:
            with pytest.raises(OSError, match="File too large"):
                fit(parts, tmp_path, batch_callback=fill)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not list(tmp_path.glob("*/*.tmp"))
        resumed = build()
        run = fit(resumed, tmp_path, resume=Run.all(tmp_path)[0].name)
        assert state(resumed[0]) == state(straight[0]) and steps_of(run) == list(range(1, 2 * EPOCHS + 1))
        fit(parts)  # in the process that met the full disk
        assert state(parts[0]) == state(straight[0])


def test_names_of_any_letters(tmp_path: Path) -> None:
    run = fit(build(), tmp_path / "läufe 日本", epochs=1)
    parts = build()
    assert fit(parts, tmp_path / "läufe 日本", epochs=2, resume=run.name).name == run.name
    assert parts[0].epoch == 2
