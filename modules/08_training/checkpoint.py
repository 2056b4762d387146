"""Writes a training run to a file and reads it back. Supplied with lesson 08: trace it, don't write it.

The file is a pickle, and a pickle is a program: read without care, it runs what it likes, or asks for more memory than
there is. This one may hold no class, no function and no reference back to itself, so 25 opcodes are enough. Reading has
five steps, and each keeps out what the others would let in:

1. The size is looked at before the bytes are read: no pipe, nothing over 4 GiB.
2. `_Walk` goes through the opcodes and runs none. What it lets by can call nothing, nests less deep than the
   interpreter's stack, asks for no more bytes than the file has, and makes at most a million values.
3. `_Unpickler` builds the values. It refuses every class itself, should the walk ever have a hole.
4. `_Compared`: pickled again, the values must give the same bytes, so one content has one file. Without it a dict could
   hold a key twice, and a changed bit outside the payload, which the checksum does not cover, could go unnoticed.
5. The checksum finds what was changed by accident. Whoever means harm writes a right one: it is no protection.

The payload inside goes through steps 2 to 4 in its turn. What was read is let go as soon as the next form of it is
there, so reading takes two to three times the size of the file.

Begin at `write_checkpoint` and `read_checkpoint`. Whether a content fits a given model is `require_same`'s question.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import stat
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CheckpointError", "read_checkpoint", "require_same", "write_checkpoint"]

FORMAT = "tinytorch checkpoint"
VERSION = 1
LARGEST = 2**32 - 1  # bytes of a file: protocol 3 counts bytes with 32 bits
DEEPEST = 32  # containers in one another
MOST = 1_000_000  # opcodes, each of which makes at most one value
DTYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"}


class CheckpointError(ValueError):
    """A file that is no checkpoint, or none that fits. `kind` says which it is in one word:

    corrupt, refused (it holds what no checkpoint holds), version, missing, unexpected, shape, dtype, optimizer,
    schedule.
    """

    def __init__(self, message: str, kind: str = "corrupt") -> None:
        ValueError.__init__(self, message)
        self.kind = kind


def write_checkpoint(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write plain containers, numbers, text, bytes and arrays to `path`, whole or not at all.

    The file appears under a name of its own in the same folder and is renamed when it is on the disk. Raises TypeError
    for a value of another kind, OSError when the file cannot be written; an older file at `path` then stays.
    """
    replace_file(path, _file_bytes(content))


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` at `path`, whole or not at all, and on the disk before this returns. Raises OSError.

    It is written under a name of its own in the same folder, `<name>.<8 hex digits>.tmp`, and renamed when it is whole.
    """
    import secrets

    path = path_of(path)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C too must not leave half a file behind
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def path_of(path: str | os.PathLike[str]) -> Path:
    """The path as a Path, whose module is a fifth of the package's time to import and comes when there is a file."""
    from pathlib import Path

    return Path(path)


def _sync_folder(folder: Path) -> None:
    """Bring a renaming to the disk. Windows opens no folder, and some shared folders sync none: there it is left out."""
    with contextlib.suppress(OSError):  # the new file is in its place: an error could not bring the old one back
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what `write_checkpoint` wrote. Raises FileNotFoundError for no file, CheckpointError for any other."""
    content = _decoded(_unpickled(_payload(path_of(path))))
    if not isinstance(content, dict):
        raise CheckpointError(f"{path} holds a {type(content).__name__} where a checkpoint holds a dict")
    return content


def require_same(part: str, found: dict[str, Any], own: dict[str, Any]) -> None:
    """Raise CheckpointError unless `found` is a dict with the names of `own`, arrays of the same shapes and dtypes."""
    if not isinstance(found, dict):
        raise CheckpointError(f"{part}: must be a dict, got {type(found).__name__}")
    for kind, names in (("missing", own.keys() - found.keys()), ("unexpected", found.keys() - own.keys())):
        if names:
            raise CheckpointError(f"{part}: {kind} in the checkpoint: {', '.join(sorted(names)):.500}", kind)
    for name, mine in own.items():
        if isinstance(mine, np.ndarray):
            _require_array(f"{part}: {name}", found[name], mine)


def _require_array(name: str, found: Any, mine: np.ndarray) -> None:
    if not isinstance(found, np.ndarray):
        raise CheckpointError(f"{name} must be an array, got {type(found).__name__}", "dtype")
    for kind, theirs, ours in (("shape", found.shape, mine.shape), ("dtype", found.dtype, mine.dtype)):
        if theirs != ours:
            raise CheckpointError(f"{name} has {kind} {theirs} in the checkpoint, {ours} here", kind)


def _file_bytes(content: dict[str, Any]) -> bytes:
    """The whole file, walked once as a reader will walk it: what cannot be read is not written."""
    import hashlib  # OpenSSL takes longer to load than all of this file

    payload = _pickled(_encoded(content, "content", 0))
    if len(payload) > LARGEST - 1000:
        raise CheckpointError(f"a checkpoint holds at most {LARGEST - 1000} bytes, this one has {len(payload)}")
    _Walk(payload).run()
    digest = hashlib.sha256(payload).hexdigest()
    return _pickled({"format": FORMAT, "version": VERSION, "sha256": digest, "payload": payload})


def _payload(path: Path) -> bytes:
    """The pickle inside the file: its own function, so that the bytes of the file are gone when that is read."""
    import hashlib

    outer = _unpickled(_read(path))
    if not isinstance(outer, dict) or outer.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a TinyTorch checkpoint")
    version, payload = outer.get("version"), outer.get("payload")
    if type(version) is not int:  # True == 1
        raise CheckpointError(f"{path} has no whole number as its version")
    if version != VERSION:
        raise CheckpointError(f"{path} has version {version!r:.20}, this program reads {VERSION}", "version")
    if set(outer) != {"format", "version", "sha256", "payload"} or not isinstance(payload, bytes):
        raise CheckpointError(f"{path} has other entries than a checkpoint of version {VERSION}")
    if outer["sha256"] != hashlib.sha256(payload).hexdigest():
        raise CheckpointError(f"{path} was changed or cut after it was written: its checksum differs")
    return payload


def _read(path: Path) -> bytes:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):  # a pipe would be waited for
        raise CheckpointError(f"{path} is no regular file")
    if found.st_size > LARGEST:
        raise CheckpointError(f"{path} has {found.st_size} bytes, a checkpoint at most {LARGEST}")
    return path.read_bytes()


# Values and arrays


def _encoded(value: Any, where: str, depth: int) -> Any:
    """The value with every array as (dtype, shape, bytes). Raises TypeError for what a checkpoint cannot hold."""
    if depth > DEEPEST - 2:  # an array is a tuple with a tuple in it
        raise TypeError(f"checkpoint: {where:.100} is nested over {DEEPEST - 2} deep, or holds itself")
    if isinstance(value, np.ndarray) and value.dtype.newbyteorder("<").str in DTYPES:
        little = value.astype(value.dtype.newbyteorder("<"), copy=False)
        return little.dtype.str, value.shape, little.tobytes()
    if type(value) in (list, tuple) and not _is_array(value):
        return type(value)(_encoded(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(value))
    if type(value) is dict and all(type(key) is str for key in value):
        return {key: _encoded(item, f"{where}.{key}", depth + 1) for key, item in value.items()}
    if type(value) in (bool, int, float, str, bytes, type(None)):
        return value
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise TypeError(f"checkpoint: {where} is a {kind}; write Python numbers, text, lists, dicts with text keys, arrays")


def _decoded(value: Any) -> Any:
    """The value with every (dtype, shape, bytes) as an array again."""
    if isinstance(value, dict):
        return {key: _decoded(item) for key, item in value.items()}
    if _is_array(value):
        return _array(*value)
    if isinstance(value, (list, tuple)):
        return type(value)(_decoded(item) for item in value)
    return value


def _is_array(value: Any) -> bool:
    """Whether this is how an array is written."""
    return isinstance(value, tuple) and [type(item) for item in value] == [str, tuple, bytes]


def _array(dtype: str, shape: tuple[Any, ...], raw: bytes) -> np.ndarray:
    """A new array of `raw`. Raises CheckpointError unless dtype, shape and the number of bytes agree."""
    if dtype not in DTYPES:
        raise CheckpointError(f"an array has dtype {dtype[:20]!r}", "refused")
    if len(shape) > 32 or not all(type(size) is int and 0 <= size <= LARGEST for size in shape):
        raise CheckpointError(f"an array has the shape {shape!r:.50}")
    if math.prod(shape) * np.dtype(dtype).itemsize != len(raw):
        raise CheckpointError(f"an array of shape {shape} and dtype {dtype} has {len(raw)} bytes")
    try:
        flat = np.frombuffer(raw, dtype=np.dtype(dtype)) if raw else np.empty(0, np.dtype(dtype))
        return flat.reshape(shape).astype(np.dtype(dtype).newbyteorder("="))
    except ValueError as error:  # no numbers, in sizes whose product is out of NumPy's range
        raise CheckpointError(f"an array has the shape {shape!r:.50}") from error


# Pickles


class _Unpickler(pickle.Unpickler):
    """Builds plain values. The walk refused everything else already; this is the second lock on the same door."""

    def find_class(self, module: str, name: str) -> Any:
        raise CheckpointError(f"the file asks for {module}.{name}; a checkpoint holds no class", "refused")

    def persistent_load(self, pid: Any) -> Any:
        raise CheckpointError("the file asks for an object from elsewhere", "refused")


class _Compared:
    """A stream to pickle into that keeps nothing: it checks that what is written is `data`, up to `at` by now."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def write(self, part: bytes) -> None:
        self.require(self.data.startswith(part, self.at))
        self.at += len(part)

    def require(self, same: bool) -> None:
        if not same:
            raise CheckpointError("the file says the same thing in another way than a checkpoint does")


def _pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    _pickle(value, stream)
    return stream.getvalue()


def _pickle(value: Any, stream: Any) -> None:
    pickler = pickle.Pickler(stream, protocol=3)
    pickler.fast = True  # no memo: every value is written out where it stands, and nothing can refer to itself
    pickler.dump(value)


def _unpickled(data: bytes) -> Any:
    """The value that `data` holds. Raises CheckpointError unless `_pickled` gives the same bytes for it."""
    _Walk(data).run()
    try:
        value = _Unpickler(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, ValueError, EOFError) as error:  # text that is no UTF-8
        raise CheckpointError("the file holds a value that cannot be read") from error
    compared = _Compared(data)
    _pickle(value, compared)
    compared.require(compared.at == len(data))
    return value


PLAIN = {  # opcode -> bytes that follow it
    pickle.NONE: 0,
    pickle.NEWTRUE: 0,
    pickle.NEWFALSE: 0,
    pickle.BININT: 4,
    pickle.BININT1: 1,
    pickle.BININT2: 2,
    pickle.BINFLOAT: 8,
}
COUNTED = {pickle.LONG1: 1, pickle.BINUNICODE: 4, pickle.SHORT_BINBYTES: 1, pickle.BINBYTES: 4}  # -> bytes of the count
EMPTY = (pickle.EMPTY_LIST, pickle.EMPTY_DICT, pickle.EMPTY_TUPLE)
TUPLES = {pickle.TUPLE1: 1, pickle.TUPLE2: 2, pickle.TUPLE3: 3}


def _name(code: bytes) -> str:
    """GLOBAL for b"c"; the byte itself where it is no opcode."""
    import pickletools  # only a refusal needs it

    names = {op.code: op.name for op in pickletools.opcodes}
    return names.get(code.decode("latin-1"), repr(code))


class _Walk:
    """Goes through a pickle opcode by opcode and builds nothing but a stack of (opcode that made it, depth).

    Raises CheckpointError for an opcode that is not on the lists above, for more of them than MOST, for a count that
    goes past the end, for nesting over DEEPEST, and for a dict key that is not text: a tuple nested 100,000 deep as a
    key would crash the interpreter when it is hashed.
    """

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.stack: list[tuple[bytes, int]] = []

    def run(self) -> None:
        """Walk to the end."""
        if self.take(2) != pickle.PROTO + b"\x03":
            raise CheckpointError("the file is no pickle of protocol 3")
        for _ in range(MOST):
            code = self.take(1)
            if code == pickle.STOP:
                return self.end()
            self.step(code)
        raise CheckpointError(f"the file has over {MOST} opcodes", "refused")

    def end(self) -> None:
        """One value is left, and nothing follows."""
        if len(self.stack) != 1 or self.at != len(self.data):
            raise CheckpointError("the file does not end with one whole value")

    def step(self, code: bytes) -> None:
        """What one opcode does to the stack."""
        if code in PLAIN:
            self.skip(PLAIN[code])
            self.stack.append((code, 0))
        elif code in COUNTED:
            self.skip(int.from_bytes(self.take(COUNTED[code]), "little"))
            self.stack.append((code, 0))
        elif code in EMPTY:
            self.stack.append((code, 1))
        elif code == pickle.MARK:
            self.stack.append((code, 0))
        elif code in TUPLES:
            self.push(pickle.EMPTY_TUPLE, self.pop(TUPLES[code]))
        elif code == pickle.TUPLE:
            self.push(pickle.EMPTY_TUPLE, self.pop_to_mark())
        elif code in (pickle.APPEND, pickle.APPENDS):
            self.fill(pickle.EMPTY_LIST, self.pop(1) if code == pickle.APPEND else self.pop_to_mark())
        elif code in (pickle.SETITEM, pickle.SETITEMS):
            items = self.pop(2) if code == pickle.SETITEM else self.pop_to_mark()
            if len(items) % 2 or any(key != pickle.BINUNICODE for key, _ in items[::2]):
                raise CheckpointError("the file has a dict whose keys are not text", "refused")
            self.fill(pickle.EMPTY_DICT, items)
        else:
            raise CheckpointError(f"the file holds the opcode {_name(code)}, which no checkpoint needs", "refused")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        self.skip(count)
        return self.data[self.at - count : self.at]

    def skip(self, count: int) -> None:
        """Go on by so many bytes."""
        if count > len(self.data) - self.at:
            raise CheckpointError("the file ends too early")
        self.at += count

    def push(self, code: bytes, items: list[tuple[bytes, int]]) -> None:
        """A container of these items."""
        depth = 1 + max((depth for _, depth in items), default=0)
        if depth > DEEPEST:
            raise CheckpointError(f"the file nests values over {DEEPEST} deep", "refused")
        self.stack.append((code, depth))

    def pop(self, count: int) -> list[tuple[bytes, int]]:
        """The last `count` values."""
        items = self.stack[len(self.stack) - count :] if count <= len(self.stack) else []
        if not items or any(code == pickle.MARK for code, _ in items):
            raise CheckpointError("the file takes a value that is not there")
        del self.stack[-count:]
        return items

    def pop_to_mark(self) -> list[tuple[bytes, int]]:
        """The values after the last mark, which goes too."""
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i][0] == pickle.MARK:
                items = self.stack[i + 1 :]
                del self.stack[i:]
                return items
        raise CheckpointError("the file closes a container that it did not open")

    def fill(self, container: bytes, items: list[tuple[bytes, int]]) -> None:
        """Put items into the list or dict on top of the stack."""
        ((code, depth),) = self.pop(1)
        if code != container:
            raise CheckpointError("the file fills a value that is no such container")
        self.push(code, [*items, (code, depth - 1)])
