"""Checkpoints: a resumed run has the bits of the one that never stopped, and no file can do anything but be read."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinytorch import (
    SGD,
    Adam,
    AdamW,
    CheckpointError,
    CosineSchedule,
    CrossEntropyLoss,
    DataLoader,
    Dropout,
    Generator,
    Linear,
    MSELoss,
    Optimizer,
    ReLU,
    Sequential,
    Tensor,
    TensorDataset,
    Trainer,
    checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from tinytorch.snapshot import gather

KILL_POINTS = int(os.environ.get("TITO_KILL_POINTS", "20"))
OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    "sgd": lambda params: SGD(params, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "adam": Adam,
    "adamw": lambda params: AdamW(params, lr=0.01, betas=(0.8, 0.9)),
}


def build(optimizer: str = "adam") -> tuple[Trainer, DataLoader]:
    """A run in which everything that a checkpoint must hold matters: dropout, shuffle, a ragged tail, clipping."""
    rng = Generator(3)
    model = Sequential(
        Linear(4, 8, rng=rng.split("a")), ReLU(), Dropout(0.3, rng=rng.split("b")), Linear(8, 3, rng=rng.split("c"))
    )
    rows, labels = Generator(9).normal(0, 1, (22, 4)), Generator(9).integers(0, 3, (22,))
    loader = DataLoader(TensorDataset(Tensor(rows), Tensor(labels)), batch_size=4, shuffle=True, seed=5)
    made = OPTIMIZERS[optimizer](model.parameters())
    schedule = CosineSchedule(0.05, 0.001, 6)
    return Trainer(model, made, CrossEntropyLoss(), schedule, grad_clip_norm=1.0), loader


def everything(trainer: Trainer) -> bytes:
    """All that a checkpoint would hold, as bytes: equal only when every bit is."""
    return checkpoint._file_bytes(gather(trainer))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("stop", [0, 1, 3])
@pytest.mark.parametrize("given_now", [True, False])
def test_a_resumed_run_has_the_same_bits(tmp_path: Path, optimizer: str, stop: int, given_now: bool) -> None:
    straight, loader = build(optimizer)
    for epoch in range(5):
        if epoch == stop:
            straight.save_checkpoint(tmp_path / "run.ckpt")
        straight.train_epoch(loader, accumulation_steps=2)
        straight.evaluate(loader)
    resumed, loader = build(optimizer)
    for parameter in resumed.model.parameters():
        parameter.data += 1.0
    resumed.model[2].rng.normal(0, 1, (7,))
    resumed.load_checkpoint(tmp_path / "run.ckpt", loader if given_now and stop else None)
    for _ in range(stop, 5):
        resumed.train_epoch(loader, accumulation_steps=2)
        resumed.evaluate(loader)
    assert everything(resumed) == everything(straight)


def test_saving_what_was_loaded_gives_the_same_file(tmp_path: Path) -> None:
    trainer, loader = build()
    trainer.train_epoch(loader)
    trainer.save_checkpoint(tmp_path / "a")
    other, _ = build()
    other.load_checkpoint(tmp_path / "a")
    other.save_checkpoint(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_missing_file(tmp_path: Path) -> None:
    trainer, _ = build()
    with pytest.raises(FileNotFoundError):
        trainer.load_checkpoint(tmp_path / "none.ckpt")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.lists(inner).map(tuple),
    max_leaves=20,
)


@settings(max_examples=50, deadline=None)
@given(content=st.dictionaries(st.text(), plain))
def test_plain_values_come_back(content: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "plain.ckpt"
    write_checkpoint(path, content)
    assert repr(read_checkpoint(path)) == repr(content)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i4", ">i4", "i8", "u8", "f2", "f4", ">f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_arrays_come_back(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    write_checkpoint(tmp_path / "a", {"array": array, "turned": array.T})
    found = read_checkpoint(tmp_path / "a")
    np.testing.assert_array_equal(found["array"], array)
    np.testing.assert_array_equal(found["turned"], array.T)
    assert found["array"].dtype == array.dtype.newbyteorder("=")
    assert found["array"].flags.writeable


class Evil:
    """Pickles as a call."""

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self.call = call, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    "value",
    [np.float64(1.0), np.float32(1.0), object(), {1: 2}, {"a": {(): 1}}, np.array(["a"]), np.array([None]), {1, 2}, 1j],
    ids=lambda value: type(value).__name__,  # the same in every process
)
def test_what_is_not_plain_is_not_written(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError, match="checkpoint: content.x"):
        write_checkpoint(tmp_path / "a", {"x": value})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [("<f4", (), b"1234"), ("a", (), b"")])
def test_a_tuple_that_looks_like_an_array_is_not_written(tmp_path: Path, value: Any) -> None:
    with pytest.raises(TypeError):
        write_checkpoint(tmp_path / "a", {"x": value})


def test_what_holds_itself_is_not_written(tmp_path: Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError, match="nested"):
        write_checkpoint(tmp_path / "a", {"x": loop})


# Hostile files. Each is the whole payload of an otherwise perfect file, and then the whole file.

HEAD, TEXT = b"\x80\x03", b"X\x01\x00\x00\x00a"
DEEP = 200_000
HOSTILE = {
    "os._exit": pickle.dumps(Evil(os._exit, 3), 3),
    "os.system": pickle.dumps(Evil(os.system, "exit 1"), 3),
    "eval": pickle.dumps({"a": Evil(eval, "1 + 1")}, 3),
    "eval, protocol 0": pickle.dumps({"a": Evil(eval, "1 + 1")}, 0),
    "eval, protocol 4": pickle.dumps({"a": Evil(eval, "1 + 1")}, 4),
    "a class alone": HEAD + b"}" + TEXT + b"cbuiltins\neval\ns.",
    "instance": b"(ios\nsystem\n.",
    "build": HEAD + b"}" + TEXT + b"}b.",
    "newobj": HEAD + b"cbuiltins\nobject\n)\x81.",
    "extension": HEAD + b"\x82\x01.",
    "persistent": HEAD + b"}" + TEXT + b"K\x01Qs.",
    "numpy array": pickle.dumps({"a": np.zeros(3)}, 3),
    "long memo index": HEAD + b"}r\xff\xff\xff\x7f.",
    "8-byte long_binput": HEAD + b"Nr\xff\xff\xff\xff.",
    "memo bomb": HEAD + b"]q\x00" + b"".join(b"(" + b"h%c" % i * 10 + b"lq%c" % (i + 1) for i in range(60)) + b".",
    "billion laughs": pickle.dumps((lambda x: [x := [x] * 10 for _ in range(9)][-1])([]), 3),
    "list that holds itself": HEAD + b"]q\x00h\x00a.",
    "dict that holds itself": HEAD + b"}q\x00" + TEXT + b"h\x00s.",
    "deep lists": HEAD + b"]" * DEEP + b"a" * (DEEP - 1) + b".",
    "deep tuples": HEAD + b")" + b"\x85" * DEEP + b".",
    "deep tuple as a key": HEAD + b"})" + b"\x85" * DEEP + b"Ns.",
    "tuple as a key": HEAD + b"}(K\x01tNs.",
    "number as a key": HEAD + b"}K\x01Ns.",
    "a key twice": HEAD + b"}(" + TEXT + b"K\x01" + TEXT + b"K\x02u.",
    "odd number of items": HEAD + b"}(" + TEXT + b"u.",
    "bytes size that lies": HEAD + b"B\xff\xff\xff\x7fabc.",
    "text size that lies": HEAD + b"X\xff\xff\xff\x7fabc.",
    "8-byte bytes size that lies": HEAD + b"\x8e" + struct.pack("<Q", 2**62) + b"abc.",
    "8-byte text size that lies": HEAD + b"\x8d" + struct.pack("<Q", 2**62) + b"abc.",
    "bytearray size that lies": HEAD + b"\x96" + struct.pack("<Q", 2**40) + b"abc.",
    "long of gigabytes": HEAD + b"\x8b\xff\xff\xff\x7f1.",
    "decimal of a million digits": HEAD + b"L" + b"9" * 1_000_000 + b"L\n.",
    "frame that lies": b"\x80\x04\x95" + struct.pack("<Q", 2**50) + b"}.",
    "text that is no UTF-8": HEAD + b"}X\x01\x00\x00\x00\xffNs.",
    "mark left over": HEAD + b"(}.",
    "two values": HEAD + b"}}.",
    "no value": HEAD + b".",
    "no end": HEAD + b"}",
    "after the end": HEAD + b"}.}",
    "pops too much": HEAD + b"\x87.",
    "mark inside a tuple": HEAD + b"N(N\x87.",
    "append to a tuple": HEAD + b")Na.",
    "append to nothing": HEAD + b"Na.",
    "items into a list": HEAD + b"](" + TEXT + b"Nu.",
    "closes what is not open": HEAD + b"Nu.",
    "a list of ops": HEAD + b"]" * 400_000 + b".",
    "unusual spelling": HEAD + b"}(" + TEXT + b"J\x01\x00\x00\x00u.",
    "protocol 5": b"\x80\x05}.",
    "nothing": b"",
    "other text": b"PK\x03\x04 this is a zip",
}


def wrapped(payload: bytes) -> bytes:
    """A perfect file around any payload."""
    digest = hashlib.sha256(payload).hexdigest()
    outer = {"format": checkpoint.FORMAT, "version": checkpoint.VERSION, "sha256": digest, "payload": payload}
    return checkpoint._pickled(outer)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("as_file", [True, False])
def test_a_hostile_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, as_file: bool) -> None:
    monkeypatch.setattr(checkpoint, "MOST", 300_000)
    path, trainer = tmp_path / "run.ckpt", build()[0]
    before = everything(trainer)
    path.write_bytes(HOSTILE[name] if as_file else wrapped(HOSTILE[name]))
    for read in (read_checkpoint, trainer.load_checkpoint):
        with pytest.raises(CheckpointError) as caught:
            read(path)
        assert len(str(caught.value)) < 300
    assert everything(trainer) == before


ARRAYS = {
    "too few bytes": ("<f4", (3,), b"1234"),
    "too many bytes": ("<f4", (), b"12345678"),
    "huge": ("<f4", (2**31, 2**31, 2**31), b""),
    "huge and empty": ("<f4", (0, 2**31, 2**31, 2**31), b""),
    "negative": ("<f4", (-1, -1), b"1234"),
    "bool as a size": ("<f4", (True,), b"1234"),
    "object": ("|O", (1,), b"12345678"),
    "text": ("<U1", (1,), b"1234"),
    "fields": ("<f4,<f4", (1,), b"12345678"),
    "big-endian": (">f4", (1,), b"1234"),
    "many dimensions": ("|u1", (1,) * 100, b"1"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_whose_parts_disagree_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_bytes(wrapped(checkpoint._pickled({"x": ARRAYS[name]})))
    with pytest.raises(CheckpointError):
        read_checkpoint(tmp_path / "a")


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A file whose content was changed before it was written."""
    trainer, loader = build()
    trainer.train_epoch(loader)
    content = gather(trainer)
    change(content)
    return checkpoint._file_bytes(content)


MISFITS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "no epoch": ("missing", lambda c: c.pop("epoch")),
    "one entry more": ("unexpected", lambda c: c.update(more=1)),
    "no weight": ("missing", lambda c: c["model"].pop("0.weight")),
    "a weight more": ("unexpected", lambda c: c["model"].update(w=np.zeros(3))),
    "a shape": ("shape", lambda c: c["model"].update({"0.bias": np.zeros(9, np.float32)})),
    "a dtype": ("dtype", lambda c: c["model"].update({"0.bias": np.zeros(8)})),
    "no array": ("dtype", lambda c: c["model"].update({"0.bias": 1.0})),
    "model no dict": ("corrupt", lambda c: c.update(model=[1])),
    "optimizer class": ("optimizer", lambda c: c["optimizer"].update({"class": "SGD"})),
    "parameter order": ("optimizer", lambda c: c["optimizer"]["parameters"].reverse()),
    "a moment's shape": ("optimizer", lambda c: c["optimizer"]["state"]["state"][0].update(exp_avg=np.zeros(2))),
    "a moment missing": ("optimizer", lambda c: c["optimizer"]["state"]["state"][0].pop("exp_avg")),
    "a negative rate": ("optimizer", lambda c: c["optimizer"]["state"]["settings"].update(lr=-1.0)),
    "betas": ("optimizer", lambda c: c["optimizer"]["state"]["settings"].update(betas="ab")),
    "settings no dict": ("optimizer", lambda c: c["optimizer"]["state"].update(settings=3)),
    "state no list": ("optimizer", lambda c: c["optimizer"]["state"].update(state=None)),
    "state of None": ("optimizer", lambda c: c["optimizer"]["state"].update(state=[None] * 4)),
    "schedule": ("schedule", lambda c: c["schedule"]["arguments"].update(max_lr=0.5)),
    "schedule array": ("schedule", lambda c: c.update(schedule=np.zeros(3))),
    "no schedule": ("schedule", lambda c: c.update(schedule=None)),
    "epoch": ("corrupt", lambda c: c.update(epoch=-1)),
    "step": ("corrupt", lambda c: c.update(step=True)),
    "position": ("corrupt", lambda c: c.update(position=1.5)),
    "history": ("corrupt", lambda c: c["history"].update(train_loss=["high"])),
    "history no list": ("corrupt", lambda c: c["history"].update(train_loss=3)),
    "a generator missing": ("missing", lambda c: c["generators"].clear()),
    "a generator's key": ("corrupt", lambda c: c["generators"]["2.rng"].update(key=[-1, 2])),
    "a generator's count": ("corrupt", lambda c: c["generators"]["2.rng"].update(buffer_pos=2**80)),
    "a generator's buffer": ("corrupt", lambda c: c["generators"]["2.rng"].update(buffer=[1] * 99)),
    "a generator's short buffer": ("corrupt", lambda c: c["generators"]["2.rng"].update(buffer=[1])),
    "a generator's negative count": ("corrupt", lambda c: c["generators"]["2.rng"].update(buffer_pos=-(10**6))),
    "generator no dict": ("corrupt", lambda c: c["generators"].update({"2.rng": [1]})),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_content_that_does_not_fit_changes_nothing(tmp_path: Path, name: str) -> None:
    kind, change = MISFITS[name]
    trainer, loader = build()
    trainer.train_epoch(loader)
    before = everything(trainer), loader.position
    (tmp_path / "a").write_bytes(changed(change))
    with pytest.raises(CheckpointError) as caught:
        trainer.load_checkpoint(tmp_path / "a", loader)
    assert caught.value.kind == kind
    assert (everything(trainer), loader.position) == before


def test_another_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(checkpoint._pickled({"format": checkpoint.FORMAT, "version": 2, "more": 1}))
    with pytest.raises(CheckpointError, match="version 2") as caught:
        read_checkpoint(tmp_path / "a")
    assert caught.value.kind == "version"


def test_every_cut_and_many_flipped_bits_are_noticed(tmp_path: Path) -> None:
    trainer, loader = build()
    trainer.train_epoch(loader)
    path = tmp_path / "a"
    trainer.save_checkpoint(path)
    whole = path.read_bytes()
    chance = random.Random(0)
    damaged = [whole[: len(whole) * part // 64] for part in range(64)]
    for bit in chance.sample(range(8 * len(whole)), 200):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(CheckpointError):
            read_checkpoint(path)


def test_an_optimizer_of_another_model_is_not_saved(tmp_path: Path) -> None:
    model, other = Linear(2, 2, rng=Generator(0)), Linear(2, 2, rng=Generator(0))
    with pytest.raises(ValueError, match="parameters"):
        Trainer(model, Adam(other.parameters()), MSELoss()).save_checkpoint(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_loader_without_a_position_is_refused(tmp_path: Path) -> None:
    trainer, loader = build()
    trainer.train_epoch(loader)
    trainer.save_checkpoint(tmp_path / "a")
    with pytest.raises(TypeError, match="position"):
        trainer.load_checkpoint(tmp_path / "a", [])


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "a"
    write_checkpoint(path, {"old": 1})

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space"):
        write_checkpoint(path, {"new": 2})
    monkeypatch.undo()
    assert read_checkpoint(path) == {"old": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


WRITER = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from tinytorch import write_checkpoint
for number in range(10_000):
    write_checkpoint(sys.argv[2], {"number": number, "array": np.full(200_000, number)})
    if number == 0:
        print("ready", flush=True)
"""


def killed_after(seconds: float, folder: Path, path: Path) -> None:
    """Start a process that writes one checkpoint after another to `path`, and kill it some time after the first."""
    package = str(Path(checkpoint.__file__).parent.parent)
    command = [sys.executable, "-c", WRITER, package, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"ready"
        time.sleep(seconds)
        process.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    chance, path = random.Random(time.time_ns()), tmp_path / "run.ckpt"
    for _ in range(KILL_POINTS):
        killed_after(chance.uniform(0.0, 0.05), tmp_path, path)
        found = read_checkpoint(path)
        np.testing.assert_array_equal(found["array"], np.full(200_000, found["number"]))
