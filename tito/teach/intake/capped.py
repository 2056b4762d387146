"""Notebooks from students as JSON of capped size, depth and number of items. Begin at `cells`.

`json.loads` on hostile text takes unbounded stack (nesting) or twenty times the text's memory (empty lists). Both are
counted here on the bytes, without parsing, before it is called. Nothing here looks at a cell's source.
"""

from __future__ import annotations

import json

from tito import studentfile
from tito.errors import UserError
from tito.studentfile import BrokenNotebook, StudentCell
from tito.teach.intake.refusal import Refused

LARGEST = studentfile.LARGEST
DEEPEST = 64  # what Jupyter writes is below 20
MOST_ITEMS = 500_000  # values and keys; a line of source is one
MOST_CELLS = 2_000
BOM = b"\xef\xbb\xbf"
OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def cells(data: bytes) -> tuple[StudentCell, ...]:
    """The cells of a notebook; Refused with a reason about `it`."""
    text = _text(data)
    _refuse_large_structure(data)
    try:
        found = tuple(studentfile.notebook_cells(text))
    except BrokenNotebook as error:
        raise Refused(f"is broken, {error}") from None
    except UserError as error:
        raise Refused(f"cannot be read, {error.message}") from None
    if len(found) > MOST_CELLS:
        raise Refused(f"has {len(found)} cells, the most is {MOST_CELLS}")
    _refuse_surrogates(text)
    return found


def _text(data: bytes) -> str:
    if len(data) > LARGEST:
        raise Refused(f"has more than {LARGEST // 10**6} MB; clear its outputs in Jupyter and save it")
    if data[:2] in OTHER_ENCODINGS:
        raise Refused(f"is {OTHER_ENCODINGS[data[:2]]}, not UTF-8")
    try:
        return data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 at byte {error.start}") from None


def _refuse_large_structure(data: bytes) -> None:
    """Refuse what is nested too deeply or holds too much."""
    _refuse_items((data.count(b'"') - data.count(b'\\"')) // 2)
    outside = outside_strings(data)
    _refuse_items(sum(outside.count(mark) for mark in (b",", b"[", b"{")))
    if nesting(outside) > DEEPEST:
        raise Refused(f"is nested more than {DEEPEST} levels deep")


def outside_strings(data: bytes) -> bytes:
    """What of JSON stands outside of strings.

    Up to the first error of the text, quotes that are not escaped are where a parser sees them: backslashes stand in
    strings only. Behind that error no parser comes.
    """
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(bare.split(b'"')[::2])


def _refuse_items(count: int) -> None:
    if count > MOST_ITEMS:
        raise Refused(f"holds {count} values, the most is {MOST_ITEMS}; clear its outputs in Jupyter and save it")


def nesting(outside: bytes) -> int:
    """How deep brackets go; counting ends beyond the limit."""
    deepest = depth = 0
    for mark in outside.translate(None, bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if mark in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > DEEPEST:
            break
    return deepest


def _refuse_surrogates(text: str) -> None:
    """Refuse half a character: JSON can spell it, but no program can save it as UTF-8."""
    if "\\ud" not in text and "\\uD" not in text:
        return
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused(f"holds half a character (U+{ord(error.object[error.start]):04X})") from None
