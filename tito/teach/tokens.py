"""Answers to fingerprints, in a process of its own: what is tokenised here was written by students.

`python -I tokens.py` reads one line of JSON a request, a list of texts, and answers with bytes: for each text four
bytes that say how many fingerprints follow, and eight bytes for each. The first line is the released texts, which are
set aside in all later ones; its answer is empty. Standard library only, so that a sealed process can run it. Begin at
`fingerprints`.

Winnowing: S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD
2003. Of the hashes of all runs of K tokens the smallest of each WINDOW in a row is kept. So every run of GUARANTEE
tokens that two texts share leaves a common fingerprint, wherever it stands, and nothing shorter than K tokens does.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import keyword
import struct
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence

K = 12
GUARANTEE = 20
WINDOW = GUARANTEE - K + 1
MOST = 20_000  # tokens of one text
LONGEST = 200_000  # characters of one text

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
    for kind, text in _raw(source[:LONGEST]):
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


def packed(prints: Iterable[Sequence[int]]) -> bytes:
    """The answer to a request."""
    return b"".join(struct.pack(f"<I{len(one)}Q", len(one), *one) for one in prints)


def unpacked(data: bytes) -> list[list[int]]:
    """What `packed` was given. Raises struct.error for other bytes."""
    found, at = [], 0
    while at < len(data):
        (many,) = struct.unpack_from("<I", data, at)
        found.append(list(struct.unpack_from(f"<{many}Q", data, at + 4)))
        at += 4 + 8 * many
    return found


def _seal() -> None:
    """What a process can forbid itself on every Unix: memory, files, other processes, another user's rights."""
    import os
    import resource

    limits = {resource.RLIMIT_AS: 2**30, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_NPROC: 0}
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


def _serve() -> None:
    _seal()
    released: frozenset[Line] = frozenset()
    for i, request in enumerate(sys.stdin.buffer):
        texts = json.loads(request)
        if i == 0:
            released = frozenset(line for text in texts for line in lines(text))
        answer = packed(fingerprints(text, released) for text in texts if i)
        sys.stdout.buffer.write(struct.pack("<I", len(answer)) + answer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
