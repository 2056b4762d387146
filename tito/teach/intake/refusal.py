"""What intake says when it takes nothing: one sentence for the student, safe to print on a terminal."""

from __future__ import annotations

SHOWN = 60  # characters of a name
LONGEST = 300  # of a reason


class Refused(Exception):
    """A submission that cannot be taken. `reason` is one sentence without its full stop, about `it`."""

    def __init__(self, reason: str) -> None:
        self.reason = shown(reason, LONGEST)  # libraries quote what they were given
        super().__init__(self.reason)


def shown(text: str, most: int = SHOWN) -> str:
    """Text from elsewhere, such as a file's name, in printable ASCII and of bounded length."""
    text = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text[: most + 1])
    text = text.encode("ascii", "backslashreplace").decode("ascii")
    return text if len(text) <= most else text[: most - 3] + "..."
