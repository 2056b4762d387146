"""What a cell prints, handed on line by line while it runs, and cut where it would never end."""

from __future__ import annotations

import io
from collections.abc import Callable

Write = Callable[[str, str], object]  # kind, text

LONGEST_LINE = 4_000  # characters that wait for the end of their line
MOST = 100_000
CUT = "\n... the rest of what it printed is left out\n"


class Printed(io.TextIOBase):
    """A stream whose lines go to `write(kind, text)`."""

    def __init__(self, kind: str, write: Write) -> None:
        self.kind, self.hand_on = kind, write
        self.waiting, self.total = "", 0

    def write(self, text: str) -> int:
        """Take text; whole lines go on at once."""
        self.waiting += text
        end = 1 + max(self.waiting.rfind("\n"), self.waiting.rfind("\r"))
        if end or len(self.waiting) > LONGEST_LINE:
            self._send(end or len(self.waiting))
        return len(text)

    def writable(self) -> bool:
        """Always."""
        return True

    def flush(self) -> None:
        """Hand on what waits."""
        self._send(len(self.waiting))

    def close(self) -> None:
        """Hand on the rest. The stream stays open: what holds it still may go on printing."""
        self.flush()

    def _send(self, end: int) -> None:
        text, self.waiting = self.waiting[:end], self.waiting[end:]
        room = MOST - self.total
        self.total += len(text)
        if text and room > 0:
            self.hand_on(self.kind, text if len(text) <= room else text[:room] + CUT)
