"""What became of one check, from the errors that running it raised, and as the result that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tito.checks import CheckFailed
from tito.teach.grader.checks import Check
from tito.teach.grader.conversation import Ended
from tito.teach.grader.sealed_bench import Unwritten
from tito.teach.result import CheckResult

SHOWN = 2000  # characters of a field that a student reads
Verdict = dict[str, Any]
OK: Verdict = {"status": "ok"}


def of(error: Exception, check: Check) -> Verdict:
    """What an error that came out of the check means."""
    if isinstance(error, CheckFailed):
        names = ("expression", "want", "got", "says", "error", "where")
        return {"status": "FAIL", **{name: getattr(error, name) for name in names}}
    if isinstance(error, Ended):
        return {"status": "FAIL", "reason": error.reason}
    if isinstance(error, Unwritten):
        return _unwritten(error, check)
    return {"status": "FAIL", "error": (type(error).__name__, str(error))}  # an answer that the check cannot handle


def of_broken(told: Mapping[str, Any]) -> Verdict:
    """What the definition of the check's exercise came to."""
    if told["status"] in ("todo", "waits"):
        return {"status": told["status"], "waits_for": told.get("waits_for")}
    return {"status": "FAIL", "error": told.get("error"), "where": told.get("where")}


def not_run(reason: str) -> Verdict:
    """The submission was over before."""
    return {"status": "not run", "reason": reason}


def result(check: Check, verdict: Verdict) -> CheckResult:
    """The verdict with the check's points; of a hidden check no more than that."""
    status = verdict["status"]
    told = {} if check.hidden or status == "ok" else _shown(verdict)
    reason, waits_for = (_text(verdict.get(name)) for name in ("reason", "waits_for"))
    earned = check.points if status == "ok" else 0
    about = check.name, check.exercise, check.points, earned, check.hidden
    return CheckResult(*about, status, reason, waits_for, **told)


def _unwritten(error: Unwritten, check: Check) -> Verdict:
    """As tito/runner.py: of the check's own exercise it is to do, of another it waits, elsewhere it is an error."""
    if not error.exercise:
        return {"status": "FAIL", "error": ("NotImplementedError", error.text)}
    return {"status": "todo"} if error.exercise == check.exercise else {"status": "waits", "waits_for": error.exercise}


def _shown(verdict: Verdict) -> dict[str, Any]:
    """Of a visible check: what a student reads about it."""
    texts = {name: _text(verdict.get(name)) for name in ("expression", "want", "got", "says", "output")}
    error, where = verdict.get("error"), verdict.get("where")
    return {**texts, "error": error and tuple(map(_text, error)), "where": where and tuple(where)}


def _text(value: Any) -> str:
    return str(value or "")[:SHOWN]
