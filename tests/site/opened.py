"""All text that a folder of files holds, however it is wrapped, and a search in it. Begin at `texts` and `Search`.

Archives are opened, and archives within them. A text is looked at as it is, with the escapes of JSON undone (twice, for
JSON within JSON), and each of these without HTML's tags and entities: highlighted code is cut into spans. All without
spaces, so that neither layout nor wrapping matters.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from html import unescape
from pathlib import Path

import numpy as np

BLANKS = b" \t\r\n\f\v"
ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')
TAG = re.compile(r"<[^<>]*>")
PACKED = {".gz": gzip.decompress, ".tgz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
WORD = 8  # bytes that are compared at once


def squeezed(text: str) -> bytes:
    """The text without blanks; a no-break space is one."""
    return text.replace("\xa0", " ").encode("utf-8", "surrogatepass").translate(None, BLANKS)


def texts(folder: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Every file below the folder and in its archives: its name, and its forms without blanks."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield from _opened(path.relative_to(folder).as_posix(), path.read_bytes())


def _opened(name: str, data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    yield name, forms(data)
    for inner, content in _inside(Path(name).suffix, data):
        yield from _opened(f"{name}: {inner}", content)


def _inside(suffix: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """What an archive holds, by name; nothing of what is none."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from ((each.filename, archive.read(each)) for each in archive.infolist() if not each.is_dir())
    elif suffix in PACKED:
        unpacked = PACKED[suffix](data)
        yield ("unpacked.tar" if tarfile.is_tarfile(io.BytesIO(unpacked)) else "unpacked"), unpacked
    elif suffix == ".tar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            files = ((member.name, archive.extractfile(member)) for member in archive)
            yield from ((inner, content.read()) for inner, content in files if content)


def forms(data: bytes) -> list[bytes]:
    """The forms in which a reader could come to see it; of what is no text only the one that it has."""
    if b"\0" in data:
        return [data.translate(None, BLANKS)]
    once = data.decode("utf-8", "replace")
    undone = [once]
    for _ in range(2):
        if "\\" in undone[-1]:
            undone.append(ESCAPE.sub(_character, undone[-1]))
    plain = [unescape(TAG.sub("", text)) for text in undone if "<" in text or "&" in text]
    return [squeezed(text) for text in (*undone, *plain)]


def _character(found: re.Match[str]) -> str:
    return str(json.loads(f'"{found[0]}"'))


class Search:
    """Looks for many lines at once: by their first bytes, then whole."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.by_start: dict[bytes, list[bytes]] = {}
        for line in map(squeezed, lines):
            self.by_start.setdefault(line[:WORD], []).append(line)
        self.starts = np.array(sorted(np.frombuffer(start, "<u8")[0] for start in self.by_start))

    def found(self, text: bytes) -> set[str]:
        """Those of the lines that stand anywhere in a text without blanks."""
        places = (place for shift in range(min(WORD, len(text))) for place in self._places(text, shift))
        wanted = ((place, line) for place in places for line in self.by_start[text[place : place + WORD]])
        return {line.decode() for place, line in wanted if text.startswith(line, place)}

    def _places(self, text: bytes, shift: int) -> Iterator[int]:
        """Where a line may begin, of the places that are a multiple of a word's length after this shift."""
        words = np.frombuffer(text, "<u8", (len(text) - shift) // WORD, shift)
        near = self.starts[np.searchsorted(self.starts, words).clip(max=len(self.starts) - 1)]
        yield from (WORD * int(i) + shift for i in np.flatnonzero(near == words))
