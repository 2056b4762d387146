"""Hostile pickles, built opcode by opcode: what each is, what plain `pickle.loads` does with it, its bytes.

`runs`: it makes the folder `canary` or a file of that name. `dies`: the process ends. `asks`: for more memory than
it gets. `reads`: it gives a value, which harms who uses it. `fails`: an error, or a size asked for that newer
releases of Python no longer believe.
"""

from __future__ import annotations

import pickle
import struct
import sys
from pickle import (
    ADDITEMS,
    APPEND,
    APPENDS,
    BINBYTES,
    BINBYTES8,
    BINGET,
    BININT,
    BININT1,
    BINPERSID,
    BINPUT,
    BINUNICODE,
    BINUNICODE8,
    BUILD,
    BYTEARRAY8,
    DUP,
    EMPTY_DICT,
    EMPTY_LIST,
    EMPTY_SET,
    EMPTY_TUPLE,
    EXT4,
    FRAME,
    FROZENSET,
    GET,
    GLOBAL,
    INST,
    LIST,
    LONG,
    LONG1,
    LONG4,
    LONG_BINPUT,
    MARK,
    NEWOBJ,
    NEWOBJ_EX,
    NEXT_BUFFER,
    NONE,
    OBJ,
    POP,
    POP_MARK,
    PROTO,
    PUT,
    REDUCE,
    SETITEM,
    SETITEMS,
    STACK_GLOBAL,
    STOP,
    STRING,
    TUPLE,
    TUPLE1,
    TUPLE2,
    TUPLE3,
)

CANARY = "canary"
DEEP = 500_000
MANY = 1_000_001

ZERO, ONE = BININT1 + b"\0", BININT1 + b"\1"


def program(*opcodes: bytes, protocol: int = 3) -> bytes:
    """A whole pickle of these opcodes."""
    return PROTO + bytes([protocol]) + b"".join(opcodes) + STOP


def text(word: str) -> bytes:
    return BINUNICODE + struct.pack("<I", len(word)) + word.encode()


def named(module: str, name: str) -> bytes:
    return GLOBAL + f"{module}\n{name}\n".encode()


def call(function: bytes, *arguments: bytes) -> bytes:
    return function + MARK + b"".join(arguments) + TUPLE + REDUCE


def whole_number(value: int) -> bytes:
    raw = value.to_bytes(9, "little", signed=True)
    return LONG1 + bytes([len(raw)]) + raw


MKDIR, EVAL, SYSTEM = named("os", "mkdir"), named("builtins", "eval"), named("os", "system")
NULLS, BYTEARRAY = EMPTY_LIST + NONE + APPEND, named("builtins", "bytearray")
IMPORT = named("builtins", "__import__")
OLDEST = b"cos\nmkdir\n(S'canary'\ntR."
OPENED = text("open('canary', 'w').close()")
A, X = text("a"), text(CANARY)
LAUGHS = b"".join(MARK + (BINGET + bytes([i])) * 10 + LIST + BINPUT + bytes([i + 1]) for i in range(60))

PICKLES: dict[str, tuple[str, bytes]] = {
    # Calls
    "os.mkdir": ("runs", program(call(MKDIR, X))),
    "os.system": ("runs", program(call(SYSTEM, text("echo 1 > canary")))),
    "builtins.eval": ("runs", program(call(EVAL, OPENED))),
    "builtins.exec": ("runs", program(call(named("builtins", "exec"), OPENED))),
    "eval inside a value": ("runs", program(EMPTY_DICT, A, EMPTY_LIST, call(EVAL, OPENED), APPEND, SETITEM)),
    "eval as a key": ("runs", program(EMPTY_DICT, call(EVAL, OPENED), NONE, SETITEM)),
    "eval, dropped again": ("runs", program(call(EVAL, OPENED), POP, EMPTY_DICT)),
    "eval, dropped to a mark": ("runs", program(EMPTY_DICT, MARK, call(EVAL, OPENED), POP_MARK)),
    "eval after the size of a lie": ("runs", program(call(EVAL, OPENED), BINBYTES, b"\xff\xff\xff\xff")),
    "protocol 0": ("runs", OLDEST),
    "protocol 2": ("runs", program(call(MKDIR, X), protocol=2)),
    "protocol 4, named from the stack": (
        "runs",
        program(text("os"), text("mkdir"), STACK_GLOBAL, X, TUPLE1, REDUCE, protocol=4),
    ),
    "protocol 4, a dotted name": (
        "runs",
        program(text("os"), text("path.os.mkdir"), STACK_GLOBAL, X, TUPLE1, REDUCE, protocol=4),
    ),
    "protocol 5": ("runs", program(call(MKDIR, X), protocol=5)),
    "getattr of an import": (
        "runs",
        program(call(call(named("builtins", "getattr"), call(IMPORT, text("os")), text("mkdir")), X)),
    ),
    "functools.partial": ("runs", program(call(call(named("functools", "partial"), MKDIR, X)))),
    "a map, drawn by a list": (
        "runs",
        program(call(named("builtins", "list"), call(named("builtins", "map"), MKDIR, EMPTY_LIST + X + APPEND))),
    ),
    "pickle.loads of a pickle": (
        "runs",
        program(call(named("pickle", "loads"), BINBYTES, struct.pack("<I", len(OLDEST)), OLDEST)),
    ),
    "an instance of protocol 0": ("runs", program(MARK, X, INST, b"os\nmkdir\n")),
    "an object of protocol 1": ("runs", program(MARK, MKDIR, X, OBJ)),
    "os._exit": ("dies", program(call(named("os", "_exit"), ONE))),
    "os.abort": ("dies", program(call(named("os", "abort")))),
    "a read of address 0": ("dies", program(call(named("ctypes", "string_at"), ZERO))),
    # Objects without a call
    "a function": ("reads", program(EVAL)),
    "a new object": ("reads", program(named("builtins", "object"), EMPTY_TUPLE, NEWOBJ)),
    "a new object with names": (
        "reads",
        program(named("builtins", "object"), EMPTY_TUPLE, EMPTY_DICT, NEWOBJ_EX, protocol=4),
    ),
    "state set on a class": (
        "reads",
        program(named("pickle", "Unpickler"), NONE, EMPTY_DICT, A, ONE, SETITEM, TUPLE2, POP, EMPTY_DICT, BUILD),
    ),
    "an object from elsewhere": ("fails", program(EMPTY_DICT, BINPERSID)),
    "an extension": ("fails", program(EXT4, b"\1\0\0\0")),
    "a buffer from elsewhere": ("fails", program(NEXT_BUFFER, protocol=5)),
    "an array as NumPy pickles it": (
        "reads",
        program(call(named("numpy", "ndarray"), ONE + TUPLE1)),
    ),
    # What crashes the interpreter, or whoever walks through the value
    "nested tuple as a key": ("dies", program(EMPTY_DICT, EMPTY_TUPLE, TUPLE1 * DEEP, NONE, SETITEM)),
    "nested tuple in a set": ("dies", program(EMPTY_SET, MARK, EMPTY_TUPLE, TUPLE1 * DEEP, ADDITEMS, protocol=4)),
    "nested tuple in a frozenset": ("dies", program(MARK, EMPTY_TUPLE, TUPLE1 * DEEP, FROZENSET, protocol=4)),
    "nested tuples": ("reads", program(EMPTY_TUPLE, TUPLE1 * DEEP)),
    "nested lists": ("reads", program(EMPTY_LIST * DEEP, APPEND * (DEEP - 1))),
    "nested dicts": ("reads", program((EMPTY_DICT + A) * 50_000, NONE, SETITEM * 50_000)),
    "33 lists, one more than is allowed": ("reads", program(EMPTY_LIST * 33, APPEND * 32)),
    "a list that holds itself": ("reads", program(EMPTY_LIST, BINPUT, b"\0", BINGET, b"\0", APPEND)),
    "a dict that holds itself": ("reads", program(EMPTY_DICT, BINPUT, b"\0", A, BINGET, b"\0", SETITEM)),
    "a tuple that holds itself": (
        "reads",
        program(EMPTY_LIST, BINPUT, b"\0", BINGET, b"\0", TUPLE1, BINPUT, b"\1", APPEND, BINGET, b"\1"),
    ),
    # What asks for memory
    "8 bytes, LONG_BINPUT": ("fails", PROTO + b"\3" + NONE + LONG_BINPUT + b"\xff\xff\xff\x7f"),
    "LONG_BINPUT with an end": ("fails", program(EMPTY_DICT, LONG_BINPUT, b"\xff\xff\xff\xff")),
    "PUT of a large number": ("fails", program(EMPTY_DICT, PUT, b"4000000000\n")),
    "GET of what is not there": ("fails", program(GET, b"4000000000\n")),
    "more bytes than there are": ("asks", program(call(BYTEARRAY, whole_number(2**62)))),
    "a longer list than there is": ("asks", program(call(named("operator", "mul"), NULLS, whole_number(2**60)))),
    "a gigabyte": (
        "asks" if sys.platform == "linux" else "reads",  # the kernel of Linux keeps the reader from having it
        program(call(BYTEARRAY, whole_number(2**30))),
    ),
    "memo bomb of lists": ("reads", program(EMPTY_LIST, BINPUT, b"\0", LAUGHS, TUPLE2)),
    "memo bomb of doubled tuples": ("reads", program(EMPTY_TUPLE, (DUP + TUPLE2) * 100)),
    "memo bomb of text": (
        "reads",
        program(BINUNICODE, struct.pack("<I", 10**6), b"a" * 10**6, BINPUT, b"\0", (BINGET + b"\0") * 1000, TUPLE3),
    ),
    "too many marks": ("fails", program(MARK * MANY)),
    "too many lists": ("reads", program(EMPTY_LIST * MANY)),
    "too many lists, as a checkpoint would hold them": (
        "reads",
        program(EMPTY_DICT, A, EMPTY_LIST, (MARK + EMPTY_LIST * 1000 + APPENDS) * 1000, SETITEM),
    ),
    "too many numbers": ("reads", program(ZERO * MANY)),
    # Sizes that lie
    "2 GiB of bytes": ("fails", program(BINBYTES, b"\xff\xff\xff\x7f", b"abc")),
    "4 GiB of text": ("fails", program(BINUNICODE, b"\xff\xff\xff\xff", b"abc")),
    "8-byte size of bytes": ("fails", program(BINBYTES8, struct.pack("<Q", 2**62), b"abc", protocol=4)),
    "8-byte size of text": ("fails", program(BINUNICODE8, struct.pack("<Q", 2**62), b"abc", protocol=4)),
    "size of a bytearray": ("fails", program(BYTEARRAY8, struct.pack("<Q", 2**40), b"abc", protocol=5)),
    "size of a frame": ("fails", program(FRAME, struct.pack("<Q", 2**50), EMPTY_DICT, protocol=4)),
    "size of a whole number": ("fails", program(LONG4, b"\xff\xff\xff\x7f", b"1")),
    "negative size of a whole number": ("fails", program(LONG4, b"\xff\xff\xff\xff", b"1")),
    "one byte too many": ("fails", program(BINBYTES, struct.pack("<I", 5), b"abc")),
    "one byte too few": ("fails", program(BINBYTES, struct.pack("<I", 2), b"abc")),
    "a number of a million digits": ("fails", program(LONG, b"9" * 10**6, b"L\n")),
    # What is only almost a checkpoint
    "tuple as a key": ("reads", program(EMPTY_DICT, ONE, TUPLE1, NONE, SETITEM)),
    "number as a key": ("reads", program(EMPTY_DICT, ONE, NONE, SETITEM)),
    "a list as a key": ("fails", program(EMPTY_DICT, EMPTY_LIST, NONE, SETITEM)),
    "a key twice": ("reads", program(EMPTY_DICT, MARK, A, ZERO, A, ONE, SETITEMS)),
    "a key without a value": ("fails", program(EMPTY_DICT, MARK, A, SETITEMS)),
    "a number in too many bytes": ("reads", program(EMPTY_DICT, A, BININT, b"\1\0\0\0", SETITEM)),
    "text with quotes": ("reads", program(EMPTY_DICT, A, STRING, b"'a'\n", SETITEM)),
    "text that is no UTF-8": ("fails", program(EMPTY_DICT, BINUNICODE, b"\1\0\0\0\xff", NONE, SETITEM)),
    "a tuple of too few": ("fails", program(NONE, TUPLE3)),
    "a tuple across a mark": ("fails", program(NONE, MARK, NONE, TUPLE2)),
    "a tuple is appended to": ("fails", program(EMPTY_TUPLE, NONE, APPEND)),
    "a number is appended to": ("fails", program(ONE, NONE, APPEND)),
    "a list gets items": ("fails", program(EMPTY_LIST, MARK, A, NONE, SETITEMS)),
    "a mark left over": ("reads", program(MARK, EMPTY_DICT)),
    "two values": ("reads", program(EMPTY_DICT, EMPTY_DICT)),
    "no value": ("fails", program()),
    "no end": ("fails", program(EMPTY_DICT)[:-1]),
    "more after the end": ("reads", program(EMPTY_DICT) + b"more"),
    "an opcode that there is not": ("fails", program(b"\xff")),
    "nothing": ("fails", b""),
    "another dict": ("reads", pickle.dumps({"a": 1}, protocol=4)),
}
