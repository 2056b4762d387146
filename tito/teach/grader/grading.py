"""The trusted runner: grades one submission. Expectations and comparisons are here, the student's code never is.

Visible checks run in one sealed child, hidden ones in another. A child that dies or hangs costs the check that it was
asked for, and the next check gets a fresh one; what breaks the rules of the conversation costs all that has not run.
Begin at `grade`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import platform
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np

from tito import diagnosis
from tito.checks import draw, engine
from tito.checks.observe import observe
from tito.teach.grader import checks, milestone_grading, verdicts
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.checks import Check
from tito.teach.grader.conversation import Conversation, Ended, Limits
from tito.teach.grader.sealed_bench import SealedBench
from tito.teach.grader.verdicts import Verdict
from tito.teach.grader.zygotes import Starter
from tito.teach.result import CheckResult, Key, Result
from tito.teach.sealed import frames

PATIENCE = 6  # times the limit of a check, for reading the files and for running their definitions
OBSERVING_SECONDS = 1.0  # for all visible checks of an exercise that failed, once more


@dataclass(frozen=True)
class Work:
    """One submission: files by name ("03_layers.ipynb"), with mode "own" those of the earlier lessons too."""

    student: str
    assignment: str
    files: Mapping[str, bytes]
    mode: str = "reference"


class Worker(Protocol):
    """What grading needs: a bundle, what starts sealed children for it, and what its results depend on."""

    bundle: Bundle
    starter: Starter
    limits: Limits
    secret: bytes
    level: int


def grade(work: Work, worker: Worker) -> Result:
    """The result of a submission, whatever it does; 120 s at most, by the usual limits."""
    return Grading(work, worker).result()


def submission_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents, whatever their order."""
    pairs = sorted((name, hashlib.sha256(content).hexdigest()) for name, content in files.items())
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def key_of(work: Work, bundle: Bundle, limits: Limits, secret: bytes) -> Key:
    """What the result depends on; two results of one key are the same."""
    about = work.student, work.assignment, submission_hash(work.files), bundle.hash, work.mode
    return Key(
        *about, _numbers(limits), hashlib.sha256(secret).hexdigest()[:16], platform.python_version(), np.__version__
    )


@lru_cache
def _numbers(limits: Limits) -> Mapping[str, float]:
    """The limits by name: one table for all keys of a class, of which there may be many."""
    return {name: float(most) for name, most in asdict(limits).items()}


class Grading:
    """One submission on its way. `plan` is what the sealed side made of its files before any of their code ran."""

    def __init__(self, work: Work, worker: Worker) -> None:
        self.work, self.worker, self.checks = work, worker, worker.bundle.checks
        self.deadline = time.monotonic() + worker.limits.submission_seconds
        self.talk: Conversation | None = None
        self.is_defined = False  # whether the child holds the student's definitions
        self.plan: Any = None
        self.notes: list[str] = []
        self.broken: Mapping[str, Any] = {}
        self.over = ""  # why nothing more is run

    def result(self) -> Result:
        """Plan, visible checks, hidden checks."""
        key = key_of(self.work, self.worker.bundle, self.worker.limits, self.worker.secret)
        try:
            refused = self._plan()
            if refused:
                return Result(key, "refused", refused, isolation=self.worker.level)
            shown = self._phase([check for check in self.checks if not check.hidden])
            hidden = self._phase([check for check in self.checks if check.hidden])
        finally:
            self._hang_up()
        by_name = {one.name: one for one in (*shown, *hidden)}
        results = tuple(by_name[check.name] for check in self.checks)
        return Result(key, "graded", self.over, results, tuple(self.notes), self.worker.level)

    def _plan(self) -> str:
        """Have the files read; why nothing can be made of them, if so."""
        files = {name: np.frombuffer(content, np.uint8) for name, content in self.work.files.items()}
        try:
            about = {"lesson": self.work.assignment, "own": self.work.mode == "own", "files": files}
            talk = self._call()
            talk.begin(PATIENCE * self.worker.limits.check_seconds)
            reply = talk.ask({"ask": "plan", **about})
        except Ended as ended:
            self.over = f"while the files were read: {ended.reason}"
            return ""
        except frames.FrameError as error:
            return f"its files are too large: {error}"
        if "refused" in reply:
            return str(reply["refused"])
        self.plan = reply["plan"]
        self.notes = [*reply["notes"], *self._deviations(reply["checks"])]
        return ""

    def _deviations(self, found: Mapping[str, Any]) -> Iterator[str]:
        for check in self.checks:
            number, program = found.get(check.id, (0, ""))
            if check.program and check.id not in found:
                yield f"check {check.name} is missing; the original is used"
            elif program != check.program:
                yield f"check {check.name} (cell {number}) was changed; the original is used"

    def _phase(self, some: Sequence[Check]) -> list[CheckResult]:
        """These checks in a child of their own; visible ones with the known mistakes that they look like."""
        results = [verdicts.result(check, self._verdict(check)) for check in some]
        if some and not some[0].hidden and not self.over:
            results = self._diagnosed(results)
        try:
            if self.talk and self.talk.alive:
                self.talk.finish()
        except Ended as ended:
            self.over = ended.reason
        self.talk = None
        return results

    def _verdict(self, check: Check) -> Verdict:
        talk = None if self.over else self._ready()
        if talk is None:
            return verdicts.not_run(self.over)
        if check.exercise in self.broken:
            return verdicts.of_broken(self.broken[check.exercise])
        talk.begin(check.seconds or self.worker.limits.check_seconds)
        try:
            with self._bench(check, talk):
                checks.execute(check, digits=milestone_grading.digits)
            return verdicts.OK
        except Exception as error:
            self.over = talk.lied
            return {**verdicts.of(error, check), "output": talk.output()}

    @contextmanager
    def _bench(self, check: Check, talk: Conversation) -> Iterator[None]:
        """The engine asks this child about this check's exercise, and draws what this student gets."""
        bench, before = SealedBench(talk, check.exercise), engine.open_bench
        engine.open_bench = lambda names: bench
        draw.reset(self._draw_key(check) if check.hidden else check.name)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            engine.open_bench = before

    def _draw_key(self, check: Check) -> str:
        """What hidden checks draw is the student's own: nobody knows it before, and a regrade draws the same."""
        about = json.dumps([self.work.student, self.work.assignment]).encode()
        return f"{hmac.new(self.worker.secret, about, hashlib.sha256).hexdigest()} {check.name}"

    def _ready(self) -> Conversation | None:
        """A child that holds the student's definitions; None, and the submission is over, where that cannot be."""
        talk = self._call()
        if self.is_defined:
            return talk
        seconds = self.worker.limits.check_seconds
        talk.begin(PATIENCE * seconds)
        try:
            reply = talk.ask({"ask": "define", "plan": self.plan, "seconds": seconds})
            self.broken, self.is_defined = _report(reply.get("broken"), talk), True
            self._note(_report(dict(enumerate(_parts(reply.get("faults")))), talk).values())
        except Ended as ended:
            self.over = f"while the definitions ran: {ended.reason}"
            return None
        return talk

    def _note(self, faults: Iterable[Mapping[str, Any]]) -> None:
        """Cells that are no exercise's and failed."""
        for fault in faults:
            words = f"cell {fault.get('cell')} failed: {': '.join(_parts(fault.get('error')))}"[:500]
            if words not in self.notes:
                self.notes.append(words)

    def _call(self) -> Conversation:
        """A child that is alive: the one at hand, else a fresh one."""
        if self.talk is None or not self.talk.alive:
            self.talk = Conversation(self.worker.starter, self.worker.limits, self.deadline)
            self.is_defined = False
        return self.talk

    def _hang_up(self) -> None:
        if self.talk is not None:
            self.talk.close()

    def _diagnosed(self, results: list[CheckResult]) -> list[CheckResult]:
        """The results, those of an exercise that failed with the known mistake that it looks like."""
        failed = {one.exercise for one in results if one.status == "FAIL" and not one.reason} - {*self.broken}
        known = {name: told for name, told in self.worker.bundle.fingerprints.items() if name in failed}
        says = {name: diagnosis.says(told, self._seen(name)) for name, told in known.items()}
        return [replace(one, looks_like=says.get(one.exercise, "")) if one.status == "FAIL" else one for one in results]

    def _seen(self, exercise: str) -> list[Any]:
        """What all visible checks of the exercise give, run to their ends; nothing where that ends the child."""
        seen: list[Any] = []
        talk = None if self.over else self._ready()
        if talk is None:
            return []
        talk.begin(OBSERVING_SECONDS)
        for check in self.checks:
            if check.exercise == exercise and not check.hidden:
                with self._bench(check, talk):
                    seen += [[check.name, *entry] for entry in observe(partial(checks.execute, check))]
        self.over = talk.lied
        return seen if talk.alive else []


def _report(told: Any, talk: Conversation) -> dict[str, Any]:
    """Exercises that are broken, each with a status and words of the form that tito/runner.py gives."""
    if type(told) is dict and all(type(one) is dict and _is_broken(one) for one in told.values()):
        return told
    raise talk.lie("it sent a report of an unknown form")


def _is_broken(told: Mapping[Any, Any]) -> bool:
    words = [told.get("status"), *_parts(told.get("error")), *_parts(told.get("waits_for"))]
    where = _parts(told.get("where"))
    return all(type(word) is str for word in words) and [type(part) for part in where] in ([], [str, int, str])


def _parts(told: Any) -> Sequence[Any]:
    """What stands in a list or tuple; what is neither, by itself; nothing for None."""
    return () if told is None else told if type(told) in (list, tuple) else (told,)
