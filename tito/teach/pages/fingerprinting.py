"""Has students' texts turned into fingerprints in a sealed process (sealed/tokens.py). Begin at `Reader`.

What comes back is arrays of numbers; nothing that a student wrote is tokenised on this side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import TracebackType

import numpy as np

from tito.teach.grader import isolation, zygotes
from tito.teach.grader.conversation import Conversation, Ended, Limits
from tito.teach.sealed import frames

SLOT = 900  # beside those of graders
LIMITS = Limits()  # those of one check, for one submission
LONGEST = 200_000  # bytes of one text
READS = 100  # submissions that one process reads

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


class Unreadable(Exception):
    """What became of the process that read a submission."""


class Reader:
    """A sealed process that turns texts into fingerprints; a fresh one takes over when a submission ends or delays it.

    Raises UserError where nothing isolates.
    """

    def __init__(self, level: int | None = None) -> None:
        self.starter = zygotes.start(level or isolation.best(), SLOT, isolation.EMPTY)
        self.talk: Conversation | None = None
        self.reads = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hang_up()
        self.starter.close()

    def read(self, cells: Mapping[str, str], released: Sequence[str] = ()) -> dict[str, list[int]]:
        """The fingerprints of each cell, lines of `released` set aside. Raises Unreadable."""
        try:
            texts = {"released": [*map(_bytes, released)], "texts": [*map(_bytes, cells.values())]}
            reply = self._call().ask({"ask": "fingerprints", **texts})
        except (Ended, frames.FrameError) as error:
            raise Unreadable(str(error)) from None
        prints = reply.get("prints") if isinstance(reply, dict) else None
        if not isinstance(prints, list) or len(prints) != len(cells) or not all(map(_is_prints, prints)):
            raise Unreadable("its answer is none")
        return {name: found.tolist() for name, found in zip(cells, prints)}

    def _call(self) -> Conversation:
        """A process that is alive, with fresh limits."""
        if self.reads % READS == 0:
            self._hang_up()
        self.reads += 1
        if self.talk is None or not self.talk.alive:
            self.talk = Conversation(self.starter, LIMITS, math.inf)
        self.talk.begin(LIMITS.check_seconds)
        return self.talk

    def _hang_up(self) -> None:
        if self.talk is not None:
            self.talk.close()


def _bytes(text: str) -> Bytes:
    return np.frombuffer(text.encode("utf-8", "replace")[:LONGEST], np.uint8)


def _is_prints(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.uint64 and value.ndim == 1
