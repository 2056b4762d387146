"""Which level of isolation works on this machine, proved by attacks and not by version numbers. Begin at `prove`."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path

from tito.checks.bench import ProbeCall
from tito.errors import UserError
from tito.teach.grader import canaries, zygotes
from tito.teach.grader.conversation import Conversation, Ended, Limits
from tito.teach.grader.sealed_bench import SealedBench, Unwritten

NAMES = {
    1: "namespaces, own user, Landlock, seccomp, limits",
    2: "bubblewrap, a fresh interpreter",
    3: "limits alone: grade only code that you trust",
}
VARIABLE = "TITO_CANARY"
EMPTY = {"released.json": "[]"}

SECONDS = 60.0

Canary = Callable[..., str]
Proof = Mapping[Canary, str]  # what each canary reached, "" where it was stopped


@lru_cache(maxsize=1)
def best() -> int:
    """The lowest level that is proved here, 1 or 2. Raises UserError when neither is."""
    for level in (1, 2):
        with suppress(UserError):
            if holds(level, prove(level)):
                return level
    raise UserError("neither namespaces nor bubblewrap isolate a submission here; see why with: tito teach doctor")


def holds(level: int, proof: Proof) -> bool:
    """Whether all that the level promises was stopped. Another user is something that only root can give."""
    waived = () if os.geteuid() == 0 else (canaries.be_the_grader,)
    promised = canaries.LIMITS if level == 3 else tuple(canaries.SAYS)
    return not any(reached for canary, reached in proof.items() if canary in promised and canary not in waived)


def prove(level: int, chosen: Iterable[Canary] = tuple(canaries.SAYS)) -> Proof:
    """Let the canaries out in a sealed child of this level. Raises UserError when there can be none."""
    starter = zygotes.start(level, 0, EMPTY)
    os.environ[VARIABLE] = "seen"
    try:
        with tempfile.TemporaryDirectory() as folder, closing(Cage(starter)) as cage:
            os.chmod(folder, 0o777)
            (Path(folder) / "secret").write_text("read what it may not", encoding="utf-8")
            given = _arguments(folder)
            return {canary: cage.release(canary, given.get(canary, ())) for canary in chosen}
    finally:
        del os.environ[VARIABLE]
        starter.close()


def _arguments(folder: str) -> dict[Canary, tuple[object, ...]]:
    return {
        canaries.read_a_file: (f"{folder}/secret",),
        canaries.write_a_file: (folder,),
        canaries.see_other_processes: (os.getpid(),),
        canaries.read_the_environment: (VARIABLE,),
        canaries.find_an_open_file: (1,),
        canaries.be_the_grader: (os.geteuid(),),
        canaries.take_memory: (2**31,),
        canaries.fill_the_disk: (2**27,),
    }


class Cage:
    """A sealed child for canaries, a fresh one after each that ended it."""

    def __init__(self, starter: zygotes.Starter) -> None:
        self.starter = starter
        self.talk: Conversation | None = None

    def release(self, canary: Canary, given: tuple[object, ...]) -> str:
        """What the canary reached."""
        if self.talk is None or not self.talk.alive:
            self.talk = Conversation(self.starter, Limits(), time.monotonic() + SECONDS)
        self.talk.begin(SECONDS)
        try:
            answer = SealedBench(self.talk, "").evaluate(ProbeCall(canary, given))
        except (Ended, Unwritten) as error:
            return f"gave no answer: {error}"
        return f"{answer.raised.type}: {answer.raised.text}" if answer.raised else str(answer.value)

    def close(self) -> None:
        """End the child."""
        if self.talk is not None:
            self.talk.close()
