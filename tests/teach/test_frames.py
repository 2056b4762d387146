"""The codec of the sealed grader: what is plain arrives as it was, all else ends in FrameError."""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tito.teach.sealed import frames
from tito.teach.sealed.frames import FrameError, decode, encode

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cf"]), max_size=40)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats() | st.booleans()
DTYPES = st.sampled_from(frames.DTYPES)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_dims=4)))
SCALARS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, ())).map(lambda array: array[()])
ATOMS = st.none() | NUMBERS | TEXTS | ARRAYS | SCALARS
KEYS = TEXTS | st.integers(-5, 5) | st.booleans()
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(KEYS, inner),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Of the same types, dtypes, shapes and bits throughout."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other)
    return bool(one == other)


@given(VALUES)
def test_arrives_as_it_was(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(ARRAYS, st.booleans())
def test_arrays_are_read_only_and_their_own(array: np.ndarray, is_turned: bool) -> None:
    given_array = array.T if is_turned else array
    arrived = decode(encode([given_array, 1]))[0]
    assert np.array_equal(arrived, given_array, equal_nan=array.dtype.kind == "f")
    assert not arrived.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        arrived.flags.writeable = True


@settings(max_examples=400)
@given(VALUES, st.data())
def test_garbled_bytes_end_in_an_error_or_a_value(value: Any, data: st.DataObject) -> None:
    good = encode(value)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(bad))
    except FrameError:
        return
    assert same(decode(encode(found)), found)  # a plain value after all


@given(VALUES, st.data())
def test_truncated_bytes_end_in_an_error(value: Any, data: st.DataObject) -> None:
    good = encode(value)
    with pytest.raises(FrameError):
        decode(good[: data.draw(st.integers(0, len(good) - 1))])
    with pytest.raises(FrameError):
        decode(good + good[: data.draw(st.integers(1, len(good)))])


@given(st.binary(max_size=200))
def test_any_bytes_end_in_an_error_or_a_value(data: bytes) -> None:
    with suppress(FrameError):
        decode(data)


class Sub(int):
    pass


class SubArray(np.ndarray):
    pass


DEEP: list[Any] = []
for _ in range(frames.DEPTH):
    DEEP = [DEEP]

REFUSED = {
    "an integer of 65 bits": 2**63,
    "one below": -(2**63) - 1,
    "a subclass of int": Sub(1),
    "a set": {1},
    "bytes": b"1",
    "an object": object(),
    "a function": len,
    "a complex number": 1j,
    "a complex array": np.zeros(2, complex),
    "an array of objects": np.array([object()]),
    "an array of text": np.array(["a"]),
    "an array of longdouble": np.zeros(2, np.longdouble) if np.longdouble != np.float64 else object(),
    "a structured array": np.zeros(2, [("a", "i4")]),
    "a subclass of ndarray": np.zeros(2).view(SubArray),
    "a masked array": np.ma.zeros(2),
    "a long text": "x" * (frames.TEXT + 1),
    "nested too deeply": [DEEP],
    "too many values": [0] * frames.ITEMS,
    "an array too large": np.zeros(frames.SIZE + 1, np.int8),
    "one number repeated": np.broadcast_to(np.float64(0), (2**40,)),
    "a dict with a tuple as a key": {(1,): 1},
    "a dict with None as a key": {None: 1},
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_on_the_way_out(name: str) -> None:
    with pytest.raises(FrameError):
        encode(REFUSED[name])


def head(tag: bytes, length: int) -> bytes:
    return frames.HEAD.pack(tag, length)


def nested(depth: int) -> bytes:
    return b"".join(head(b"l", frames.HEAD.size * (depth - i)) for i in range(depth + 1))


FORGED = {
    "an unknown tag": head(b"x", 0),
    "a None with content": head(b"n", 1) + b"1",
    "a bool of 2": head(b"b", 1) + b"\x02",
    "an int of 7 bytes": head(b"i", 7) + bytes(7),
    "a float of 9 bytes": head(b"f", 9) + bytes(9),
    "a text that is no UTF-8": head(b"s", 1) + b"\xff",
    "a long text": head(b"s", frames.TEXT + 1) + b"x" * (frames.TEXT + 1),
    "more bytes than there are": head(b"s", 2**60) + b"x",
    "an unknown dtype": head(b"a", 2) + bytes([200, 0]),
    "an array with bytes missing": head(b"a", 10) + bytes([0, 1]) + struct.pack("<Q", 9),
    "an array of 2**64 numbers": head(b"a", 18) + bytes([0, 2]) + struct.pack("<QQ", 2**33, 2**33),
    "an empty array of vast size": head(b"a", 18) + bytes([0, 2]) + struct.pack("<QQ", 0, 2**62),
    "200 dimensions": head(b"a", 2) + bytes([0, 200]),
    "a truth value of 7": head(b"a", 11) + bytes([0, 1]) + struct.pack("<Q", 1) + b"\x07",
    "a scalar with a shape": head(b"g", 18) + bytes([11, 1]) + struct.pack("<Qd", 1, 0.0),
    "an odd dict": head(b"d", 9) + head(b"n", 0),
    "a list as a key": head(b"d", 18) + head(b"l", 0) + head(b"n", 0),
    "nested too deeply": nested(frames.DEPTH + 1),
    "nested 100,000 deep": nested(100_000),
    "too many values": head(b"l", 9 * frames.ITEMS) + head(b"n", 0) * frames.ITEMS,
    "two values": head(b"n", 0) * 2,
    "nothing": b"",
    "a pickle": b"cos\nsystem\n(S'true'\ntR.",
}


@pytest.mark.parametrize("name", FORGED)
def test_refused_on_the_way_in(name: str) -> None:
    with pytest.raises(FrameError):
        decode(FORGED[name])


def test_the_deepest_and_the_most_pass() -> None:
    assert decode(encode(DEEP)) == DEEP
    assert decode(encode([None] * (frames.ITEMS - 1))) == [None] * (frames.ITEMS - 1)


def test_text_is_cleaned_both_ways() -> None:
    assert decode(encode("a\x1b[2J\x00\n\tb\ud800\u202e")) == "a[2J\n\tb"
    raw = "a\x1b\x9b\u2066b".encode()
    assert decode(head(b"s", len(raw)) + raw) == "ab"


def test_a_frame_says_its_number_and_length() -> None:
    frame = frames.pack(7, [1, 2])
    assert frames.read_head(frame[: frames.FRAME_HEAD.size]) == (7, len(frame) - frames.FRAME_HEAD.size)
    with pytest.raises(FrameError, match="the most is"):
        frames.read_head(frames.FRAME_HEAD.pack(1, b"l", frames.SIZE + 1))


@pytest.mark.parametrize("dtype", frames.DTYPES, ids=str)
def test_an_array_has_numpys_own_dtype_object(dtype: np.dtype) -> None:
    """Lessons compare dtypes by `is` where it has to be quick; an equal but other object takes the slow way."""
    assert decode(encode(np.ones(3, dtype))).dtype is np.dtype(dtype.name)


def test_infinities_and_the_sign_of_zero() -> None:
    assert math.copysign(1, decode(encode(-0.0))) == -1
    assert decode(encode([math.inf, -math.inf])) == [math.inf, -math.inf]
