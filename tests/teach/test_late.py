"""Due dates, lateness and what it costs: by the wall clock, never sticky, never to the harm of who has an extension."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito.errors import UserError
from tito.teach.folder import Folder
from tito.teach.marks import late, policy
from tito.teach.marks.late import ByHand, Mark
from tito.teach.marks.policy import Extension, Policy
from tito.teach.marks.store import Attempt, Store
from tito.teach.result import CheckResult, Key, Result

NAME = "03_layers"
BERLIN = ZoneInfo("Europe/Berlin")
DUE = datetime(2027, 3, 12, 23, 59, tzinfo=timezone.utc)
PER_DAY = Policy(due=DUE, late="per day", percent=10, cap=50)


def made(*earned: float, student: str = "ada", submission: str = "s1", status: str = "graded") -> Result:
    """A result whose checks "check 0", ... of 10 points each earned so much."""
    key = Key(student, NAME, submission, "b1", "reference", {"wall": 10.0}, "0" * 16, "3.11.7", "2.2.0")
    checks = (CheckResult(f"check {i}", "Linear", 10.0, e, False, "ok") for i, e in enumerate(earned))
    return Result(key, status, checks=tuple(checks))


def handed_in(when: datetime | None, *earned: float, submission: str = "s1", status: str = "graded") -> Attempt:
    return Attempt(made(*earned, submission=submission, status=status), when, when)


def mark(rules: Policy, *attempts: Attempt, hand: ByHand | None = None, written: float = 0.0) -> Mark:
    return late.apply(rules, attempts, hand, written)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / ".teach").mkdir()
    roster = "id,first_name,last_name,email\nada,Ada,L,a@x\nbob,Bob,M,b@x\n"
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    return Folder(tmp_path)


def write(folder: Folder, settings: str, extensions: str = "") -> Policy:
    folder.settings.write_text(settings, encoding="utf-8")
    if extensions:
        text = f"student,assignment,due,days\n{extensions}"
        (folder.root / policy.EXTENSIONS).write_text(text, encoding="utf-8")
    return policy.load(folder, NAME)


# ---- what lateness costs


@pytest.mark.parametrize(
    ("after", "days", "penalty"),
    [
        (timedelta(seconds=-1), 0, 0),
        (timedelta(0), 0, 0),
        (timedelta(seconds=1), 1, 2),
        (timedelta(days=1), 1, 2),
        (timedelta(days=1, seconds=1), 2, 4),
        (timedelta(days=5), 5, 10),
        (timedelta(days=60), 60, 10),  # the cap: half of 20 points
    ],
)
def test_per_day_costs_percents_of_the_points_for_each_day_begun(after: timedelta, days: int, penalty: float) -> None:
    found = mark(PER_DAY, handed_in(DUE + after, 10, 6))
    assert (found.days_late, found.penalty, found.earned, found.points) == (days, penalty, 16, 20)
    assert found.score == 16 - penalty


def test_none_costs_nothing_and_zero_all() -> None:
    attempt = handed_in(DUE + timedelta(days=3), 10, 6)
    assert mark(Policy(due=DUE), attempt).score == 16 and mark(Policy(due=DUE), attempt).days_late == 3
    assert mark(Policy(due=DUE, late="zero"), attempt).score == 0


def test_a_mark_is_never_below_nothing() -> None:
    assert mark(PER_DAY, handed_in(DUE + timedelta(days=9), 1, 0)).score == 0


def test_within_the_grace_it_is_on_time_and_after_it_late_from_the_due_date() -> None:
    rules = Policy(due=DUE, late="per day", percent=10, grace=timedelta(minutes=15))
    assert mark(rules, handed_in(DUE + timedelta(minutes=15), 10)).penalty == 0
    assert mark(rules, handed_in(DUE + timedelta(minutes=15, seconds=1), 10)).penalty == 1
    assert mark(rules, handed_in(DUE + timedelta(days=1, minutes=5), 10)).days_late == 2


def test_without_a_due_date_or_a_time_nothing_is_late() -> None:
    assert mark(Policy(late="zero"), handed_in(DUE, 10)).score == 10
    assert mark(Policy(due=DUE, late="zero"), handed_in(None, 10)).score == 10


@given(
    st.integers(0, 20 * 24 * 3600),
    st.integers(0, 20 * 24 * 3600),
    st.sampled_from(["none", "zero", "per day"]),
    st.floats(0, 200),
    st.floats(0, 100),
    st.floats(0, 20),
)
def test_later_never_earns_more_and_never_below_nothing(
    first: int, second: int, kind: str, percent: float, cap: float, earned: float
) -> None:
    rules = Policy(DUE, kind, percent, cap)
    early, tardy = sorted((first, second))
    scores = [mark(rules, handed_in(DUE + timedelta(seconds=s), earned, 0)).score for s in (0, early, tardy)]
    assert earned == scores[0] >= scores[1] >= scores[2] >= 0


# ---- clocks


@pytest.mark.parametrize(
    ("due", "submitted", "days"),
    [
        # Clocks go forward on 28 March at 2:00: the day after the due date has 23 hours.
        ("2027-03-27T23:59:00+01:00", "2027-03-28T23:59:00+02:00", 1),
        ("2027-03-27T23:59:00+01:00", "2027-03-28T23:59:30+02:00", 2),
        ("2027-03-27T23:59:00+01:00", "2027-03-29T23:59:00+02:00", 2),
        # And back on 31 October at 3:00: 25 hours.
        ("2027-10-30T23:59:00+02:00", "2027-10-31T23:59:00+01:00", 1),
        ("2027-10-30T23:59:00+02:00", "2027-10-31T23:59:30+01:00", 2),
        ("2027-10-30T23:59:00+02:00", "2027-11-06T23:59:00+01:00", 7),
        # Within the hour that happens twice, by the clock before the due time and after it.
        ("2027-10-31T02:30:00+02:00", "2027-10-31T02:15:00+01:00", 1),
        ("2027-10-31T02:30:00+01:00", "2027-10-31T02:45:00+02:00", 0),
        # Handed in from elsewhere: the same moments.
        ("2027-03-27T23:59:00+01:00", "2027-03-27T17:59:00-05:00", 0),
        ("2027-03-27T23:59:00+01:00", "2027-03-27T18:00:00-05:00", 1),
    ],
)
def test_a_late_day_ends_at_the_same_time_of_day(folder: Folder, due: str, submitted: str, days: int) -> None:
    rules = write(folder, f'timezone = "Europe/Berlin"\n[assignment."{NAME}"]\ndue = {due}\n')
    for zone in (BERLIN, timezone.utc, None):
        when = datetime.fromisoformat(submitted)
        assert mark(rules, handed_in(when.astimezone(zone) if zone else when, 10)).days_late == days


def test_without_a_zone_a_day_has_24_hours(folder: Folder) -> None:
    rules = write(folder, f'[assignment."{NAME}"]\ndue = 2027-10-30T23:59:00+02:00\n')
    assert mark(rules, handed_in(datetime.fromisoformat("2027-10-31T23:59:00+01:00"), 10)).days_late == 2


def test_an_extension_of_days_keeps_the_time_of_day(folder: Folder) -> None:
    settings = f'timezone = "Europe/Berlin"\n[assignment."{NAME}"]\ndue = 2027-03-26T23:59:00+01:00\n'
    rules = write(folder, settings, f"ada,{NAME},,2\n")
    assert rules.due_of("ada") == datetime.fromisoformat("2027-03-28T23:59:00+02:00")
    assert rules.due_of("bob") == rules.due == datetime.fromisoformat("2027-03-26T23:59:00+01:00")


# ---- what course.toml and extensions.csv say


def test_the_policy_of_an_assignment(folder: Folder) -> None:
    rules = write(
        folder,
        f"""
        [assignment."{NAME}"]
        due = 2027-03-12T23:59:00Z
        late = {{policy = "per day", percent = 10, cap = 50, grace = 15}}
        attempt = "best"
        drop = ["check 1"]
        """,
    )
    grace = timedelta(minutes=15)
    assert rules == Policy(DUE, "per day", 10, 50, grace, "best", frozenset({"check 1"}))
    assert policy.load(folder, "04_losses") == Policy()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("due = 2027-03-12T23:59:00", r"time zone; write it as: 2027-03-12T23:59:00\+01:00"),
        ('due = "2027-03-12 23:59"', "time zone"),
        ("due = 2027-03-12", "time zone"),
        ('due = "Friday"', "no date; write it as"),
        ('late = {policy = "per weak"}', "can't be 'per weak'; it is one of: none, per day, zero"),
        ("late = {percents = 10}", "can't be 'percents'"),
        ('late = {percent = "ten"}', "not a number"),
        ("late = {percent = -1}", "not a number from 0 up"),
        ("late = {percent = nan}", "not a number"),
        ('attempt = "first"', "can't be 'first'"),
        ("due = ", "can't be read"),
    ],
)
def test_what_cannot_be_right_is_refused_with_a_sentence(folder: Folder, entry: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        write(folder, f'[assignment."{NAME}"]\n{entry}\n')


def test_an_unknown_zone_is_refused(folder: Folder) -> None:
    with pytest.raises(UserError, match="no time zone 'Europe/Berlim'"):
        write(folder, 'timezone = "Europe/Berlim"\n')


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (f"ada,{NAME},2027-03-14T12:00:00,", "time zone"),
        (f"ada,{NAME},,", "one of the two"),
        (f"ada,{NAME},2027-03-14T12:00:00Z,2", "one of the two"),
        (f"ada,{NAME},,soon", "not a number"),
        (f"adda,{NAME},,2", "line 2: there is no student 'adda'"),
    ],
)
def test_a_wrong_extension_is_refused_with_its_line(folder: Folder, row: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        write(folder, f'[assignment."{NAME}"]\ndue = 2027-03-12T23:59:00Z\n', f"{row}\n")


def test_of_several_extensions_the_latest_holds_and_none_shortens(folder: Folder) -> None:
    settings = f'[assignment."{NAME}"]\ndue = 2027-03-12T23:59:00Z\n'
    rows = f"ada,*,,2\nada,{NAME},2027-03-13T12:00:00Z,\nada,04_losses,,9\nbob,{NAME},2027-03-01T00:00:00Z,\n"
    rules = write(folder, settings, rows)
    assert rules.due_of("ada") == DUE + timedelta(days=2) and rules.due_of("bob") == DUE


def test_an_extension_moves_when_lateness_begins() -> None:
    rules = Policy(DUE, "per day", 10, extensions={"ada": (Extension(None, 3),)})
    assert mark(rules, handed_in(DUE + timedelta(days=3), 10)).days_late == 0
    assert mark(rules, handed_in(DUE + timedelta(days=4), 10)).days_late == 1


# ---- attempts, dropped checks, what people entered


def test_the_last_attempt_or_the_best_after_its_penalty() -> None:
    first = handed_in(DUE, 7, submission="s1")
    better_but_late = handed_in(DUE + timedelta(days=2), 8, submission="s2")
    worse = handed_in(DUE + timedelta(days=1), 3, submission="s3")
    attempts = (first, better_but_late, worse)
    best = Policy(DUE, "per day", 10, attempt="best")
    assert mark(Policy(DUE, "per day", 10), *attempts).score == 2  # 3 of 10 points, less 1
    assert mark(best, *attempts).score == 7 and mark(best, *attempts).attempts == 3
    assert mark(Policy(DUE, attempt="best"), *attempts).score == 8


def test_an_attempt_that_was_refused_counts_only_where_there_is_no_other() -> None:
    refused = handed_in(DUE + timedelta(hours=1), submission="s2", status="refused")
    assert mark(PER_DAY, handed_in(DUE, 7), refused).score == 7
    assert mark(PER_DAY, refused).result.status == "refused"


def test_a_dropped_check_leaves_earned_and_most() -> None:
    attempt = handed_in(DUE + timedelta(days=1), 10, 2)
    rules = Policy(DUE, "per day", 10, drop=frozenset({"check 1"}))
    found = mark(rules, attempt)
    assert (found.earned, found.points, found.penalty) == (10, 10, 1)
    found = mark(Policy(DUE, "per day", 10), attempt)
    assert (found.earned, found.points, found.penalty) == (12, 20, 2)


def test_a_dropped_check_that_is_none_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "results") as store:
        store.add(made(10, 2))
        assert [m.points for m in late.marks(store, NAME, Policy(drop=frozenset({"check 0"})))] == [10]
        with pytest.raises(UserError, match="no check 'chekc 0'"):
            list(late.marks(store, NAME, Policy(drop=frozenset({"chekc 0"}))))


def test_what_people_entered_counts_and_lateness_is_of_all_points() -> None:
    hand = ByHand({"check-check-0": 5.0}, written=3.0, extra=0.5, open=1)
    found = mark(PER_DAY, handed_in(DUE + timedelta(days=1), 10, 2), hand=hand, written=4.0)
    assert (found.earned, found.points, found.open) == (10.5, 24, 1)
    assert found.penalty == pytest.approx(2.4)
