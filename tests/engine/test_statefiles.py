"""States in other files' formats: what was written comes back, and no file can do anything but be read."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tinytorch import (
    CheckpointError,
    Generator,
    Linear,
    ReLU,
    Sequential,
    Tensor,
    load_npz,
    load_safetensors,
    save_npz,
    save_safetensors,
    statefiles,
)

State = dict[str, Any]
SAVE: dict[str, Callable[..., None]] = {"npz": save_npz, "safetensors": save_safetensors}
LOAD: dict[str, Callable[..., State]] = {"npz": load_npz, "safetensors": load_safetensors}
FORMATS = list(SAVE)
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
MEMORY = 4_000_000  # bytes; every file of these tests but the limit's is far smaller


def same(found: State, wanted: State) -> None:
    """The same names, and arrays that are new, the machine's own, and equal in every bit."""
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        want = wanted[name]
        assert (array.shape, array.dtype) == (want.shape, want.dtype.newbyteorder("="))
        assert array.tobytes() == want.astype(array.dtype).tobytes()
        assert array.flags.writeable and array.flags.c_contiguous and array.dtype.isnative


def small_state() -> State:
    return {
        "0.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "0.bias": np.array([True, False, True]),
        "gewöhnlich.β": np.arange(4.0).reshape(2, 2).T,
        "steps": np.array(7),
    }


@contextmanager
def little_memory() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()


# What is written comes back

arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
turned = st.builds(
    lambda array, step, swap: np.asarray(array[::step].T if array.ndim else array, order=swap),
    arrays,
    st.sampled_from([1, 2, -1]),
    st.sampled_from(["K", "C", "F"]),
)
parts = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="./\\:"), min_size=1, max_size=8)
names = st.lists(parts, min_size=1, max_size=3).map(".".join)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=80, deadline=None)
@given(state=st.dictionaries(names, turned, max_size=5))
def test_every_state_comes_back(kind: str, state: State, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"state.{kind}"
    SAVE[kind](path, state)
    same(LOAD[kind](path), state)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", [">i2", ">f4", ">f8"])
def test_other_byte_orders_are_written_as_ours(tmp_path: Path, kind: str, dtype: str) -> None:
    state = {"a": np.arange(5).astype(dtype)}
    SAVE[kind](tmp_path / "a", state)
    same(LOAD[kind](tmp_path / "a"), state)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_model_gets_its_numbers_back(tmp_path: Path, kind: str) -> None:
    first, second = (
        Sequential(Linear(3, 4, rng=Generator(seed)), ReLU(), Linear(4, 2, rng=Generator(seed + 1))) for seed in (1, 5)
    )
    SAVE[kind](str(tmp_path / "model"), first.state_dict())
    second.load_state_dict(LOAD[kind](str(tmp_path / "model")))
    x = Tensor([[1.0, -2.0, 3.0]])
    assert second(x).data.tolist() == first(x).data.tolist()


def test_numpy_opens_ours_and_ours_opens_numpys(tmp_path: Path) -> None:
    state = small_state() | {"file": np.zeros((0, 2)), "allow_pickle": np.array(1)}
    save_npz(tmp_path / "ours", state)
    with np.load(tmp_path / "ours", allow_pickle=False) as opened:
        same({name: opened[name].copy(order="C") for name in opened.files}, state)
    np.savez(tmp_path / "theirs.npz", **small_state())
    found = load_npz(tmp_path / "theirs.npz")
    same(found, small_state())
    assert list(found) == list(small_state())


def test_the_package_safetensors_opens_ours(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "ours", small_state())
    found = safetensors.numpy.load_file(tmp_path / "ours")
    same({name: array.copy() for name, array in found.items()}, small_state())


@pytest.mark.parametrize("kind", FORMATS)
def test_one_state_gives_one_file(tmp_path: Path, kind: str) -> None:
    SAVE[kind](tmp_path / "a", small_state())
    SAVE[kind](tmp_path / "b", {name: np.asarray(array, order="F") for name, array in small_state().items()})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", FORMATS)
def test_the_old_file_is_replaced_not_written_over(tmp_path: Path, kind: str) -> None:
    SAVE[kind](tmp_path / "a", {"old": np.array(1)})
    os.link(tmp_path / "a", tmp_path / "kept")
    SAVE[kind](tmp_path / "a", {"new": np.array(2)})
    assert list(LOAD[kind](tmp_path / "kept")) == ["old"]
    assert list(LOAD[kind](tmp_path / "a")) == ["new"]
    assert {entry.name for entry in tmp_path.iterdir()} == {"a", "kept"}


WRONG_STATES: dict[str, tuple[Any, type[Exception], str]] = {
    "list": ([np.zeros(1)], TypeError, "state_dict"),
    "name is no text": ({1: np.zeros(1)}, TypeError, "text"),
    "no name": ({"": np.zeros(1)}, ValueError, "dotted"),
    "folder": ({"a/b": np.zeros(1)}, ValueError, "a/b"),
    "parent": ({"..": np.zeros(1)}, ValueError, "dotted"),
    "backslash": ({"..\\a": np.zeros(1)}, ValueError, "dotted"),
    "nul": ({"a\0b": np.zeros(1)}, ValueError, "dotted"),
    "line end": ({"a\n": np.zeros(1)}, ValueError, "dotted"),
    "half a letter": ({"\ud800": np.zeros(1)}, ValueError, "dotted"),
    "long": ({"a" * 1001: np.zeros(1)}, ValueError, "dotted"),
    "number": ({"a": 1.0}, TypeError, "float"),
    "tensor": ({"a": Tensor([1.0])}, TypeError, "Tensor"),
    "objects": ({"a": np.array([None])}, TypeError, "object"),
    "text": ({"a": np.array(["b"])}, TypeError, "U1"),
    "complex": ({"a": np.zeros(1, complex)}, TypeError, "complex128"),
    "dates": ({"a": np.zeros(1, "M8[s]")}, TypeError, "datetime64"),
    "columns": ({"a": np.zeros(1, [("x", "f4")])}, TypeError, "x"),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", WRONG_STATES)
def test_what_is_no_state_is_not_written(tmp_path: Path, kind: str, name: str) -> None:
    state, error, says = WRONG_STATES[name]
    with pytest.raises(error, match=says):
        SAVE[kind](tmp_path / "a", state)
    assert not list(tmp_path.iterdir())


def test_metadata_is_no_name_of_safetensors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="__metadata__"):
        save_safetensors(tmp_path / "a", {"__metadata__": np.zeros(1)})


# What was cut or changed is seen


def cuts(data: bytes) -> list[bytes]:
    return [data[: len(data) * part // 64] for part in range(64)]


def flips(data: bytes, times: int) -> Iterator[bytes]:
    chance = random.Random(5)
    for _ in range(times):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        yield bytes(changed)


def loaded(kind: str, path: Path, data: bytes) -> State | None:
    """The state, None after a CheckpointError; anything else that is raised comes through."""
    path.unlink(missing_ok=True)  # a file that is written over would be waited for until it is on the disk
    path.write_bytes(data)
    try:
        return LOAD[kind](path)
    except CheckpointError as error:
        assert error.kind in ("corrupt", "refused") and str(path) in str(error)
        return None


@pytest.mark.parametrize("kind", FORMATS)
def test_a_cut_file(tmp_path: Path, kind: str) -> None:
    SAVE[kind](tmp_path / "a", small_state())
    for data in cuts((tmp_path / "a").read_bytes()):
        assert loaded(kind, tmp_path / "b", data) is None


def every_flip(data: bytes) -> Iterator[bytes]:
    for at in range(len(data) * 8):
        yield data[: at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1 :]


def test_any_one_bit_of_an_npz_file_is_refused_or_carries_nothing(tmp_path: Path) -> None:
    state = {"gewöhnlich.β": np.arange(3, dtype=np.float32)}
    save_npz(tmp_path / "a", state)
    data = (tmp_path / "a").read_bytes()
    array = range(8 * data.index(b"\x93NUMPY"), 8 * data.index(b"PK\x01\x02"))
    for at, changed in enumerate(every_flip(data)):
        found = loaded("npz", tmp_path / "b", changed)
        if found is not None:
            same(found, state)
            assert at not in array


def test_300_random_bits_of_an_npz_file(tmp_path: Path) -> None:
    state = small_state() | {"1.weight": np.random.default_rng(0).normal(size=(20, 30))}
    save_npz(tmp_path / "a", state)
    for data in flips((tmp_path / "a").read_bytes(), 300):
        found = loaded("npz", tmp_path / "b", data)
        if found is not None:
            same(found, state)


def test_300_random_bits_of_a_safetensors_file(tmp_path: Path) -> None:
    """The numbers have no checksum. Behind the header only a boolean can be seen to be wrong."""
    state = small_state() | {"1.weight": np.random.default_rng(0).normal(size=(20, 30))}
    save_safetensors(tmp_path / "a", state)
    data = (tmp_path / "a").read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    for changed in flips(data, 300):
        found = loaded("safetensors", tmp_path / "b", changed)
        if found is not None and changed[:end] == data[:end]:
            assert {k: (a.shape, a.dtype) for k, a in found.items()} == {
                k: (a.shape, a.dtype) for k, a in state.items()
            }


def test_every_bit_of_a_safetensors_header(tmp_path: Path) -> None:
    """Names, dtypes and shapes may change unseen, into others of as many bytes: a model's load_state_dict sees it."""
    model = Sequential(Linear(2, 3, rng=Generator(0)))
    before = model.state_dict()
    save_safetensors(tmp_path / "a", before)
    data = (tmp_path / "a").read_bytes()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    for changed in every_flip(data[:end]):
        found = loaded("safetensors", tmp_path / "b", changed + data[end:])
        if found is not None and {k: (a.shape, a.dtype) for k, a in found.items()} != {
            k: (a.shape, a.dtype) for k, a in before.items()
        }:
            with pytest.raises(ValueError, match="does not fit"):
                model.load_state_dict(found)


# What means harm is refused


def npy(header: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H" if version == b"\x01\x00" else "<I", len(text)) + text + body


def described(dtype: str, shape: str, body: bytes = b"") -> bytes:
    return npy(f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}", body)


def zipped(*members: tuple[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, how)
    return stream.getvalue()


def pickled_array() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([None]), allow_pickle=True)
    return stream.getvalue()


def twice_the_same_bytes() -> bytes:
    """The first member's content is, among others, the second member: a megabyte that counts twice."""
    inner = zipped(("b.npy", described("'|u1'", f"({2**20},)", bytes(2**20))))
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(inner)) as opened, zipfile.ZipFile(stream, "w") as archive:
        (second,) = opened.infolist()
        archive.writestr(zipfile.ZipInfo("a.npy"), inner[: opened.start_dir])
        second.header_offset = 30 + len("a.npy")
        archive.filelist.append(second)
    return stream.getvalue()


def empty_list_of_members() -> bytes:
    """A list of 64 bytes whose length is one bit away from 0: zipfile opens it as an empty archive."""
    data = bytearray(zipped(("layers.0.bias1.npy", GOOD)))
    assert struct.unpack("<I", data[-10:-6])[0] == 64
    data[-10] ^= 64
    return bytes(data)


def with_flags(data: bytes, flags: int) -> bytes:
    """The first member's flags, in the file and in the list at its end."""
    listed = data.index(b"PK\x01\x02")
    return data[:6] + struct.pack("<H", flags) + data[8 : listed + 8] + struct.pack("<H", flags) + data[listed + 10 :]


GOOD = described("'<f4'", "(2,)", bytes(8))
with_warning = pytest.warns(UserWarning, match="Duplicate name")
with with_warning:
    TWO_OF_ONE_NAME = zipped(("a.npy", GOOD), ("a.npy", GOOD))

HOSTILE_NPZ: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "corrupt"),
    "text": (b"0.weight = 1\n", "corrupt"),
    "npy": (GOOD, "corrupt"),
    "zip bomb": (
        zipped(("a.npy", described("'|u1'", f"({2**26},)", bytes(2**26))), how=zipfile.ZIP_DEFLATED),
        "refused",
    ),
    "bzip2": (zipped(("a.npy", GOOD), how=zipfile.ZIP_BZIP2), "refused"),
    "lzma": (zipped(("a.npy", GOOD), how=zipfile.ZIP_LZMA), "refused"),
    "overlap": (twice_the_same_bytes(), "refused"),
    "list cut short": (empty_list_of_members(), "corrupt"),
    "encrypted": (with_flags(zipped(("a.npy", GOOD)), 1), "corrupt"),
    "letters of no known kind": (with_flags(zipped(("ä.npy", GOOD)), 0), "refused"),
    "two of one name": (TWO_OF_ONE_NAME, "refused"),
    "absolute": (zipped(("/etc/a.npy", GOOD)), "refused"),
    "drive": (zipped(("C:a.npy", GOOD)), "refused"),
    "parent": (zipped(("../a.npy", GOOD)), "refused"),
    "parent of Windows": (zipped(("..\\a.npy", GOOD)), "refused"),
    "dots": (zipped(("...npy", GOOD)), "refused"),
    "folder": (zipped(("a/b.npy", GOOD)), "refused"),
    "only a suffix": (zipped((".npy", GOOD)), "refused"),
    "another suffix": (zipped(("a.txt", GOOD)), "refused"),
    "line end": (zipped(("a\n.npy", GOOD)), "refused"),
    "pickle": (zipped(("a.npy", pickled_array())), "refused"),
    "objects without pickle": (zipped(("a.npy", described("'|O'", "(1,)", bytes(8)))), "refused"),
    "columns": (zipped(("a.npy", described("[('x', '<f4')]", "(1,)", bytes(4)))), "refused"),
    "complex": (zipped(("a.npy", described("'<c8'", "(1,)", bytes(8)))), "refused"),
    "text array": (zipped(("a.npy", described("'<U1'", "(1,)", bytes(4)))), "refused"),
    "dtype of no bytes": (zipped(("a.npy", described("'|V0'", f"({10**12},)"))), "refused"),
    "shape asks for more": (zipped(("a.npy", described("'<f4'", "(250000000000,)", bytes(8)))), "corrupt"),
    "shape asks for less": (zipped(("a.npy", described("'<f4'", "(1,)", bytes(8)))), "corrupt"),
    "shape over all numbers": (zipped(("a.npy", described("'<f4'", f"({2**62}, {2**62}, 0)"))), "corrupt"),
    "shape that wraps to 2": (zipped(("a.npy", described("'<f4'", f"({2**63 + 1}, 2)", bytes(8)))), "corrupt"),
    "negative shape": (zipped(("a.npy", described("'<f4'", "(-1, -2)", bytes(8)))), "corrupt"),
    "shape is a number": (zipped(("a.npy", described("'<f4'", "2", bytes(8)))), "corrupt"),
    "70 dimensions": (zipped(("a.npy", described("'<f4'", f"({', '.join('1' * 70)})", bytes(4)))), "corrupt"),
    "a number of 60,000 digits": (zipped(("a.npy", described("'<f4'", f"({'9' * 60_000},)"))), "corrupt"),
    "nested header": (zipped(("a.npy", npy("(" * 9000 + ")" * 9000))), "corrupt"),
    "header of signs": (zipped(("a.npy", npy("-" * 9000 + "1"))), "corrupt"),
    "header is a program": (zipped(("a.npy", described("__import__('os').mkdir('canary')", "(2,)"))), "refused"),
    "header past the end": (zipped(("a.npy", GOOD[:8] + b"\xff\xff" + GOOD[10:])), "corrupt"),
    "header goes on": (
        zipped(("a.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } + {}"))),
        "corrupt",
    ),
    "another magic": (zipped(("a.npy", b"\x93NUMPX" + GOOD[6:])), "corrupt"),
    "half a header": (zipped(("a.npy", GOOD[:9])), "corrupt"),
    "empty member": (zipped(("a.npy", b"")), "corrupt"),
    "cut member": (zipped(("a.npy", GOOD[:-1])), "corrupt"),
    "longer member": (zipped(("a.npy", GOOD + b"\0")), "corrupt"),
    "version 2": (zipped(("a.npy", npy("{}", version=b"\x02\x00"))), "corrupt"),
    "booleans of 2": (zipped(("a.npy", described("'|b1'", "(2,)", b"\x01\x02"))), "corrupt"),
    "good, then bad": (zipped(("a.npy", GOOD), ("b.npy", b"bad")), "corrupt"),
}


def safe(header: str | bytes, body: bytes = b"", length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + body


def entry(dtype: str = "F32", shape: Any = (2,), offsets: tuple[int, int] = (0, 8)) -> str:
    return json.dumps({"dtype": dtype, "shape": shape, "data_offsets": offsets})


HOSTILE_SAFE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "corrupt"),
    "text": (b"0.weight = 1\n", "corrupt"),
    "length that lies": (safe("{}", length=2**63), "corrupt"),
    "length of a gigabyte": (safe("{}", length=2**30), "corrupt"),
    "no JSON": (safe("{'a': 1}"), "corrupt"),
    "no UTF-8": (safe(b'{"\xff":1}'), "corrupt"),
    "list": (safe("[]"), "corrupt"),
    "nested": (safe('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"), "corrupt"),
    "metadata no text": (safe('{"__metadata__": {"a": 1}}'), "corrupt"),
    "missing bytes": (safe(f'{{"a": {entry()}}}', bytes(7)), "corrupt"),
    "bytes left": (safe(f'{{"a": {entry()}}}', bytes(9)), "corrupt"),
    "shape of more": (safe(f'{{"a": {entry(shape=(3,))}}}', bytes(8)), "corrupt"),
    "shape of terabytes": (safe(f'{{"a": {entry(shape=(2**40,), offsets=(0, 2**42))}}}', bytes(8)), "corrupt"),
    "shape over all numbers": (safe(f'{{"a": {entry(shape=(2**63, 2**63))}}}', bytes(8)), "corrupt"),
    "none of very many": (safe(f'{{"a": {entry(shape=(0, 2**62, 8), offsets=(0, 0))}}}'), "corrupt"),
    "70 dimensions": (safe(f'{{"a": {entry(shape=(1,) * 69 + (2,))}}}', bytes(8)), "corrupt"),
    "negative": (safe(f'{{"a": {entry(shape=(-2,))}}}', bytes(8)), "corrupt"),
    "backwards": (safe(f'{{"a": {entry(offsets=(8, 0))}}}', bytes(8)), "corrupt"),
    "overlap": (safe(f'{{"a": {entry()}, "b": {entry()}}}', bytes(8)), "corrupt"),
    "hole": (safe(f'{{"a": {entry()}, "b": {entry(offsets=(16, 24))}}}', bytes(24)), "corrupt"),
    "two of one name": (safe(f'{{"a": {entry()}, "a": {entry("I32")}}}', bytes(8)), "refused"),
    "bfloat16": (safe(f'{{"a": {entry("BF16", (4,))}}}', bytes(8)), "refused"),
    "unknown dtype": (safe(f'{{"a": {entry("F33")}}}', bytes(8)), "corrupt"),
    "booleans of 2": (safe(f'{{"a": {entry("BOOL", (8,))}}}', b"\x02" * 8), "corrupt"),
}


def require_refused(path: Path, kind: str, data: bytes, word: str) -> None:
    path.write_bytes(data)
    before = {entry.name for entry in path.parent.iterdir()}
    with little_memory(), pytest.raises(CheckpointError) as caught:
        LOAD[kind](path)
    assert caught.value.kind == word, caught.value
    assert str(path) in str(caught.value) and len(str(caught.value)) < 200 + len(str(path))
    assert {entry.name for entry in path.parent.iterdir()} == before


@pytest.mark.parametrize("name", HOSTILE_NPZ)
def test_a_hostile_npz_file(tmp_path: Path, name: str) -> None:
    require_refused(tmp_path / "a", "npz", *HOSTILE_NPZ[name])


@pytest.mark.parametrize("name", HOSTILE_SAFE)
def test_a_hostile_safetensors_file(tmp_path: Path, name: str) -> None:
    require_refused(tmp_path / "a", "safetensors", *HOSTILE_SAFE[name])


def test_the_files_that_those_are_changed_from_are_good(tmp_path: Path) -> None:
    assert loaded("npz", tmp_path / "a", zipped(("a.npy", GOOD)))["a"].tolist() == [0, 0]
    assert loaded("npz", tmp_path / "a", zipped(("ä.npy", GOOD)))["ä"].tolist() == [0, 0]
    assert loaded("safetensors", tmp_path / "a", safe(f'{{"a": {entry()}}}', bytes(8)))["a"].tolist() == [0, 0]


# What is no file


@pytest.mark.parametrize("kind", FORMATS)
def test_a_missing_file(tmp_path: Path, kind: str) -> None:
    with pytest.raises(FileNotFoundError):
        LOAD[kind](tmp_path / "none")


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_or_device(tmp_path: Path, kind: str) -> None:
    paths = [tmp_path]
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
        os.symlink("/dev/zero", tmp_path / "endless")
        paths += [Path("/dev/null"), tmp_path / "endless", tmp_path / "pipe"]  # first the one that has an end
    for path in paths:
        with pytest.raises(CheckpointError, match="regular") as caught:
            LOAD[kind](path)
        assert caught.value.kind == "refused"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_over_the_limit(tmp_path: Path, kind: str) -> None:
    with open(tmp_path / "long", "wb") as file:
        file.truncate(2**32)  # sparse: no disk is used
    with little_memory(), pytest.raises(CheckpointError, match="4294967296") as caught:
        LOAD[kind](tmp_path / "long")
    assert caught.value.kind == "refused"


WITHOUT = """
import sys
sys.path.insert(0, sys.argv[1])
sys.modules["safetensors"] = sys.modules["torch"] = None  # as if they were not installed
import tinytorch
for call in (lambda: tinytorch.save_safetensors("a", {}), lambda: tinytorch.load_safetensors("a"),
             lambda: tinytorch.load_torch_state("a")):
    try:
        call()
    except ImportError as error:
        print(error)
tinytorch.save_npz("a.npz", {})
print(tinytorch.load_npz("a.npz"))
"""


def test_a_missing_package_is_named_with_a_command(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, str(Path(statefiles.__file__).parent.parent)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    saved, read, torch, empty = done.stdout.splitlines()
    assert saved == read and saved.endswith("pip install 'tinytorch-course[safetensors]'")
    assert torch.endswith("pip install torch")
    assert empty == "{}" and [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]
