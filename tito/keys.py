"""Single keys typed at a terminal, without Enter, on every system; in a pipe there are none."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Keys:
    """`with Keys() as keys: keys.wait(0.1)` gives the key that was typed meanwhile, or ""."""

    def __init__(self) -> None:
        self.on = sys.stdin.isatty() and sys.stdout.isatty()
        self.before: list[Any] | None = None

    def __enter__(self) -> Keys:
        if self.on and sys.platform != "win32":
            import termios
            import tty

            self.before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.before is not None and sys.platform != "win32":
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)

    def wait(self, seconds: float) -> str:
        """The next key, in lower case; "" when none comes in time."""
        if self.on:
            return self._typed(seconds).lower()
        time.sleep(seconds)
        return ""

    if sys.platform == "win32":

        def _typed(self, seconds: float) -> str:
            import msvcrt

            end = time.monotonic() + seconds
            while not msvcrt.kbhit():
                if time.monotonic() > end:
                    return ""
                time.sleep(0.02)
            return msvcrt.getwch()

    else:

        def _typed(self, seconds: float) -> str:
            import os
            import select

            ready, _, _ = select.select([sys.stdin], [], [], seconds)
            key = os.read(sys.stdin.fileno(), 1) if ready else b""
            self.on = bool(key or not ready)  # the terminal is gone where nothing can be read
            return key.decode("ascii", "ignore")
