"""Reads and writes a model's state in files of others. Supplied with lesson 08: trace it, don't write it.

A state is what `state_dict()` gives: arrays by dotted name. Three kinds of file hold one: NumPy's .npz (a zip of .npy
files), safetensors (a header of text, then bytes), and PyTorch's (a zip with a pickle in it; read, never written).
A file may come from anywhere, so the sizes that it tells are compared with its length before memory is asked for.
Nothing is unpacked: whoever accepts a compressed file accepts one that grows a thousandfold.

Begin at `save_npz` and `load_npz`. `_array` makes every array of theirs and of safetensors.
"""

from __future__ import annotations

import importlib
import io
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tinytorch.checkpoint import DTYPES, LARGEST, CheckpointError, path_of, replace_file

if TYPE_CHECKING:
    import zipfile  # a seventh of the package's time to import, so it is imported where it is used

__all__ = ["load_npz", "load_safetensors", "load_torch_state", "save_npz", "save_safetensors"]

PART = r"[^./\\:\x00-\x1f\x7f\ud800-\udfff]+"  # neither folders, drives nor what UTF-8 cannot write
NAME = rf"(?=.{{1,1000}}$){PART}(\.{PART})*"  # patterns are compiled, and kept by `re`, at the first file
MAGIC = b"\x93NUMPY\x01\x00"  # of .npy, version 1.0
HEADER = rb"\{'descr': (.+), 'fortran_order': (True|False), 'shape': \((|\d+,|\d+(?:, \d+)+)\), \} *\n"
UTF8 = 0x800  # the flag of a zip's member whose name is UTF-8; without it, letters beyond ASCII are some other ones
SAFE = {
    **{"BOOL": "|b1", "I8": "|i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"},
    **{"U8": "|u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "F16": "<f2", "F32": "<f4", "F64": "<f8"},
}


def save_npz(path: str | os.PathLike[str], state: dict[str, np.ndarray]) -> None:
    """Write `state` to `path`, whole or not at all; `np.load(path)` opens it too, by the same names.

    Names are dotted ("0.weight"), arrays are of booleans, integers or float16 to float64, at most 4 GiB in all. One
    state gives one file, byte for byte. Raises TypeError or ValueError for another state, OSError when the file cannot
    be written; an older file at `path` then stays. Source of the format: NumPy's manual, at numpy.lib.format.
    """
    import zipfile

    checked, stream = _checked(state), io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in checked.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    _write(path, stream.getvalue())


def load_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read a state that `save_npz` or `np.savez` wrote: new arrays by name, in the file's order.

    Every number is covered by a checksum. What a changed bit outside can leave unnoticed is a date or a file's rights.
    Raises FileNotFoundError for no file, CheckpointError (kind corrupt, or refused: compressed, pickled or other things
    than arrays with plain names) for any other.
    """
    import zipfile

    data = _read(path)
    with _parsing(path, ".npz file"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = _members(archive, data)
        names = [_member_name(member) for member in members]
        if len(set(names)) < len(names):
            raise CheckpointError("it holds two arrays of one name", "refused")
        return {name: _npy_array(name, archive.read(of)) for name, of in zip(names, members)}


def save_safetensors(path: str | os.PathLike[str], state: dict[str, np.ndarray]) -> None:
    """Write `state` to `path`, whole or not at all, as the package safetensors does. Limits and errors of `save_npz`.

    ImportError without the package. Source of the format: github.com/huggingface/safetensors.
    """
    safetensors = _package("safetensors.numpy", "pip install 'tinytorch-course[safetensors]'")
    checked = _checked(state)
    if "__metadata__" in checked:
        raise ValueError("a safetensors file cannot hold an array named __metadata__; rename it")
    _write(path, safetensors.save(checked))


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read a state from a safetensors file: new arrays by name, in the file's order.

    The format has no checksum: a changed bit in a number or in a name's letters goes unnoticed, and so can one that
    turns a dtype or shape into another of as many bytes. Names, shapes and dtypes are compared by `load_state_dict`;
    numbers are safe in `save_npz`. Raises ImportError without the package, FileNotFoundError for no file,
    CheckpointError (kind corrupt, or refused: bfloat16 and other dtypes that NumPy lacks) for any other.
    """
    import json

    safetensors = _package("safetensors", "pip install 'tinytorch-course[safetensors]'")
    data = _read(path)
    with _parsing(path, "safetensors file"):
        views = safetensors.deserialize(data)
        json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")], object_pairs_hook=_each_once)
        return {
            name: _array(name, SAFE.get(view["dtype"], view["dtype"]), view["shape"], view["data"])
            for name, view in views
        }


def load_torch_state(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read what `torch.save(model.state_dict(), path)` wrote: new arrays by the same names.

    bfloat16 and half become float32, every other dtype stays. The file is read by `torch.load` with `weights_only`, its
    checksums are compared first. Raises ImportError without PyTorch, FileNotFoundError for no file, CheckpointError
    (kind corrupt, or refused: anything but plain tensors by name) for any other, also one from before PyTorch 1.6.
    """
    import zipfile

    torch, data = _package("torch", "pip install torch"), _read(path)
    with _parsing(path, "file of torch.save since PyTorch 1.6"), zipfile.ZipFile(io.BytesIO(data)) as archive:
        _members(archive, data)
        if archive.testzip():  # PyTorch compares no checksums
            raise CheckpointError("it was changed after it was written: a checksum differs")
    with _parsing(path, "state dict of PyTorch", "refused"):
        state = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        _require_tensors(torch, state)
        _require_sizes(list(state.values()))
        return {name: _of_tensor(torch, name, tensor) for name, tensor in state.items()}


# Files


def _package(name: str, command: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"such files need the package {name.partition('.')[0]}: {command}") from error


def _read(path: str | os.PathLike[str]) -> bytes:
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
        raise CheckpointError(f"{path} is no regular file", "refused")
    if found.st_size > LARGEST:
        raise CheckpointError(f"{path} has {found.st_size} bytes, a state at most {LARGEST}", "refused")
    return path_of(path).read_bytes()


def _write(path: str | os.PathLike[str], data: bytes) -> None:
    if len(data) > LARGEST:
        raise ValueError(f"a state's file has at most {LARGEST} bytes, this one {len(data)}; save it in parts")
    replace_file(path, data)


@contextmanager
def _parsing(path: str | os.PathLike[str], what: str, kind: str = "corrupt") -> Iterator[None]:
    """Name the file in every CheckpointError, and make one of all that parsers raise: zipfile alone has eight kinds."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{path}: {error}", error.kind) from None
    except Exception as error:
        raise CheckpointError(f"{path} is no {what}, or was cut or changed ({type(error).__name__})", kind) from error


# States


def _checked(state: Any) -> dict[str, np.ndarray]:
    """The state with little-endian arrays in C order. Raises TypeError or ValueError for what no file can hold."""
    if not isinstance(state, dict):
        raise TypeError(f"a state is a dict of arrays, got {type(state).__name__}; hand over model.state_dict()")
    for name, array in state.items():
        if not isinstance(name, str):
            raise TypeError(f"a state's names are text, got {name!r:.50}")
        if not re.fullmatch(NAME, name):
            raise ValueError(f"a state's names are dotted, like '0.weight', got {name!r:.50}")
        if not isinstance(array, np.ndarray) or array.dtype.newbyteorder("<").str not in DTYPES:
            found = f"{type(array).__name__} of dtype {getattr(array, 'dtype', None)}"
            raise TypeError(f"{name} must be an array of booleans, integers or float16 to float64, got {found}")
    return {name: _little(array) for name, array in state.items()}


def _little(array: np.ndarray) -> np.ndarray:
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _array(name: str, dtype: str, shape: Any, raw: Any, order: Any = "C") -> np.ndarray:
    """A new array of the bytes `raw`. Raises CheckpointError unless dtype, shape and the number of bytes agree."""
    if dtype not in DTYPES:
        raise CheckpointError(f"{name} has dtype {dtype:.50}, which no state has", "refused")
    if math.prod(shape) * np.dtype(dtype).itemsize != len(raw):
        raise CheckpointError(f"{name} has {len(raw)} bytes, not those of shape {tuple(shape)!s:.50} and dtype {dtype}")
    found: np.ndarray = np.ndarray(tuple(shape), dtype, raw, order=order)
    if dtype == "|b1" and found.view(np.uint8).max(initial=0) > 1:  # NumPy counts such bytes, and counts them wrong
        raise CheckpointError(f"{name} holds booleans that are neither 0 nor 1")
    return found.astype(found.dtype.newbyteorder("="), order="C")


# Zips


def _members(archive: zipfile.ZipFile, data: bytes) -> list[zipfile.ZipInfo]:
    """All members. Raises CheckpointError when one is compressed, when they overlap, or when the list is cut short."""
    from zipfile import ZIP_STORED

    members = archive.infolist()
    if len(members) != int.from_bytes(data[-12:-10], "little"):  # their number, which zipfile does not look at
        raise CheckpointError("it lists another number of members than it says")
    for member in members:
        if member.compress_type != ZIP_STORED or member.compress_size != member.file_size:
            raise CheckpointError(f"{member.filename!r:.50} is compressed; write it with np.savez", "refused")
    if sum(member.file_size for member in members) > len(data):
        raise CheckpointError("its members have more bytes than the file", "refused")
    return members


def _member_name(member: zipfile.ZipInfo) -> str:
    name, suffix = member.orig_filename[:-4], member.orig_filename[-4:]
    if suffix != ".npy" or not re.fullmatch(NAME, name) or not (name.isascii() or member.flag_bits & UTF8):
        raise CheckpointError(f"it holds {member.orig_filename!r:.50}, no array with a dotted name", "refused")
    return name


def _npy_array(name: str, raw: bytes) -> np.ndarray:
    """The array of an .npy file. NumPy would evaluate its header as Python; here it must be what NumPy writes."""
    start = 10 + int.from_bytes(raw[8:10], "little")
    header = re.fullmatch(HEADER, raw[10:start]) if raw.startswith(MAGIC) else None
    if header is None:
        raise CheckpointError(f"{name} is no .npy file of version 1.0")
    dtype, fortran, sizes = (text.decode() for text in header.groups())
    shape = [int(size) for size in sizes.split(",") if size]
    return _array(name, dtype.strip("'"), shape, memoryview(raw)[start:], "F" if fortran == "True" else "C")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CheckpointError("its header holds two entries of one name", "refused")
    return found


# PyTorch


def _require_tensors(torch: Any, state: Any) -> None:
    """Raise CheckpointError unless `state` is a dict of tensors by name. Sparse ones and the like fail by themselves."""
    advice = "write it with torch.save(model.state_dict(), path)"
    if not isinstance(state, dict):
        raise CheckpointError(f"it holds a {type(state).__name__}, no dict of tensors; {advice}", "refused")
    for name, value in state.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise CheckpointError(f"it holds a {type(value).__name__} as {name!r:.50}; {advice}", "refused")


def _require_sizes(tensors: list[Any]) -> None:
    """Raise CheckpointError for a tensor of more numbers than its storage: one number may stand for any count of them.

    That the storages are as long as the file's members is compared by PyTorch.
    """
    expanded = any(tensor.nbytes > tensor.untyped_storage().nbytes() for tensor in tensors)
    if expanded or sum(tensor.nbytes for tensor in tensors) > LARGEST:
        raise CheckpointError("its tensors have more numbers than the file; save them as contiguous()", "refused")


def _of_tensor(torch: Any, name: str, tensor: Any) -> np.ndarray:
    narrow = tensor.dtype in (torch.bfloat16, torch.float16)
    array = (tensor.float() if narrow else tensor).detach().numpy()
    if array.dtype.newbyteorder("<").str not in DTYPES:
        raise CheckpointError(f"{name} has dtype {tensor.dtype}, which no state has", "refused")
    return np.array(array, order="C")
