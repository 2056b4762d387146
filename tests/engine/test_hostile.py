"""No file can do anything to its reader but be refused, and no disk anything to a file but keep it from being written.

Files are read in a child process with a limit of memory (which only the kernel of Linux sets) and of time; the pickles
stand in hostile.py.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import runpy
import shutil
import signal
import stat
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinytorch import checkpoint
from tinytorch.checkpoint import read_checkpoint, replace_file, write_checkpoint

HOSTILE = runpy.run_path(str(Path(__file__).with_name("hostile.py")))
PICKLES, CANARY = HOSTILE["PICKLES"], HOSTILE["CANARY"]
PACKAGE = str(Path(checkpoint.__file__).parent.parent)
SECONDS = 1.0  # of a processor, for one file
MEBIBYTES = 128  # for one file; a million opcodes, the most there may be, take 64 of them

READER = """
import json, os, pickle, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import numpy, pickletools
from tinytorch.checkpoint import CheckpointError, read_checkpoint

read = read_checkpoint if sys.argv[2] == "read_checkpoint" else lambda path: pickle.loads(path.read_bytes())

def outcome(path):
    try:
        read(path)
    except CheckpointError as error:
        return error.kind if len(str(error)) < 400 else "a long message"
    except BaseException as error:
        return type(error).__name__
    return "read"

if sys.platform == "linux":
    import resource
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[3]) * 2**20, -1))
for path in sorted(Path("files").absolute().iterdir()):
    print(json.dumps([path.name]), flush=True)
    place = path.parent.with_name("places") / path.name
    place.mkdir()
    os.chdir(place)
    start = time.process_time()
    found = outcome(path), time.process_time() - start, os.listdir(place)
    print(json.dumps([path.name, *found]), flush=True)
"""


class Outcome(NamedTuple):
    """What became of a file: the kind of the CheckpointError, the name of another error, or "read"."""

    kind: str
    seconds: float
    made: list[str]  # files and folders that came into being


def outcomes(files: dict[str, bytes], folder: Path, reader: str = "read_checkpoint") -> dict[str, Outcome]:
    """Read every file in one child process. Fails, with the name of the file, where the child dies or hangs."""
    for name in ("files", "places"):
        (folder / name).mkdir()
    for number, data in enumerate(files.values()):
        (folder / "files" / f"{number:05}").write_bytes(data)
    ended = ended_child([sys.executable, "-c", READER, PACKAGE, reader, str(MEBIBYTES)], folder)
    lines = [json.loads(line) for line in (folder / "lines").read_text(encoding="utf-8").splitlines()]
    names, found = list(files), [Outcome(*line[1:]) for line in lines if line[1:]]
    if ended or len(found) < len(files):
        pytest.fail(f"at {names[int(lines[-1][0])] if lines else 'its start'!r} the reader ended: {ended}")
    return dict(zip(names, found, strict=True))


def ended_child(command: list[str], folder: Path) -> str:
    """Run the command, its lines into a file, and say how it ended; nothing when all went well."""
    with (
        open(folder / "lines", "w", encoding="utf-8") as lines,
        open(folder / "errors", "w", encoding="utf-8") as errors,
    ):
        try:
            done = subprocess.run(command, stdout=lines, stderr=errors, cwd=folder, timeout=120)
        except subprocess.TimeoutExpired:
            return "not within 120 s"
    return f"exit code {done.returncode}" if done.returncode else ""


def wrapped(payload: bytes) -> bytes:
    """A perfect file around any payload."""
    digest = hashlib.sha256(payload).hexdigest()
    outer = {"format": checkpoint.FORMAT, "version": checkpoint.VERSION, "sha256": digest, "payload": payload}
    return checkpoint._pickled(outer)


def run(rows: int = 8) -> dict[str, Any]:
    """A small content of every kind."""
    model = {"0.weight": np.arange(12.0 * rows, dtype=np.float32).reshape(rows, 12), "0.bias": np.ones(rows)}
    state = [{"step": 3, "exp_avg": array / 7, "exp_avg_sq": array**2} for array in model.values()]
    history = {"loss": [0.5, 0.25], "seconds": (1, 300, 70_000, -1, 2**70)}
    return {"model": model, "state": state, "history": history, "none": None, "yes": True, "raw": b"abc"}


# Hostile pickles


def test_every_hostile_pickle_is_refused(tmp_path: Path) -> None:
    files = {f"file: {name}": data for name, (_, data) in PICKLES.items()}
    files |= {f"payload: {name}": wrapped(data) for name, (_, data) in PICKLES.items()}
    found = outcomes(files | {"good": checkpoint._file_bytes(run())}, tmp_path)
    assert found.pop("good").kind == "read"
    bad = {name: it for name, it in found.items() if it.kind not in ("refused", "corrupt") or it.made}
    assert bad == {}
    assert {name: it.seconds for name, it in found.items() if it.seconds > SECONDS} == {}


def test_plain_pickle_does_what_the_hostile_ones_ask(tmp_path: Path) -> None:
    """So the child and its limits do show it: things made, memory that is refused, and values."""
    files = {name: data for name, (what, data) in PICKLES.items() if what in ("runs", "asks", "reads")}
    found = outcomes(files, tmp_path, "pickle")
    seen = {
        name: "runs" if it.made == [CANARY] else {"read": "reads", "MemoryError": "asks"}.get(it.kind, it.kind)
        for name, it in found.items()
    }
    assert seen == {name: PICKLES[name][0] for name in files}


@pytest.mark.parametrize("name", [name for name, (what, _) in PICKLES.items() if what == "dies"])
def test_a_reader_that_dies_is_seen_and_the_pickle_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(pytest.fail.Exception, match=f"at '{name}' the reader ended: exit code"):
        outcomes({"good": wrapped(b""), name: PICKLES[name][1], "after": b""}, tmp_path, "pickle")


def test_a_version_is_a_whole_number(tmp_path: Path) -> None:
    """True and 1.0 are equal to 1."""
    outer = {"format": checkpoint.FORMAT, "sha256": hashlib.sha256(b"").hexdigest(), "payload": b""}
    files = {str(version): checkpoint._pickled({**outer, "version": version}) for version in (True, 1.0, "1", None)}
    assert {found.kind for found in outcomes(files, tmp_path).values()} == {"corrupt"}


# Damage


def cut(whole: bytes) -> dict[str, bytes]:
    return {f"cut at {part}/64": whole[: len(whole) * part // 64] for part in range(64)}


def flipped(whole: bytes, bits: Any) -> dict[str, bytes]:
    """A file for each bit, which stands the other way there."""
    number = int.from_bytes(whole, "little")
    return {f"bit {bit}": (number ^ 1 << bit).to_bytes(len(whole), "little") for bit in bits}


@pytest.mark.parametrize("rows", [8, 1000])
def test_a_file_cut_at_every_64th_or_with_one_of_1000_bits_flipped(tmp_path: Path, rows: int) -> None:
    whole = checkpoint._file_bytes(run(rows))
    files = cut(whole) | flipped(whole, random.Random(0).sample(range(8 * len(whole)), 500))
    found = outcomes(files | {"whole": whole}, tmp_path)
    assert found.pop("whole").kind == "read"
    assert {it.kind for name, it in found.items() if name.startswith("cut")} == {"corrupt"}
    assert {name: it for name, it in found.items() if it.kind not in ("refused", "corrupt", "version")} == {}
    assert len(found) == 564


def test_every_bit_and_every_length_of_a_small_file(tmp_path: Path) -> None:
    whole = checkpoint._file_bytes({"a": np.ones(1, np.float32)})
    files = flipped(whole, range(8 * len(whole))) | {f"cut at {end}": whole[:end] for end in range(len(whole))}
    found = outcomes(files, tmp_path)
    assert {name: it for name, it in found.items() if it.kind not in ("refused", "corrupt", "version")} == {}


def test_reading_arrays_takes_little_more_than_twice_the_file(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "a", {str(i): np.ones(2**18) for i in range(8)})
    tracemalloc.start()
    read_checkpoint(tmp_path / "a")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2.1 * (tmp_path / "a").stat().st_size


# Disks

FILLER = """
import contextlib, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tinytorch.checkpoint import read_checkpoint, write_checkpoint

path, old, found = Path(sys.argv[2], "run.ckpt"), {"old": b"1234" * 50_000}, {}

def attempt(name, content):
    error = 0
    try:
        write_checkpoint(path, content)
    except OSError as failed:
        error = failed.errno
    assert read_checkpoint(path) == (old if error else content)
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, "rest"}
    found[name] = error

if sys.argv[3] == "limit":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**19, 2**19))
for kib in (0, 1, 100, 400, 600, 900, 2000, 20_000):
    write_checkpoint(path, old)
    attempt(kib, {"new": b"5678" * (kib * 256)})
if sys.argv[3] == "disk":
    write_checkpoint(path, old)
    with contextlib.suppress(OSError), open(path.with_name("rest"), "wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    attempt("full", {"new": 1})
print(json.dumps(found))
"""
MOUNT = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


def attempts(folder: Path, what: str, *before: str) -> dict[str, int]:
    """The number of the error, 0 for none, of each attempt to write so many KiB."""
    command = [*before, sys.executable, "-c", FILLER, PACKAGE, str(folder), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def may_mount() -> bool:
    """Whether this machine lets a process have a small disk of its own."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*MOUNT, "mount -t tmpfs none /mnt"], capture_output=True).returncode == 0


if may_mount():

    def test_a_disk_that_fills_keeps_the_old_file(tmp_path: Path) -> None:
        disk = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
        found = attempts(tmp_path, "disk", *MOUNT, disk, str(tmp_path))
        full = dict.fromkeys(("900", "2000", "20000", "full"), errno.ENOSPC)
        assert found == dict.fromkeys(("0", "1", "100", "400", "600"), 0) | full
        assert list(tmp_path.iterdir()) == []


if os.name == "posix":

    def test_a_file_that_may_not_grow_keeps_the_old_one(tmp_path: Path) -> None:
        found = attempts(tmp_path, "limit")
        too_large = dict.fromkeys(("600", "900", "2000", "20000"), errno.EFBIG)
        assert found == dict.fromkeys(("0", "1", "100", "400"), 0) | too_large

    @pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # Ctrl-C between open and `with`
    def test_ctrl_c_leaves_one_whole_file_and_no_other(tmp_path: Path) -> None:
        path, stopped = tmp_path / "a", 0
        versions = {bytes(1000), bytes([1]) * 20_000_000}
        replace_file(path, bytes(1000))
        for microseconds in range(100, 20_000, 500):
            stopped += interrupted(microseconds / 1e6, path, bytes([1]) * 20_000_000)
            assert path.read_bytes() in versions
            assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
        assert stopped > 5

    def interrupted(seconds: float, path: Path, data: bytes) -> bool:
        """Whether KeyboardInterrupt came while `data` was written."""
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            replace_file(path, data)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return True
        finally:
            signal.signal(signal.SIGALRM, before)
        return False


def test_the_file_is_synced_before_it_is_renamed_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, sync = [], os.fsync

    def fsync(number: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file"
        seen.append((kind, (tmp_path / "a").exists()))
        sync(number)

    monkeypatch.setattr(os, "fsync", fsync)
    replace_file(tmp_path / "a", b"data")
    assert seen == [("file", False), ("folder", True)][: 2 if os.name == "posix" else 1]
    assert (tmp_path / "a").read_bytes() == b"data"


def test_a_folder_that_may_not_be_opened_is_written_into(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o300)
    replace_file(folder / "a", b"data")
    folder.chmod(0o700)
    assert [entry.name for entry in folder.iterdir()] == ["a"]
