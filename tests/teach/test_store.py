"""The store of results: what is acknowledged survives any death, merging is a union, a regrade counts when applied."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tito.errors import UserError
from tito.teach.marks.store import Store
from tito.teach.result import CheckResult, Key, Result

KILLS = 100 if os.environ.get("TITO_LONG") else 12
NOON = datetime(2027, 3, 1, 12, tzinfo=timezone.utc)


def made(student: str, *earned: float, submission: str = "s1", bundle: str = "b1", **more: str) -> Result:
    """A result whose checks earned so much, of 4 points each."""
    key = Key(student, "03_layers", submission, bundle, "reference", {"wall": 10.0}, "0" * 16, "3.11.7", "2.2.0")
    checks = (CheckResult(f"check {i}", "Linear", 4.0, e, False, "ok", **more) for i, e in enumerate(earned))
    return Result(key, "graded", checks=tuple(checks))


def held(store: Store) -> dict[str, float]:
    return {student: result.earned for student, result in store.latest("03_layers").items()}


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    result = replace(made("ada", 4, 1.5, got="[1 2]"), notes=("edited check",), extra={"loss": 0.25})
    with Store(tmp_path / "results") as store:
        assert store.add(result) and not store.add(result)
    with Store(tmp_path / "results") as store:
        assert store.has(result.key) and store.get(result.key) == result
        assert not store.has(replace(result.key, bundle="b2"))
        assert store.latest("03_layers") == {"ada": result} and store.latest("04_losses") == {}


@pytest.mark.parametrize("part", list(Key.__dataclass_fields__))
def test_every_part_of_the_key_makes_another_result(tmp_path: Path, part: str) -> None:
    key = made("ada", 1).key
    other = replace(key, **{part: {"wall": 5.0} if part == "limits" else "other"})
    with Store(tmp_path / "results") as store:
        store.add(Result(key, "graded"))
        assert not store.has(other) and store.add(Result(other, "graded")) and store.has(other)


def test_nothing_is_changed_or_deleted(tmp_path: Path) -> None:
    with Store(tmp_path / "results") as store:
        store.add(made("ada", 4), NOON)
    db = sqlite3.connect(tmp_path / "results")
    for table, column in (("result", "earned"), ("attempt", "student"), ("decision", "at")):
        for statement in (f"UPDATE {table} SET {column} = 9", f"DELETE FROM {table}"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                db.execute(statement)
    db.close()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("no database, whatever its name may say " * 9, encoding="utf-8")
    with pytest.raises(UserError, match="no store of results"):
        Store(tmp_path / "results")


# ---- death


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from tito.teach.result import Result
from tito.teach.marks.store import Store
template, first = Result.from_json(sys.argv[2]), int(sys.argv[3])
with Store(Path(sys.argv[1])) as store:
    for i in range(first, first + 10_000):
        store.add(replace(template, key=replace(template.key, student=str(i))))
        sys.stdout.write(f"{i}\\n")
        sys.stdout.flush()
"""


def writer(path: Path, first: int = 0) -> subprocess.Popen[str]:
    """A process that adds results of about 4 KB and says the number of each one when `add` has returned."""
    template = made("0", 1, 2, 3, got="x" * 1000).to_json()
    command = [sys.executable, "-c", WRITER, str(path), template, str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")


def test_killed_at_any_moment_it_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    chance, done = random.Random(0), 0
    for round in range(KILLS):
        child = writer(tmp_path / "results", first=1000 * round)
        assert child.stdout
        said = [child.stdout.readline() for _ in range(chance.randrange(1, 60))]
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
        child.communicate()
        with Store(tmp_path / "results") as store:
            found = set(map(int, store.latest("03_layers")))
        last = int([line for line in said if line.endswith("\n")][-1])
        fresh = {number for number in found if number >= 1000 * round}
        assert set(range(1000 * round, last + 1)) <= fresh <= set(range(1000 * round, last + 2))
        assert len(found) == done + len(fresh)
        done = len(found)


def test_killed_while_it_begins_it_can_begin_again(tmp_path: Path) -> None:
    chance = random.Random(2)
    for round in range(KILLS):
        child = writer(tmp_path / str(round))
        time.sleep(chance.uniform(0.05, 0.3))
        child.kill()
        child.communicate()
        with Store(tmp_path / str(round)) as store:
            assert store.add(made("new", 1)) and "new" in store.latest("03_layers")


def test_torn_anywhere_the_log_loses_only_its_tail(tmp_path: Path) -> None:
    """What a power cut leaves: a log cut at any byte, or ending in bytes that were never written."""
    chance = random.Random(1)
    with Store(tmp_path / "results") as store:
        store.add(made("0", 1))
        for i in range(1, 30):
            store.add(made(str(i), 1))
        shutil.copy(tmp_path / "results", tmp_path / "base")
        log = (tmp_path / "results-wal").read_bytes()
    assert len(log) > 30_000
    counts = []
    for i in range(40):
        cut = chance.randrange(len(log))
        torn = tmp_path / f"torn{i}"
        shutil.copy(tmp_path / "base", torn)
        Path(f"{torn}-wal").write_bytes(log[:cut] + (chance.randbytes(5000) if i % 2 else b""))
        with Store(torn) as store:
            found = sorted(map(int, store.latest("03_layers")))
            assert found == list(range(len(found)))
            assert store.add(made("new", 1)) and "new" in store.latest("03_layers")
        counts.append((cut, len(found)))
    ordered = [count for _, count in sorted(counts)]
    assert ordered == sorted(ordered) and ordered[-1] > 20


def test_two_writers_take_turns(tmp_path: Path) -> None:
    children = [writer(tmp_path / "results", first) for first in (0, 5000)]
    for child in children:
        assert child.stdout
        for _ in range(100):
            assert child.stdout.readline(), "a writer gave up"
    for child in children:
        child.kill()
        child.communicate()
    with Store(tmp_path / "results") as store:
        found = set(map(int, store.latest("03_layers")))
    assert {*range(100), *range(5000, 5100)} <= found


READER = """
import resource, sys
from pathlib import Path
from tito.teach.marks.store import Store
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with Store(Path(sys.argv[1])) as store, Store(Path(sys.argv[2])) as other:
    before = peak()
    students = sum(1 for _ in store.attempts("03_layers"))
    added = other.merge(store).added
    print(students, added, peak() - before)
"""


def test_memory_is_flat(tmp_path: Path) -> None:
    """10,000 results of 4 KB are 40 MB; a process that reads and merges them grows by a small part of that."""
    template = made("0", *range(5), got="x" * 800)
    with Store(tmp_path / "results") as store, store._writing():
        for i in range(10_000):
            result = replace(template, key=replace(template.key, student=f"{i:05}"))
            store._insert(result)
            store._decide([result.key.digest])
    assert (tmp_path / "results").stat().st_size > 40_000_000
    command = [sys.executable, "-c", READER, str(tmp_path / "results"), str(tmp_path / "other")]
    said = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
    students, added, kilobytes = map(int, said.split())
    assert students == added == 10_000
    assert kilobytes < 12_000


# ---- regrading


def test_a_regrade_counts_when_it_is_applied(tmp_path: Path) -> None:
    old, new = made("ada", 4, 0, 1), made("ada", 4, 3, 1, bundle="b2")
    same, too = made("bob", 4), made("bob", 4, bundle="b2")
    with Store(tmp_path / "results") as store:
        for result in (old, same, new, too):
            store.add(result)
        assert held(store) == {"ada": 5, "bob": 4} and store.get(new.key) == new
        changes = list(store.changes([new.key, too.key]))
        assert [(change.student, change.before, change.after) for change in changes] == [("ada", 5, 8), ("bob", 4, 4)]
        assert changes[0].checks == (("check 1", 0, 3),) and changes[1].checks == ()
        store.apply([new.key, too.key])
        assert held(store) == {"ada": 8, "bob": 4} and list(store.changes([new.key, too.key])) == []
        store.apply([old.key])  # and back again, without running anything
        assert held(store) == {"ada": 5, "bob": 4}


def test_attempts_are_in_the_order_of_handing_in(tmp_path: Path) -> None:
    times = {"s3": 0, "s1": 1, "s2": 2}
    with Store(tmp_path / "results") as store:
        for submission in ("s1", "s2", "s3"):
            store.add(made("ada", 1, submission=submission), NOON + timedelta(hours=times[submission]))
        store.add(made("ada", 1, submission="s1"), NOON + timedelta(hours=5))  # the same files once more
        ((student, attempts),) = store.attempts("03_layers")
    assert student == "ada" and [attempt.result.key.submission for attempt in attempts] == ["s3", "s2", "s1"]
    again = attempts[-1]
    assert (again.first, again.last) == (NOON + timedelta(hours=1), NOON + timedelta(hours=5))


def test_attempts_without_a_time_are_in_the_order_of_grading(tmp_path: Path) -> None:
    """As by Canvas, whose zip says no time; whatever their hashes, and whatever was graded anew since."""
    for names in (("s1", "s2", "s3"), ("s3", "s2", "s1")):
        with Store(tmp_path / names[0]) as store:
            for name in names:
                store.add(made("ada", 1, submission=name))
            again = made("ada", 2, submission=names[0], bundle="b2")
            store.add(again)
            store.apply([again.key])
            ((_, attempts),) = store.attempts("03_layers")
            assert [attempt.result.key.submission for attempt in attempts] == list(names)


def test_the_same_files_handed_in_again_are_the_last_attempt(tmp_path: Path) -> None:
    with Store(tmp_path / "results") as store:
        first, second = made("ada", 4, submission="s1"), made("ada", 1, submission="s2")
        store.add(first, NOON)
        store.add(second, NOON + timedelta(hours=1))
        assert held(store) == {"ada": 1}
        for _ in range(2):
            store.came_in(first.key, NOON + timedelta(hours=2))
        store.came_in(second.key, None)
        assert held(store) == {"ada": 4}
        ((_, attempts),) = store.attempts("03_layers")
        assert attempts[-1].first == NOON and attempts[-1].last == NOON + timedelta(hours=2)


# ---- merging

RESULTS = st.builds(
    made,
    st.sampled_from(["ada", "bob"]),
    st.sampled_from([0.0, 4.0]),
    submission=st.sampled_from(["s1", "s2"]),
    bundle=st.sampled_from(["b1", "b2"]),
)
STEPS = st.lists(st.tuples(RESULTS, st.booleans(), st.none() | st.integers(0, 3)), max_size=4)


def filled(path: Path, steps: Iterable[tuple[Result, bool, int | None]]) -> Store:
    store = Store(path)
    for result, applied, hour in steps:
        store.add(result, None if hour is None else NOON + timedelta(hours=hour))
        if applied:
            store.apply([result.key])
    return store


def state(store: Store) -> object:
    """All that the store holds, and what it says counts."""
    tables = [sorted(store._db.execute(f"SELECT * FROM {name}")) for name in ("result", "attempt", "decision")]
    return tables, list(store.attempts("03_layers")), list(store.conflicts())


@settings(deadline=None, max_examples=25)
@given(STEPS, STEPS, STEPS)
def test_merging_is_commutative_associative_and_idempotent(
    a: list[tuple[Result, bool, int | None]],
    b: list[tuple[Result, bool, int | None]],
    c: list[tuple[Result, bool, int | None]],
) -> None:
    with TemporaryDirectory() as folder:
        parts = [filled(Path(folder) / name, steps) for name, steps in zip("abc", (a, b, c))]
        states = []
        for i, order in enumerate(([0, 1, 2], [2, 1, 0], [1, 0, 2, 0, 1])):
            with Store(Path(folder) / f"merged{i}") as merged:
                for part in order:
                    merged.merge(parts[part])
                states.append(state(merged))
        pair = Store(Path(folder) / "pair")
        pair.merge(parts[1])
        pair.merge(parts[2])
        parts[0].merge(pair)
        assert states[0] == states[1] == states[2] == state(parts[0])
        for part in (*parts, pair):
            part.close()


def test_a_conflict_is_reported_and_both_results_are_kept(tmp_path: Path) -> None:
    slow, fast = made("ada", 4, 0), made("ada", 4, 4)
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        one.add(slow)
        two.add(fast)
        two.add(made("bob", 1))
        assert one.merge(two).conflicts == (slow.key,)
        assert held(one) == {"ada": 8, "bob": 1} and one.get(slow.key) == fast
        again = one.merge(two)
        assert again.added == 0 and again.conflicts == (slow.key,)
        assert sum(1 for _ in one._db.execute("SELECT * FROM result")) == 3


def test_of_two_results_of_one_key_the_better_one_counts(tmp_path: Path) -> None:
    students = [f"student{i}" for i in range(8)]  # so that no order by chance does it
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        for student in students:
            one.add(made(student, 4, 0))
            two.add(made(student, 4, 4))
        one.merge(two)
        two.merge(one)
        for store in (one, two):
            assert set(held(store).values()) == {8}
            assert all(store.get(made(student, 4, 0).key) == made(student, 4, 4) for student in students)


def test_a_copy_is_whole_while_the_store_is_in_use(tmp_path: Path) -> None:
    with Store(tmp_path / "results") as store:
        store.add(made("ada", 4), NOON)
        store.copy(tmp_path / "copy")
        with Store(tmp_path / "copy") as copy:
            assert state(copy) == state(store)
        with pytest.raises(UserError, match="rm "):
            store.copy(tmp_path / "copy")
