"""Students' texts to fingerprints, for the comparison of submissions. Runs sealed, for parsers have been broken before.

Winnowing: S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD
2003. Of the hashes of all runs of K tokens the smallest of each WINDOW in a row is kept. So every run of GUARANTEE
tokens that two texts share leaves a common fingerprint, wherever it stands, and nothing shorter than K tokens does.
Begin at `fingerprints`.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import keyword
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

K = 12
GUARANTEE = 20
WINDOW = GUARANTEE - K + 1
MOST = 20_000  # tokens of one text

Line = tuple[str, ...]  # the tokens of a logical line

KEPT = {*keyword.kwlist, *dir(builtins), "self", "np", "math"}
SPACE = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
OPENS, CLOSES = getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1)  # from Python 3.12 on
STRING = "''"


def fingerprints(source: str, released: frozenset[Line] = frozenset()) -> list[int]:
    """The fingerprints of a text, without its released lines; none when it is shorter than GUARANTEE tokens."""
    return winnow(hashes(tokens(source, released)))


def tokens(source: str, released: frozenset[Line] = frozenset()) -> list[str]:
    """The text's own tokens: released lines (also renamed ones) and free-standing strings are left out."""
    own = (line for line in lines(source) if line not in released and set(line) != {STRING})
    return [token for line in own for token in line][:MOST]


def lines(source: str) -> Iterator[Line]:
    """The logical lines of a text without comments, as tokens: chosen names as `n`, strings as `''`; up to an error."""
    line: list[str] = []
    for kind, text in _raw(source):
        if kind == tokenize.NEWLINE:
            yield _alike(line)
            line = []
        elif kind not in SPACE:
            line.append(STRING if kind == tokenize.STRING else text)
    if line:
        yield _alike(line)


def _raw(source: str) -> Iterator[tuple[int, str]]:
    """Types and texts of the tokens; an f-string is one STRING on every Python."""
    inside = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            inside += token.type == OPENS
            if not inside:
                yield token.type, token.string
            elif token.type == CLOSES:
                inside -= 1
                if not inside:
                    yield tokenize.STRING, token.string
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _alike(line: Sequence[str]) -> Line:
    """The line with `n` for every name that its writer chose: no keyword, no built-in, no attribute."""
    pairs = zip(("", *line), line)
    return tuple("n" if one.isidentifier() and one not in KEPT and before != "." else one for before, one in pairs)


def hashes(tokens: Sequence[str]) -> list[int]:
    """A hash of 64 bits for each run of K tokens."""
    runs = ("\n".join(tokens[i : i + K]) for i in range(len(tokens) - K + 1))
    return [int.from_bytes(hashlib.blake2b(run.encode("utf-8", "replace"), digest_size=8).digest()) for run in runs]


def winnow(hashes: Sequence[int]) -> list[int]:
    """The smallest hash of every WINDOW in a row, the rightmost of equal ones, each once."""
    windows = range(len(hashes) - WINDOW + 1)
    chosen = {min(range(i, i + WINDOW), key=lambda j: (hashes[j], -j)) for i in windows}
    return sorted({hashes[i] for i in chosen})


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to `{"released": [...], "texts": [...]}`, each the bytes of a text: an array of fingerprints a text."""
    released = _released(tuple(map(bytes, request["released"])))
    texts = (bytes(text).decode("utf-8", "replace") for text in request["texts"])
    return {"prints": [np.array(fingerprints(text, released), np.uint64) for text in texts]}


@lru_cache(maxsize=1)
def _released(texts: tuple[bytes, ...]) -> frozenset[Line]:
    return frozenset(line for text in texts for line in lines(text.decode("utf-8", "replace")))
