"""Lets a training run end between two steps when it is told to stop. Supplied with lesson 08: trace it, don't write it.

Ctrl-C, and on POSIX the SIGTERM of a batch system or a container, come at any moment: in the middle of an update too.
Inside `with Interrupts() as interrupts:` they only leave a note, which the loop reads where the run is whole.
Begin at `_handle`, which is called for every signal.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__: list[str] = []  # the package hands on none of this

# Ctrl-C is the first to be taken and the last to be put back: a KeyboardInterrupt on the way leaves nothing behind.
NAMES = ("SIGINT", "SIGBREAK", "SIGTERM") if os.name == "posix" else ("SIGINT", "SIGBREAK")
SIGNALS = tuple(signal.Signals[name] for name in NAMES if hasattr(signal, name))


class Interrupts:
    """Takes Ctrl-C (on Windows Ctrl-Break too) and on POSIX SIGTERM, from entry to exit; then the earlier handlers act.

        with Interrupts() as interrupts:
            for batch in batches:
                step(batch)
                if interrupts.requested:
                    save()
                interrupts.raise_requested()

    `requested` is the first signal that came, else None. `on_request(signal)` is called once with it, from the
    handler and so between any two lines of the program: it may set something, and must not print.

    A second Ctrl-C while the first waits raises KeyboardInterrupt at once, and the step at hand is lost; more SIGTERMs
    change nothing. A signal that was ignored stays ignored, as Ctrl-C is in a shell's background job, and one whose
    handler was not set from Python stays as it is, for nobody could put that handler back. In another thread than the
    main one, where Python takes no signals, nothing is requested ever. Of two such blocks in one another the inner one
    acts, and the outer one's `requested` and `on_request` are told as well. A process forked inside behaves as if
    there were no block: its first signal goes to the earlier handler.

    A signal waits for a running call of C code, such as a large matmul, as every Python handler does.
    """

    requested: signal.Signals | None

    def __init__(self, on_request: Callable[[signal.Signals], None] | None = None) -> None:
        self.on_request = on_request
        self.requested, self.presses, self.process = None, 0, os.getpid()
        self.earlier: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        self.requested, self.presses, self.process = None, 0, os.getpid()
        self.earlier = {}
        if threading.current_thread() is threading.main_thread():
            self._take()
        return self

    def __exit__(self, *error: object) -> None:
        self._put_back()

    def raise_requested(self) -> None:
        """KeyboardInterrupt after Ctrl-C, SystemExit(143) after SIGTERM, nothing when neither came.

        Call it when the checkpoint is written, and once more as the last thing in the block: what comes after that
        call is not heard.
        """
        if self.requested is None:
            return
        if self.requested == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)  # what a shell reports for a program that SIGTERM ended
        raise KeyboardInterrupt

    def _take(self) -> None:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if handler is not signal.SIG_IGN and handler is not None:  # None: set by C code
                self.earlier[number] = handler
                signal.signal(number, self._handle)

    def _put_back(self) -> None:
        for number, handler in reversed(self.earlier.items()):
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self.process:
            self._put_back()
            signal.raise_signal(number)
            return
        self._note(signal.Signals(number))
        if number != signal.SIGTERM and self.presses > 1:
            self._put_back()  # now, since a KeyboardInterrupt may keep `__exit__` from doing it
            raise KeyboardInterrupt

    def _note(self, number: signal.Signals) -> None:
        self.presses += number != signal.SIGTERM
        first, self.requested = self.requested is None, self.requested or number
        outer = getattr(self.earlier.get(number), "__self__", None)
        if isinstance(outer, Interrupts):
            outer._note(number)
        if first and self.on_request is not None:
            self.on_request(number)
