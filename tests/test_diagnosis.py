"""What `tito test` calls a wrong answer: known mistakes by their sentences, strange ones rightly or not at all.

The forty wrong answers of tests/wrong_answers were written by someone who did not look at the known mistakes.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tito import diagnosis, percent, report
from tito.checks.bench import Expression, ProbeCall
from tito.checks.vary import WAYS, varied
from tito.course import Course, Lesson
from tito.dev import jobs, lookalikes, trials
from tito.dev.export import needs_of
from tito.dev.fingerprints import fingerprints, is_fresh, nameable, unsure_of
from tito.dev.mistakes import mistakes_of
from tito.report import Result
from tito.testing import Job, Outcome

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

COURSE = Course.find()
HERE = Path(__file__).parent
NAMED = 0.8  # of the known mistakes, at least
NAMED_OF_THE_FORTY = 0.4

# exercise: the sentence that a reader finds right of its wrong answer, and that is said; None where none is.
FORTY: dict[str, str | None] = {
    "01 create": "makes floats of integers too",
    "01 divide": "gives float64 for integers",
    "01 matmul": None,
    "01 mean": "divides by the count of all numbers, not of those in each sum",
    "01 transpose": "loses one of the two dimensions",
    "02 relu": None,
    "02 sigmoid": "overflows where exp is given a large positive number",
    "02 gelu": None,
    "02 softmax": "loses the dimension of size 1, so the sums do not line up with their rows",
    "02 log_softmax": "mixes scores as they were with the sum of shifted ones",
    "03 affine": None,
    "03 linear": "takes the bound from the outputs, not the inputs",
    "03 train": None,
    "03 dropout": None,
    "03 load_state_dict": None,
    "04 l1": None,
    "04 bce": "compares a logit with 0.5, as if it were a chance",
    "04 nll": None,
    "04 fused": "divides by the number of rows twice",
    "04 smoothing": None,
    "05 gather": "makes one tensor a sample, not one a column",
    "05 length": "counts one batch too many when the samples divide evenly",
    "05 order": "gives every epoch the same order",
    "05 batch_at": "uses the number of the batch counted through all epochs",
    "05 iterate": "counts a batch after it was yielded, so a stopped loop gives it again",
    "06 unbroadcast": "leaves stretched dimensions as they are",
    "06 receive": "overwrites the gradient instead of adding",
    "06 walk": "takes the oldest operation first",
    "06 arithmetic": None,
    "06 cross_entropy": "subtracts at every row's target from every row",
    "07 step": "sets gradients to zeros instead of None",
    "07 momentum": "keeps the gradient's own array as velocity",
    "07 moments": None,
    "07 adapt": None,
    "07 adamw": "shrinks without regard to lr",
    "08 schedule": "lets the cosine rise again after the last epoch",
    "08 clip": None,
    "08 train_epoch": "drops a last window that is short",
    "08 tally": None,
    "08 evaluate": "puts every module into train mode",
}

each_lesson = pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)


@cache
def stored(lesson: Lesson) -> dict[str, Any]:
    return diagnosis.load(lesson)


@cache
def made(lesson: Lesson) -> dict[str, Any]:
    """Today's fingerprints, but for the search for lookalikes, which takes minutes."""
    return fingerprints(COURSE, lesson, unsure_of(stored(lesson)))


def wrong_answers(lesson: Lesson) -> dict[str, str]:
    text = (HERE / "wrong_answers" / f"w{lesson.stem}.py").read_text(encoding="utf-8")
    return {cell.name: cell.source for cell in percent.read(text) if cell.role == "exercise"}


def as_tested(lesson: Lesson, answer: dict[str, str]) -> Job:
    """The lesson with one answer in place of the solution, and its visible checks."""
    hidden = {cell.name for cell in lesson.cells() if cell.role == "check" and cell.hidden}
    job = jobs.solved(lesson, answer)
    return Job(job.lesson, [cell for cell in job.cells if cell["role"] != "check" or cell["name"] not in hidden])


def with_outcomes(right: list[Any], wrong: list[Any]) -> list[Any]:
    """The solution's steps, with other outcomes at some of them."""
    outcomes = {(check, step): outcome for check, step, outcome in [*right, *wrong]}
    return [[*place, outcome] for place, outcome in outcomes.items()]


def said(lesson: Lesson, answers: dict[str, str]) -> dict[str, str]:
    """What each wrong answer to an exercise looks like."""
    tried = [as_tested(lesson, {exercise: source}) for exercise, source in answers.items()]
    seen = trials.observe_all(tried, needs_of(COURSE, lesson))
    assert all(seen), "a wrong answer passes all visible checks"
    return {f"{lesson.id} {name}": diagnosis.looks_like(lesson, name, each) for name, each in zip(answers, seen)}


@each_lesson
def test_the_fingerprints_are_fresh(lesson: Lesson) -> None:
    assert is_fresh(made(lesson), lesson), f"checks or mistakes have changed; repeat: tito dev fingerprints {lesson.id}"


def test_known_mistakes_are_named() -> None:
    named = sum(len(nameable(stored(lesson))) for lesson in COURSE.lessons)
    known = sum(len(mistakes_of(lesson)) for lesson in COURSE.lessons)
    assert named >= NAMED * known, f"{named} of {known}"


@each_lesson
def test_a_mistake_is_called_by_its_own_sentence_or_by_none(lesson: Lesson) -> None:
    called = []
    for exercise, table in stored(lesson).items():
        for one in table["mistakes"]:
            found = diagnosis.looks_like(lesson, exercise, with_outcomes(table["right"], one["wrong"]))
            assert found in ("", one["says"])
            called += [(exercise, found)] if found else []
    assert called == nameable(stored(lesson))


@pytest.mark.parametrize("lesson", COURSE.lessons, ids=lambda lesson: lesson.stem)
def test_wrong_answers_of_others_are_named_rightly_or_not_at_all(lesson: Lesson) -> None:
    expected = {name: sentence or "" for name, sentence in FORTY.items() if name.startswith(lesson.id)}
    assert said(lesson, wrong_answers(lesson)) == expected


def test_enough_of_them_are_named() -> None:
    assert len(FORTY) == 40
    assert sum(sentence is not None for sentence in FORTY.values()) >= NAMED_OF_THE_FORTY * len(FORTY)


@each_lesson
def test_what_was_reviewed_is_still_there(lesson: Lesson) -> None:
    sure, unsure = (lookalikes.reviewed(lesson, verdict) for verdict in ("sure", "unsure"))
    assert sure | unsure <= {(mistake.exercise, mistake.says) for mistake in mistakes_of(lesson)}
    assert not sure & unsure_of(stored(lesson))
    assert unsure <= unsure_of(stored(lesson))


@each_lesson
def test_an_earlier_fault_is_not_called_a_later_mistake(lesson: Lesson) -> None:
    """A mistake that the visible checks of its own exercise let pass may show in those of a later one."""
    solutions = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    caught = {(name, one["says"]) for name, table in stored(lesson).items() for one in table["mistakes"]}
    quiet = [mistake for mistake in mistakes_of(lesson) if (mistake.exercise, mistake.says) not in caught]
    tried = [as_tested(lesson, {one.exercise: one.apply(solutions[one.exercise])}) for one in quiet]
    for seen in filter(None, trials.observe_all(tried, needs_of(COURSE, lesson))):
        assert diagnosis.looks_like(lesson, seen[0][0].split()[0], seen) == ""


LESSON = COURSE.lesson("01")


def test_noise_in_the_last_digits_changes_no_name() -> None:
    def noisy(value: Any) -> Any:
        if isinstance(value, float):
            return value * (1 + 2e-6)
        if isinstance(value, dict):
            return {key: noisy(item) for key, item in value.items()}
        return [noisy(item) for item in value] if isinstance(value, list) else value

    table = stored(LESSON)["arithmetic"]
    one = next(one for one in table["mistakes"] if one["says"] == "adds instead of subtracting")
    seen = with_outcomes(table["right"], noisy(one["wrong"]))
    assert diagnosis.looks_like(LESSON, "arithmetic", seen) == one["says"]


def test_what_is_to_do_may_be_anything() -> None:
    known = [["a", 0, {"got": 1}], ["a", 1, {"got": 2}], ["b", 0, {"got": 3}]]
    assert diagnosis.fits(known, known)
    assert diagnosis.fits(known, [["a", 0, {"got": 1}], ["a", 1, diagnosis.TODO], ["b", 0, {"got": 3}]])
    assert not diagnosis.fits(known, [["a", 0, {"got": 5}], ["a", 1, diagnosis.TODO], ["b", 0, {"got": 3}]])
    assert not diagnosis.fits(known, known[:2])
    assert not diagnosis.fits([], [])


def test_fingerprints_of_other_checks_say_nothing() -> None:
    cells = [cell for cell in LESSON.cells() if cell.name != "arithmetic"]
    assert diagnosis.digest(cells, "arithmetic") != diagnosis.digest(LESSON.cells(), "arithmetic")
    assert diagnosis.digest(LESSON.cells(), "arithmetic") == stored(LESSON)["arithmetic"]["checks"]


def test_questions_are_asked_with_other_numbers() -> None:
    first, second = WAYS
    question = Expression("f([3, 0], (2, 1), dim=1, keep=True) * 0.5")
    assert varied(question, first) == Expression("f([3, 1], (2, 1), dim=1, keep=True) * 0.545")
    assert varied(question, second) == Expression("f([3, 2], (3, 2), dim=2, keep=False) * 0.06")
    call = ProbeCall(print, ([[3, 0], "text"], 2.0))
    assert varied(call, first) == ProbeCall(print, ([[3, 1], "text"], 2.18))


def test_the_report_says_it_below_the_block() -> None:
    where = ("<cell 9>", 3, "return a - b")
    bad = Outcome("01", "add", "add", "FAIL", 9, expression="a + b", want="3", got="-1", where=where)
    named = Outcome(**{**vars(bad), "looks_like": "subtracts instead of adds"})
    lines = report.text(Result("01", "tensor", "x.ipynb", [named])).splitlines()
    assert lines[-2:] == ["", "        looks like: subtracts instead of adds"]
    assert "looks like" not in report.text(Result("01", "tensor", "x.ipynb", [bad]))
    [table] = report.as_json([Result("01", "tensor", "x.ipynb", [named])])["lessons"][0]["checks"]
    assert table["looks_like"] == "subtracts instead of adds"
    json.dumps(table)
