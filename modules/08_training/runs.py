"""A training run's folder: its number, log, metrics and checkpoints. Supplied with lesson 08: trace it, don't write it.

    runs/2026-03-14-09-26-53/
      config.json      how the run was begun, and its number, by which runs are ordered: a clock may go back
      train.log        what was said, with the time
      metrics.jsonl    a JSON object a line: one a step, one an epoch
      step_120.ckpt    the last few of these, to go on from; model_last.ckpt and best.ckpt, to use
      .lock            held while the run is trained

Begin at `Run.create`. What stands in a folder may be somebody else's, or half of it, for a process may be killed between
any two lines here: every file is checked when it is read, and only names of the whole pattern are ever removed.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import datetime
from io import FileIO
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tinytorch.checkpoint import path_of, read_checkpoint, replace_file, require_same
from tinytorch.settings import integer

if TYPE_CHECKING:
    import logging
    from pathlib import Path

__all__ = ["Run", "load_model"]

BOOKKEEPING = {  # entries of a configuration that change no step of the run
    "created", "epochs", "keep_last_n", "names", "number", "quiet", "resume", "run_dir", "save_interval", "versions",
}  # fmt: skip
LARGEST_CONFIG = 2**20  # bytes
LONGEST_ROW = 2**20  # bytes of a line of metrics.jsonl
LONGEST_WAIT = 60.0  # seconds until another process has made its folder
STEP = r"step_([0-9]+)\.ckpt"
LEFTOVER = r"(step_[0-9]+\.ckpt|model_last\.ckpt|best\.ckpt|config\.json)\.[0-9a-f]{8}\.tmp"


class Run:
    """One training run's folder. Make one by `create`, `unsaved` or `open`; close it, or use it in a `with`.

    `current` is the run that `fit` made last in this process. `folder` is None for a run that is not saved.
    """

    current: ClassVar[Run | None] = None

    def __init__(self, folder: Path | None, config: dict[str, Any]) -> None:
        self.folder, self.config = folder, config
        self.name = "unsaved" if folder is None else folder.name
        self.number: int = config.get("number", 0)
        self._kept: list[dict[str, Any]] = []  # the rows of an unsaved run
        self._metrics: FileIO | None = None
        self._logger = _logger(f"tinytorch.runs.{self.name}-{self.number}", self._file("train.log"))

    @classmethod
    def create(cls, run_dir: str | os.PathLike[str], config: dict[str, Any]) -> Run:
        """A new folder in `run_dir`, named by the local clock, with `config` and the next free number in config.json.

        Raises TypeError or ValueError, before anything is made, when `config` is no dict of plain JSON values;
        RuntimeError when another process keeps `run_dir` locked for a minute.
        """
        config, root = _plain(config), path_of(run_dir).absolute()
        root.mkdir(parents=True, exist_ok=True)
        with _held(root / ".lock", LONGEST_WAIT, f"{root} is locked by another process; end it, then try again"):
            config["number"] = 1 + max((run.number for run in cls.all(root)), default=0)
            run = cls(_new_folder(root), config)
            replace_file(run._path("config.json"), _json(config) + b"\n")
        return run

    @classmethod
    def unsaved(cls, config: dict[str, Any]) -> Run:
        """A run without a folder and with the number 0: rows are kept in memory, nothing is written."""
        return cls(None, {**_plain(config), "number": 0})

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Run:
        """The run in `folder`. Raises FileNotFoundError when there is none, ValueError when it is damaged or a link."""
        path = path_of(folder).absolute()
        for part in (path, *(path / name for name in ("config.json", "metrics.jsonl", "train.log"))):
            _require_own(part, stat.S_ISDIR if part == path else stat.S_ISREG)
        if not (path / "config.json").exists():
            raise FileNotFoundError(f"{path} holds no run: it has no config.json; Run.all(run_dir) lists the runs")
        config = _object(_read(path / "config.json", LARGEST_CONFIG))
        if config is None or type(config.get("number")) is not int or config["number"] < 1:
            raise ValueError(f"{path / 'config.json'} is damaged: it must be a JSON object with a number from 1 on")
        return cls(path, config)

    @classmethod
    def all(cls, run_dir: str | os.PathLike[str]) -> list[Run]:
        """The runs in `run_dir`, oldest first by number. A folder without a readable config.json is no run."""
        root = path_of(run_dir)
        entries = root.iterdir() if root.is_dir() else ()
        runs = [run for entry in entries if (run := _opened(entry)) is not None]
        return sorted(runs, key=lambda run: (run.number, run.name))

    def __repr__(self) -> str:
        return f"Run({self.number}, {str(self.folder or self.name)!r})"

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the log and the metrics; the next line opens them again."""
        if self._metrics is not None:
            self._metrics.close()
        self._metrics = None
        for handler in self._logger.handlers:
            with suppress(OSError):  # a full disk: the error that ends the run for it must not be hidden by this one
                handler.close()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from training this run. Raises RuntimeError at once when one does so already.

        The lock of a process that ended, however it ended, is free.
        """
        if self.folder is None:
            return nullcontext()
        busy = f"run {self.name} is being trained by another process; wait until it ends, or start a new run"
        return _held(self._path(".lock"), 0, busy)

    # The log and the metrics

    def log(self, message: str) -> None:
        """Append a line to train.log, and tell it to the handlers of the logger `tinytorch`."""
        self._logger.info(message)

    def record(self, row: dict[str, Any]) -> None:
        """Append a row to metrics.jsonl, flushed: plain values, NaN and infinity as null, with an integer "step".

        A run that goes on calls `rewind` first, for a killed process may have left half a line.
        """
        integer("row: step", row.get("step"))
        row = {name: _finite(value) for name, value in row.items()}
        if self.folder is None:
            self._kept.append(row)
        else:
            self._append(_json(row) + b"\n")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, oldest first. A saved run's are read from the file each time: 10,000 steps would take 4 MB."""
        return list(self.rows_with("step"))

    def rows_with(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows that have an entry `name`, oldest first and one at a time, for a run has millions of them."""
        yield from (row for row in self._kept if name in row)
        mark = _json(name)
        for _, line in self._lines():
            if mark in line and (row := _row(line)) is not None and name in row:
                yield row

    def rewind(self, step: int) -> None:
        """Drop what stands behind the last row of a step up to `step`: rows, and a line cut by a kill.

        The file is read line by line, then cut by one call of the system: a kill leaves it as it was, or cut.
        """
        self._kept = [row for row in self._kept if row["step"] <= step]
        rows = ((end, _row(line)) for end, line in self._lines())
        last = max((end for end, row in rows if row is not None and row["step"] <= step), default=0)
        self.close()
        path = self._file("metrics.jsonl")
        if path is not None and path.exists():
            os.truncate(path, last)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Draw loss, rate and gradient norm by step to a PNG file, run.png in the folder unless told; return its path.

        Raises ValueError when there is no row yet, or no path for an unsaved run.
        """
        from tinytorch.run_plot import draw_run

        path = path_of(path) if path is not None else self._path("run.png")
        seed = f", seed {self.config['seed']!s:.40}" if "seed" in self.config else ""
        draw_run(self.rows_with("step"), path, f"run {self.number}, {self.name}{seed}")
        return path

    # The checkpoints

    @property
    def model_last(self) -> Path:
        """Where the model as it was last is saved. Raises ValueError for an unsaved run."""
        return self._path("model_last.ckpt")

    @property
    def best(self) -> Path:
        """Where the model of the lowest validation loss is saved. Raises ValueError for an unsaved run."""
        return self._path("best.ckpt")

    def step_files(self) -> list[tuple[int, Path]]:
        """(S, path) of every step_S.ckpt, smallest S first."""
        return sorted((int(found[1]), path) for path in self._files() if (found := re.fullmatch(STEP, path.name)))

    def keep_last(self, n: int) -> None:
        """Remove all step_S.ckpt but the `n` of the largest S. Raises ValueError for an `n` under 1."""
        for _, path in self.step_files()[: -integer("keep_last_n", n, least=1)]:
            path.unlink(missing_ok=True)

    def clean(self) -> None:
        """Remove the temporary files of writers that were killed. Call it under the lock: a writer has them too."""
        for path in self._files():
            if re.fullmatch(LEFTOVER, path.name):
                path.unlink(missing_ok=True)

    def differing(self, config: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
        """key -> (value in this run, value in `config`) where they differ, but for BOOKKEEPING; no entry means None."""
        given = _plain(config)
        keys = sorted((self.config.keys() | given.keys()) - BOOKKEEPING)
        pairs = {key: (self.config.get(key), given.get(key)) for key in keys}
        return {key: (ours, theirs) for key, (ours, theirs) in pairs.items() if ours != theirs}

    def _file(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / name

    def _path(self, name: str) -> Path:
        if self.folder is None:
            raise ValueError(f"an unsaved run has no {name}; begin the run with a run_dir, or name a path")
        return self.folder / name

    def _files(self) -> list[Path]:
        """The folder's files; a link is none."""
        if self.folder is None:
            return []
        with os.scandir(self.folder) as entries:
            return [self.folder / entry.name for entry in entries if entry.is_file(follow_symlinks=False)]

    def _append(self, line: bytes) -> None:
        """Write one line without a buffer: what was recorded survives a kill in the next moment."""
        if self._metrics is None:
            self._metrics = FileIO(self._path("metrics.jsonl"), "ab")
        while line:
            line = line[self._metrics.write(line) :]

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """(where it ends, in bytes; the line) of each line of metrics.jsonl, but for a cut one and one over LONGEST_ROW."""
        path = self._file("metrics.jsonl")
        if path is None or not path.exists():
            return
        with open(path, "rb") as file:
            begins, at = True, 0  # whether a line begins here
            while part := file.readline(LONGEST_ROW):
                ends, at = part.endswith(b"\n"), at + len(part)
                if begins and ends:
                    yield at, part
                begins = ends


def load_model(
    model: Any,
    run: Run | str | os.PathLike[str] | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    which: str = "last",
) -> Run:
    """Load a run's model, the "last" or the "best", into `model`; return the run.

    `run` is a Run, its folder or its name in `run_dir` ("runs" unless told). Without `run` it is the one that `fit`
    made last in this process, or, where there is none or `run_dir` is given, the newest there that holds a model.
    Raises FileNotFoundError when there is none, CheckpointError when names, shapes or dtypes are not the model's;
    the model is then as it was.
    """
    if which not in ("last", "best"):
        raise ValueError(f'load_model: which must be "last" or "best", got {which!r}')
    if not hasattr(model, "load_state_dict"):
        raise TypeError(f"load_model: model must be a Module, got a {type(model).__name__}")
    name = "best.ckpt" if which == "best" else "model_last.ckpt"
    chosen = _newest(run_dir, name) if run is None else _named(run, run_dir)
    path = chosen._file(name)
    if path is None or not path.is_file():
        raise FileNotFoundError(f"run {chosen.name} holds no {name}; choose another by load_model(model, run=...)")
    state: Any = read_checkpoint(path).get("model")
    if not getattr(model, "grows", False):  # one that grows has no shapes yet, and compares every array itself
        require_same("model", state, model.state_dict())
    model.load_state_dict(state)
    return chosen


def _named(run: Run | str | os.PathLike[str], run_dir: str | os.PathLike[str] | None) -> Run:
    if isinstance(run, Run):
        return run
    inside = path_of(run_dir or "runs") / run
    return Run.open(run if path_of(run).exists() and not inside.exists() else inside)


def _newest(run_dir: str | os.PathLike[str] | None, name: str) -> Run:
    """The current run; where there is none, or a folder of runs is named, the newest in it that holds file `name`."""
    if run_dir is None and Run.current is not None:
        return Run.current
    run_dir = path_of(run_dir or "runs")
    holding = [run for run in Run.all(run_dir) if (run_dir / run.name / name).is_file()]
    if not holding:
        raise FileNotFoundError(
            f"no run in {run_dir} holds a {name}; make one: trainer.fit(..., run_dir={str(run_dir)!r})"
        )
    return holding[-1]


# Folders and locks


def _opened(folder: Path) -> Run | None:
    try:
        return Run.open(folder)
    except (OSError, ValueError):  # killed before it had its number, or somebody else's
        return None


def _new_folder(root: Path) -> Path:
    """A folder named by the local clock; the system makes a name only once, so two processes never share one."""
    name = datetime.now().strftime("%Y-%m-%d-%H-%M-%S")
    for suffix in itertools.chain([""], (f"-{count}" for count in itertools.count(2))):
        try:
            (root / f"{name}{suffix}").mkdir()
            break
        except FileExistsError:
            continue
    return root / f"{name}{suffix}"


@contextmanager
def _held(path: Path, seconds: float, busy: str) -> Iterator[None]:
    """Hold the lock at `path`, waiting so long for it. Raises RuntimeError `busy` when another process keeps it."""
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise RuntimeError(busy) from None
    try:
        yield
    finally:
        lock.release()


def _logger(name: str, path: Path | None) -> logging.Logger:
    """A child of the logger `tinytorch`, one a Run: of a name in two folders each has its own file."""
    import logging

    logger = logging.Logger(name, logging.INFO)
    logger.parent = logging.getLogger("tinytorch")
    if path is not None:
        handler = logging.FileHandler(path, "a", "utf-8", delay=True, errors="backslashreplace")
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
    return logger


# Files and JSON


def _require_own(path: Path, fits: Any) -> None:
    """Raise ValueError when `path` is there and of another kind: a link would be written through, a pipe waited for."""
    if os.path.lexists(path) and not fits(os.lstat(path).st_mode):
        wanted = "a folder" if fits is stat.S_ISDIR else "a regular file"
        raise ValueError(f"{path} must be {wanted} of its own, not a link or a device; move it away")


def _read(path: Path, largest: int) -> bytes:
    size = path.stat().st_size
    if size > largest:
        raise ValueError(f"{path} has {size} bytes, at most {largest} are read; move it away to go on without it")
    return path.read_bytes()


def _json(value: Any) -> bytes:
    import json  # by itself a tenth of the time that the package takes to import

    return json.dumps(value, allow_nan=False).encode("utf-8")


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    """`config` as it will be read: tuples are lists, keys are text. Raises TypeError or ValueError for other values."""
    import json

    if not isinstance(config, dict):
        raise TypeError(f"config must be a dict, got a {type(config).__name__}")
    try:
        text = _json(config)
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"config must hold plain JSON values: {error}") from error
    if len(text) > LARGEST_CONFIG - 100:  # the number comes in
        raise ValueError(f"config has {len(text)} bytes as JSON, at most {LARGEST_CONFIG - 100} are written")
    return dict(json.loads(text))


def _object(data: bytes) -> dict[str, Any] | None:
    """The JSON object in `data`; None for anything else."""
    import json

    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):  # no JSON or UTF-8, a number of 5,000 digits, or nested 1,000 deep
        return None
    return value if isinstance(value, dict) else None


def _row(line: bytes) -> dict[str, Any] | None:
    """The row that a line of metrics.jsonl holds: an object with an integer "step"; None for anything else."""
    row = _object(line)
    step = None if row is None else row.get("step")
    return row if type(step) is int and 0 <= step < 2**63 else None


def _finite(value: Any) -> Any:
    """A NumPy number as Python's, NaN and infinity as None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
