"""A run's folder: one number a run whatever the clock says, nothing lost to a kill, nobody else's file touched."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinytorch import (
    CheckpointError,
    Generator,
    Linear,
    Run,
    Tensor,
    load_model,
    read_checkpoint,
    run_plot,
    runs,
    write_checkpoint,
)

PACKAGE = str(Path(runs.__file__).parent.parent)


@pytest.fixture(autouse=True)
def no_current_run() -> Iterator[None]:
    Run.current = None
    yield
    Run.current = None


def child(source: str, *arguments: object) -> subprocess.Popen[str]:
    """A process of its own that runs `source` on the package; its standard input and output are pipes."""
    command = [sys.executable, "-W", "error", "-c", f"import sys\nsys.path.insert(0, {PACKAGE!r})\n{source}"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    return subprocess.Popen([*command, *map(str, arguments)], **pipes)  # type: ignore[call-overload, no-any-return]


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


# The folder and its number


def test_a_new_run_has_a_folder_named_by_the_clock(tmp_path: Path) -> None:
    before = datetime.now().replace(microsecond=0)
    with Run.create(tmp_path / "a" / "runs", {"seed": 3, "betas": (0.5, 0.25)}) as run:
        assert before <= datetime.strptime(run.name, "%Y-%m-%d-%H-%M-%S") <= datetime.now()
        assert run.folder == tmp_path / "a" / "runs" / run.name
        assert (run.number, run.config) == (1, {"seed": 3, "betas": [0.5, 0.25], "number": 1})
        assert json.loads((run.folder / "config.json").read_text(encoding="utf-8")) == run.config
        opened = Run.open(run.folder)
        assert (opened.folder, opened.name, opened.number, opened.config) == (run.folder, run.name, 1, run.config)


def test_a_second_run_in_the_same_second_gets_a_suffix(tmp_path: Path) -> None:
    now = datetime.now()
    for seconds in range(30):
        stamp = (now + timedelta(seconds=seconds)).strftime("%Y-%m-%d-%H-%M-%S")
        (tmp_path / stamp).mkdir()
        (tmp_path / f"{stamp}-2").mkdir()
    run = Run.create(tmp_path, {})
    assert run.name[19:] == "-3"
    assert (run.number, [run.name for run in Run.all(tmp_path)]) == (1, [run.name])


CREATORS = """
from tinytorch.runs import Run
print("ready", flush=True)
sys.stdin.readline()
for _ in range(5):
    run = Run.create(sys.argv[1], {"process": sys.argv[2]})
    print(run.number, run.name, flush=True)
"""


def test_eight_processes_at_once_get_folders_and_numbers_of_their_own(tmp_path: Path) -> None:
    processes = [child(CREATORS, tmp_path / "runs", number) for number in range(8)]
    assert [line_of(process) for process in processes] == ["ready"] * 8
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * 8
    found = {(str(run.number), run.name): run.config["process"] for run in Run.all(tmp_path / "runs")}
    assert sorted(int(number) for number, _ in found) == list(range(1, 41))
    assert len({name for _, name in found}) == 40
    for number, words in enumerate(told):
        assert [found[pair] for pair in zip(words[::2], words[1::2])] == [str(number)] * 5


def test_the_newest_run_has_the_largest_number_though_the_clock_went_back(tmp_path: Path) -> None:
    for year in (2031, 2030, 2029):
        run = Run.create(tmp_path, {"year": year})
        os.rename(tmp_path / run.name, tmp_path / f"{year}-01-01-00-00-00")
    assert [(run.number, run.config["year"]) for run in Run.all(tmp_path)] == [(1, 2031), (2, 2030), (3, 2029)]
    for run in Run.all(tmp_path):
        write_model(run, Linear(2, 3, rng=Generator(0)))
    assert load_model(Linear(2, 3, rng=Generator(1)), run_dir=tmp_path).number == 3


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    made = [Run.create(tmp_path, {}).number for _ in range(12)]
    assert made == [run.number for run in Run.all(tmp_path)] == list(range(1, 13))


def test_a_number_that_is_in_use_is_not_given_again(tmp_path: Path) -> None:
    first, _ = Run.create(tmp_path, {}), Run.create(tmp_path, {})
    shutil.rmtree(tmp_path / first.name)
    assert Run.create(tmp_path, {}).number == 3


@pytest.mark.parametrize(
    "config", [None, [1], {"a": np.zeros(2)}, {"a": float("nan")}, {"a": float("inf")}, {"a": "x" * 2**20}, {(1, 2): 3}]
)
def test_a_config_that_is_not_plain_makes_nothing(tmp_path: Path, config: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="config"):
        Run.create(tmp_path / "runs", config)
    assert list(tmp_path.iterdir()) == []


def test_there_are_no_runs_where_there_is_no_folder(tmp_path: Path) -> None:
    assert Run.all(tmp_path / "runs") == []


NO_RUNS: dict[str, Callable[[Path], Any]] = {
    "empty": lambda folder: folder.mkdir(),
    "cut": lambda folder: configured(folder, b'{"number": 7, "se'),
    "no object": lambda folder: configured(folder, b"[7]"),
    "no number": lambda folder: configured(folder, b"{}"),
    "a text for a number": lambda folder: configured(folder, b'{"number": "7"}'),
    "true for a number": lambda folder: configured(folder, b'{"number": true}'),
    "number 0": lambda folder: configured(folder, b'{"number": 0}'),
    "number of 5,000 digits": lambda folder: configured(folder, b'{"number": ' + b"7" * 5000 + b"}"),
    "no UTF-8": lambda folder: configured(folder, b'{"number": 7, "a": "\xff"}'),
    "nested": lambda folder: configured(folder, b'{"number": 7, "a": ' + b"[" * 200_000),
    "huge": lambda folder: configured(folder, b'{"number": 7}' + b" " * 2**20),
    "a file": lambda folder: folder.write_bytes(b'{"number": 7}'),
    "config is a folder": lambda folder: (folder / "config.json").mkdir(parents=True),
    "a link to a run": lambda folder: folder.symlink_to(run_beside(folder), target_is_directory=True),
    "config is a link": lambda folder: linked(folder, "config.json"),
    "log is a link": lambda folder: linked(folder, "train.log"),
    "metrics are a link": lambda folder: linked(folder, "metrics.jsonl"),
}


def configured(folder: Path, config: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(config)


def run_beside(folder: Path) -> Path:
    target = folder.parent.parent / "elsewhere"
    configured(target, b'{"number": 7}')
    return target


def linked(folder: Path, name: str) -> None:
    target = run_beside(folder) / "config.json"
    configured(folder, b'{"number": 7}')
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)


@pytest.mark.parametrize("name", NO_RUNS)
def test_what_is_no_run_is_passed_over_and_refused_by_name(tmp_path: Path, name: str) -> None:
    good = Run.create(tmp_path / "runs", {})
    NO_RUNS[name](tmp_path / "runs" / "x")
    assert [run.name for run in Run.all(tmp_path / "runs")] == [good.name]
    with pytest.raises((ValueError, FileNotFoundError), match="x"):
        Run.open(tmp_path / "runs" / "x")
    assert Run.create(tmp_path / "runs", {}).number == 2


# The lock

HOLDER = """
from tinytorch.runs import Run
with Run.open(sys.argv[1]).locked():
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_run_is_trained_by_one_process_and_is_free_when_that_was_killed(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {})
    with child(HOLDER, run.folder) as holder:
        assert line_of(holder) == "held"
        with pytest.raises(RuntimeError, match=f"run {run.name} is being trained by another process; "), run.locked():
            pass
        holder.kill()
    with run.locked(), pytest.raises(RuntimeError, match="another process"), Run.open(tmp_path / run.name).locked():
        pass
    with run.locked():
        pass


# Metrics


def step_row(step: int, **more: Any) -> dict[str, Any]:
    return {"kind": "step", "step": step, "epoch": 1, "loss": 1 / step, **more}


def test_rows_come_back_and_nan_is_null(tmp_path: Path) -> None:
    row = step_row(
        3, lr=np.float32(0.5), count=np.int64(4), a=float("nan"), b=float("inf"), c=np.float64("-inf"), d="ü"
    )
    want = step_row(3, lr=0.5, count=4, a=None, b=None, c=None, d="ü")
    for run in (Run.create(tmp_path, {}), Run.unsaved({})):
        with run:
            run.record(row)
            run.record({"kind": "epoch", "epoch": 1, "step": 3})
            assert run.rows == [want, {"kind": "epoch", "epoch": 1, "step": 3}]
    (saved,) = Run.all(tmp_path)
    assert saved.rows == run.rows
    lines = (tmp_path / saved.name / "metrics.jsonl").read_bytes().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail) for line in lines] == run.rows


@pytest.mark.parametrize("row", [{}, {"step": "3"}, {"step": -1}, {"step": True}, {"step": 1, "a": object()}])
def test_a_row_that_could_not_be_read_is_not_written(tmp_path: Path, row: dict[str, Any]) -> None:
    with Run.create(tmp_path, {}) as run:
        run.record(step_row(1))
        with pytest.raises((TypeError, ValueError)):
            run.record(row)
        run.record(step_row(2))
        assert run.rows == [step_row(1), step_row(2)]


@pytest.mark.parametrize("saved", [True, False])
def test_rewind_drops_the_rows_of_later_steps(tmp_path: Path, saved: bool) -> None:
    with Run.create(tmp_path, {}) if saved else Run.unsaved({}) as run:
        for step in range(1, 7):
            run.record(step_row(step))
            if step % 3 == 0:
                run.record({"kind": "epoch", "step": step, "epoch": step // 3})
        run.rewind(4)
        epoch = {"kind": "epoch", "step": 3, "epoch": 1}
        assert run.rows == [step_row(1), step_row(2), step_row(3), epoch, step_row(4)]
        run.record(step_row(5))
        assert run.rows[-2:] == [step_row(4), step_row(5)]


def test_lines_that_are_no_row_are_passed_over_and_dropped_at_the_end(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {})
    path = tmp_path / run.name / "metrics.jsonl"
    good = [b'{"step": 1, "loss":   1e999}', b'{"step": 2, "loss": NaN}']
    bad = [b"[1]", b"{}", b'{"step": "1"}', b'{"step": 1e3}', b'{"step": -4}', b'{"step": 1' + b"0" * 30 + b"}"]
    bad += [b"\xff\xfe", b"\0" * 100, b"[" * 200_000, b'{"step": ' + b"1" * 5000 + b"}", b"", b"null"]
    whole = b"\n".join([good[0], *bad, good[1], b""])
    for torn in (b'{"step": 3, "lo', b'{"step": 3}', b"\n".join([*bad, b""])):
        path.write_bytes(whole + torn)
        assert [row["step"] for row in run.rows] == [1, 2]
        run.rewind(9)
        assert path.read_bytes() == whole
    run.rewind(0)
    assert path.read_bytes() == b""


def test_rows_out_of_order_are_cut_behind_the_last_that_stays(tmp_path: Path) -> None:
    with Run.create(tmp_path, {}) as run:
        for step in (1, 2, 3, 4, 2, 3, 4):  # a callback that went back to a checkpoint
            run.record(step_row(step))
        run.rewind(3)
        assert [row["step"] for row in run.rows] == [1, 2, 3, 4, 2, 3]


def peak_of(call: Callable[[], Any]) -> int:
    """Bytes that the call had at once, beyond those before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_millions_of_rows_need_no_memory(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {})
    path = tmp_path / run.name / "metrics.jsonl"
    with open(path, "wb") as file:
        for step in range(1, 20_001):
            file.write(json.dumps(step_row(step)).encode() + b"\n")
            if step % 1000 == 0:
                file.write(json.dumps({"kind": "epoch", "step": step, "val_loss": 0.5}).encode() + b"\n")
    found: list[int] = []
    assert peak_of(lambda: run.rewind(19_990)) < 300_000 < path.stat().st_size / 3
    assert peak_of(lambda: found.extend(row["step"] for row in run.rows_with("val_loss"))) < 300_000
    assert found == list(range(1000, 20_000, 1000))
    assert peak_of(lambda: run_plot.lines_of(run.rows_with("loss"))) < 16 * 20_000 + 600_000
    assert run.rows[-1] == step_row(19_990)


def test_a_line_as_long_as_the_memory_is_passed_over(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {})
    path = tmp_path / run.name / "metrics.jsonl"
    first, second = (json.dumps(step_row(step)).encode() + b"\n" for step in (1, 2))
    with open(path, "wb") as file:
        file.write(first)
        file.seek(2**26, os.SEEK_CUR)  # a hole: no disk is used
        file.write(second * 2)  # the first of these is the end of the long line, and begins a new piece of it
    steps: list[int] = []
    assert peak_of(lambda: steps.extend(row["step"] for row in run.rows)) < 2**23
    assert steps == [1, 2]
    run.rewind(1)
    assert path.read_bytes() == first


RECORDER = """
from tinytorch.runs import Run
run = Run.open(sys.argv[1])
run.rewind(int(sys.argv[2]))
for step in range(int(sys.argv[2]) + 1, 10**9):
    run.record({"kind": "step", "step": step, "loss": 1 / step})
    print(step, flush=True)
"""


def test_no_recorded_row_is_lost_to_a_kill(tmp_path: Path) -> None:
    run, last = Run.create(tmp_path, {}), 0
    for _ in range(3):
        with child(RECORDER, run.folder, last) as recorder:
            line_of(recorder)
            time.sleep(0.02)
            recorder.kill()
            told = recorder.communicate()[0].split("\n")
        steps = [row["step"] for row in run.rows]
        assert len(told) > 2 and len(steps) >= int(told[-2])
        assert steps == list(range(1, len(steps) + 1))
        last = len(steps) - 1


# The log


def test_the_root_logger_is_left_alone(tmp_path: Path) -> None:
    root = logging.getLogger()
    handlers, level, disabled = list(root.handlers), root.level, root.disabled
    with Run.create(tmp_path, {}) as run:
        run.log("100 % of it")
        assert (root.handlers, root.level, root.disabled) == (handlers, level, disabled)
    assert (tmp_path / run.name / "train.log").read_text(encoding="utf-8").endswith(" INFO 100 % of it\n")


def test_messages_reach_the_users_handlers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Run.create(tmp_path, {}) as run, Run.unsaved({}) as other:
        run.log("one")
        other.log("two")
    names = [f"tinytorch.runs.{run.name}-1", "tinytorch.runs.unsaved-0"]
    assert [(record.name, record.message) for record in caplog.records] == list(zip(names, ["one", "two"]))


def test_runs_of_one_process_write_to_their_own_logs(tmp_path: Path) -> None:
    first, second = Run.create(tmp_path / "a", {}), Run.create(tmp_path / "b", {})
    os.rename(tmp_path / "b" / second.name, tmp_path / "b" / first.name)  # the same name and number
    second = Run.open(tmp_path / "b" / first.name)
    with first, second:
        for number in range(3):
            first.log(f"first {number}")
            second.log(f"second {number}")
    for name in ("a", "b"):
        lines = (tmp_path / name / first.name / "train.log").read_text(encoding="utf-8").splitlines()
        assert [line.split()[-2] for line in lines] == [{"a": "first", "b": "second"}[name]] * 3


def test_a_log_is_appended_to_and_takes_any_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("tinytorch"), "propagate", False)  # what pytest notes xdist could not send
    for text in ("größer", "a file named \udcff", "last"):
        with Run.all(tmp_path)[0] if Run.all(tmp_path) else Run.create(tmp_path, {}) as run:
            run.log(text)
    lines = (tmp_path / run.name / "train.log").read_text(encoding="utf-8").splitlines()
    assert [line.split()[-1] for line in lines] == ["größer", "\\udcff", "last"]


if os.name == "posix":

    def test_a_log_that_finds_no_room_hides_no_error(tmp_path: Path) -> None:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            with pytest.raises(KeyError, match="the error"), Run.create(tmp_path, {}) as run:
                run.record(step_row(1))
                resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
                run.log("more than there is room for")
                raise KeyError("the error")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_closed_run_holds_no_file(tmp_path: Path) -> None:
    source = """
from tinytorch.runs import Run
import os
before = os.listdir("/dev/fd")
with Run.create(sys.argv[1], {}) as run, run.locked():
    run.log("a")
    run.record({"step": 1})
    assert len(os.listdir("/dev/fd")) == len(before) + 3
assert len(os.listdir("/dev/fd")) == len(before)
run.log("b")
run.close()
assert len(os.listdir("/dev/fd")) == len(before)
"""
    if sys.platform == "win32":  # there an open file cannot be removed
        with Run.create(tmp_path, {}) as run:
            run.log("a")
            run.record(step_row(1))
        (tmp_path / run.name / "train.log").unlink()
        (tmp_path / run.name / "metrics.jsonl").unlink()
    else:
        with child(source, tmp_path) as process:
            assert process.wait() == 0


# Checkpoints in the folder

STRANGERS = [
    *("step_.ckpt", "step_1.ckpt.bak", "xstep_1.ckpt", "step_-1.ckpt", "step_1.5.ckpt", "step_٣.ckpt", "step_ 1.ckpt"),
    *(
        "STEP_1.CKPT.txt",
        "notes.txt",
        "step_1.ckpt.0123456.tmp",
        "step_1.ckpt.0123456789.tmp",
        "step_1.ckpt.0123456G.tmp",
    ),
    *(
        "step_x.ckpt.01234567.tmp",
        "mine.ckpt.01234567.tmp",
        "train.log.01234567.tmp",
        "metrics.jsonl.01234567.tmp",
        "best.ckpt.01234567.tmp.gz",
    ),
]
LEFTOVERS = ["step_12.ckpt", "model_last.ckpt", "best.ckpt", "config.json"]


def filled(tmp_path: Path, *names: str) -> Run:
    run = Run.create(tmp_path, {})
    for name in names:
        (tmp_path / run.name / name).write_bytes(b"")
    return run


def names_in(tmp_path: Path, run: Run) -> set[str]:
    return {path.name for path in (tmp_path / run.name).iterdir()} - {"config.json"}


def test_step_files_are_ordered_as_numbers(tmp_path: Path) -> None:
    huge = f"step_{'9' * 20}.ckpt"
    run = filled(tmp_path, "step_9.ckpt", "step_10.ckpt", "step_0.ckpt", huge, *STRANGERS)
    (tmp_path / run.name / "step_5.ckpt").mkdir()
    (tmp_path / run.name / "step_6.ckpt").symlink_to("step_9.ckpt")
    folder = tmp_path / run.name
    want = [(0, "step_0.ckpt"), (9, "step_9.ckpt"), (10, "step_10.ckpt"), (10**20 - 1, huge)]
    assert run.step_files() == [(step, folder / name) for step, name in want]


def test_only_old_step_files_are_removed(tmp_path: Path) -> None:
    others = {*STRANGERS, "model_last.ckpt", "best.ckpt", "step_1.ckpt.01234567.tmp"}
    run = filled(tmp_path, *others, *(f"step_{step}.ckpt" for step in (8, 9, 10, 100)))
    run.keep_last(9)
    assert len(run.step_files()) == 4
    run.keep_last(2)
    assert names_in(tmp_path, run) == {*others, "step_10.ckpt", "step_100.ckpt"}
    with pytest.raises(ValueError, match="keep_last_n must be 1 or more"):
        run.keep_last(0)
    assert len(run.step_files()) == 2


def test_only_leftovers_of_killed_writers_are_cleaned(tmp_path: Path) -> None:
    stay = {*STRANGERS, "step_3.ckpt", "model_last.ckpt", "best.ckpt", "metrics.jsonl", "train.log"}
    run = filled(tmp_path, *stay, *(f"{name}.0123abcd.tmp" for name in LEFTOVERS))
    (tmp_path / run.name / "step_1.ckpt.01234567.tmp").mkdir()
    run.clean()
    assert names_in(tmp_path, run) == {*stay, "step_1.ckpt.01234567.tmp"}
    assert Run.open(tmp_path / run.name).number == 1


def test_an_unsaved_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Run.unsaved({"seed": 1}) as run, run.locked():
        run.log("a")
        run.record(step_row(1))
        run.rewind(1)
        run.keep_last(1)
        run.clean()
    assert (run.folder, run.number, run.step_files(), run.rows) == (None, 0, [], [step_row(1)])
    for call in (lambda: run.model_last, lambda: run.best, run.plot):
        with pytest.raises(ValueError, match="unsaved run"):
            call()
    assert list(tmp_path.iterdir()) == []


def test_what_differs_in_a_configuration(tmp_path: Path) -> None:
    run = Run.create(tmp_path, {"lr": 0.5, "betas": (1, 2), "epochs": 3, "clip": None, "gone": 1, "save_interval": 5})
    assert run.differing({"lr": 0.5, "betas": [1, 2], "epochs": 9, "gone": 1, "save_interval": 7, "new": None}) == {}
    assert run.differing({"lr": 0.25, "betas": (1, 3), "new": 4, "keep_last_n": 2, "quiet": True}) == {
        "lr": (0.5, 0.25),
        "betas": ([1, 2], [1, 3]),
        "gone": (1, None),
        "new": (None, 4),
    }


# Loading a model


def write_model(run: Run, model: Linear, which: str = "model_last") -> None:
    write_checkpoint(getattr(run, which), {"model": model.state_dict()})


def same(model: Linear, other: Linear) -> bool:
    return bool((model.weight.data == other.weight.data).all() and (model.bias.data == other.bias.data).all())


def three_runs(tmp_path: Path) -> list[Linear]:
    """Runs 1, 2 and 3; the third was killed before it saved a model, the second has a best one."""
    models = [Linear(2, 3, rng=Generator(seed)) for seed in range(3)]
    made = [Run.create(tmp_path, {}) for _ in range(3)]
    write_model(made[0], models[0])
    write_model(made[1], models[1])
    write_model(made[1], models[2], "best")
    return models


def test_the_newest_run_that_holds_a_model_is_loaded(tmp_path: Path) -> None:
    models, mine = three_runs(tmp_path), Linear(2, 3, rng=Generator(9))
    assert load_model(mine, run_dir=tmp_path).number == 2
    assert same(mine, models[1])
    assert load_model(mine, run_dir=tmp_path, which="best").number == 2
    assert same(mine, models[2])


def test_a_named_run_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models, mine = three_runs(tmp_path / "runs"), Linear(2, 3, rng=Generator(9))
    first = Run.all(tmp_path / "runs")[0]
    monkeypatch.chdir(tmp_path)
    for run in (first, first.name, first.folder, f"runs/{first.name}"):
        mine.weight.data += 1
        assert load_model(mine, run).number == 1
        assert same(mine, models[0])


def test_the_current_run_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models, mine = three_runs(tmp_path / "runs"), Linear(2, 3, rng=Generator(9))
    monkeypatch.chdir(tmp_path)
    Run.current = Run.all(tmp_path / "runs")[0]
    assert load_model(mine) is Run.current
    assert same(mine, models[0])
    assert load_model(mine, run_dir="runs").number == 2
    Run.current = Run.unsaved({})
    with pytest.raises(FileNotFoundError, match="run unsaved holds no model_last.ckpt; "):
        load_model(mine)
    Run.current = None
    assert load_model(mine).number == 2


def test_no_model_to_load(tmp_path: Path) -> None:
    mine = Linear(2, 3, rng=Generator(9))
    with pytest.raises(FileNotFoundError, match=r"no run in .* holds a model_last.ckpt; make one: "):
        load_model(mine, run_dir=tmp_path / "runs")
    three_runs(tmp_path)
    for run, which in ((Run.all(tmp_path)[2], "last"), (Run.all(tmp_path)[0], "best"), (tmp_path / "none", "last")):
        with pytest.raises(FileNotFoundError):
            load_model(mine, run, which=which)
    with pytest.raises(ValueError, match="which"):
        load_model(mine, run_dir=tmp_path, which="first")
    with pytest.raises(TypeError, match="Module"):
        load_model(None, run_dir=tmp_path)


STATES: dict[str, Any] = {
    "shape": lambda state: {**state, "weight": np.zeros((9, 9), np.float32)},
    "dtype": lambda state: {**state, "bias": state["bias"].astype(np.float64)},
    "missing": lambda state: {"weight": state["weight"] + 1},
    "unexpected": lambda state: {**state, "more": state["bias"]},
    "corrupt": lambda state: [1],
}


@pytest.mark.parametrize("kind", STATES)
def test_another_model_is_refused_and_nothing_changes(tmp_path: Path, kind: str) -> None:
    mine, state = Linear(2, 3, rng=Generator(9)), Linear(2, 3, rng=Generator(1)).state_dict()
    run = Run.create(tmp_path, {})
    write_checkpoint(run.model_last, {"model": STATES[kind](state)})
    with pytest.raises(CheckpointError) as caught:
        load_model(mine, run)
    assert caught.value.kind == kind
    assert same(mine, Linear(2, 3, rng=Generator(9)))
    write_checkpoint(run.model_last, {"no": "model"})
    with pytest.raises(CheckpointError):
        load_model(mine, run)
    run.model_last.write_bytes(b"torn")
    with pytest.raises(CheckpointError):
        load_model(mine, run)


def test_a_loaded_model_predicts_as_the_saved_one(tmp_path: Path) -> None:
    saved, mine = Linear(2, 3, rng=Generator(1)), Linear(2, 3, rng=Generator(9))
    run = Run.create(tmp_path, {})
    write_model(run, saved)
    load_model(mine, run)
    x = Tensor([[1.0, 2.0]])
    np.testing.assert_array_equal(mine(x).data, saved(x).data)
    mine.weight.data += 1
    assert same(saved, Linear(2, 3, rng=Generator(1)))
    assert set(read_checkpoint(run.model_last)) == {"model"}


# The picture


def trained(run: Run, epochs: int, steps: int, **epoch: Any) -> Run:
    for step in range(1, epochs * steps + 1):
        run.record(step_row(step, lr=0.5, grad_norm=2.0))
        if step % steps == 0:
            run.record({"kind": "epoch", "step": step, "epoch": step // steps, "train_loss": steps / step, **epoch})
    return run


def size_of(png: Path) -> tuple[int, int]:
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND"
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def test_a_run_is_drawn_in_its_folder(tmp_path: Path) -> None:
    with trained(Run.create(tmp_path, {"seed": 3}), 3, 4, val_loss=1.0) as run:
        assert run.plot() == tmp_path / run.name / "run.png"
        assert run.plot(tmp_path / "x.png") == tmp_path / "x.png"
    assert min(size_of(tmp_path / run.name / "run.png")) > 600
    assert size_of(tmp_path / "x.png") == size_of(tmp_path / run.name / "run.png")


ROWS: dict[str, list[dict[str, Any]]] = {
    "one step": [step_row(1, lr=0.5, grad_norm=1.0)],
    "step 0": [{"kind": "step", "step": 0, "loss": 2.0}],
    "one epoch": [{"kind": "epoch", "step": 5, "epoch": 1, "train_loss": 0.0, "val_loss": None}],
    "no norm": [step_row(1, lr=0.5, grad_norm=None), step_row(2, lr=0.25)],
    "wide": [step_row(step**3, lr=1e-9) for step in range(1, 99)],
    "nan": [step_row(1), step_row(2, loss=None), step_row(3)],
    "odd": [step_row(1), *(step_row(2, loss=odd) for odd in (1e999, "high", [1], True, 10**400, 1e300))],
    "far": [step_row(1), step_row(2**63 - 1)],
    "negative": [step_row(1, loss=-1e12), step_row(2, loss=1e12)],
}


@pytest.mark.parametrize("name", ROWS)
def test_few_and_odd_rows_are_drawn(tmp_path: Path, name: str) -> None:
    run_plot.draw_run(ROWS[name], tmp_path / "a.png", "run 1, $_{\\frac$")  # the name of a folder is no formula
    assert min(size_of(tmp_path / "a.png")) > 300


@pytest.mark.parametrize("rows", [[], [step_row(1, loss=None)], [{"kind": "other", "step": 1, "loss": 1.0}]])
def test_nothing_to_draw_is_told(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="train for a step"):
        run_plot.draw_run(rows, tmp_path / "a.png", "")
    assert list(tmp_path.iterdir()) == []


def line(*values: float) -> run_plot.Line:
    return np.arange(1.0, 1 + len(values)), np.array(values)


def test_a_line_has_steps_and_finite_values() -> None:
    rows = [step_row(2, loss=8.0), step_row(3, loss=None), step_row(5, loss=7, lr=0.5)]
    lines = run_plot.lines_of(
        [*rows, {"kind": "epoch", "step": 6, "train_loss": 4.0}, {"kind": "x", "step": 1, "lr": 1}]
    )
    told = {name: [column.tolist() for column in line] for name, line in lines.items()}
    assert told == {"each step": [[2, 5], [8, 7]], "learning rate": [[5], [0.5]], "training": [[6], [4]]}


def test_the_title_says_what_happened() -> None:
    said = run_plot.headline
    assert said({"training": line(2.303, 1, 0.118)}) == "Loss falls from 2.30 to 0.12 in 3 epochs"
    assert said({"training": line(1, 2), "each step": line(9, 8)}) == "Loss rises from 1.00 to 2.00 in 2 epochs"
    assert said({"training": line(1), "each step": line(4, 3, 2)}) == "Loss falls from 4.00 to 2.00 in 3 steps"
    assert said({"each step": line(0.00012)}) == "Loss is 0.00012 after 1 step"
    assert said({"training": line(0.5, 0.5)}) == "Loss is 0.50 after 2 epochs"


def test_a_long_line_keeps_its_peaks_and_its_order() -> None:
    values = np.full(100_000, 3.0)
    values[[0, 70_001, 99_999]] = [5.0, 9.0, 4.0]
    values[12_345] = -2.0
    steps, kept = run_plot.thinned((np.arange(100_000.0), values))
    assert len(steps) <= run_plot.MOST
    assert (np.diff(steps) > 0).all()
    assert dict(zip(steps, kept)).items() >= {0.0: 5.0, 70_001.0: 9.0, 12_345.0: -2.0, 99_999.0: 4.0}.items()


@pytest.mark.parametrize("heights", [[0.5], [0.5, 0.5, 0.5], [1.0, 0.99, 0.2], [0.0, 0.01, 0.02], [0.3, 0.1, 0.2]])
def test_labels_do_not_touch(heights: list[float]) -> None:
    placed = run_plot._apart(heights)
    assert list(np.argsort(placed)) == list(np.argsort(heights, kind="stable"))
    assert min(np.diff(sorted(placed)), default=1) > run_plot.GAP - 1e-6
    assert min(placed) > -1e-6 and max(placed) < 1 + 1e-6


def test_drawing_leaves_matplotlibs_settings_alone(tmp_path: Path) -> None:
    source = """
from tinytorch.runs import Run
assert "matplotlib" not in sys.modules
import matplotlib
before = dict(dict.items(matplotlib.rcParams))  # its own lookups choose a backend
run = Run.unsaved({})
run.record({"kind": "step", "step": 1, "loss": 1.0})
run.plot(sys.argv[1])
assert dict(dict.items(matplotlib.rcParams)) == before
assert "matplotlib.pyplot" not in sys.modules
"""
    with child(source, tmp_path / "a.png") as process:
        assert process.wait() == 0
