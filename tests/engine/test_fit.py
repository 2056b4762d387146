"""Trainer.fit: a run's folder, going on to the bit, ending at a step, refusing what is another run's."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinytorch
from runs_of import ACCUMULATION, EPOCHS, build, state
from tinytorch import (
    SGD,
    CheckpointError,
    CosineSchedule,
    CrossEntropyLoss,
    DataLoader,
    Dropout,
    Generator,
    Linear,
    MSELoss,
    Run,
    Sequential,
    Tensor,
    TensorDataset,
    Trainer,
    load_model,
)

PROGRAM = Path(__file__).with_name("runs_of.py")
PACKAGE = str(Path(tinytorch.__file__).parent.parent)
STEPS = 2 * EPOCHS
KILL_POINTS = int(os.environ.get("TITO_KILL_POINTS", "20"))


def fit(parts: tuple[Any, Any, Any], run_dir: Path | None, epochs: int = EPOCHS, **options: Any) -> Run:
    trainer, train, val = parts
    options = {"accumulation_steps": ACCUMULATION, "save_interval": 2, "quiet": True, **options}
    return trainer.fit(train, val, epochs=epochs, run_dir=run_dir, **options)


@pytest.fixture(scope="module")
def straight() -> str:
    """The state at the end of the run that was never stopped, and is kept nowhere."""
    parts = build()
    fit(parts, None)
    assert parts[0].step == STEPS
    return state(parts[0])


def rows(run: Run, kind: str) -> list[dict[str, Any]]:
    lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == kind]


# What a run leaves


def test_a_run_leaves_log_metrics_configuration_and_checkpoints(tmp_path: Path) -> None:
    parts = build()
    run = fit(parts, tmp_path, keep_last_n=2)
    trainer = parts[0]
    assert [row["step"] for row in rows(run, "step")] == list(range(1, STEPS + 1))
    assert [row["lr"] for row in rows(run, "step")] == trainer.history["step_learning_rates"]
    epochs = rows(run, "epoch")
    assert [row["train_loss"] for row in epochs] == trainer.history["train_loss"]
    assert [row["val_loss"] for row in epochs] == trainer.history["eval_loss"]
    assert [row["accuracy"] for row in epochs] == trainer.history["accuracy"]
    assert [step for step, _ in run.step_files()] == [STEPS - 2, STEPS]
    log = (run.folder / "train.log").read_text(encoding="utf-8")
    assert log.count("train_loss") == EPOCHS and "WarmupCosineLR sets the rate before each step" in log
    config = json.loads((run.folder / "config.json").read_text(encoding="utf-8"))
    assert (config["number"], config["scheduled_by"], config["accumulation_steps"]) == (1, "step", ACCUMULATION)


def test_a_step_s_row_tells_the_window_s_mean_loss_and_the_norm_before_clipping(tmp_path: Path) -> None:
    model = Linear(1, 1, bias=False, rng=Generator(0))
    model.weight.data[:] = 1.0
    trainer = Trainer(model, SGD(model.parameters(), lr=0.0), MSELoss(), grad_clip_norm=0.5)
    data = TensorDataset(Tensor([[1.0], [2.0], [3.0]]), Tensor([[0.0], [0.0], [0.0]]))
    run = trainer.fit(DataLoader(data, batch_size=2), epochs=1, run_dir=tmp_path, accumulation_steps=2, quiet=True)
    [row] = rows(run, "step")
    assert row["loss"] == pytest.approx((1 + 4 + 9) / 3)
    assert row["grad_norm"] == pytest.approx(2 * (1 + 4 + 9) / 3)  # of the mean of w * x * x


def test_best_is_the_strictly_lowest_validation_loss(tmp_path: Path) -> None:
    model = Linear(1, 1, bias=False, rng=Generator(0))
    weights, losses = iter([3.0, 1.0, -1.0, 2.0]), []
    trainer = Trainer(model, SGD(model.parameters(), lr=0.0), MSELoss())
    data = DataLoader(TensorDataset(Tensor([[1.0]]), Tensor([[0.0]])))

    def set_weight(trainer: Trainer, row: dict[str, Any]) -> None:
        losses.append(row.get("val_loss"))
        model.weight.data[:] = next(weights, 0.5)

    model.weight.data[:] = 4.0
    run = trainer.fit(data, data, epochs=4, run_dir=tmp_path, callbacks=[set_weight], quiet=True)
    assert losses == [16.0, 9.0, 1.0, 1.0]
    other = Linear(1, 1, bias=False, rng=Generator(1))
    load_model(other, run, which="best")
    assert other.weight.data.tolist() == [[1.0]]


def test_without_a_folder_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = fit(build(), None)
    assert list(tmp_path.iterdir()) == [] and len(run.rows) == STEPS + EPOCHS


def test_the_rate_is_set_by_epoch_or_by_step_as_the_schedule_says() -> None:
    by_step, by_epoch, fixed = build()[0], build(scheduler=CosineSchedule(0.1, 0.0, 4))[0], build(scheduler=None)[0]
    assert [trainer.scheduled_by for trainer in (by_step, by_epoch, fixed)] == ["step", "epoch", None]
    _, train, _ = build()
    by_step.train_epoch(train)
    assert by_step.history["step_learning_rates"] == [by_step.scheduler.lr_at(step) for step in range(6)]
    assert by_step.history["learning_rates"] == [by_step.scheduler.lr_at(5)]
    _, train, _ = build()
    by_epoch.train_epoch(train)
    assert by_epoch.history["step_learning_rates"] == [0.1] * 6 and by_epoch.history["learning_rates"] == [0.1]


# Going on


def stop_after(step: int) -> Any:
    """A callback that ends the run after this step: it wishes to at the first batch of the step's window."""
    batches, first = itertools.count(1), 6 * ((step - 1) // 2) + (1 if step % 2 else 5)
    return lambda trainer, row: next(batches) == first


@pytest.mark.parametrize("stop", range(1, STEPS))
def test_stopped_after_any_step_and_gone_on_with_it_ends_with_the_same_bits(
    tmp_path: Path, straight: str, stop: int
) -> None:
    parts = build()
    fit(parts, tmp_path, batch_callback=stop_after(stop), save_interval=100)
    assert parts[0].step == stop
    parts = build(seed=4)  # other weights, other streams: all must come out of the file
    parts[0].model.load_state_dict({n: 0 * a for n, a in parts[0].model.state_dict().items()})
    fit(parts, tmp_path, resume=True)
    assert state(parts[0]) == straight


def test_in_a_new_process_too(tmp_path: Path, straight: str) -> None:
    fit(build(), tmp_path, batch_callback=stop_after(5))
    out, talk = start(tmp_path, "--resume").communicate()
    assert out.split()[:2] == [str(STEPS), straight], talk


def test_metrics_of_a_resumed_run_are_those_of_one_that_never_stopped(tmp_path: Path) -> None:
    whole = fit(build(), tmp_path / "a")
    fit(build(), tmp_path / "b", batch_callback=stop_after(5))
    resumed = fit(build(), tmp_path / "b", resume=True)
    for kind in ("step", "epoch"):
        keep = [
            [{k: v for k, v in row.items() if "second" not in k} for row in rows(run, kind)] for run in (whole, resumed)
        ]
        assert keep[0] == keep[1]


def test_nothing_to_resume_starts_a_new_run_and_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = fit(build(), tmp_path, resume=True, quiet=False)
    assert "nothing to resume" in capfd.readouterr().err
    assert "nothing to resume" in (run.folder / "train.log").read_text(encoding="utf-8")


def test_a_finished_run_is_trained_on_only_if_epochs_grew(tmp_path: Path) -> None:
    first = fit(build(), tmp_path)
    parts = build()
    again = fit(parts, tmp_path, resume=True)
    assert again.name == first.name and parts[0].step == STEPS and len(rows(again, "epoch")) == EPOCHS
    more = fit(build(), tmp_path, epochs=EPOCHS + 1, resume=True)
    assert more.name == first.name and [row["epoch"] for row in rows(more, "epoch")] == list(range(1, EPOCHS + 2))


def test_a_run_of_another_configuration_is_refused_with_the_differing_keys(tmp_path: Path) -> None:
    fit(build(), tmp_path)
    parts = build(grad_clip_norm=9.0)
    before = state(parts[0])
    with pytest.raises(ValueError, match="grad_clip_norm: 0.5 then, 9.0 now") as caught:
        fit(parts, tmp_path, resume=True, epochs=9)
    assert "accumulation" not in str(caught.value) and state(parts[0]) == before


def test_the_named_run_and_the_newest(tmp_path: Path) -> None:
    first, second = (fit(build(), tmp_path, epochs=epochs) for epochs in (1, 2))
    parts = build()
    assert fit(parts, tmp_path, resume=first.name, epochs=1).name == first.name and parts[0].epoch == 1
    parts = build()
    assert fit(parts, tmp_path, resume=True, epochs=2).name == second.name and parts[0].epoch == 2
    with pytest.raises(FileNotFoundError, match=f"no run nosuch.*{first.name}"):
        fit(build(), tmp_path, resume="nosuch")


def test_the_newest_is_told_by_the_number_when_the_clock_goes_back(tmp_path: Path) -> None:
    first, second = (fit(build(), tmp_path, epochs=epochs) for epochs in (1, 2))
    second.folder.rename(tmp_path / "1999-12-31-23-59-59")
    parts = build()
    assert fit(parts, tmp_path, resume=True, epochs=2).name == "1999-12-31-23-59-59" and parts[0].epoch == 2


def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(tmp_path: Path, straight: str) -> None:
    run = fit(build(), tmp_path, batch_callback=stop_after(7))
    step, newest = run.step_files()[-1]
    newest.write_bytes(newest.read_bytes()[:-9])
    parts = build()
    fit(parts, tmp_path, resume=True)
    assert state(parts[0]) == straight
    assert f"step_{step}.ckpt is damaged" in (run.folder / "train.log").read_text(encoding="utf-8")


# Ending


def test_early_stopping_counts_epochs_without_a_lower_loss(tmp_path: Path) -> None:
    trainer, train, val = build(scheduler=None)
    trainer.optimizer.lr = 0.0
    run = fit((trainer, train, val), tmp_path, epochs=50, early_stopping=3)
    assert trainer.epoch == 4  # the first is the best, then three that are not lower
    trainer, train, val = build(scheduler=None)
    trainer.optimizer.lr = 0.0
    fit((trainer, train, val), tmp_path, epochs=50, early_stopping=3, resume=True)
    assert trainer.epoch == 4 and "stopped early" in (run.folder / "train.log").read_text(encoding="utf-8")


def test_callbacks_see_every_epoch_and_batch_and_end_the_run() -> None:
    parts, epochs, batches = build(), [], []
    fit(parts, None, callbacks=[lambda t, row: epochs.append(row["epoch"]), lambda t, row: row["epoch"] == 2],
        batch_callback=lambda t, row: batches.append((row["epoch"], math.isfinite(row["loss"]))))  # fmt: skip
    assert epochs == [1, 2]
    assert batches == [(1, True)] * 6 + [(2, True)] * 6


def test_class_weights_are_the_loss_s_for_this_run_only() -> None:
    weighted, plain = build(), build()
    loss = CrossEntropyLoss(weight=[1.0, 2.0, 4.0])
    by_loss = Trainer(plain[0].model, plain[0].optimizer, loss, plain[0].scheduler, 0.5)
    fit(weighted, None, class_weights=[1.0, 2.0, 4.0])
    fit((by_loss, *plain[1:]), None)
    for a, b in zip(weighted[0].model.parameters(), by_loss.model.parameters()):
        np.testing.assert_array_equal(a.data, b.data)
    assert weighted[0].loss_fn.weight is None


def test_balanced_class_weights_make_every_class_count_alike() -> None:
    from tinytorch.class_weights import balanced

    labels = Tensor([0, 0, 0, 1, 2, 2])
    weights = balanced(DataLoader(TensorDataset(Tensor(np.zeros((6, 1))), labels)))
    np.testing.assert_allclose(weights * [3, 1, 2], [2, 2, 2])


def test_predict_gives_predictions_and_targets_in_loader_order_without_a_trace() -> None:
    trainer, train, _ = build()
    ordered = DataLoader(train.dataset, batch_size=4)
    before = state(trainer)
    predictions, targets = trainer.predict(ordered)
    np.testing.assert_array_equal(targets.data, train.dataset.tensors[1].data)
    trainer.model.eval()
    np.testing.assert_allclose(predictions.data, trainer.model(train.dataset.tensors[0]).data, rtol=1e-5, atol=1e-6)
    assert state(trainer) == before and not predictions.requires_grad


# Trouble


def test_a_gradient_that_is_not_finite_names_batch_and_parameter(tmp_path: Path) -> None:
    model = Sequential(Linear(1, 1, rng=Generator(0)), lambda x: (x * 0.0).sqrt())
    trainer = Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss())
    data = DataLoader(TensorDataset(Tensor([[1.0], [2.0]]), Tensor([[0.0], [0.0]])))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"^batch 0: the gradient of 0.weight holds NaN"):
        trainer.fit(data, epochs=1, run_dir=tmp_path, quiet=True)


def test_a_loss_that_is_not_finite_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    parts = build()
    rows, labels = parts[1].dataset.tensors
    run = fit(parts, tmp_path, epochs=2)
    good = run.model_last.read_bytes()
    parts = build()
    rows.data[7] = np.nan
    parts[1].dataset = TensorDataset(rows, labels)
    with pytest.raises(ValueError, match=r"^batch \d: the loss is nan"):
        fit(parts, tmp_path, epochs=9, resume=True)
    assert run.model_last.read_bytes() == good
    assert "the loss is nan" in (run.folder / "train.log").read_text(encoding="utf-8")


def test_weights_that_overflow_are_named_and_not_saved(tmp_path: Path) -> None:
    model = Linear(1, 1, bias=False, rng=Generator(0))
    trainer = Trainer(model, SGD(model.parameters(), lr=1e38), MSELoss())
    data = DataLoader(TensorDataset(Tensor([[1e3]] * 6), Tensor([[0.0]] * 6)))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="weight") as caught:
        trainer.fit(data, epochs=1, run_dir=tmp_path, save_interval=1, quiet=True)
    assert "NaN" in str(caught.value)
    for _, path in Run.all(tmp_path)[0].step_files():
        trainer.load_checkpoint(path)
        assert np.isfinite(model.weight.data).all()


def test_a_checkpoint_in_an_open_window_is_refused(tmp_path: Path) -> None:
    parts = build()

    def save(trainer: Trainer, row: dict[str, Any]) -> None:
        trainer.save_checkpoint(tmp_path / "a")

    with pytest.raises(RuntimeError, match="window is open"):
        fit(parts, None, batch_callback=save)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0}, {"epochs": 2.0}, {"save_interval": 0}, {"keep_last_n": 0}, {"accumulation_steps": -1},
        {"early_stopping": 0}, {"class_weights": "even"}, {"comm": 3}, {"resume": True, "run_dir": None},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_arguments_are_refused_before_anything_happens(tmp_path: Path, wrong: dict[str, Any]) -> None:
    trainer, train, val = build()
    before = state(trainer)
    with pytest.raises((ValueError, TypeError)):
        trainer.fit(train, val, **{"epochs": 1, "run_dir": tmp_path / "runs", "quiet": True, **wrong})
    assert state(trainer) == before and not (tmp_path / "runs").exists()


def test_a_loader_of_other_batches_is_refused_at_a_resume(tmp_path: Path) -> None:
    trainer, train, _ = build()
    trainer.train_epoch(train)
    trainer.save_checkpoint(tmp_path / "a")
    for given in (True, False):
        other, loader, _ = build()
        loader.batch_size = 5
        before = state(other)
        with pytest.raises(CheckpointError, match="batch_size was 4 in the checkpoint, is 5") as caught:
            other.load_checkpoint(tmp_path / "a", loader if given else None)
            assert not given
            before = state(other)
            other.train_epoch(loader)
        assert caught.value.kind == "loader" and state(other) == before


def test_dropouts_have_streams_of_their_own() -> None:
    one, two = build()[0].model, build()[0].model
    assert {one[1].rng.path, one[4].rng.path} == {"3/1", "3/4"}
    one[1].rng.uniform(0, 1, (5,))
    np.testing.assert_array_equal(one[4].rng.uniform(0, 1, (5,)), two[4].rng.uniform(0, 1, (5,)))
    assert isinstance(one[1], Dropout)


# Processes


def start(run_dir: Path, *options: str) -> subprocess.Popen[str]:
    command, environment = [sys.executable, PROGRAM, run_dir, *options], {**os.environ, "PYTHONPATH": PACKAGE}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def wait_for(run_dir: Path, pattern: str, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not list(run_dir.glob(pattern)):
        assert time.monotonic() < end, f"{pattern} did not appear"
        time.sleep(0.005)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
def test_a_signal_ends_the_run_at_a_step_with_a_checkpoint(
    tmp_path: Path, straight: str, number: signal.Signals, code: int
) -> None:
    process = start(tmp_path, "--slow", "0.03", "--save-interval", "100")
    wait_for(tmp_path, "*/metrics.jsonl")
    process.send_signal(number)
    _, talk = process.communicate(timeout=20)
    assert process.returncode == code, talk
    [run] = Run.all(tmp_path)
    [(step, _)] = run.step_files()
    assert 0 < step < STEPS and run.model_last.exists()
    parts = build()
    fit(parts, tmp_path, resume=True)
    assert state(parts[0]) == straight


def test_killed_at_any_moment_it_loses_at_most_save_interval_steps_and_ends_with_the_same_bits(
    tmp_path: Path, straight: str
) -> None:
    """kill -9 four times a run, each time after another while, before it may come to its end."""
    rng = np.random.default_rng(0)
    for number in range(KILL_POINTS // 4):
        run_dir = tmp_path / str(number)
        for _ in range(4):
            process = start(run_dir, "--resume", "--slow", "0.002")
            time.sleep(rng.uniform(0.0, 0.15))
            process.kill()
            process.communicate()
            reached = max((row["step"] for run in Run.all(run_dir) for row in run.rows), default=0)
            saved = max((step for run in Run.all(run_dir) for step, _ in run.step_files()), default=0)
            assert reached - saved <= 2
        out, talk = start(run_dir, "--resume").communicate()
        assert out.split()[1:2] == [straight], talk


def test_two_runs_started_at_once_in_one_folder(tmp_path: Path, straight: str) -> None:
    processes = [start(tmp_path) for _ in range(3)]
    ends = [process.communicate(timeout=60) for process in processes]
    assert [out.split()[1] for out, _ in ends] == [straight] * 3, ends
    assert [run.number for run in Run.all(tmp_path)] == [1, 2, 3]


def test_a_run_that_is_being_trained_is_not_trained_by_another_process(tmp_path: Path) -> None:
    process = start(tmp_path, "--slow", "0.05")
    wait_for(tmp_path, "*/step_*.ckpt")
    with pytest.raises(RuntimeError, match="trained by another process"):
        fit(build(), tmp_path, resume=True)
    process.kill()
    process.communicate()
    parts = build()
    fit(parts, tmp_path, resume=True)
    assert parts[0].step == STEPS
