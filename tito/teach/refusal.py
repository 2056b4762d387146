"""What intake says when it takes nothing: one sentence for the student, safe to print on a terminal."""

from __future__ import annotations

SHOWN = 60  # characters of a name


class Refused(Exception):
    """A submission that cannot be taken. `reason` is one sentence without its full stop, about `it`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def shown(name: str) -> str:
    """A file's name from elsewhere, in printable ASCII and of bounded length."""
    text = ascii(name[: SHOWN + 1])[1:-1]
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
