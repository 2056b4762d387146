"""States written by PyTorch, and ours read by it."""

from __future__ import annotations

import io
import os
import random
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from tinytorch import (
    CheckpointError,
    Generator,
    Linear,
    ReLU,
    Sequential,
    Tensor,
    load_safetensors,
    load_torch_state,
    save_safetensors,
)


def networks() -> tuple[torch.nn.Module, Sequential]:
    torch.manual_seed(3)
    theirs = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.ReLU(), torch.nn.Linear(7, 3))
    return theirs, Sequential(Linear(5, 7, rng=Generator(0)), ReLU(), Linear(7, 3, rng=Generator(1)))


def saved(value: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    torch.save(value, stream, **options)
    return stream.getvalue()


def read(folder: Path, data: bytes) -> dict[str, np.ndarray]:
    (folder / "state.pt").write_bytes(data)
    return load_torch_state(folder / "state.pt")


def require_refused(folder: Path, data: bytes, kind: str = "refused") -> None:
    with pytest.raises(CheckpointError, match=r"state\.pt") as caught:
        read(folder, data)
    assert caught.value.kind == kind, caught.value
    assert "two options" not in str(caught.value)  # PyTorch's advice to read it without care


def test_the_same_predictions(tmp_path: Path) -> None:
    theirs, ours = networks()
    ours.load_state_dict(read(tmp_path, saved(theirs.state_dict())))
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    np.testing.assert_allclose(ours(Tensor(x)).data, theirs(torch.tensor(x)).detach().numpy(), rtol=0, atol=1e-6)


def test_the_same_predictions_by_safetensors_both_ways(tmp_path: Path) -> None:
    theirs, ours = networks()
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    before = ours(Tensor(x)).data
    save_safetensors(tmp_path / "ours", ours.state_dict())
    safetensors.torch.save_file(theirs.state_dict(), tmp_path / "theirs")
    ours.load_state_dict(load_safetensors(tmp_path / "theirs"))
    np.testing.assert_allclose(ours(Tensor(x)).data, theirs(torch.tensor(x)).detach().numpy(), rtol=0, atol=1e-6)
    theirs.load_state_dict(safetensors.torch.load_file(tmp_path / "ours"))
    np.testing.assert_allclose(theirs(torch.tensor(x)).detach().numpy(), before, rtol=0, atol=1e-6)


DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_a_state(tmp_path: Path, dtype: str) -> None:
    wanted = np.arange(6).reshape(2, 3).astype(dtype)
    state = {"a": torch.tensor(wanted), "t": torch.tensor(wanted).T, "ü.0": torch.tensor(wanted)[1, 1].clone()}
    found = read(tmp_path, saved(state | {"none": torch.tensor(wanted)[:0].clone()}))
    wanted_state = {"a": wanted, "t": wanted.T, "ü.0": wanted[1, 1], "none": wanted[:0]}
    assert list(found) == list(wanted_state)
    for name, array in found.items():
        assert array.dtype == dtype and array.flags.writeable and array.flags.c_contiguous
        np.testing.assert_array_equal(array, wanted_state[name], strict=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_floats_become_float32(tmp_path: Path, dtype: torch.dtype) -> None:
    found = read(tmp_path, saved({"a": torch.tensor([1.5, -0.25, 384.0], dtype=dtype)}))["a"]
    assert found.dtype == np.float32 and found.tolist() == [1.5, -0.25, 384.0]


def test_shared_and_sliced_numbers_and_parameters(tmp_path: Path) -> None:
    whole = torch.arange(6.0)
    state = {"a": whole, "b": whole, "c": whole[1:3], "d": torch.nn.Parameter(torch.ones(2))}
    found = read(tmp_path, saved(OrderedDict(state)))
    assert {name: array.tolist() for name, array in found.items()} == {
        "a": [0, 1, 2, 3, 4, 5],
        "b": [0, 1, 2, 3, 4, 5],
        "c": [1, 2],
        "d": [1, 1],
    }
    found["a"][0] = 9
    assert found["b"][0] == 0


class Command:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("canary",)


class Stretched:
    """Pickles as a tensor of `size` numbers over a storage of two."""

    def __init__(self, size: int, stride: int = 1) -> None:
        self.size, self.stride = size, stride

    def __reduce__(self) -> tuple[Any, ...]:
        storage = torch.ones(2)._typed_storage()
        return torch._utils._rebuild_tensor_v2, (storage, 0, (self.size,), (self.stride,), False, OrderedDict())


REFUSED: dict[str, Any] = {
    "whole checkpoint": {"model": {"a": torch.ones(1)}, "epoch": 3},
    "model": torch.nn.Linear(2, 1),
    "tensor": torch.ones(1),
    "list": [torch.ones(1)],
    "number": {"a": 1.0},
    "name is a number": {1: torch.ones(1)},
    "command": {"a": Command()},
    "complex": {"a": torch.ones(1, dtype=torch.complex64)},
    "float8": {"a": torch.ones(1).to(torch.float8_e4m3fn)},
    "sparse": {"a": torch.eye(3).to_sparse()},
    "on no device": {"a": torch.ones(3, device="meta")},
    "4 GB out of 4 bytes": {"a": torch.ones(1).expand(10**9)},
    "more than is stored": {"a": Stretched(1000)},
    "far more than is stored": {"a": Stretched(10**9)},
    "more than there is": {"a": Stretched(10**15)},
    "stretched": {"a": Stretched(5, 0)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_state_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    require_refused(tmp_path, saved(REFUSED[name]))
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.pt"]


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    plain = zipfile.ZipFile(io.BytesIO(saved({"a": torch.zeros(100_000)})))
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in plain.infolist():
            archive.writestr(member.filename, plain.read(member))
    require_refused(tmp_path, stream.getvalue())


@pytest.mark.parametrize("count", [2, 100])
def test_a_count_that_lies_is_refused(tmp_path: Path, count: int) -> None:
    stream, plain = io.BytesIO(), zipfile.ZipFile(io.BytesIO(saved({"a": torch.ones(3)})))
    with zipfile.ZipFile(stream, "w") as archive:
        for member in plain.infolist():
            data = plain.read(member)
            if member.filename.endswith("data.pkl"):
                assert data.count(b"K\x03") == 2  # the storage's numbers, the tensor's
                data = data.replace(b"K\x03", bytes([ord("K"), count]))
            archive.writestr(member.filename, data)
    require_refused(tmp_path, stream.getvalue())


def test_the_format_before_1_6(tmp_path: Path) -> None:
    require_refused(tmp_path, saved({"a": torch.ones(1)}, _use_new_zipfile_serialization=False), "corrupt")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_torch_state(tmp_path / "none")
    with pytest.raises(CheckpointError, match="regular"):
        load_torch_state(tmp_path)


def test_a_cut_file(tmp_path: Path) -> None:
    data = saved(networks()[0].state_dict())
    for part in range(64):
        require_refused(tmp_path, data[: len(data) * part // 64], "corrupt")


def test_300_random_bits(tmp_path: Path) -> None:
    theirs, chance = networks()[0].state_dict(), random.Random(5)
    data = saved(theirs)
    for _ in range(300):
        changed = bytearray(data)
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        try:
            found = read(tmp_path, bytes(changed))
        except CheckpointError:
            continue
        assert list(found) == list(theirs)
        for name, array in found.items():
            assert array.tobytes() == theirs[name].numpy().tobytes()
