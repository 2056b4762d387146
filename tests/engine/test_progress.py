"""Progress: what a terminal, a pipe and a broken pipe get of a training run, seen from the other end."""

from __future__ import annotations

import fcntl
import gc
import io
import json
import os
import re
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from tinytorch import progress as module
from tinytorch.progress import Progress, progress

from tito.dev import kernel

PACKAGE = str(Path(module.__file__).parent.parent)
STEP = {"step": 1, "epoch": 1, "loss": 0.5, "lr": 0.01, "grad_norm": 1.2, "samples_per_second": 8123.0}
EPOCH = {
    "epoch": 3,
    "train_loss": 0.12341,
    "val_loss": 0.2345,
    "accuracy": 0.9312,
    "lr": 0.01,
    "grad_norm": 1.2,
    "samples_per_second": 8123.0,
    "seconds": 2.0,
}
RUN = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
from tinytorch.progress import progress

def row(loss):
    return {"loss": loss, "lr": 0.01, "grad_norm": 1.2, "samples_per_second": 8123.0}

def whole(epoch):
    return {**row(0), "epoch": epoch, "train_loss": 0.25, "val_loss": 0.75, "accuracy": 0.5, "seconds": 1.0}

"""
TRAIN = """
with progress(4, STEPS, stream=STREAM) as shown:
    shown.note("begins")
    for epoch in range(1, 5):
        for step in range(10):
            time.sleep(0.01)
            shown.step(row(0.5))
        shown.epoch(whole(epoch))
    shown.note("over")
print("trained", [thread.name for thread in threading.enumerate()], "tqdm" in sys.modules)
"""
TRAIN = TRAIN.replace("STREAM", "sys.stderr")


def on_terminal(body: str, columns: int, **environment: str) -> tuple[str, str, int]:
    """What a process writes to a terminal by way of stderr, to stdout, and its exit code."""
    parent, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {**os.environ, "TERM": "xterm", "PYTHONUTF8": "1", **environment}
    command = [sys.executable, "-W", "error", "-c", RUN + body, PACKAGE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=variables) as process:
        os.close(terminal)
        shown = b"".join(iter(lambda: _read(parent), b""))
        assert process.stdout is not None
        out = process.stdout.read().decode("utf-8")
    os.close(parent)
    return shown.decode("utf-8"), out, process.returncode


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # the other end is closed: Linux says so by an error
        return b""


def screen(shown: str) -> list[str]:
    """The lines that stay on a terminal which gets this: a carriage return goes back, letters replace letters."""
    done, line, at = [], "", 0
    for letter in shown.replace("\r\n", "\n"):
        if letter == "\n":
            done.append(line.rstrip())
            line, at = "", 0
        elif letter == "\r":
            at = 0
        else:
            line, at = line[:at] + letter + line[at + 1 :], at + 1
    return [*done, line.rstrip()]


@pytest.mark.parametrize("steps", ["10", "None"])
def test_a_bar_on_a_terminal(steps: str) -> None:
    shown, out, code = on_terminal(TRAIN.replace("STEPS", steps), 100, NO_COLOR="1")
    begins, over, bar, rest = screen(shown)
    assert (begins, over, rest) == ("begins", "over", "")
    told = "loss 0.2500 val 0.7500 right 50.0% rate 0.0100 norm 1.2 8.1k/s 0:00 left"
    assert re.fullmatch(r"epoch 4/4 \|█{10,}\| " + re.escape(told), bar)
    assert "loss 0.5000" in shown
    assert "\x1b" not in shown
    assert (out, code) == ("trained ['MainThread'] True\n", 0)


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    drawings = [line.strip("\n") for line in on_terminal(TRAIN.replace("STEPS", "10"), columns)[0].split("\r")]
    widest = max(len(line) for line in drawings)
    assert columns - 10 <= widest < columns
    assert all("loss" in line and "8.1k/s" in line for line in drawings if "/4" in line)


def test_a_narrow_terminal_shows_what_matters_most() -> None:
    lines = on_terminal(TRAIN.replace("STEPS", "10"), 60)[0].split("\r")
    assert any("loss 0.5000" in line and "rate 0.0100 norm 1.2 8.1k/s 0:0" in line for line in lines)


def test_at_most_ten_drawings_a_second() -> None:
    body = """
shown = progress(1000, 5)
begun = time.monotonic()
for epoch in range(1, 1001):
    for step in range(5):
        shown.step(row(0.5))
    shown.epoch(whole(epoch))
    time.sleep(0.001)
seconds = time.monotonic() - begun
shown.close()
print(seconds)
"""
    shown, out, _ = on_terminal(body, 80)
    drawn, seconds = shown.count("/1000"), float(out)
    assert 5 <= drawn <= 10 * seconds + 4


def test_a_note_does_not_tear_the_bar() -> None:
    body = """
with progress(1, 40) as shown:
    for step in range(40):
        shown.step(row(0.5))
        shown.note(f"note {step}")
"""
    *notes, bar, rest = screen(on_terminal(body, 80)[0])
    assert notes == [f"note {step}" for step in range(40)]
    assert "1/1" in bar
    assert rest == ""


def test_a_bar_below_a_bar_of_the_user() -> None:
    body = """
from tqdm import tqdm
tqdm.monitor_interval = 0
for run in tqdm(range(2), desc="runs", ascii=True):
    with progress(1, 3) as shown:
        for step in range(3):
            shown.step(row(0.5))
        shown.note("a note")
print(tqdm.monitor_interval, len(tqdm._instances))
"""
    shown, out, code = on_terminal(body, 80)
    assert shown.count("a note") == 2
    assert (out, code) == ("0 0\n", 0)


def test_a_terminal_without_a_cursor_gets_lines() -> None:
    shown, out, _ = on_terminal(TRAIN.replace("STEPS", "10"), 80, TERM="dumb")
    assert [line[:9] for line in shown.split("\r\n")] == ["begins", *[f"{n}/4 loss " for n in (1, 2, 3, 4)], "over", ""]
    assert out.endswith("False\n")


def test_an_interrupted_bar_ends_its_line() -> None:
    body = """
with progress(4, 10) as shown:
    shown.step(row(0.5))
    raise SystemExit(3)
"""
    shown, _, code = on_terminal(body, 80)
    bar, rest = screen(shown)
    assert ("1/4 |" in bar, rest, code) == (True, "", 3)


def lines(epochs: int, rows: list[dict[str, Any]], done: int = 0, quiet: bool = False) -> list[str]:
    """What comes out of a pipe."""
    stream = io.StringIO()
    with progress(epochs, 5, done=done, quiet=quiet, stream=stream) as shown:
        for row in rows:
            shown.step(STEP)
            shown.epoch(row)
        shown.note("a note")
    return stream.getvalue().splitlines()


def test_a_line_an_epoch_in_a_pipe() -> None:
    first, second, note = lines(40, [EPOCH, {**EPOCH, "epoch": 4, "val_loss": None, "accuracy": None}], done=2)
    assert first.startswith(" 3/40 loss 0.1234 val 0.2345 right 93.1% rate 0.0100 norm 1.2 8.1k/s 0:0")
    assert second.startswith("epoch  4/40 loss 0.1234 rate 0.0100 norm 1.2 8.1k/s 0:0")
    assert second.endswith(" left")
    assert note == "a note"


def test_what_there_is_not_is_left_out() -> None:
    bare = {**EPOCH, "val_loss": None, "accuracy": None, "grad_norm": None}
    (line, _) = lines(40, [bare], done=2)
    assert line.startswith("epoch  3/40 loss 0.1234 rate 0.0100 8.1k/s")


WIDE = [0.0, 1e-12, 0.00098, 0.0999999, 9.99999, 99.99, 999.96, 123456.0, -1.5e300, float("nan"), float("inf")]


@pytest.mark.parametrize("value", WIDE)
def test_no_line_in_a_pipe_is_wider_than_78(value: float) -> None:
    row = dict.fromkeys(EPOCH, value)
    for line in lines(100_000, [{**row, "epoch": 99_999}], done=99_998) + lines(9, [{**row, "epoch": 1}]):
        assert len(line) <= 78
        assert "loss" in line or line == "a note"


@pytest.mark.parametrize(
    "value, shown",
    [(0, "0.0"), (999, "999"), (1000, "1.0k"), (9_960, "10k"), (81_234, "81k"), (999_600, "1.0M"), (2e9, "2G")],
)
def test_samples_a_second(value: float, shown: str) -> None:
    assert f" {shown}/s " in lines(9, [{**EPOCH, "epoch": 1, "samples_per_second": value}])[0]


def test_the_time_left_is_that_of_what_is_left() -> None:
    stream = io.StringIO()
    shown = progress(13, None, done=2, stream=stream)
    time.sleep(0.5)
    shown.epoch({**EPOCH, "epoch": 3, "val_loss": None})
    left = re.search(r" 0:(\d\d) left", stream.getvalue())
    assert left is not None
    assert 5 <= int(left[1]) <= 8  # ten epochs of half a second


def test_quiet_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    assert lines(4, [EPOCH], quiet=True) == []
    with progress(4, 5, quiet=True) as shown:
        shown.step(STEP)
        shown.note("a note")
    assert tuple(capfd.readouterr()) == ("", "")


def test_no_stream_at_all() -> None:
    body = TRAIN.replace("STEPS", "10")
    result = subprocess.run(
        [sys.executable, "-c", "import sys; sys.stderr = None\n" + RUN + body, PACKAGE], capture_output=True, check=True
    )
    assert (result.stdout, result.stderr) == (b"trained ['MainThread'] False\n", b"")


def test_a_reader_that_went_away_does_not_end_the_training() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-c", RUN + TRAIN.replace("STEPS", "10"), PACKAGE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writing) as process:
        os.close(writing)
        assert os.read(reading, 6) == b"begins"
        os.close(reading)
        assert process.stdout is not None
        assert process.stdout.read() == b"trained ['MainThread'] False\n"
    assert process.returncode == 0


def test_a_terminal_that_is_closed_does_not_end_the_training() -> None:
    parent, terminal = os.openpty()
    body = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + RUN + TRAIN.replace("STEPS", "10")
    command = [sys.executable, "-c", body, PACKAGE]
    variables = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=variables) as process:
        os.close(terminal)
        seen = b""
        while b"loss" not in seen:
            more = _read(parent)
            assert more, seen
            seen += more
        os.close(parent)
        assert process.stdout is not None
        assert process.stdout.read() == b"trained ['MainThread'] True\n"
    assert process.returncode == 0


class Breaking(io.StringIO):
    """A terminal whose disk is full after so many writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.writes = writes

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.writes -= 1
        if self.writes < 0:
            raise OSError(28, "No space left on device")
        return super().write(text)


@pytest.mark.parametrize("writes", range(12))
def test_a_stream_that_fails_at_any_write_is_given_up(writes: int) -> None:
    stream = Breaking(writes)
    with progress(2, 3, stream=stream) as shown:
        for _ in range(3):
            shown.note("a note")
            shown.step(STEP)
    del shown
    gc.collect()  # an error while the bar is collected would be a warning, and so an error here


def test_the_first_epoch_tells_how_many_steps_there_are() -> None:
    stream = Breaking(10**9)
    with progress(2, None, stream=stream) as shown:
        for _ in range(4):
            shown.step(STEP)
        shown.epoch({**EPOCH, "epoch": 1})
        for _ in range(2):
            shown.step(STEP)
    bar = stream.getvalue().splitlines()[-1].split("|")[1]
    assert abs(bar.count("#") / len(bar) - 0.75) <= 1 / len(bar)


def test_a_closed_file_and_one_that_is_closed_later(tmp_path: Path) -> None:
    for first in (True, False):
        with open(tmp_path / "log", "w", encoding="utf-8") as stream:
            if first:
                stream.close()
            with progress(2, 3, stream=stream) as shown:
                shown.epoch(EPOCH)
                stream.close()
                shown.epoch(EPOCH)


def test_letters_that_the_stream_does_not_have(tmp_path: Path) -> None:
    with open(tmp_path / "log", "w", encoding="ascii") as stream:
        shown = progress(2, 3, stream=stream)
        shown.note("läuft")
        shown.note("on")
    assert (tmp_path / "log").read_bytes().split() == [rb"l\xe4uft", b"on"]


def test_a_jupyter_kernel_gets_lines() -> None:
    source = RUN.replace("import sys, ", f"import sys\nsys.argv[1:] = [{PACKAGE!r}]\nimport ") + TRAIN
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = source.replace("STEPS", "10").replace("[thread.name for thread in threading.enumerate()]", "''")
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]})
    ran = kernel.run(text, Path(PACKAGE))
    assert not ran.problems
    assert [line[:9] for line in ran.shown.splitlines() if line][:2] == ["begins", "1/4 loss "]
    assert "\r" not in ran.shown


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_a_step_that_shows_nothing_costs_under_5_microseconds(on_a_terminal: bool) -> None:
    shown = progress(1000, 10**9, stream=Breaking(10**9) if on_a_terminal else io.StringIO())
    best = min(_seconds(shown) for _ in range(20))
    shown.close()
    assert best < 5e-6


def _seconds(shown: Progress) -> float:
    """A step's, of 1000: at most one of them is drawn."""
    begun = time.perf_counter()
    for _ in range(1000):
        shown.step(STEP)
    return (time.perf_counter() - begun) / 1000


@pytest.mark.parametrize("wrong", [{"epochs": 1.5}, {"epochs": -1}, {"steps_an_epoch": 0}, {"done": True}])
def test_wrong_arguments(wrong: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"progress: {next(iter(wrong))} must be"):
        progress(**{"epochs": 3, "steps_an_epoch": 5, **wrong})
