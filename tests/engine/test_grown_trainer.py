"""GrowthTrainer: a growth's folder, going on to the bit, ending and being killed, refusals."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinytorch
from grown_of import CASES, NAMES, digest, grow, network, rows, trainer, tune
from grown_started import ENVIRONMENT, KILLS, LONG, PROGRAM, end_of, log, start, stop_after, wait_for, without_seconds
from tinytorch import (
    SGD,
    CheckpointError,
    DataLoader,
    Generator,
    GMDHClassifier,
    GMDHConfig,
    GMDHNetwork,
    GrowthConfig,
    GrowthTrainer,
    Linear,
    MSELoss,
    Run,
    Tensor,
    TensorDataset,
    Trainer,
    load_model,
)
from tinytorch.checkpoint import read_checkpoint, write_checkpoint

from tito import package
from tito.course import Course
from tito.dev.export import fold_input

STEPS = {"network": 6, "two": 6, "three": 18}  # families of all layers of all networks
ALONE = """
import json, sys
import numpy as np
import tinytorch
loaded = [name for name in ("multiprocessing", "tinytorch.grown_workers", "tinytorch.grown_run") if name in sys.modules]
try:
    said = repr(tinytorch.GrowthTrainer())
except RuntimeError as error:
    said = str(error)
x = np.random.default_rng(0).normal(size=(80, 4))
rows = x, x[:, 0] * x[:, 1]
net = tinytorch.GMDHNetwork(tinytorch.GMDHConfig(max_layers=1)).fit(rows, rows)
print(json.dumps([loaded, said, float(net.layer_errors[0])]))
"""


def copied(run: Run, to: Path) -> Run:
    """A run of its own with the same files."""
    target = to / run.folder.name
    target.mkdir(parents=True)
    for path in run.folder.iterdir():
        if path.is_file() and path.name != ".lock":
            (target / path.name).write_bytes(path.read_bytes())
    return Run.open(target)


# What a run leaves


@pytest.mark.parametrize("case", CASES)
def test_a_run_leaves_log_metrics_configuration_and_checkpoints(straight: dict[str, Any], case: str) -> None:
    run, net = straight[case].run, straight[case].net
    families = [row for row in run.rows if row["kind"] == "family"]
    layers = [row for row in run.rows if row["kind"] == "layer"]
    assert [row["step"] for row in families] == list(range(1, STEPS[case] + 1))
    assert [row["step"] for row in layers] == list(range(2, STEPS[case] + 1, 2))
    assert [row["family"] for row in families] == ["linear_cov", "quadratic"] * (STEPS[case] // 2)
    assert [row["candidates"] for row in families] == [55, 55, 105, 105, 105, 105] * (STEPS[case] // 6)
    networks = getattr(net, "networks", [net])
    assert [row["dev_error"] for row in layers] == sum([grown.layer_errors for grown in networks], [])
    assert [row["val_error"] for row in layers] == sum([grown.val_errors for grown in networks], [])
    assert all(row["seconds"] > 0 for row in families)
    config = json.loads((run.folder / "config.json").read_text(encoding="utf-8"))
    assert (config["trainer"], config["number"], config["train"]["rows"]) == ("GrowthTrainer", 1, 400)
    files = {path.name for path in run.folder.iterdir()} - {".lock"}
    steps = {f"step_{STEPS[case] - back}.ckpt" for back in (0, 1)}
    assert files == {"train.log", "metrics.jsonl", "config.json", "model_last.ckpt"} | steps
    assert Run.current is not None


@pytest.mark.parametrize("case", CASES)
def test_the_network_is_that_of_fit(straight: dict[str, Any], case: str) -> None:
    assert digest(network(case).fit(*rows(case))) == digest(straight[case].net)
    assert digest(grow(case, None).net) == digest(straight[case].net)


def test_features_are_called_by_their_names(straight: dict[str, Any]) -> None:
    made = straight["network"]
    text = log(made.run)
    assert "best quadratic of feature a and feature b" in text and "depends on feature a, feature b" in text
    assert "feature_a" in made.formula() and "x0" not in made.formula()
    plain = grow("network", None, names=None)
    assert plain.active_names() == [f"x{NAMES.index(name)}" for name in made.active_names()]


def test_names_may_be_an_array_and_come_to_the_folder(tmp_path: Path) -> None:
    made = grow("network", tmp_path, names=np.array(NAMES), seed=np.int64(3))
    assert made.run.config["names"] == NAMES and made.names() == NAMES


@pytest.mark.parametrize("case", CASES)
def test_the_last_file_is_a_model(straight: dict[str, Any], case: str) -> None:
    made, (x, _) = straight[case], rows(case, seed=1)[0]
    other = GMDHNetwork() if case == "network" else GMDHClassifier()
    load_model(other, made.run)
    assert other.predict(x).tobytes() == made.net.predict(x).tobytes()


# Going on


@pytest.mark.parametrize(("case", "stop"), [(case, stop) for case in CASES for stop in range(1, STEPS[case])])
def test_stopped_after_any_family_and_gone_on_with_it_ends_with_the_same_bits(
    tmp_path: Path, straight: dict[str, Any], case: str, stop: int
) -> None:
    stopped = grow(case, tmp_path, batch_callback=stop_after(stop))
    assert [step for step, _ in stopped.run.step_files()][-1] == stop and not stopped.net.finished
    assert "stops before" in log(stopped.run)
    made = grow(case, tmp_path, resume=True, names=NAMES[::-1])
    assert made.run.name == stopped.run.name and "goes on from" in log(made.run)
    assert digest(made.net) == digest(straight[case].net)
    mine, theirs = without_seconds(made.run), without_seconds(straight[case].run)
    for row in mine[:] + theirs[:]:
        row.pop("best", None)  # the names were others in between
    assert [{**row, "best": 0} for row in mine] == [{**row, "best": 0} for row in theirs]


def test_rows_of_a_run_that_went_on_are_those_of_one_that_was_never_stopped(
    tmp_path: Path, straight: dict[str, Any]
) -> None:
    for stop in itertools.count(1):
        made = grow("two", tmp_path, resume=stop > 1, batch_callback=stop_after(stop))
        if made.net.finished:
            break
    assert stop == STEPS["two"] and digest(made.net) == digest(straight["two"].net)
    assert without_seconds(made.run) == without_seconds(straight["two"].run)


def test_a_finished_growth_is_found_as_it_was(straight: dict[str, Any], tmp_path: Path) -> None:
    run = copied(straight["three"].run, tmp_path)
    made = grow("three", tmp_path, resume=True)
    assert digest(made.net) == digest(straight["three"].net) and len(made.run.rows) == len(run.rows)


def test_the_named_run_and_the_newest(tmp_path: Path) -> None:
    first, second = (grow("network", tmp_path, batch_callback=stop_after(stop)).run for stop in (2, 3))
    assert grow("network", tmp_path, resume=first.name, batch_callback=stop_after(4)).run.name == first.name
    assert grow("network", tmp_path, resume=True).run.name == second.name
    with pytest.raises(FileNotFoundError, match="no run nosuch"):
        grow("network", tmp_path, resume="nosuch")
    with pytest.raises(ValueError, match="resume needs a run_dir in GrowthConfig"):
        grow("network", None, resume=True)


def test_nothing_to_resume_starts_a_new_run_and_says_so(tmp_path: Path) -> None:
    assert "nothing to resume" in log(grow("two", tmp_path, resume=True).run)


def test_a_newer_run_that_came_to_no_checkpoint_hides_none(tmp_path: Path, straight: dict[str, Any]) -> None:
    run = grow("network", tmp_path, batch_callback=stop_after(2)).run
    with Run.create(tmp_path, {"trainer": "GrowthTrainer"}) as newer:
        newer.log("killed before its first family was fitted")
    made = grow("network", tmp_path, resume=True)
    assert made.run.name == run.name and digest(made.net) == digest(straight["network"].net)


def test_growths_and_trainers_side_by_side_find_their_own(tmp_path: Path, straight: dict[str, Any]) -> None:
    def fit(resume: bool, epochs: int) -> tuple[Run, Trainer]:
        model = Linear(11, 1, rng=Generator(0))
        x, y = (Tensor(part) for part in rows("network")[1])
        made = Trainer(model, SGD(model.parameters(), lr=0.01), MSELoss())
        loader = DataLoader(TensorDataset(x, y.reshape(-1, 1)), batch_size=60)
        options = {"run_dir": tmp_path, "resume": resume, "quiet": True, "save_interval": 1}
        return made.fit(loader, epochs=epochs, **options), made

    growth = grow("network", tmp_path, batch_callback=stop_after(2)).run
    fitted, _ = fit(False, 2)
    again, made = fit(True, 3)
    assert again.name == fitted.name and made.epoch == 3
    gone_on = grow("network", tmp_path, resume=True)
    assert gone_on.run.name == growth.name and digest(gone_on.net) == digest(straight["network"].net)
    assert fit(True, 4)[0].name == fitted.name
    with pytest.raises(ValueError, match="another configuration"):
        grow("network", tmp_path, resume=fitted.name)
    assert len(Run.all(tmp_path)) == 2


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"rows": 1}, ["train: ", "dev: ", "val: "]),
        ({"keep": 5}, ["grows: "]),
        ({"class_weights": "balanced"}, ["class_weights: None then, 'balanced' now"]),
        ({"seed": 7}, ["seed: 0 then, 7 now"]),
        ({"val": None}, ["val: "]),
        ({"case": "two"}, ["train: "]),
    ],
    ids=str,
)
def test_another_configuration_is_refused_by_its_keys_and_changes_nothing(
    tmp_path: Path, straight: dict[str, Any], changes: dict[str, Any], keys: list[str]
) -> None:
    grow("three", tmp_path, batch_callback=stop_after(3))
    before = sorted(tmp_path.rglob("*"))
    train, dev, val = rows(changes.get("case", "three"), seed=changes.get("rows", 0))
    net = network("three", **{"keep": changes.get("keep", 4)})
    net.load_state_dict(straight["three"].net.state_dict())
    asked = {name: changes[name] for name in ("class_weights", "seed") if name in changes}
    made = trainer(tmp_path, **asked)
    with pytest.raises(ValueError, match="has another configuration") as caught:
        made.train(net, train, dev, True, changes.get("val", val))
    assert all(key in str(caught.value) for key in keys), caught.value
    assert not any(f" {name}: " in str(caught.value) for name in ("names", "number", "quiet", "versions", "penalty"))
    assert sorted(tmp_path.rglob("*")) == before
    assert digest(net) == digest(straight["three"].net)
    with pytest.raises(RuntimeError, match="nothing is grown yet"):
        made.predict(val[0])


# Damaged, hostile and foreign files


def changed(run: Run, change: Callable[[dict[str, Any]], Any], number: int = -1) -> None:
    """Write a checkpoint anew with another state in it, as its writer would."""
    path = run.step_files()[number][1]
    content = read_checkpoint(path)
    change(content)
    write_checkpoint(path, content)


def replace(name: str, value: Callable[[np.ndarray], np.ndarray]) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["model"][name] = value(content["model"][name])

    return change


def of_other_rows(content: dict[str, Any]) -> None:
    net = network("network")
    train, dev, val = rows("network", seed=1)
    net.begin(train, dev, val)
    net.fit_family("linear_cov")
    content["model"] = net.state_dict()


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a state of other rows": of_other_rows,
    "NaN": replace("layers.0.coefficients", lambda a: a * np.nan),
    "huge indices": replace("layers.0.pairs", lambda a: a + 2**62),
    "indices below 0": replace("layers.0.pairs", lambda a: a - 2**62),
    "an open layer that tried all": replace("tried", lambda a: np.array([1, 2])),
    "families that are none": replace("tried", lambda a: np.array([99])),
    "a huge count of features": replace("features", lambda a: np.array(2**62)),
    "no model": lambda content: content.pop("model"),
    "a model of text": lambda content: content.update(model="text"),
    "a step of text": lambda content: content.update(step="3"),
    "a step below 0": lambda content: content.update(step=-3),
    "a step that is True": lambda content: content.update(step=True),
    "another trainer": lambda content: content.update(trainer="Trainer"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_file_that_is_no_state_of_this_growth_is_refused_and_set_aside(
    tmp_path: Path, straight: dict[str, Any], kind: str
) -> None:
    stopped = grow("network", tmp_path, batch_callback=stop_after(3))
    changed(stopped.run, HOSTILE[kind])
    made = grow("network", tmp_path, resume=True)
    assert digest(made.net) == digest(straight["network"].net)
    assert "step_3.ckpt is damaged and set aside" in log(made.run) and "goes on from step_2.ckpt" in log(made.run)
    assert (made.run.folder / "step_3.ckpt.damaged").exists()
    assert without_seconds(made.run) == without_seconds(straight["network"].run)


@pytest.mark.parametrize("kind", HOSTILE)
def test_where_no_file_is_whole_nothing_changes(tmp_path: Path, straight: dict[str, Any], kind: str) -> None:
    stopped = grow("network", tmp_path, batch_callback=stop_after(3), keep_last_n=1)
    changed(stopped.run, HOSTILE[kind])
    net = network("network")
    net.load_state_dict(straight["network"].net.state_dict())
    train, dev, val = rows("network")
    with pytest.raises(CheckpointError, match="no checkpoint of run .* is whole: step_3.ckpt; start a new run"):
        trainer(tmp_path).train(net, train, dev, True, val)
    assert digest(net) == digest(straight["network"].net) and len(Run.all(tmp_path)) == 1
    assert [path.name for _, path in stopped.run.step_files()] == ["step_3.ckpt"]


def test_cut_and_flipped_files_give_way_to_the_one_before(tmp_path: Path, straight: dict[str, Any]) -> None:
    run = grow("three", tmp_path, batch_callback=stop_after(7)).run
    *_, (_, before), (_, newest) = run.step_files()
    newest.write_bytes(newest.read_bytes()[:-9])
    flip(before)
    made = grow("three", tmp_path, resume=True)
    assert digest(made.net) == digest(straight["three"].net)
    assert without_seconds(made.run) == without_seconds(straight["three"].run)
    assert sorted(path.name for path in run.folder.glob("*.damaged")) == ["step_6.ckpt.damaged", "step_7.ckpt.damaged"]
    assert log(run).count("is damaged and set aside") == 2


def test_a_checkpoint_of_a_trainer_in_the_folder_is_refused(tmp_path: Path, straight: dict[str, Any]) -> None:
    run = grow("network", tmp_path, batch_callback=stop_after(2)).run
    model = Linear(2, 1, rng=Generator(0))
    Trainer(model, SGD(model.parameters(), lr=0.1), MSELoss()).save_checkpoint(run.folder / "step_900.ckpt")
    assert digest(grow("network", tmp_path, resume=True).net) == digest(straight["network"].net)
    assert (run.folder / "step_900.ckpt.damaged").exists()


# Ending


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
@pytest.mark.parametrize("workers", [(), ("--workers", 2)])
def test_a_signal_ends_the_run_after_the_family_with_a_checkpoint(
    tmp_path: Path, straight: dict[str, Any], number: signal.Signals, code: int, workers: tuple[Any, ...]
) -> None:
    process = start(tmp_path, "--case", "three", "--slow", 0.03, *workers)
    wait_for(tmp_path, "*/step_2.ckpt")
    os.killpg(process.pid, number)  # as a terminal does, and a batch system
    out, talk = process.communicate(timeout=20)
    assert (process.returncode, out) == (code, ""), talk
    assert "SpawnProcess" not in talk and talk.count("Traceback") == (number == signal.SIGINT)
    [run] = Run.all(tmp_path)
    step = run.step_files()[-1][0]
    assert 2 <= step < STEPS["three"] and run.model_last.exists() and step == max(row["step"] for row in run.rows)
    made = grow("three", tmp_path, resume=True)
    assert digest(made.net) == digest(straight["three"].net)
    assert without_seconds(made.run) == without_seconds(straight["three"].run)


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, straight: dict[str, Any]) -> None:
    process = start(tmp_path, "--slow", 2)
    wait_for(tmp_path, "waits")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    began = time.monotonic()
    _, talk = process.communicate(timeout=20)
    assert time.monotonic() - began < 1 and process.returncode == -signal.SIGINT and "KeyboardInterrupt" in talk
    assert grow("network", tmp_path, resume=True).net.finished


def test_killed_at_any_moment_it_ends_with_the_same_bits(tmp_path: Path, straight: dict[str, Any]) -> None:
    """kill -9 three times a run, each time after another while, before it may come to its end."""
    rng = np.random.default_rng(1)
    for number in range(max(2, KILLS)):
        run_dir = tmp_path / str(number)
        for _ in range(3):
            process = start(run_dir, "--resume", "--case", "three", "--slow", 0.002)
            time.sleep(rng.uniform(0.0, 0.25))
            process.kill()
            process.communicate()
        assert end_of(run_dir, "--case", "three") == digest(straight["three"].net)
        run = Run.all(run_dir)[-1]
        assert not list(run_dir.rglob("*.ckpt.*.tmp"))
        assert without_seconds(run) == without_seconds(straight["three"].run)


@pytest.mark.parametrize(
    ("call", "number"),
    [(call, number) for call in ("fsync", "replace") for number in (range(2, 18) if LONG else (2, 3, 5, 8))],
)
def test_killed_while_a_file_is_written(tmp_path: Path, straight: dict[str, Any], call: str, number: int) -> None:
    process = start(tmp_path, "--die", call, number)
    process.communicate(timeout=20)
    if process.returncode == 0:
        assert call == "replace" and number > 8  # config.json, a file a family, model_last.ckpt
        return
    assert process.returncode == -signal.SIGKILL
    [run] = Run.all(tmp_path)
    half, saved = list(run.folder.glob("*.tmp")), bool(run.step_files())
    assert half or (call == "fsync" and number % 2 == 0)  # then it is the folder's
    made = grow("network", tmp_path, resume=True)
    assert digest(made.net) == digest(straight["network"].net)
    assert without_seconds(made.run) == without_seconds(straight["network"].run)
    assert not list(tmp_path.rglob("*.tmp")) and (made.run.name == run.name) == saved


def test_a_run_that_grows_is_locked_for_others(tmp_path: Path, straight: dict[str, Any]) -> None:
    seen: list[str] = []

    def intrude(made: Any, row: dict[str, Any]) -> None:
        if row["step"] == 1 and not seen:
            with pytest.raises(RuntimeError, match="is being trained by another process") as caught:
                grow("network", tmp_path, resume=True)
            seen.append(str(caught.value))

    made = grow("network", tmp_path, batch_callback=intrude)
    assert seen and digest(made.net) == digest(straight["network"].net) and len(Run.all(tmp_path)) == 1


# Callbacks and seeds


def test_callbacks_are_told_of_every_candidate_once() -> None:
    told: list[dict[str, Any]] = []
    made = grow("two", None, batch_callback=lambda made, row: told.append(row))
    families = [row for row in made.run.rows if row["kind"] == "family"]
    for family in families:
        of = [row for row in told if row["step"] == family["step"] - 1]
        done = [0] + [row["done"] for row in of]
        assert len(of) > 2 and all(a < b for a, b in zip(done, done[1:]))
        assert done[-1] == family["candidates"] == of[0]["candidates"]
        assert {(row["place"], row["family"]) for row in of} == {(family["place"], family["family"])}
    assert len({row["step"] for row in told}) == len(families)


def test_a_true_answer_ends_the_run_behind_the_family_at_hand(tmp_path: Path) -> None:
    told: list[int] = []

    def stop(made: Any, row: dict[str, Any]) -> bool:
        told.append(row["done"])
        return len(told) == 1

    made = grow("network", tmp_path, batch_callback=stop)
    assert told[-1] == 55 and [row["candidates"] for row in made.run.rows] == [55]
    with pytest.raises(RuntimeError, match=r"predict: layer 0 is open; call train\(..., resume=True\)"):
        made.predict(rows("network")[0][0])


def test_a_callback_that_fails_leaves_the_last_good_checkpoint(tmp_path: Path, straight: dict[str, Any]) -> None:
    def fail(made: Any, row: dict[str, Any]) -> None:
        if row["step"] == 3 and row["done"] > 20:
            raise OSError("no paper left")

    with pytest.raises(OSError, match="no paper left"):
        grow("network", tmp_path, batch_callback=fail)
    [run] = Run.all(tmp_path)
    assert run.step_files()[-1][0] == 3 and "stopped at layer 1: no paper left" in log(run)
    assert digest(grow("network", tmp_path, resume=True).net) == digest(straight["network"].net)


def test_the_seed_orders_the_mini_batches() -> None:
    found = []
    for seed in (0, 0, 1):
        made = grow("network", None, seed=seed)
        made.train_finetune(epochs=2, batch_size=64)
        found.append(digest(made.net))
    assert found[0] == found[1] != found[2]


# Weights of classes


def test_balanced_is_the_weights_by_hand(straight: dict[str, Any]) -> None:
    y = rows("three")[0][1]
    counts = np.bincount(y)
    made = grow("three", None, class_weights="balanced")
    by_hand = grow("three", None, class_weights=len(y) / (3 * counts))
    assert digest(made.net) == digest(by_hand.net) != digest(straight["three"].net)
    weights = made.rows["train"].weights
    np.testing.assert_allclose([weights[y == number].sum() for number in range(3)], len(y) / 3)
    assert digest(grow("three", None, class_weights=[2.0, 2.0, 2.0]).net) != digest(made.net)


def test_weights_enter_the_squared_errors_and_the_read_out(straight: dict[str, Any]) -> None:
    """Equal networks with weighed and plain read-out, and the other way round, are each another classifier."""
    plain, weighed = straight["three"].net, grow("three", None, class_weights=[1.0, 1.0, 8.0])
    for mine, theirs in zip(plain.networks, weighed.net.networks):
        assert mine.layers[0].coefficients.tobytes() != theirs.layers[0].coefficients.tobytes()
    read_outs = []
    for train in (rows("three")[0], weighed.rows["train"]):
        net = network("three")
        net.load_state_dict(weighed.net.state_dict())
        net.rows = {}
        net._fit_read_out(tinytorch.grown_rows.class_rows_of({"train": train})["train"])
        read_outs.append(net.read_out)
    assert read_outs[1].tobytes() == weighed.net.read_out.tobytes() and np.abs(read_outs[0] - read_outs[1]).max() > 0.1


def test_the_rare_class_is_found_more_often_with_balanced_weights() -> None:
    x, y = rows("two", seed=5, count=2000)[2]
    recall = {}
    for weights in (None, "balanced"):
        train, dev, _ = rows("two", seed=5, count=2000)
        made = trainer(None, class_weights=weights)
        made.train(network("two"), train, dev)
        recall[weights] = (made.net.classify(x)[y == 1] == 1).mean()
    assert (y == 1).mean() < 0.35 and recall["balanced"] > recall[None] + 0.05


@pytest.mark.parametrize(
    "weights",
    [[1, 2], [1, 0, 2], [1, -1, 2], [1, np.nan, 2], [1, np.inf, 1], "even", [1, 2, "x"], [1, 2, None], 1.0, [], {0: 1}],
    ids=str,
)
def test_weights_that_cannot_be_meant(tmp_path: Path, weights: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="^class_weights [^\n]*$"):
        grow("three", tmp_path / "runs", class_weights=weights)
    assert not (tmp_path / "runs").exists()


def test_a_network_of_numbers_knows_no_classes() -> None:
    with pytest.raises(TypeError, match="class_weights needs a GMDHClassifier, for a GMDHNetwork knows no classes"):
        grow("network", None, class_weights="balanced")


# Refusals


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"names": "abc"}, TypeError, "names must be texts"),
        ({"names": 5}, TypeError, "names must be texts"),
        ({"names": ["a", 3]}, TypeError, "names must be texts"),
        ({"keep_last_n": 0}, ValueError, "keep_last_n must be 1 or more"),
        ({"seed": -1}, ValueError, "seed must be 0 or more"),
        ({"seed": 1.5}, TypeError, "seed must be an integer"),
    ],
)
def test_settings_that_cannot_be_meant(settings: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=f"^GrowthConfig: {said}[^\n]*$"):
        GrowthConfig(**settings)


def test_parts_that_cannot_be_meant(tmp_path: Path) -> None:
    train, dev, _ = rows("network")
    constant = np.ones_like(train[0]), train[1]
    for wrong in ({"config": 3}, {"workers": True}, {"workers": "two"}, {"batch_callback": 3}):
        with pytest.raises(TypeError, match="^GrowthTrainer: [^\n]*$"):
            GrowthTrainer(**wrong)
    with pytest.raises(ValueError, match="workers must be 1 or more"):
        GrowthTrainer(workers=0)
    made = trainer(tmp_path / "runs")
    for net, given, said in (
        (3, (train, dev), r"needs a GMDHNetwork\(\) or a GMDHClassifier\(\), got 3"),
        (GMDHNetwork, (train, dev), "needs a GMDHNetwork"),
        (network("network"), (None, dev), "train must be a pair"),
        (network("network"), (train, None), "dev must be a pair"),
        (network("three"), (train, None), "dev must be a pair|class numbers"),
        (network("network"), (train[0], dev), "train must be a pair"),
        (network("network"), (train, (dev[0][:, 1:], dev[1])), "dev x has 10 features"),
        (network("network"), (constant, dev), "fewer than two features that vary"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^[^\n]*({said})[^\n]*$"):
            made.train(net, *given)
        with pytest.raises(RuntimeError, match=r"^predict: nothing is grown yet; call train\(net, train, dev\) first$"):
            made.predict(train[0])
    with pytest.raises(ValueError, match="needs 11 names"):
        grow("network", tmp_path / "runs", names=["a"])
    assert not (tmp_path / "runs").exists()


def test_a_refused_training_leaves_the_one_before(straight: dict[str, Any]) -> None:
    made, (train, dev, _) = grow("network", None), rows("network")
    before, run = digest(made.net), made.run
    for net in (made.net, network("network")):
        with pytest.raises(ValueError, match="NaN"):
            made.train(net, (train[0] * np.nan, train[1]), dev)
    assert made.run is run and digest(made.net) == before == digest(straight["network"].net)
    assert len(made.predict(dev[0])) == len(dev[0])


def test_without_lesson_08_it_says_what_is_missing(tmp_path: Path) -> None:
    """Such a package grows by `fit`; and importing a package loads none of what a growth's run needs."""
    course = Course.find()
    lesson = course.lesson("e1")
    package.build(tmp_path, [fold_input(each) for each in (*course.needs_of(lesson), lesson)])
    assert not (tmp_path / "tinytorch" / "training.py").exists()
    told = []
    for folder in (tmp_path, Path(tinytorch.__file__).parent.parent):
        command, environment = [sys.executable, "-W", "error", "-c", ALONE], {**os.environ, "PYTHONPATH": str(folder)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        told.append(json.loads(done.stdout))
    said = "needs lessons 01 to 08 in the package, whose runs it keeps; without them call net.fit(train, dev)"
    assert told[0][:2] == [[], f"GrowthTrainer: {said}"]
    assert told[1][0] == [] and "GrowthTrainer object" in told[1][1]
    assert told[0][2] == told[1][2] < 1e-6


# The screen


def shown(case: str, run: Callable[..., None], capfd: pytest.CaptureFixture[str], **settings: Any) -> list[str]:
    capfd.readouterr()
    run(grow(case, None, quiet=False, **settings))
    out, err = capfd.readouterr()
    assert out == ""
    return err.splitlines()


def test_a_line_a_layer_or_a_class(capfd: pytest.CaptureFixture[str]) -> None:
    lines = shown("network", lambda made: None, capfd)
    assert [line.split(":")[0] for line in lines] == ["layer 0", "layer 1", "layer 2", "run unsaved has grown"]
    lines = shown("three", lambda made: None, capfd)
    assert [line.split(",")[0] for line in lines[:3]] == ["class 0", "class 1", "class 2"] and len(lines) == 4
    lines = shown("network", lambda made: made.train_finetune(epochs=4), capfd)
    assert len(lines) == 5 and lines[-1].startswith("fine-tuned for 4 epochs: error on dev")
    capfd.readouterr()
    made = grow("three", None)
    tune(made)
    made.prune()
    assert capfd.readouterr() == ("", "")


SCREEN = (
    "import grown_of; made = grown_of.grow('two', None, quiet=False); grown_of.tune(made); made.prune(); print('end')"
)


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", "closed", "terminal", "dumb"])
def test_any_screen_will_do(stream: str) -> None:
    program = f"import sys; sys.stderr.close(); {SCREEN}" if stream == "closed" else SCREEN
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{PROGRAM.parent}"}
    environment["TERM"] = "dumb" if stream == "dumb" else "xterm"
    command = [sys.executable, "-W", "error", "-c", program]
    if stream in ("terminal", "dumb"):
        terminal, seen = os.openpty()
        done = subprocess.run(command, env=environment, stderr=seen, stdout=subprocess.PIPE, text=True, timeout=30)
        os.close(seen)
        text = os.read(terminal, 65536).decode()
        os.close(terminal)
        assert "class 1, layer 2" in text and "fine-tuned for" in text and "Traceback" not in text
        assert ("epoch" in text.replace("for 12 epochs", "").replace("at epoch", "")) == (stream == "terminal"), text
    else:
        shell = ["sh", "-c", f'exec "$@" {stream if stream != "closed" else ""}', "sh", *command]
        done = subprocess.run(shell, env=environment, stdout=subprocess.PIPE, text=True, timeout=30)
    codes = {0, 120} if stream == "2>/dev/full" else {0}  # 120: Python could not empty what it kept for stderr
    assert done.returncode in codes and done.stdout == "end\n"


def test_the_config_takes_what_gmdh_takes() -> None:
    made = GrowthTrainer(GrowthConfig(quiet=True))
    train, dev, _ = rows("network")
    made.train(GMDHNetwork(GMDHConfig(max_layers=1)), train, dev)
    assert made.names()[0] == "x0" and made.run.folder is None
