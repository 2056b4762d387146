"""What follows a growth: predictions in a loader's order, heads, fine-tuning, pruning."""

from __future__ import annotations

import itertools
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grown_of import CASES, EPOCHS, digest, grow, network, rows, trainer, tune
from grown_started import KILLS, end_of, log, start, wait_for
from tinytorch import (
    SGD,
    Adam,
    AdamW,
    DataLoader,
    GMDHClassifier,
    GMDHNetwork,
    Run,
    Tensor,
    TensorDataset,
    load_model,
)

OPTIMIZERS = {
    "momentum": lambda params: SGD(params, lr=0.003, momentum=0.9),
    "Adam": lambda params: Adam(params, lr=0.005),
    "AdamW": lambda params: AdamW(params, lr=0.005, weight_decay=0.01),
    "the one that is taken": None,
}


@pytest.fixture(scope="module")
def tuned() -> dict[str, str]:
    """By case, the digest of the network behind head and fine-tuning, of a growth that is kept nowhere."""
    found = {}
    for case in CASES:
        made = grow(case, None)
        tune(made)
        found[case] = digest(made.net)
    return found


# Predicting


def loader_of(case: str, **options: Any) -> DataLoader:
    x, y = rows(case)[2]
    return DataLoader(TensorDataset(Tensor(x, "float64"), Tensor(y)), **options)


@pytest.mark.parametrize("case", CASES)
def test_predictions_come_in_the_loader_s_order_with_the_same_bits_in_any_batch(
    straight: dict[str, Any], case: str
) -> None:
    made, (x, y) = straight[case], rows(case)[2]
    want = made.predict(x)
    assert want.shape == ((len(x), 3) if case == "three" else (len(x),)) and want.dtype == np.float64
    for size in (1, 7, 32, 1000):
        assert made.predict(loader_of(case, batch_size=size)).tobytes() == want.tobytes()
    if case == "three":
        assert np.abs(np.exp(want).sum(axis=1) - 1).max() < 1e-12 and (want.argmax(axis=1) == y).mean() > 0.6
    if case == "two":
        assert ((want > 0) == y).mean() > 0.8
    shuffled = loader_of(case, batch_size=9, shuffle=True, seed=4)
    order = np.concatenate([inputs.data for inputs, _ in loader_of(case, batch_size=9, shuffle=True, seed=4)])
    assert order.tobytes() != x.tobytes()
    next(iter(shuffled))
    place = shuffled.position
    assert made.predict(shuffled).tobytes() == made.predict(order).tobytes() and shuffled.position == place > 0


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ([], ValueError, "the loader is empty"),
        (np.zeros((3, 4)), ValueError, "x has 4 features, and the network was grown on 11"),
        (np.zeros(11), ValueError, "rows of features"),
        (np.full((2, 11), np.nan), ValueError, "NaN or infinity in row 0, column 0"),
        (np.zeros((2, 11)).astype(str), TypeError, "array of numbers"),
        (
            DataLoader(TensorDataset(Tensor(np.zeros((4, 3))), Tensor(np.zeros(4))), batch_size=2),
            ValueError,
            "batch 0: predict: x has 3 features",
        ),
        (DataLoader(TensorDataset(Tensor(np.zeros((0, 11))), Tensor(np.zeros(0)))), ValueError, "0 samples"),
        (3, TypeError, "a loader must be an iterable"),
    ],
)
def test_what_cannot_be_predicted(straight: dict[str, Any], given: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=f"^[^\n]*{said}[^\n]*$"):
        straight["network"].predict(given)


@pytest.mark.parametrize("case", CASES)
def test_rows_may_come_from_loaders(straight: dict[str, Any], case: str) -> None:
    train, dev, val = (
        DataLoader(TensorDataset(Tensor(x, "float64"), Tensor(y, "float64")), batch_size=37) for x, y in rows(case)
    )
    made = trainer(None)
    made.train(network(case), train, dev, val=val)
    assert digest(made.net) == digest(straight[case].net) and train.position == 0


# Head, fine-tuning and pruning


def parts_of(net: Any) -> list[Any]:
    """The networks of a classifier; a network itself."""
    return list(getattr(net, "networks", [net]))


def loss_on(case: str, net: Any, part: int) -> float:
    x, y = rows(case)[part]
    said = net.predict(x)
    if case == "network":
        return float(((said - y) ** 2).mean())
    if case == "two":
        return float(np.logaddexp(0, np.where(y == 1, -said, said)).mean())
    return float(-said[np.arange(len(y)), y].mean())


@pytest.mark.parametrize("case", CASES)
def test_a_head_reads_all_units_and_is_saved(tmp_path: Path, straight: dict[str, Any], case: str) -> None:
    made, (x, _) = grow(case, tmp_path), rows(case, seed=1)[0]
    before = digest(made.net)
    made.train_head()
    assert digest(made.net) != before
    train, y = rows(case)[0]
    wanted = {"network": [y], "two": [y == 1], "three": [y == number for number in range(3)]}[case]
    for mine, theirs, target in zip(parts_of(made.net), parts_of(straight[case].net), wanted):
        assert len(mine.head[0]) == 4 and theirs.head is None
        assert ((mine.predict(train) - target) ** 2).mean() < ((theirs.predict(train) - target) ** 2).mean()
    other = GMDHNetwork() if case == "network" else GMDHClassifier()
    load_model(other, made.run)
    assert digest(other) == digest(made.net) and "head fitted to 400 rows" in log(made.run)
    said = made.predict(x)
    made.prune()
    assert made.predict(x).tobytes() == said.tobytes()
    load_model(other, made.run)
    assert other.predict(x).tobytes() == said.tobytes() and digest(other) == digest(made.net)
    assert "pruned; the prediction depends on feature a" in log(made.run)


def test_going_on_with_what_has_grown_keeps_the_model_that_came_after(tmp_path: Path) -> None:
    made = grow("network", tmp_path)
    made.train_head()
    saved = made.run.model_last.read_bytes()
    again = grow("network", tmp_path, resume=True)
    assert again.run.folder == made.run.folder and again.net.head is None
    assert made.run.model_last.read_bytes() == saved
    made.run.model_last.unlink()
    grow("network", tmp_path, resume=True)
    assert made.run.model_last.exists()


@pytest.mark.parametrize("case", CASES)
def test_pruning_changes_no_bit(tmp_path: Path, case: str) -> None:
    made, (x, _) = grow(case, tmp_path), rows(case, seed=1)[0]
    said, size = made.predict(x), made.run.model_last.stat().st_size
    made.prune()
    assert made.predict(x).tobytes() == said.tobytes() and made.run.model_last.stat().st_size < size


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_fine_tuning_lowers_the_error_on_dev(straight: dict[str, Any], case: str, optimizer: str) -> None:
    made = trainer(None)
    train, dev, _ = rows(case)
    made.train(network(case), train, dev)
    before = loss_on(case, made.net, 1)
    run = made.train_finetune(OPTIMIZERS[optimizer], epochs=40, patience=5)
    assert loss_on(case, made.net, 1) < before
    losses = [row["val_loss"] for row in run.rows if row["kind"] == "epoch"]
    unit = np.var(train[1]) if case == "network" else 1.0
    assert loss_on(case, made.net, 1) / unit == pytest.approx(min(losses), rel=1e-9)
    assert len(losses) == 40 or len(losses) - 1 - losses.index(min(losses)) == 5  # patience ended it


def test_patience_ends_fine_tuning(straight: dict[str, Any]) -> None:
    made, (x, _) = grow("three", None), rows("three")[2]
    run = made.train_finetune(lambda params: SGD(params, lr=0.0), epochs=30, patience=4)
    assert len([row for row in run.rows if row["kind"] == "epoch"]) == 5  # the first is the best, then four
    assert made.predict(x).tobytes() == straight["three"].predict(x).tobytes()


def test_the_error_of_fine_tuning_is_weighed_by_class() -> None:
    x, y = rows("three")[1]
    found = {}
    for weights in (None, "balanced"):
        made = grow("three", None, class_weights=weights)
        run = made.train_finetune(OPTIMIZERS["momentum"], epochs=3, patience=3)
        losses = [row["val_loss"] for row in run.rows if row["kind"] == "epoch"]
        said = -made.predict(x)[np.arange(len(y)), y]
        found[weights] = said.mean(), np.average(said, weights=made.rows["dev"].weights), min(losses)
    assert found[None][2] == pytest.approx(found[None][0])
    plain, weighed, told = found["balanced"]
    assert told == pytest.approx(weighed) and abs(plain - weighed) > 1e-3


def test_a_rate_that_diverges_leaves_the_network_as_it_was(tmp_path: Path) -> None:
    for case, number in itertools.product(CASES, range(2)):
        made = grow(case, tmp_path / case if number else None)
        before = digest(made.net)
        x, y = rows(case)[1]
        said = made.predict(x)
        with np.errstate(all="ignore"), suppress(ValueError):
            made.train_finetune(lambda params: SGD(params, lr=1e30), epochs=5)
        assert made.predict(x).tobytes() == said.tobytes(), case
        other = GMDHNetwork() if case == "network" else GMDHClassifier()
        if number:
            load_model(other, made.run)
            assert other.predict(x).tobytes() == said.tobytes()
        assert len(before) == 64


@pytest.mark.parametrize("case", CASES)
def test_fine_tuning_that_was_stopped_goes_on_to_the_same_bits(
    tmp_path: Path, tuned: dict[str, str], case: str
) -> None:
    made = grow(case, tmp_path)
    tune(made)
    assert digest(made.net) == tuned[case], "saved and unsaved"
    batches = itertools.count(1)
    for stop in (3, 20, 50):
        made = grow(case, tmp_path / str(stop))
        made.batch_callback = lambda made, row: next(batches) == stop  # noqa: B023
        batches = itertools.count(1)
        run = tune(made)
        assert 0 < max(row["step"] for row in run.rows) < EPOCHS * 7
        made = grow(case, tmp_path / str(stop), resume=True)
        again = tune(made, resume=True)
        assert again.name == run.name and digest(made.net) == tuned[case], stop
        other = GMDHNetwork() if case == "network" else GMDHClassifier()
        load_model(other, made.run)
        assert digest(other) == digest(made.net)


def test_fine_tuning_that_was_killed_goes_on_to_the_same_bits(tmp_path: Path, tuned: dict[str, str]) -> None:
    rng = np.random.default_rng(2)
    for number, case in zip(range(max(2, KILLS // 2)), itertools.cycle(["two", "three"])):
        run_dir = tmp_path / str(number)
        for _ in range(2):
            process = start(run_dir, "--resume", "--case", case, "--tune", "--slow", 0.003)
            with suppress(AssertionError):
                wait_for(run_dir, "*/finetune/*/metrics.jsonl", 10)
            time.sleep(rng.uniform(0.0, 0.2))
            process.kill()
            process.communicate()
        assert end_of(run_dir, "--case", case, "--tune") == tuned[case]
        assert not list(run_dir.rglob("*.ckpt.*.tmp"))


def test_a_signal_ends_fine_tuning_with_a_checkpoint(tmp_path: Path, tuned: dict[str, str]) -> None:
    process = start(tmp_path, "--tune", "--slow", 0.02)
    wait_for(tmp_path, "*/finetune/*/metrics.jsonl")
    process.send_signal(signal.SIGTERM)
    out, talk = process.communicate(timeout=20)
    assert (process.returncode, out) == (143, ""), talk
    [growth] = Run.all(tmp_path)
    [run] = Run.all(growth.folder / "finetune")
    assert run.step_files() and "fine-tuned" not in log(growth)
    assert end_of(tmp_path, "--tune") == tuned["network"]


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"epochs": 1.5}, {"patience": 0}, {"batch_size": 0}, {"batch_size": True}, {"optimizer": 3}],
    ids=str,
)
def test_fine_tuning_as_it_cannot_be_meant(wrong: dict[str, Any]) -> None:
    made = grow("network", None)
    before = digest(made.net)
    with pytest.raises((ValueError, TypeError), match="^train_finetune: [^\n]*$"):
        made.train_finetune(**wrong)
    assert digest(made.net) == before
