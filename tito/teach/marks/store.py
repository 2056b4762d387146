"""Results, append-only, in one SQLite file: what was graded, which of it counts, when each attempt came in.

Begin at `Store`. SQLite in WAL mode, and not lines of JSON, because it does by itself what a file of lines needs code
for: a commit is synced or it never was (a torn tail of the log is dropped by its checksums), two writers take turns, a
key is found without reading everything. It wants a local disk: graders on several machines keep a store each and merge.

Everything but the marks of what went into a gradebook is a set that only grows, so a merge is a union: the order does
not matter, and merging twice changes nothing.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path
from typing import Any

from tito.errors import UserError
from tito.teach.result import Key, Result

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS result (
    digest TEXT, content TEXT, assignment TEXT, student TEXT, submission TEXT, earned REAL, body TEXT,
    PRIMARY KEY (digest, content));
CREATE INDEX IF NOT EXISTS by_student ON result (assignment, student, submission);
CREATE TABLE IF NOT EXISTS attempt (
    assignment TEXT, student TEXT, submission TEXT, submitted TEXT,
    PRIMARY KEY (assignment, student, submission, submitted));
CREATE TABLE IF NOT EXISTS decision (digest TEXT, at INTEGER, PRIMARY KEY (digest, at));
CREATE TABLE IF NOT EXISTS marker (
    gradebook TEXT, assignment TEXT, student TEXT, content TEXT,
    PRIMARY KEY (gradebook, assignment, student));
"""
FOREVER = "CREATE TRIGGER IF NOT EXISTS {0}_no_{1} BEFORE {1} ON {0} BEGIN SELECT RAISE(ABORT, 'append-only'); END"

# What counts for each submission: decided last; of two results of one key the one that is better for the student.
COUNTING = """
SELECT r.student, r.submission, r.rowid, MIN(a.submitted), MAX(a.submitted), d.first
FROM result r JOIN (SELECT digest, MAX(at) AS at, MIN(at) AS first FROM decision GROUP BY digest) d USING (digest)
LEFT JOIN attempt a USING (assignment, student, submission)
WHERE r.assignment = ? GROUP BY r.rowid
ORDER BY r.student, r.submission, d.at DESC, r.digest, r.earned DESC, r.content
"""
SAME_FILES = "assignment = ? AND student = ? AND submission = ?"
Row = tuple[str, str, int, str | None, str | None, int]  # of COUNTING
BODY = "SELECT body FROM result WHERE digest = ? ORDER BY earned DESC, content"


@dataclass(frozen=True)
class Attempt:
    """The result that counts for one submission, and when these same files were first and last handed in."""

    result: Result
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True)
class Change:
    """What a regrade would change for one submission. Points are before any policy."""

    student: str
    before: float
    after: float
    checks: tuple[tuple[str, float, float], ...]  # name, before, after


@dataclass(frozen=True)
class Merged:
    """What a merge brought: results that were new, and keys under which the two stores disagree."""

    added: int
    conflicts: tuple[Key, ...]


class Store:
    """The results of a course folder. A context manager; `path` is made when it is missing.

    Raises UserError when the file is no store of results.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
        try:
            self._db.executescript(SCHEMA)
            for table in ("result", "attempt", "decision"):
                for change in ("UPDATE", "DELETE"):
                    self._db.execute(FOREVER.format(table, change))
        except sqlite3.DatabaseError as error:
            raise UserError(f"{path} is no store of results ({error}); see it with: file {path}") from error

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; the last one to do so leaves a single file, which may be copied."""
        self._db.close()

    def add(self, result: Result, submitted: datetime | None = None) -> bool:
        """Keep a result, synced to disk on return; whether it is new. `submitted` is when the files came in.

        It counts at once if it is the first of its submission; a regrade counts when `apply` says so.
        """
        with self._writing():
            new = self._insert(result, submitted)
            if not self._decided(result.key):
                self._decide([result.key.digest])
        return new

    def came_in(self, key: Key, submitted: datetime | None) -> None:
        """Note that these files, which have a result, were handed in at this time too; None is no time."""
        place = (key.assignment, key.student, key.submission)
        seen = f"SELECT 1 FROM attempt WHERE {SAME_FILES} AND submitted = ?"
        if submitted is not None and self._one(seen, *place, _utc(submitted)) is None:
            with self._writing():
                self._db.execute("INSERT OR IGNORE INTO attempt VALUES (?, ?, ?, ?)", (*place, _utc(submitted)))

    def has(self, key: Key) -> bool:
        """Whether there is a result of this key, so that nothing need run."""
        return self._one("SELECT 1 FROM result WHERE digest = ?", key.digest) is not None

    def get(self, key: Key) -> Result | None:
        """The result of this key."""
        row = self._one(BODY, key.digest)
        return Result.from_json(row[0]) if row else None

    def assignments(self) -> list[str]:
        """The names of all assignments that have results."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT assignment FROM result ORDER BY 1")]

    def attempts(self, assignment: str) -> Iterator[tuple[str, list[Attempt]]]:
        """Each student's submissions with the result that counts, student by student: one student in memory."""
        rows = self._db.execute(COUNTING, (assignment,))
        for student, mine in groupby(rows, key=lambda row: row[0]):
            found = sorted(_by_time(list(same)) for _, same in groupby(mine, key=lambda row: row[1]))
            yield student, [self._attempt(row) for _, row in found]

    def latest(self, assignment: str) -> dict[str, Result]:
        """The result of each student's last submission."""
        return {student: attempts[-1].result for student, attempts in self.attempts(assignment)}

    def changes(self, keys: Iterable[Key]) -> Iterator[Change]:
        """How marks would change if the results of these keys counted; nothing for those that do."""
        for key in keys:
            old, new = self._counting(key), self.get(key)
            if new is not None and old is not None and old.key != new.key:
                yield difference(old, new)

    def apply(self, keys: Iterable[Key]) -> None:
        """Let the results of these keys count, all of them or none."""
        with self._writing():
            self._decide(key.digest for key in keys if self.has(key))

    def merge(self, other: Store) -> Merged:
        """Take in all that another grader's store holds. Commutative and idempotent.

        What was decided later counts. Two different results of one key are both kept and reported; the one with more
        points counts, since what makes a grader disagree with itself is a time limit on a busy machine.
        """
        with self._writing():
            bodies = other._db.execute("SELECT body FROM result")
            added = sum(self._insert(Result.from_json(body)) for (body,) in bodies)
            for table, places in (("attempt", "?, ?, ?, ?"), ("decision", "?, ?")):
                rows = other._db.execute(f"SELECT * FROM {table}")
                self._db.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({places})", rows)
        return Merged(added, tuple(self.conflicts()))

    def conflicts(self) -> Iterator[Key]:
        """The keys that have more than one result."""
        twice = "SELECT digest FROM result GROUP BY digest HAVING COUNT(*) > 1 ORDER BY digest"
        for (digest,) in self._db.execute(twice).fetchall():
            for (body,) in self._db.execute(BODY + " LIMIT 1", (digest,)):
                yield Result.from_json(body).key

    def copy(self, path: Path) -> None:
        """A whole copy in a new file, for another grader; this store may be in use."""
        if path.exists():
            raise UserError(f"{path} exists; name another file, or remove it: rm {path}")
        self._db.execute("VACUUM INTO ?", (str(path),))

    def marked(self, gradebook: str, assignment: str) -> dict[str, str]:
        """What went into a gradebook: student to a fingerprint of it."""
        wanted = "SELECT student, content FROM marker WHERE gradebook = ? AND assignment = ?"
        return dict(self._db.execute(wanted, (gradebook, assignment)))

    def mark(self, gradebook: str, assignment: str, contents: Iterable[tuple[str, str]]) -> None:
        """Note that this went into the gradebook; call it when the gradebook has committed."""
        rows = [(gradebook, assignment, student, content) for student, content in contents]
        with self._writing():
            self._db.executemany("INSERT OR REPLACE INTO marker VALUES (?, ?, ?, ?)", rows)

    def _insert(self, result: Result, submitted: datetime | None = None) -> bool:
        key, body = result.key, result.to_json()
        place = (key.assignment, key.student, key.submission)
        row = (key.digest, hashlib.sha256(body.encode()).hexdigest(), *place, result.earned, body)
        if submitted is not None:
            self._db.execute("INSERT OR IGNORE INTO attempt VALUES (?, ?, ?, ?)", (*place, _utc(submitted)))
        return bool(self._db.execute("INSERT OR IGNORE INTO result VALUES (?, ?, ?, ?, ?, ?, ?)", row).rowcount)

    def _decided(self, key: Key) -> bool:
        query = f"SELECT 1 FROM decision JOIN result USING (digest) WHERE {SAME_FILES}"
        return self._one(query, key.assignment, key.student, key.submission) is not None

    def _decide(self, digests: Iterable[str]) -> None:
        (last,) = self._one("SELECT IFNULL(MAX(at), 0) FROM decision") or (0,)
        at = max(time.time_ns(), last + 1)  # a clock that was set back changes no order
        rows = ((digest, at) for digest in digests)
        self._db.executemany("INSERT INTO decision VALUES (?, ?)", list(rows))

    def _counting(self, key: Key) -> Result | None:
        query = f"""SELECT body FROM result JOIN decision USING (digest) WHERE {SAME_FILES}
                    ORDER BY at DESC, digest, earned DESC, content LIMIT 1"""
        row = self._one(query, key.assignment, key.student, key.submission)
        return Result.from_json(row[0]) if row else None

    def _attempt(self, row: Row) -> Attempt:
        body = self._one("SELECT body FROM result WHERE rowid = ?", row[2])
        assert body is not None  # nothing is ever deleted
        first, last = (datetime.fromisoformat(when) if when else None for when in row[3:5])
        return Attempt(Result.from_json(body[0]), first, last)

    def _one(self, query: str, *values: str | int) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._db.execute(query, values).fetchone()
        return row

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise


def difference(old: Result, new: Result) -> Change:
    """What changes between two results of one submission, check by check; a check that is missing earned 0."""
    before, after = ({check.name: check.earned for check in result.checks} for result in (old, new))
    names = dict.fromkeys([*before, *after])
    checks = ((name, before.get(name, 0.0), after.get(name, 0.0)) for name in names)
    return Change(new.key.student, old.earned, new.earned, tuple(row for row in checks if row[1] != row[2]))


def _by_time(same: Sequence[Row]) -> tuple[tuple[str, int], Row]:
    """The row that counts of one submission's, behind what puts it in order: when it was handed in last.

    What has no time comes first, and of several such the one that was graded first.
    """
    return (same[0][4] or "", min(row[5] for row in same)), same[0]


def _utc(when: datetime) -> str:
    return when.astimezone(timezone.utc).isoformat(timespec="microseconds")
