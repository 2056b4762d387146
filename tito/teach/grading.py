"""The trusted runner: grades one submission. Expectations and comparisons are here, the student's code never is.

Visible checks run in one sealed child, hidden ones in another. A child that dies or hangs costs the check that it was
asked for, and the next check gets a fresh one; what breaks the rules of the conversation costs all that has not run.
Begin at `grade`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import linecache
import math
import platform
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from types import CodeType
from typing import Any, Protocol

import numpy as np

from tito import diagnosis
from tito.checks import CheckFailed, check, draw, engine, probe, raises
from tito.checks.observe import observe
from tito.teach.bundle import Bundle, Check
from tito.teach.conversation import Conversation, Ended, Limits
from tito.teach.result import CheckResult, Key, Result
from tito.teach.sealed_bench import SealedBench, Unwritten
from tito.teach.zygotes import Starter

OBSERVING_SECONDS = 1.0
NAMES = {"np": np, "math": math, "check": check, "probe": probe, "raises": raises, "draw": draw}
SHOWN = 2000  # characters of a field that a student reads

Verdict = dict[str, Any]


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
    """The result of a submission, whatever it does; about 120 s at most."""
    return Grading(work, worker).result()


def submission_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents, whatever their order."""
    pairs = sorted((name, hashlib.sha256(content).hexdigest()) for name, content in files.items())
    return hashlib.sha256(json.dumps(pairs).encode()).hexdigest()


def key_of(work: Work, worker: Worker) -> Key:
    """What the result depends on; two results of one key are the same."""
    secret = hashlib.sha256(worker.secret).hexdigest()[:16]
    versions = platform.python_version(), np.__version__
    about = work.student, work.assignment, submission_hash(work.files), worker.bundle.hash, work.mode
    return Key(*about, {name: float(most) for name, most in asdict(worker.limits).items()}, secret, *versions)


@dataclass
class Plan:
    """What the sealed side made of the files before any of their code ran; `data` goes back to it as it came."""

    data: Any
    notes: list[str] = field(default_factory=list)


class Grading:
    """One submission on its way."""

    def __init__(self, work: Work, worker: Worker) -> None:
        self.work, self.worker = work, worker
        self.deadline = time.monotonic() + worker.limits.submission_seconds
        self.talk: Conversation | None = None
        self.plan = Plan(None)
        self.broken: Mapping[str, Any] = {}
        self.ready = False  # whether the child holds the student's definitions
        self.over = ""  # why nothing more is run

    def result(self) -> Result:
        """Plan, visible checks, hidden checks."""
        key = key_of(self.work, self.worker)
        try:
            refused = self._plan()
            if refused:
                return Result(key, "refused", refused, isolation=self.worker.level)
            checks = self.worker.bundle.checks
            shown = self._phase([check for check in checks if not check.hidden], is_shown=True)
            hidden = self._phase([check for check in checks if check.hidden], is_shown=False)
        finally:
            self._hang_up()
        by_name = {one.name: one for one in (*shown, *hidden)}
        results = tuple(by_name[check.name] for check in checks)
        return Result(key, "graded", self.over, results, tuple(self.plan.notes), self.worker.level)

    def _plan(self) -> str:
        """Have the files read; why nothing can be made of them, if so."""
        files = {name: np.frombuffer(content, np.uint8) for name, content in self.work.files.items()}
        request = {"ask": "plan", "lesson": self.work.assignment, "own": self.work.mode == "own", "files": files}
        try:
            reply = self._call().ask(request)
        except Ended as ended:
            self.over = f"while the file was read: {ended.reason}"
            return ""
        if "refused" in reply:
            return str(reply["refused"])
        self.plan = Plan(reply["plan"], [*reply["notes"], *self._deviations(reply["checks"])])
        return ""

    def _deviations(self, found: Mapping[str, Any]) -> Iterator[str]:
        for one in self.worker.bundle.checks:
            number, program = found.get(one.id, (0, None))
            if program is None:
                yield f"check {one.name} is missing; the original is used"
            elif program != one.program:
                yield f"check {one.name} (cell {number}) was changed; the original is used"

    def _phase(self, checks: Sequence[Check], is_shown: bool) -> list[CheckResult]:
        """These checks, in a child of their own."""
        results = [self._one(check) for check in checks]
        if is_shown and self.ready:
            results = self._diagnose(results)
        try:
            if self.talk and self.talk.alive:
                self.talk.finish()
        except Ended as ended:
            self.over = ended.reason
        self.talk = None
        return results

    def _one(self, check: Check) -> CheckResult:
        verdict = self._verdict(check)
        status = verdict.pop("status")
        told = {} if check.hidden else _shown(verdict)
        reason, waits_for = (str(verdict.get(name) or "") for name in ("reason", "waits_for"))
        about = check.name, check.exercise, check.points, check.points if status == "ok" else 0, check.hidden
        return CheckResult(*about, status, reason, waits_for, **told)

    def _verdict(self, check: Check) -> Verdict:
        if not self.over:
            self._begin()
        if self.over or self.talk is None:
            return {"status": "not run", "reason": self.over}
        broken = self.broken.get(check.exercise)
        if broken is not None:
            return _broken(broken)
        self.talk.begin(self.worker.limits.check_seconds)
        verdict = self._run(check, self.talk)
        return {**verdict, "output": "" if check.hidden or not self.talk.alive else self.talk.output()}

    def _run(self, check: Check, talk: Conversation) -> Verdict:
        try:
            with self._bench(check, talk):
                _execute(check)
            return {"status": "ok"}
        except CheckFailed as failed:
            names = ("expression", "want", "got", "says", "error", "where")
            return {"status": "FAIL", **{name: getattr(failed, name) for name in names}}
        except Unwritten as unwritten:
            return _unwritten(unwritten, check)
        except Ended as ended:
            self.over = ended.reason if ended.lied else ""
            self.ready = False
            return {"status": "FAIL", "reason": ended.reason}
        except Exception as error:  # an answer of a kind that the check's own code cannot handle
            return {"status": "FAIL", "error": (type(error).__name__, str(error)[:SHOWN])}

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

    def _begin(self) -> None:
        """Have a child that holds the student's definitions; where that cannot be, the submission is over."""
        if self.ready and self.talk and self.talk.alive:
            return
        talk = self._call()
        talk.begin(self.worker.limits.submission_seconds)
        try:
            reply = talk.ask({"ask": "define", "plan": self.plan.data})
            self.broken, self.ready = reply["broken"], True
            self._note(reply["faults"])
        except Ended as ended:
            self.over = f"while the definitions ran: {ended.reason}"

    def _note(self, faults: Sequence[Mapping[str, Any]]) -> None:
        """Cells that are no exercise's and failed."""
        for fault in faults:
            words = f"cell {fault['cell']} failed: {': '.join(map(str, fault.get('error') or ()))[:500]}"
            if words not in self.plan.notes:
                self.plan.notes.append(words)

    def _call(self) -> Conversation:
        """A child that is alive: the one at hand, else a fresh one."""
        if self.talk is None or not self.talk.alive:
            self.talk, self.ready = Conversation(self.worker.starter, self.worker.limits, self.deadline), False
        return self.talk

    def _hang_up(self) -> None:
        if self.talk is not None:
            self.talk.close()

    def _diagnose(self, results: list[CheckResult]) -> list[CheckResult]:
        """The results, those of an exercise that failed with the known mistake that it looks like."""
        failed = {one.exercise for one in results if one.status == "FAIL" and not one.reason}
        known = {
            name: told for name, told in self.worker.bundle.fingerprints.items() if name in failed - {*self.broken}
        }
        says = {name: diagnosis.says(told, self._seen(name)) for name, told in known.items()}
        return [replace(one, looks_like=says.get(one.exercise, "")) if one.status == "FAIL" else one for one in results]

    def _seen(self, exercise: str) -> list[Any]:
        """What all visible checks of the exercise give, run to their ends; nothing once the child is gone."""
        seen: list[Any] = []
        checks = [one for one in self.worker.bundle.checks if one.exercise == exercise and not one.hidden]
        if self.talk and self.talk.alive:
            self.talk.begin(OBSERVING_SECONDS)
        for one in checks:
            if self.talk and self.talk.alive:
                with self._bench(one, self.talk):
                    seen += [[one.name, *entry] for entry in observe(partial(_execute, one))]
        if self.talk and self.talk.lied:
            self.over = self.talk.lied
        return seen if self.talk and self.talk.alive else []


def _execute(check: Check) -> None:
    """Run a check cell in a namespace of its own."""
    exec(_compiled(check), {"__name__": "__check__", **NAMES})


@lru_cache(maxsize=4096)
def _compiled(check: Check) -> CodeType:
    file = f"<{check.id}>"
    linecache.cache[file] = (len(check.source), None, check.source.splitlines(keepends=True), file)
    return compile(check.source, file, "exec", dont_inherit=True)


def _unwritten(error: Unwritten, check: Check) -> Verdict:
    """As tito/runner.py: of the check's own exercise it is to do, of another it waits, elsewhere it is an error."""
    if not error.exercise:
        return {"status": "FAIL", "error": ("NotImplementedError", error.text)}
    return {"status": "todo"} if error.exercise == check.exercise else _waits(error.exercise)


def _waits(exercise: str) -> Verdict:
    return {"status": "waits", "waits_for": exercise}


def _broken(told: Mapping[str, Any]) -> Verdict:
    """What the definition of an exercise came to."""
    if told["status"] != "FAIL":
        return {"status": "todo"} if told["status"] == "todo" else _waits(told["waits_for"])
    return {"status": "FAIL", "error": told.get("error"), "where": told.get("where")}


def _shown(verdict: Verdict) -> dict[str, Any]:
    """Of a visible check: what a student reads about it."""
    texts = {name: str(verdict.get(name) or "")[:SHOWN] for name in ("expression", "want", "got", "says", "output")}
    error, where = verdict.get("error"), verdict.get("where")
    pair = tuple(str(part)[:SHOWN] for part in error) if error else None
    return {**texts, "error": pair, "where": tuple(where) if where else None}
