"""The cell itself never ends, and swallows what would end it."""

from __future__ import annotations

HONEST = 0

EXERCISES = {
    "double": r"""
import signal
signal.signal(signal.SIGALRM, signal.SIG_IGN)
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
""",
}
