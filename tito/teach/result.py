"""What grading gave: one Result for each submission, plain and the same on every machine (no times, no hosts)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

CHECK_STATUS = ("ok", "FAIL", "todo", "waits", "not run")


@dataclass(frozen=True)
class Key:
    """All that a result depends on."""

    student: str
    assignment: str  # "03_layers", "m2"
    submission: str  # SHA-256 over every submitted file used
    bundle: str  # SHA-256 of the grader bundle
    mode: str  # "reference" or "own": on which package the lesson ran
    limits: Mapping[str, float]
    secret: str  # the first 16 hex digits of the secret's SHA-256
    python: str
    numpy: str

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        return hashlib.sha256(canonical(asdict(self)).encode()).hexdigest()


@dataclass(frozen=True)
class CheckResult:
    """What became of one check. Fields from `expression` on are for a visible check that is not ok."""

    name: str
    exercise: str
    points: float
    earned: float
    hidden: bool
    status: str
    reason: str = ""  # why it did not run, or what ended the process
    waits_for: str = ""
    expression: str = ""
    want: str = ""
    got: str = ""
    says: str = ""
    error: tuple[str, str] | None = None
    where: tuple[str, int, str] | None = None
    looks_like: str = ""
    output: str = ""  # at most 2 KB


@dataclass(frozen=True)
class Result:
    """One graded submission. `status` is "graded", or "refused" when intake or the bundle could make nothing of it."""

    key: Key
    status: str
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()
    notes: tuple[str, ...] = ()  # deviations: edited checks, deleted or doubled cells
    isolation: int = 0  # level 1, 2 or 3
    extra: Mapping[str, Any] = field(default_factory=dict)  # a milestone's figures

    @property
    def earned(self) -> float:
        """Points, before any policy."""
        return sum(check.earned for check in self.checks)

    @property
    def points(self) -> float:
        """The most that could be earned."""
        return sum(check.points for check in self.checks)

    def to_json(self) -> str:
        """Canonical: the same result gives the same bytes."""
        return canonical(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Result:
        """What `to_json` gave."""
        table = json.loads(text)
        checks = tuple(CheckResult(**{**check, **_tuples(check)}) for check in table.pop("checks"))
        return cls(key=Key(**table.pop("key")), checks=checks, notes=tuple(table.pop("notes")), **table)


def _tuples(check: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(check[name]) for name in ("error", "where") if check[name] is not None}


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
