"""The sealed grader on the course's own lessons: right work earns all, unwritten work nothing, half of it its share."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tito import percent, release
from tito.course import Course, Lesson
from tito.teach.grader import bundle, grading
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.conversation import Limits
from tito.teach.grader.grading import Work
from tito.teach.grader.workers import Pool, Worker
from tito.teach.result import CheckResult, Result

COURSE = Course.find()
ALTERNATIVES = Path(__file__).parents[1] / "alternatives"
LONG = bool(os.environ.get("TITO_LONG"))
KEYS = 1000 if LONG else 3  # secrets, and so draws
LEVEL = 1
LIMITS = Limits(check_seconds=0.8, submission_seconds=20.0)
SLOT = 60 + os.getpid() % 30

each_lesson = pytest.mark.parametrize("lesson", COURSE.everything, ids=lambda lesson: lesson.stem)
THREE = COURSE.lesson("03")
Change = Callable[[list[dict[str, Any]]], object]


@cache
def bundle_of(lesson: Lesson) -> Bundle:
    return Bundle.from_bytes(bundle.make(COURSE, lesson).to_bytes())


def solutions(lesson: Lesson) -> dict[str, str]:
    return {cell.id: cell.source for cell in lesson.cells() if cell.role == "exercise"}


def notebook(lesson: Lesson, cells: Mapping[str, str], change: Change = lambda cells: None) -> bytes:
    """The released notebook with these cells by id, and changed."""
    made = release.notebook(lesson)
    for cell in made["cells"]:
        cell["source"] = cells.get(cell["id"], "".join(cell["source"]))
    change(made["cells"])
    return json.dumps(made).encode()


def work(lesson: Lesson, content: bytes, mode: str = "reference", **files: bytes) -> Work:
    return Work("ada", lesson.stem, {f"{lesson.stem}.ipynb": content, **files}, mode)


@pytest.fixture(scope="module")
def three() -> Iterator[Worker]:
    with Worker(bundle_of(THREE), b"s" * 32, LEVEL, slot=SLOT, limits=LIMITS) as worker:
        yield worker


def by_name(result: Result) -> dict[str, CheckResult]:
    return {check.name: check for check in result.checks}


def with_line(exercise: str, line: str) -> dict[str, str]:
    """All solved, and a line in front of this exercise's cell."""
    cells = solutions(THREE)
    return {**cells, f"exercise-{exercise}": f"{line}\n{cells[f'exercise-{exercise}']}"}


@each_lesson
def test_reference_stub_and_half(lesson: Lesson) -> None:
    solved = solutions(lesson)
    with Worker(bundle_of(lesson), b"s" * 32, LEVEL, slot=SLOT) as worker:
        result = worker.grade(work(lesson, notebook(lesson, solved)))
        assert (result.status, result.reason, result.notes, result.isolation) == ("graded", "", (), LEVEL)
        assert [check for check in result.checks if check.status != "ok"] == []
        assert result.earned == result.points == sum(cell.points for cell in lesson.cells() if cell.role == "check")

        stub = worker.grade(work(lesson, notebook(lesson, {})))
        assert stub.earned == 0 and {check.status for check in stub.checks} <= {"todo", "waits"}

        first = next(iter(solved))
        half = worker.grade(work(lesson, notebook(lesson, {first: solved[first]})))
        own = [check for check in half.checks if f"exercise-{check.exercise}" == first]
        assert 0 < half.earned == sum(check.earned for check in own) < half.points


@each_lesson
def test_other_right_answers_and_other_draws(lesson: Lesson) -> None:
    answers: dict[str, list[str]] = {}
    for cell in percent.read((ALTERNATIVES / f"a{lesson.stem}.py").read_text(encoding="utf-8")):
        if cell.role == "exercise":
            answers.setdefault(cell.id, []).append(cell.source)
    sets = [solutions(lesson), *({id: given[: k + 1][-1] for id, given in answers.items()} for k in (0, 1))]
    with Worker(bundle_of(lesson), b"", LEVEL, slot=SLOT) as worker:
        for key in range(KEYS):
            worker.secret = key.to_bytes(32, "big")
            result = worker.grade(work(lesson, notebook(lesson, {**sets[0], **sets[key % 3]})))
            assert [check for check in result.checks if check.status != "ok"] == [], (key, result.reason)


def test_draws_are_the_students_own(three: Worker) -> None:
    """What hidden checks ask depends on secret and student, and is the same in a regrade."""
    drawn = set()
    for student in ("ada", "bob"):
        check = next(check for check in three.bundle.checks if check.name == "affine drawn")
        drawn.add(grading.Grading(Work(student, THREE.stem, {}), three)._draw_key(check))
    assert len(drawn) == 2
    content = notebook(THREE, in_forward("print(float(np.sum(x)))"))
    first, again = (three.grade(work(THREE, content)).to_json() for _ in range(2))
    assert first == again


def test_a_mistake_is_named(three: Worker) -> None:
    wrong = {
        **solutions(THREE),
        "exercise-affine": solutions(THREE)["exercise-affine"].replace("result += bias", "pass"),
    }
    result = three.grade(work(THREE, notebook(THREE, wrong)))
    affine = by_name(result)["affine"]
    assert (affine.status, affine.earned) == ("FAIL", 0)
    assert affine.expression == "Affine()(Tensor(x), Tensor(w), Tensor(b))" and "17" in affine.want
    assert affine.where is not None and affine.where[2] == "return result"
    assert affine.looks_like == "leaves the bias out"
    drawn = by_name(result)["affine drawn"]
    assert (drawn.status, drawn.expression, drawn.want, drawn.got, drawn.where) == ("FAIL", "", "", "", None)


def in_forward(line: str) -> dict[str, str]:
    cells = solutions(THREE)
    source = cells["exercise-affine"].replace("        if x.shape[-1:]", f"        {line}\n        if x.shape[-1:]")
    return {**cells, "exercise-affine": source}


HARM = {
    "dies": ("__import__('os')._exit(3)", "its process ended (exit code 3)"),
    "crashes": ("__import__('ctypes').memset(0, 1, 1)", "its process ended (signal SIGSEGV)"),
    "hangs": ("while True: pass", "it took longer than 0.8 s"),
    "hoards": ("hoard = bytearray(2**31)", ""),
}


@pytest.mark.parametrize("name", HARM)
def test_harm_costs_the_check_that_it_was_asked_for(name: str, three: Worker) -> None:
    line, reason = HARM[name]
    result = three.grade(work(THREE, notebook(THREE, in_forward(line))))
    checks = by_name(result)
    assert (checks["affine"].status, checks["affine"].reason) == ("FAIL", reason)
    unharmed = {"named_parameters", "named_parameters deeper", "sequential", "train", "dropout", "state_dict"}
    assert {checks[one].status for one in unharmed} == {"ok"}
    assert result.reason == "" and "not run" not in {check.status for check in result.checks}


def test_a_flood_of_output_costs_nothing(three: Worker) -> None:
    result = three.grade(work(THREE, notebook(THREE, in_forward("print('x' * 2**20)"))))
    assert result.earned == result.points


def test_a_forged_frame_ends_the_submission(three: Worker) -> None:
    forge = "import os; [os.write(fd, bytes(13)) for fd in range(3, 9) if os.path.exists(f'/proc/self/fd/{fd}')]"
    exercise = solutions(THREE)["exercise-named_parameters"].replace(
        "    seen = set()", f"    {forge}\n    seen = set()"
    )
    result = three.grade(work(THREE, notebook(THREE, {**solutions(THREE), "exercise-named_parameters": exercise})))
    checks = by_name(result)
    assert checks["affine"].status == "ok" and checks["affine"].earned == 3
    assert checks["named_parameters"].status == "FAIL"
    assert checks["linear"].status == checks["affine drawn"].status == "not run"
    assert result.reason == checks["linear"].reason and "no answer" in result.reason


def test_a_cell_that_hangs_or_raises_ends_alone(three: Worker) -> None:
    result = three.grade(work(THREE, notebook(THREE, with_line("dropout", "while True: pass"))))
    lost = {check.name for check in result.checks if check.status != "ok"}
    assert lost == {"dropout", "dropout draws"}
    assert by_name(result)["dropout"].error == ("TimeoutError", "the cell ran longer than 0.8 s")
    result = three.grade(work(THREE, notebook(THREE, with_line("dropout", "1 / 0"))))
    assert {check.name for check in result.checks if check.status != "ok"} == lost


def explores(cells: list[dict[str, Any]]) -> None:
    """Cells of the student's own that are no definitions, in front of everything."""
    for i, source in enumerate(
        ("1 / 0", "import time\ntime.sleep(600)", "import os\nos._exit(1)", "%matplotlib inline")
    ):
        more = {"outputs": [], "execution_count": None}
        cells.insert(i, {"cell_type": "code", "id": f"own-{i}", "metadata": {}, "source": source, **more})


def doubled(cells: list[dict[str, Any]]) -> None:
    cells.extend([dict(cell) for cell in cells])


def without_checks(cells: list[dict[str, Any]]) -> None:
    cells[:] = [cell for cell in cells if not cell["id"].startswith("check-")]


def split(cells: list[dict[str, Any]]) -> None:
    """Two classes of one cell in two cells of the same metadata, as Jupyter splits."""
    at = next(i for i, cell in enumerate(cells) if cell["id"] == "exercise-affine")
    cells.insert(at + 1, {**cells[at], "id": "new", "source": "def helper():\n    return 1\n"})


def retyped(cells: list[dict[str, Any]]) -> None:
    for cell in cells:
        if cell["id"].startswith("check-"):
            cell["cell_type"] = "raw"
            del cell["outputs"], cell["execution_count"]


def edited(cells: list[dict[str, Any]]) -> None:
    for cell in cells:
        about = cell["metadata"].get("nbgrader")
        if about:
            about.update(points=100, locked=False, schema_version=1)
        if cell["id"].startswith("check-"):
            cell["source"] = "assert True"


CHANGES = {
    "explores": (explores, 0),
    "reversed": (list.reverse, 0),
    "doubled": (doubled, 1),
    "without checks": (without_checks, 1),
    "split": (split, 0),
    "retyped": (retyped, 1),
    "edited": (edited, 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_right_work_earns_all_whatever_became_of_the_notebook(name: str, three: Worker) -> None:
    change, noted = CHANGES[name]
    result = three.grade(work(THREE, notebook(THREE, solutions(THREE), change)))
    assert result.earned == result.points, [check for check in result.checks if check.status != "ok"]
    assert bool(result.notes) == bool(noted)


def test_a_percent_file_is_graded_too(three: Worker) -> None:
    text = release.percent_text(THREE, solutions=True).encode()
    assert (
        three.grade(Work("ada", THREE.stem, {f"{THREE.stem}.py": text})).earned
        == three.grade(work(THREE, notebook(THREE, solutions(THREE)))).points
    )


REFUSED = {
    "no file": {},
    "no notebook": {"03_layers.ipynb": b"{}"},
    "not UTF-8": {"03_layers.ipynb": b"\xff\xfe"},
    "too large": {"03_layers.ipynb": b" " * (64 * 2**20)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str, three: Worker) -> None:
    result = three.grade(Work("ada", THREE.stem, REFUSED[name]))
    assert (result.status, result.checks) == ("refused", ())
    assert result.reason


def test_on_own_an_early_mistake_costs_later_marks_and_on_reference_it_does_not() -> None:
    one = COURSE.lesson("01")
    wrong = solutions(one)
    wrong["exercise-matmul"] = wrong["exercise-matmul"].replace("### BEGIN SOLUTION", "return Tensor([0.0])")
    needs = {f"{need.stem}.ipynb": notebook(need, solutions(need)) for need in COURSE.needs_of(THREE)}
    with Worker(bundle_of(THREE), b"", LEVEL, mode="own", slot=SLOT) as worker:
        right = worker.grade(work(THREE, notebook(THREE, solutions(THREE)), "own", **needs))
        assert right.earned == right.points, right
        needs["01_tensor.ipynb"] = notebook(one, {})
        poor = worker.grade(work(THREE, notebook(THREE, solutions(THREE)), "own", **needs))
        assert poor.status == "graded" and poor.earned < right.earned / 2


@pytest.mark.parametrize("id", ["m1", "m2", "m2b", *(["m3"] if LONG else [])])
def test_milestones_run_on_the_students_own_package(id: str) -> None:
    milestone = COURSE.milestone(id)
    files = {f"{need.stem}.ipynb": notebook(need, solutions(need)) for need in COURSE.needs_of(milestone)}
    with Worker(bundle.make(COURSE, milestone), b"", LEVEL, mode="own", slot=SLOT) as worker:
        right = worker.grade(Work("ada", id, files, "own"))
        assert right.earned == right.points >= 2, right
        last = COURSE.needs_of(milestone)[-1]
        stub = worker.grade(Work("ada", id, {**files, f"{last.stem}.ipynb": notebook(last, {})}, "own"))
        assert stub.earned == 0


def test_a_milestone_sees_no_held_out_label(monkeypatch: pytest.MonkeyPatch) -> None:
    from tito.teach.grader import milestone_grading

    sent: list[Any] = []
    real = grading.Conversation.ask
    monkeypatch.setattr(
        grading.Conversation, "ask", lambda self, request: (sent.append(request), real(self, request))[1]
    )
    milestone = COURSE.milestone("m1")
    files = {f"{need.stem}.ipynb": notebook(need, solutions(need)) for need in COURSE.needs_of(milestone)}
    with Worker(bundle.make(COURSE, milestone), b"", LEVEL, mode="own", slot=SLOT) as worker:
        assert worker.grade(Work("ada", "m1", files, "own")).earned == 2
        assert not any("digits.csv" in name or ".gz" in name for name in worker.bundle.sealed)
    _, labels = milestone_grading.digits()
    trains = [request["args"] for request in sent if request.get("args")]
    assert trains and all(len(args[0]) == len(args[1]) < len(labels) for args in trains)


def test_level_2_gives_the_same(three: Worker) -> None:
    content = notebook(THREE, in_forward("while x.ndim == 3: pass"))
    with Worker(three.bundle, three.secret, 2, slot=SLOT, limits=three.limits) as worker:
        wrapped = worker.grade(work(THREE, content))
    checks = three.grade(work(THREE, content)).checks
    assert wrapped.checks == checks and wrapped.isolation == 2
    assert {check.reason for check in checks} == {"", "it took longer than 0.8 s"}


def test_a_pool_gives_the_same_in_any_order(three: Worker) -> None:
    contents = [notebook(THREE, {}), notebook(THREE, solutions(THREE)), notebook(THREE, in_forward("os"))]
    works = [Work(f"s{i}", THREE.stem, {f"{THREE.stem}.ipynb": contents[i % 3]}) for i in range(9)]
    with Pool(LEVEL, 2, three.secret, three.limits) as pool:
        results = {result.key.student: result.to_json() for result in pool.grade_all(iter(works), three.bundle)}
    assert results == {each.student: three.grade(each).to_json() for each in works}


def test_a_lost_zygote_is_replaced(three: Worker) -> None:
    three.starter.process.kill()  # type: ignore[attr-defined]  # of the zygote
    result = three.grade(work(THREE, notebook(THREE, solutions(THREE))))
    assert result.earned == result.points


def test_the_bundle_has_a_hash_of_all_that_decides() -> None:
    made = bundle_of(THREE)
    assert made.hash == Bundle.from_bytes(made.to_bytes()).hash != bundle_of(COURSE.lesson("04")).hash
    hidden = [check.source for check in made.checks if check.hidden]
    assert hidden and not any(line in text for text in made.sealed.values() for line in hidden)


def test_the_sealed_side_gets_no_check() -> None:
    """Neither a hidden check nor a visible one: no expression, no expected value."""
    for lesson in COURSE.everything:
        made = bundle_of(lesson)
        own = json.loads(made.sealed["released.json"])
        cells = [cell for each in own for cell in each["cells"] if "check" in cell["marks"]]
        assert cells and all(cell["source"] == "" for cell in cells)
        assert "BEGIN HIDDEN" not in made.sealed["released.json"]


def test_time_of_a_submission_is_bounded(three: Worker) -> None:
    with Worker(three.bundle, b"", LEVEL, slot=SLOT, limits=Limits(0.8, submission_seconds=2.0)) as worker:
        began = time.monotonic()
        result = worker.grade(work(THREE, notebook(THREE, in_forward("while True: pass"))))
        assert time.monotonic() - began < 5
    assert any("the submission took longer than 2 s" in check.reason for check in result.checks)
