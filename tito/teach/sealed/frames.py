"""The codec between the trusted runner and the sealed child: plain values as bytes, and nothing else.

A frame is a request number and a value; a value is a type tag, a length and that many bytes. Containers hold values,
arrays the raw bytes of a listed dtype. Nothing is unpickled, imported or evaluated; whatever breaks a rule, in either
direction, is a FrameError. Begin at `encode` and `decode`.

    frame  = number (4 bytes) value
    value  = tag (1 byte) length (8 bytes) content
    array  = dtype (1 byte) dimensions (1 byte) sizes (8 bytes each) raw bytes, little-endian, in C order
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

DEPTH = 8
ITEMS = 10_000
TEXT = 64 * 2**10  # bytes of one string
SIZE = 64 * 2**20  # bytes of one frame
DIMENSIONS = 16
DTYPES = tuple(np.dtype(code) for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))
# All but tab and newline; marks that turn the direction of writing; lone surrogates.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

NUMBER = struct.Struct("<I")
HEAD = struct.Struct("<cQ")
FRAME_HEAD = struct.Struct("<IcQ")
INT, FLOAT, COUNT = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<Q")
WHOLE = range(-(2**63), 2**63)
KEYS = (str, int, float, bool)

Plain = Any  # None, bool, int, float, str, ndarray, numpy scalar, or a list, tuple or dict of these


class FrameError(ValueError):
    """A value or bytes that no frame may hold; the text says which rule they break."""


def pack(number: int, value: Plain) -> bytes:
    """A whole frame. Raises FrameError."""
    frame = NUMBER.pack(number) + encode(value)
    if len(frame) > SIZE:
        raise FrameError(f"{len(frame):,} bytes, the most is {SIZE:,}")
    return frame


def read_head(head: bytes) -> tuple[int, int]:
    """The first FRAME_HEAD.size bytes of a frame -> its number, and how many bytes follow."""
    number, _, length = FRAME_HEAD.unpack(head)
    if length > SIZE:
        raise FrameError(f"a frame of {length:,} bytes, the most is {SIZE:,}")
    return number, length


def clean(text: str) -> str:
    """Without control characters, those of direction among them (tab and newline stay), and lone surrogates."""
    return CONTROLS.sub("", text)


def encode(value: Plain) -> bytes:
    """The bytes of a value. Exact types only: a subclass is no plain value. Raises FrameError."""
    return _Encoder().of(value, 0)


def decode(data: bytes) -> Plain:
    """The value of these bytes, all of them; arrays are read-only. Raises FrameError."""
    try:
        values = _Decoder(memoryview(data)).values(0, len(data), 0)
        return _only(list(values))
    except (struct.error, UnicodeDecodeError, IndexError) as error:
        raise FrameError(f"broken bytes: {error}") from None


def _only(values: list[Plain]) -> Plain:
    if len(values) != 1:
        raise FrameError(f"{len(values)} values where one is wanted")
    return values[0]


class _Counted:
    """Counts values, and refuses what is nested too deeply."""

    def __init__(self) -> None:
        self.left = ITEMS

    def count(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise FrameError(f"more than {ITEMS:,} values")
        if depth > DEPTH:
            raise FrameError(f"nested more than {DEPTH} deep")


class _Encoder(_Counted):
    def of(self, value: Any, depth: int) -> bytes:
        self.count(depth)
        tag, content = self._content(value, type(value), depth)
        if len(content) > SIZE:
            raise FrameError(f"{len(content):,} bytes, the most is {SIZE:,}")
        return HEAD.pack(tag, len(content)) + content

    def _content(self, value: Any, kind: type, depth: int) -> tuple[bytes, bytes]:
        if value is None:
            return b"n", b""
        if kind is bool:
            return b"b", bytes([value])
        if kind is int:
            return b"i", _int(value)
        if kind is float:
            return b"f", FLOAT.pack(value)
        if kind is str:
            return b"s", _text(value)
        if kind is list or kind is tuple:
            return (b"l" if kind is list else b"t"), b"".join(self.of(item, depth + 1) for item in value)
        if kind is dict:
            return b"d", b"".join(self.of(part, depth + 1) for pair in value.items() for part in _pair(pair))
        if kind is np.ndarray:
            return b"a", _array(value)
        if issubclass(kind, np.generic) and kind.__module__ == "numpy":
            return b"g", _array(np.asarray(value))
        raise FrameError(f"a {kind.__name__}, which no frame holds")


def _int(value: int) -> bytes:
    if value not in WHOLE:
        raise FrameError(f"an integer of {value.bit_length()} bits, the most is 64")
    return INT.pack(value)


def _text(value: str) -> bytes:
    data = clean(value).encode("utf-8")
    if len(data) > TEXT:
        raise FrameError(f"a text of {len(data):,} bytes, the most is {TEXT:,}")
    return data


def _pair(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    if type(pair[0]) not in KEYS:
        raise FrameError(f"a dict with a {type(pair[0]).__name__} as a key")
    return pair


def _array(value: np.ndarray) -> bytes:
    native = value.dtype.newbyteorder("=")
    if native not in DTYPES or value.ndim > DIMENSIONS:
        raise FrameError(f"an array of dtype {value.dtype} and {value.ndim} dimensions, which no frame holds")
    if value.nbytes > SIZE:
        raise FrameError(f"an array of {value.nbytes:,} bytes, the most is {SIZE:,}")
    little = np.ascontiguousarray(value, native.newbyteorder("<"))
    sizes = b"".join(map(COUNT.pack, value.shape))
    return bytes([DTYPES.index(native), value.ndim]) + sizes + little.tobytes()


class _Decoder(_Counted):
    def __init__(self, data: memoryview) -> None:
        super().__init__()
        self.data = data

    def values(self, start: int, end: int, depth: int) -> Iterator[Plain]:
        """The values that stand side by side from start to end."""
        while start < end:
            self.count(depth)
            tag, length = HEAD.unpack(self.data[start : min(start + HEAD.size, end)])
            start += HEAD.size
            if length > end - start:
                raise FrameError(f"a value of {length:,} bytes where {end - start:,} are left")
            yield self._value(tag, start, start + length, depth)
            start += length

    def _value(self, tag: bytes, start: int, end: int, depth: int) -> Plain:
        if tag in b"ltd":
            return self._container(tag, list(self.values(start, end, depth + 1)))
        content = bytes(self.data[start:end])
        if tag == b"n" and not content:
            return None
        if tag == b"b" and content in (b"\x00", b"\x01"):
            return content == b"\x01"
        if tag == b"i":
            return INT.unpack(content)[0]
        if tag == b"f":
            return FLOAT.unpack(content)[0]
        if tag == b"s" and len(content) <= TEXT:
            return clean(str(content, "utf-8"))
        if tag in (b"a", b"g"):
            return _decoded(content, tag == b"g")
        raise FrameError(f"no value: tag {tag!r}, {len(content):,} bytes")

    def _container(self, tag: bytes, items: list[Plain]) -> Plain:
        if tag != b"d":
            return items if tag == b"l" else tuple(items)
        keys, values = items[::2], items[1::2]
        if len(keys) != len(values) or not all(type(key) in KEYS for key in keys):
            raise FrameError("a dict whose keys and values do not pair")
        return dict(zip(keys, values))


def _decoded(content: bytes, scalar: bool) -> Plain:
    """An array on bytes of its own (never those of a larger frame), read-only; or the number in it."""
    code, dimensions = content[0], content[1]
    if code >= len(DTYPES) or dimensions > DIMENSIONS:
        raise FrameError(f"an array of unknown dtype {code} or {dimensions} dimensions")
    start = 2 + COUNT.size * dimensions
    shape = [COUNT.unpack(content[at : at + COUNT.size])[0] for at in range(2, start, COUNT.size)]
    dtype, raw = DTYPES[code].newbyteorder("<"), content[start:]
    if math.prod(shape) * dtype.itemsize != len(raw) or max(shape, default=0) > SIZE or (scalar and shape):
        raise FrameError(f"an array of shape {shape} and dtype {dtype} in {len(raw):,} bytes")
    if code == 0 and raw.translate(None, b"\x00\x01"):
        raise FrameError("an array of truth values that are neither 0 nor 1")
    flat = np.frombuffer(raw, dtype)  # NumPy's own dtype object then: lessons compare dtypes by `is`
    array = (flat.view(DTYPES[code]) if dtype.isnative else flat.astype(DTYPES[code])).reshape(shape)
    array.setflags(write=False)
    return array[()] if scalar else array
