"""Shows how a training run goes: a bar on a terminal, a line an epoch elsewhere. Supplied with lesson 08.

Trace it, don't write it: begin at `progress`, which chooses. What is shown is text without colour, so there is nothing
that NO_COLOR would have to turn off.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from tinytorch.settings import integer

__all__: list[str] = []  # the package hands on none of this

COLUMNS = 78  # of a line that is not on a terminal
PAUSE = 0.1  # seconds between two drawings of the bar
ROOMY = 64  # columns from which the bar has at least WIDE of them; in fewer it has what the text leaves
WIDE, NARROW = 10, 5  # columns of the bar
GIVING_WAY = ("epoch", "left", "right", "accuracy", "val", "norm", "rate", "speed")  # in this order, if room is short


def progress(
    epochs: int, steps_an_epoch: int | None, done: int = 0, quiet: bool = False, stream: TextIO | None = None
) -> Progress:
    """What shows a run of `epochs` epochs, of which `done` were made before, on `stream` (default: sys.stderr).

    A terminal gets a bar. A pipe, a file, a Jupyter kernel and a terminal that moves no cursor (TERM=dumb) get lines.
    `quiet`, or no stream at all, gets nothing. `steps_an_epoch` may be None: the first epoch tells. Raises TypeError
    or ValueError unless these are integers from 0 up, `steps_an_epoch` from 1 up.
    """
    integer("progress: epochs", epochs)
    integer("progress: done", done)
    if steps_an_epoch is not None:
        integer("progress: steps_an_epoch", steps_an_epoch, least=1)
    stream = sys.stderr if stream is None else stream
    if quiet or stream is None:  # a Windows program without a console has no sys.stderr
        return Progress()
    kind = _Bar if is_terminal(stream) else _Lines
    return kind(stream, _Clock(epochs, steps_an_epoch, done))


class Progress:
    """Shows nothing; the base of the two that do. `with progress(epochs, steps) as shown:`"""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def step(self, row: dict[str, Any]) -> None:
        """A step was made. `row`: loss, lr, grad_norm or None, samples_per_second."""

    def epoch(self, row: dict[str, Any]) -> None:
        """Epoch `row["epoch"]`, from 1, is over; train_loss, val_loss, accuracy, lr, grad_norm, samples_per_second."""

    def note(self, text: str) -> None:
        """Show a line of text."""

    def close(self) -> None:
        """Nothing is shown any more."""


class _Clock:
    """Where the run stands, in epochs, and how long it will still take."""

    def __init__(self, epochs: int, steps_an_epoch: int | None, done: int) -> None:
        self.epochs, self.steps_an_epoch, self.done = epochs, steps_an_epoch or 0, done
        self.steps = 0  # of the epoch that is under way
        self.first, self.began = done, time.monotonic()

    def end_epoch(self, number: int) -> None:
        self.steps_an_epoch = max(self.steps_an_epoch, self.steps)  # one that went on in the middle had fewer
        self.done, self.steps = number, 0

    def place(self) -> float:
        share = min(self.steps / self.steps_an_epoch, 1.0) if self.steps_an_epoch else 0.0
        return min(self.done + share, float(self.epochs))

    def left(self) -> float | None:
        """Seconds; None before anything is done."""
        made = self.place() - self.first
        return (time.monotonic() - self.began) / made * (self.epochs - self.place()) if made > 0 else None


class _Shown(Progress):
    """What is common to both: a stream that is given up for good, without a word, when it fails."""

    def __init__(self, stream: TextIO, clock: _Clock) -> None:
        self.stream, self.clock, self.lost = stream, clock, False

    def attempt(self, show: Callable[[str], object], text: str) -> None:
        """A reader that went away, a full disk or a closed file must not end the training."""
        try:
            if not self.lost:
                show(text)
        except (OSError, ValueError) as error:  # ValueError: I/O operation on closed file
            self.lost = True
            if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EIO):
                self.to_nowhere()

    def to_nowhere(self) -> None:
        """Nobody reads the stream any more: what waits in its buffer would make Python's exit code 120."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)

    def write(self, text: str) -> None:
        """A line, its letters that the stream does not have as in a Python string."""
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self.stream.flush()


class _Lines(_Shown):
    """A line an epoch."""

    def step(self, row: dict[str, Any]) -> None:
        self.clock.steps += 1

    def epoch(self, row: dict[str, Any]) -> None:
        self.clock.end_epoch(row["epoch"])
        self.note(" ".join(_fitted(_parts(self.clock, row["epoch"], row, row), COLUMNS)))

    def note(self, text: str) -> None:
        self.attempt(self.write, text)


class _Bar(_Shown):
    """A bar of tqdm's on a terminal, drawn ten times a second at most."""

    bar: Any = None
    due = 0.0  # when it may be drawn next

    def __init__(self, stream: TextIO, clock: _Clock) -> None:
        super().__init__(stream, clock)
        self.row: dict[str, Any] = {}
        self.whole: dict[str, Any] = {}  # the row of the last whole epoch

    def step(self, row: dict[str, Any]) -> None:
        self.clock.steps += 1
        self.row = row
        if time.monotonic() >= self.due:
            self.draw()

    def epoch(self, row: dict[str, Any]) -> None:
        self.clock.end_epoch(row["epoch"])
        self.row = self.whole = row
        if time.monotonic() >= self.due:
            self.draw()

    def note(self, text: str) -> None:
        self.attempt(self.write if self.bar is None else self.write_above, text)

    def close(self) -> None:
        if self.bar is not None:
            self.draw()
            self.attempt(lambda _: self.bar.close(), "")
            self.bar.disable = True  # or tqdm would try again to write when the bar is collected
        self.lost = True

    def draw(self) -> None:
        columns = _columns(self.stream)
        number = min(self.clock.done + 1, self.clock.epochs)
        self.attempt(self.show, _with_bar(_parts(self.clock, number, self.row, self.whole), columns))
        self.due = time.monotonic() + PAUSE

    def show(self, form: str) -> None:
        columns, place = _columns(self.stream), self.clock.place()
        if self.bar is None:
            fixed = {"total": max(self.clock.epochs, 1), "initial": place, "nrows": 20}  # a terminal may say 0 rows
            self.bar = _tqdm()(file=self.stream, ncols=columns, bar_format=form, **fixed)
        self.bar.bar_format, self.bar.ncols, self.bar.n = form, columns, place
        self.bar.refresh()

    def write_above(self, text: str) -> None:
        with self.bar.external_write_mode(file=self.stream):
            self.write(text)


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, OSError, ValueError):  # ValueError: it is closed
        return False


def _columns(stream: TextIO) -> int:
    """Those of the terminal but the last: a letter there would make some of them begin a new line."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or 80) - 1
    except (AttributeError, OSError, ValueError):
        return 79


def _tqdm() -> Any:
    """A class of our own for one bar: no thread that looks after it, and a lock that nothing else waits for."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # here, since only a terminal needs it

    return type("Bar", (tqdm,), {"monitor_interval": 0, "_lock": threading.RLock()})


def _with_bar(parts: dict[str, str], columns: int) -> str:
    """tqdm's format for the line: `epoch 3/40 |{bar}| loss 0.1234 ...`; without a bar where there is no room."""
    kept = WIDE + 3 if columns >= ROOMY else 0
    words = _fitted(parts, columns - kept)
    if columns - len(" ".join(words)) - 3 < NARROW:
        return " ".join(words)
    after = 1 + words.index(parts["place"])
    return " ".join([*words[:after], "|{bar}|", *words[after:]])


def _fitted(parts: dict[str, str], columns: int) -> list[str]:
    """The parts that are not empty, as many as a line of `columns` holds with a space between any two."""
    kept = {name: text for name, text in parts.items() if text}
    for name in GIVING_WAY:
        if len(" ".join(kept.values())) > columns:
            kept.pop(name, None)
    return list(kept.values())


def _parts(clock: _Clock, number: int, row: dict[str, Any], whole: dict[str, Any]) -> dict[str, str]:
    """What a line tells, from left to right: of the row at hand, and of the last whole epoch."""
    left, right = clock.left(), whole.get("accuracy")
    return {
        "epoch": "epoch",
        "place": f"{number:>{len(str(clock.epochs))}}/{clock.epochs}",
        "loss": _told("loss {}", row.get("train_loss", row.get("loss")), _decimal),
        "val": _told("val {}", whole.get("val_loss"), _decimal),
        "right": _told("right", right, str),
        "accuracy": _told("{}", right, "{:.1%}".format),
        "rate": _told("rate {}", row.get("lr"), _decimal),
        "norm": _told("norm {}", row.get("grad_norm"), "{:.3g}".format),
        "speed": _told("{}/s", row.get("samples_per_second"), _thousands),
        "time": _told("{}", left, _minutes),
        "left": _told("left", left, str),
    }


def _told(text: str, value: float | None, form: Callable[[float], str]) -> str:
    return "" if value is None else text.format(form(value))


def _decimal(value: float) -> str:
    """0.1234, 12.34, 0.00012, 1.2e-05: mostly six columns, so that numbers stand below one another."""
    if 0.001 <= abs(value) < 10 or value == 0:
        return f"{value:.4f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.4g}"


def _thousands(value: float) -> str:
    """812, 8.1k, 81k, 1.2M."""
    for unit in ("", "k", "M"):
        if not value >= 999.5:  # NaN too ends here
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
        value /= 1000
    return f"{value:.0f}G"


def _minutes(seconds: float) -> str:
    """2:10, 1:02:10."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
