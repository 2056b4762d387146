"""A course with the real nbgrader and its real gradebook: generate, submit, autograde, feedback, and what goes wrong.

An nbgrader command takes three seconds before it does anything, so that all submissions are graded together, once for
each assignment; the tests look at what came of it.
"""

from __future__ import annotations

import copy
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tito.course import Course
from tito.errors import UserError
from tito.teach.assignments import course_folder, kernel, releasing, variants
from tito.teach.folder import Folder
from tito.teach.nbgrader_api import open_course

LONG = bool(os.environ.get("TITO_LONG"))
COURSE = Course.find()
BY_HAND = "02_activations"  # its questions for reflection are graded by hand
ALL = [lesson.stem for lesson in COURSE.lessons if lesson.stem != BY_HAND]
NAMES = ALL if LONG else ["01_tensor", "03_layers"]
SETTINGS = f'[assignment."{BY_HAND}"]\nquestion_points = 3\n'

Classroom = Any  # tests/teach/conftest.py
Notebook = dict[str, Any]


@pytest.fixture(scope="module")
def room(make_classroom: Callable[..., Classroom]) -> Classroom:
    """A course in which some lessons were released by `tito teach` and the first by nbgrader's own command."""
    room = make_classroom()
    room.folder.settings.write_text(SETTINGS, encoding="utf-8")
    room.nbgrader("generate_assignment", "01_tensor")
    api = open_course(room.folder)
    for name in (*NAMES[1:], BY_HAND, "m1"):
        releasing.release(room.folder, COURSE, api, course_folder.item(COURSE, name), variants.load(room.folder))
    return room


def worth(name: str, exercises: list[str]) -> int:
    cells = COURSE.lesson(name).cells()
    return sum(cell.points for cell in cells if cell.role == "check" and cell.name.split()[0] in exercises)


def twins_worth(name: str) -> int:
    """What the checks of solved twins are worth: they are given, and ok in what was released."""
    written = {cell.name for cell in COURSE.lesson(name).cells() if cell.role == "exercise"}
    cells = [cell for cell in COURSE.lesson(name).cells() if cell.role == "check"]
    return sum(cell.points for cell in cells if cell.name.split()[0] not in written)


def half_of(name: str) -> list[str]:
    names = [cell.name for cell in COURSE.lesson(name).cells() if cell.role == "exercise"]
    return names[: len(names) // 2]


def test_the_folder_is_private_where_it_must_be(room: Classroom) -> None:
    assert stat.S_IMODE(room.folder.private.stat().st_mode) == 0o700
    assert stat.S_IMODE((room.folder.private / "secret").stat().st_mode) == 0o600
    assert {path.name for path in room.folder.source.iterdir()} == {*course_folder.assignments(COURSE)}


def test_a_full_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UserError, match="is not empty; give a new folder: tito teach init my-course"):
        course_folder.make(Folder(tmp_path), COURSE, "course")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_two_builds_are_the_same_byte_for_byte(room: Classroom, tmp_path: Path) -> None:
    again = Folder(tmp_path / "again")
    course_folder.make(again, COURSE, "course")
    for path in room.folder.source.rglob("*"):
        if path.is_file() and BY_HAND not in path.parts:
            assert (again.source / path.relative_to(room.folder.source)).read_bytes() == path.read_bytes()
    before = (room.folder.out / "m1.zip").read_bytes()
    one = course_folder.item(COURSE, "m1")
    releasing.release(room.folder, COURSE, open_course(room.folder), one, variants.load(room.folder))
    assert (room.folder.out / "m1.zip").read_bytes() == before


@pytest.fixture(scope="module")
def said(room: Classroom, edited: Callable[..., Notebook], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What nbgrader said when it graded everything, by assignment."""
    for name in NAMES:
        room.submit("ref", name, room.solved(name))
        room.submit("stub", name, room.released(name))
        room.submit("half", name, room.solved(name, half_of(name)))
    for student, notebook in breakages(room, edited).items():
        room.submit(student, "01_tensor", notebook)
    for student, name, notebook in (
        ("dying", "03_layers", dying(room)),
        ("eve", "03_layers", room.solved("03_layers")),
        ("ida", BY_HAND, answered(room)),
        ("mia", "m1", room.released("m1")),
        ("max", "m1", room.released("m1")),
    ):
        room.submit(student, name, notebook)
    bad_submissions(room, tmp_path_factory.mktemp("secret"))
    for place, name, content in (
        ("mia/m1", "01_tensor.ipynb", json.dumps(room.solved("01_tensor")).encode()),
        ("eve/03_layers", "page.html", b"<script>"),
        ("eve/03_layers", "second.ipynb", b"{}"),
    ):
        (room.folder.submitted / place / name).write_bytes(content)
    names = dict.fromkeys((*NAMES, BY_HAND, "m1"))
    return {name: room.nbgrader("autograde", name, ok=name != "03_layers") for name in names}


@pytest.mark.parametrize("name", NAMES)
def test_reference_stub_and_half(room: Classroom, said: dict[str, str], name: str) -> None:
    scores, given = room.scores(name), twins_worth(name)
    most = worth(name, [cell.name.split()[0] for cell in COURSE.lesson(name).cells() if cell.role == "check"])
    assert scores["ref"] == (most, most, False)
    assert 0 <= scores["stub"][0] <= given  # the check of a twin may wait for an exercise
    assert 0 < scores["half"][0] < most
    if name in ("01_tensor", "03_layers"):  # where no check waits for an exercise of the other half
        assert scores["stub"] == (given, most, False)
        assert scores["half"] == (given + worth(name, half_of(name)), most, False)


def test_the_stub_of_the_first_lesson_earns_nothing(room: Classroom) -> None:
    assert twins_worth("01_tensor") == 0


def breakages(room: Classroom, edited: Callable[..., Notebook]) -> dict[str, Notebook]:
    """Right answers in notebooks that were handled badly; each earns all the same."""
    right, name = room.solved("01_tensor"), "check-create"
    twice = lambda cells, i: cells.insert(i + 1, {**copy.deepcopy(cells[i]), "id": "copy"})  # noqa: E731
    metadata = lambda **changes: lambda cells, i: cells[i]["metadata"]["nbgrader"].update(changes)  # noqa: E731
    source = lambda text: lambda cells, i: cells[i].update(source=text)  # noqa: E731
    return {
        "deleted": edited(right, name, lambda cells, i: cells.pop(i)),
        "moved": edited(right, name, lambda cells, i: cells.insert(0, cells.pop(i))),
        "doubled": edited(right, name, twice),
        "doubled_answer": edited(right, "exercise-create", twice),
        "split": edited(right, "exercise-facts", split),
        "retyped": edited(right, name, lambda cells, i: cells.__setitem__(i, retyped(cells[i]))),
        "ungraded": edited(right, name, metadata(grade=False, points=0)),
        "solution": edited(right, name, metadata(solution=True, locked=False)),
        "dearer": edited(right, name, metadata(points=1000)),
        "stripped": edited(right, name, lambda cells, i: cells[i]["metadata"].clear()),
        "old_schema": edited(right, name, metadata(schema_version=0)),
        "no_check": edited(right, name, source("5")),
        "warns": edited(
            right, "exercise-create", lambda cells, i: cells.insert(i, code("import warnings\nwarnings.warn('a')"))
        ),
        "raises": edited(right, "exercise-create", lambda cells, i: cells.insert(i, code("1 / 0"))),
        "ends": edited(right, "exercise-create", lambda cells, i: cells.insert(i, code("raise SystemExit"))),
        "slow": edited(right, "exercise-facts", lambda cells, i: cells.insert(i, code("import time\ntime.sleep(600)"))),
        "foreign": edited(right, name, lambda cells, i: cells.insert(i, foreign())),
    }


def code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": "mine", "metadata": {}, "outputs": [], "execution_count": None, "source": text}


def foreign() -> dict[str, Any]:
    marks = {"grade": True, "grade_id": 'x"><script>', "points": 5, "solution": True, "locked": False, "task": False}
    return {**code("5"), "metadata": {"nbgrader": {**marks, "schema_version": 3}}}


def retyped(cell: dict[str, Any]) -> dict[str, Any]:
    kept = {key: cell[key] for key in ("id", "metadata", "source")}
    return {**kept, "cell_type": "raw", "attachments": {}}


def split(cells: list[Any], i: int) -> None:
    """The second method of the exercise in a cell of its own."""
    text = "".join(cells[i]["source"])
    first, mark, rest = text.partition("\n\n\n")
    assert mark
    cells[i]["source"] = first
    cells.insert(i + 1, code(rest))


def dying(room: Classroom) -> Notebook:
    notebook: Notebook = room.solved("03_layers")
    for cell in notebook["cells"]:
        if cell["id"].lower().startswith("exercise-dropout"):
            cell["source"] = "".join(cell["source"]).replace("return ", "import os; os._exit(0); return ")
    return notebook


def answered(room: Classroom) -> Notebook:
    notebook: Notebook = room.solved(BY_HAND)
    next(cell for cell in notebook["cells"] if cell["id"].startswith("answer-"))["source"] = (
        "Because **two** lines are one."
    )
    return notebook


def bad_submissions(room: Classroom, folder: Path) -> None:
    """Before and after them good ones."""
    name, secret = "03_layers", folder / "gradebook.txt"
    secret.write_text("everybody's marks", encoding="utf-8")
    (room.submit("linking", name, room.solved(name)) / "x.txt").symlink_to(secret)
    (room.submit("bad", name, {}) / f"{name}.ipynb").write_text('{"cells": ' + "[" * 100_000, encoding="utf-8")


def test_notebooks_handled_badly_earn_what_is_right_in_them(
    room: Classroom, said: dict[str, str], edited: Callable[..., Notebook]
) -> None:
    scores, made = room.scores("01_tensor"), breakages(room, edited)
    assert {name: scores[name] for name in made} == dict.fromkeys(made, (39, 39, False))
    assert "cell check-create stands here twice; the first counts" in said["01_tensor"]
    assert "'checksum' for cell" not in said["02_activations"]
    cells = room.autograded("deleted", "01_tensor")["cells"]
    order = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells]
    assert order.index("check-create") > order.index("supplied-Tensor")


def test_a_dying_process_costs_its_own_checks_only(room: Classroom, said: dict[str, str]) -> None:
    grades = room.grades("dying", "03_layers")
    lost = {name for name, score in grades.items() if not score}
    assert lost and all("dropout" in name.lower() for name in lost)


def test_one_bad_submission_stops_no_other(room: Classroom, said: dict[str, str]) -> None:
    scores = room.scores("03_layers")
    assert all(scores[student][0] == scores[student][1] for student in ("ref", "eve"))  # after "bad", before "linking"
    assert "x.txt is no regular file" in said["03_layers"]
    assert not list((room.root / "autograded").rglob("x.txt"))


def test_files_that_a_student_adds_are_not_served(room: Classroom, said: dict[str, str]) -> None:
    found = {path.name for path in (room.root / "autograded/eve/03_layers").iterdir()}
    assert found == {"03_layers.ipynb", "figures", "timestamp.txt"}


def test_feedback_tells_no_hidden_check(room: Classroom, said: dict[str, str]) -> None:
    room.api("generate_feedback", "01_tensor", "stub")
    page = (room.root / "feedback/stub/01_tensor/01_tensor.html").read_text(encoding="utf-8")
    cells = COURSE.lesson("01").cells()
    hidden = {line.strip() for cell in cells if cell.hidden for line in cell.source.splitlines() if '"' in line}
    visible = {line.strip() for cell in cells if not cell.hidden for line in cell.source.splitlines()}
    texts = [line.split('"')[1] for line in hidden - visible]
    told = [text for text in texts if len(text) > 10]
    assert len(told) > 5
    assert [text for text in told if text in page.replace("&#39;", "'")] == []
    assert page.count("not shown") >= sum(cell.hidden for cell in cells)


def test_written_questions_wait_for_a_person_and_marks_stay_at_a_regrade(room: Classroom, said: dict[str, str]) -> None:
    from nbgrader.api import Gradebook

    answers = [cell["id"] for cell in room.released(BY_HAND)["cells"] if cell["id"].startswith("answer-")]
    assert len(answers) >= 3
    auto = worth(BY_HAND, [cell.name.split()[0] for cell in COURSE.lesson(BY_HAND).cells() if cell.role == "check"])
    assert room.scores(BY_HAND)["ida"] == (auto, auto + 3 * len(answers), True)
    grades = room.grades("ida", BY_HAND)
    assert [grades[name] for name in answers] == [None, *[0] * (len(answers) - 1)]  # what is empty needs nobody
    with Gradebook(f"sqlite:///{room.root / 'gradebook.db'}", "course") as gradebook:
        grade = gradebook.find_grade(answers[0], BY_HAND, BY_HAND, "ida")
        grade.manual_score, grade.needs_manual_grade = 2, False
        gradebook.db.commit()
    room.api("autograde", BY_HAND, "ida")
    assert room.scores(BY_HAND)["ida"][0] == auto + 2


def test_a_milestone_is_graded_on_the_students_own_lessons(room: Classroom, said: dict[str, str]) -> None:
    scores = room.scores("m1")
    checks = [cell for cell in room.released("m1")["cells"] if cell["id"].startswith("check-")]
    points = sum(cell["metadata"]["nbgrader"]["points"] for cell in checks)
    assert (scores["mia"][0], scores["max"][0]) == (points, 0)


# What goes out


def test_a_released_archive_holds_no_answer(room: Classroom) -> None:
    with zipfile.ZipFile(room.folder.out / "03_layers.zip") as archive:
        text = archive.read("03_layers/03_layers.ipynb").decode("utf-8")
        names = set(archive.namelist())
    assert "03_layers/figures/03_affine.svg" in names
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
    lines = {line.strip() for cell in cells for line in cell.splitlines()}
    inside, secrets = False, set()
    for line in COURSE.lesson("03").source.read_text(encoding="utf-8").splitlines():
        inside = "### BEGIN" in line or (inside and "### END" not in line)
        secrets |= {line.strip()} if inside and len(line.strip()) > 30 else set()
    assert len(secrets) > 50 and not secrets & lines


def refused(room: Classroom, name: str, change: Callable[[Notebook], object]) -> None:
    """A source changed by hand so that it would tell an answer; nothing of it goes out."""
    path = course_folder.source_of(room.folder, name)
    before = path.read_text(encoding="utf-8")
    notebook = json.loads(before)
    change(notebook)
    path.write_text(json.dumps(notebook), encoding="utf-8")
    one = course_folder.item(COURSE, name)
    try:
        with pytest.raises(UserError, match="would tell an answer or a hidden check"):
            releasing.release(room.folder, COURSE, open_course(room.folder), one, variants.load(room.folder))
    finally:
        path.write_text(before, encoding="utf-8")
    assert not (room.folder.release / name).exists() and not (room.folder.out / f"{name}.zip").exists()


def test_a_release_that_tells_an_answer_is_refused(room: Classroom) -> None:
    """A mark lost, an answer in the text, an output that was left, a hidden check that is open, a file beside."""
    name = "05_dataloader"

    def cell(notebook: Notebook, role: str) -> Any:
        return next(
            each for each in notebook["cells"] if each["id"].startswith(role) and "BEGIN" in "".join(each["source"])
        )

    def unmarked(notebook: Notebook, role: str) -> None:
        found = cell(notebook, role)
        found["source"] = [line for line in found["source"] if "### " not in line] + (
            ["\n    ### BEGIN SOLUTION\n    ### END SOLUTION"] if role == "exercise" else []
        )

    def told(notebook: Notebook) -> None:
        text = "".join(cell(notebook, "exercise")["source"])
        line = max(text.partition("BEGIN SOLUTION")[2].splitlines(), key=len).strip()
        notebook["cells"].append({**code(""), "cell_type": "markdown", "source": f"The answer is `{line}`, of course."})
        for key in ("outputs", "execution_count"):
            notebook["cells"][-1].pop(key)

    refused(room, name, lambda notebook: unmarked(notebook, "exercise"))
    refused(room, name, lambda notebook: unmarked(notebook, "check"))
    refused(room, name, told)


def test_a_source_changed_by_hand_is_released_as_it_is_and_takes_no_variant(room: Classroom) -> None:
    name = "07_optimizers"
    path = course_folder.source_of(room.folder, name)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = ["# My own title"]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    one, api = course_folder.item(COURSE, name), open_course(room.folder)
    done = releasing.release(room.folder, COURSE, api, one, variants.load(room.folder))
    assert done.by_hand
    assert room.released(name)["cells"][1]["source"] == ["# My own title"]  # behind the header
    with pytest.raises(UserError, match="was changed by hand"):
        releasing.release(room.folder, COURSE, api, one, variants.Variant("short", {}))


def test_a_variant_reaches_notebook_gradebook_and_grader(make_classroom: Callable[..., Classroom]) -> None:
    room = make_classroom()
    first, second, *others = [cell.name for cell in COURSE.lesson("03").cells() if cell.role == "exercise"]
    table = f'[variant.short.assignment."03_layers"]\nexercises = ["{first}", "{second}"]\npoints = {{{second} = 7}}\n'
    room.folder.settings.write_text(table + "due = 2027-03-12T23:59:00+01:00\n", encoding="utf-8")
    said = room.tito("release", "03", "--variant", "short")
    most = worth("03_layers", [first]) + 7
    assert f"Released 03_layers as short: {most} points" in said
    room.submit("ada", "03_layers", room.solved("03_layers", [first, second]))
    room.submit("bob", "03_layers", room.solved("03_layers", [second]))
    for student in ("ada", "bob"):
        room.api("autograde", "03_layers", student)
    assert room.scores("03_layers") == {"ada": (most, most, False), "bob": (7, most, False)}
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{room.root / 'gradebook.db'}", "course") as gradebook:
        assert str(gradebook.find_assignment("03_layers").duedate) == "2027-03-12 22:59:00"


def test_the_roster_goes_into_the_gradebook(room: Classroom, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(
        "id,first_name,last_name,email\nada,Ada,L,a@x.test\nbob,Bob,M,\n", encoding="utf-8"
    )
    said = room.tito("import-roster", str(tmp_path / "list.csv"))
    assert "2 students are in roster.csv and the gradebook, 2 of them new." in said
    with open_course(room.folder).gradebook as gradebook:
        assert gradebook.find_student("ada").last_name == "L"


def test_the_kernel_holds_earlier_lessons_and_not_the_lesson_itself(room: Classroom) -> None:
    place = room.folder.reference / "03" / "tinytorch"
    assert (place / "tensor.py").is_file() and (place / "states.py").is_file()
    assert "class" not in (place / "layers.py").read_text(encoding="utf-8")
    spec = json.loads(
        (kernel.jupyter(room.folder) / "kernels" / kernel.NAME / "kernel.json").read_text(encoding="utf-8")
    )
    assert spec["env"][kernel.REFERENCE] == str(room.folder.reference)
    assert not room.folder.reference.is_relative_to(room.folder.source)


if LONG:

    def test_stock_execute_with_the_same_edges_mended(
        make_classroom: Callable[..., Classroom], edited: Callable[..., Notebook]
    ) -> None:
        room = make_classroom(stock=True)
        room.nbgrader("generate_assignment", "01_tensor")
        made = breakages(room, edited)
        for student in ("ends", "moved", "split"):  # what a kernel, cell by cell, does see otherwise
            made.pop(student)
        for student, notebook in made.items():
            room.submit(student, "01_tensor", notebook)
        room.nbgrader("autograde", "01_tensor")
        assert room.scores("01_tensor") == dict.fromkeys(made, (39, 39, False))


def test_the_exchange_gets_the_release_and_feedback_for_who_handed_in_by_it(
    make_classroom: Callable[..., Classroom], tmp_path: Path
) -> None:
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    tmp_path.chmod(0o755)
    room = make_classroom(more=f"c.Exchange.root = {str(exchange)!r}\n")
    assert "and in the exchange" in room.tito("release", "03")
    assert (exchange / "course" / "outbound" / "03_layers" / "03_layers.ipynb").is_file()
    for student, secret in (("ada", False), ("bob", True)):
        place = room.root / "feedback" / student / "03_layers"
        place.mkdir(parents=True)
        (place / "03_layers.html").write_text(f"for {student}", encoding="utf-8")
        (place / "timestamp.txt").write_text("2027-03-01 10:00:00.000000 UTC", encoding="utf-8")
        if secret:
            (place / "submission_secret.txt").write_text("s3cret", encoding="utf-8")
    said = room.nbgrader("release_feedback", "03_layers")
    assert "send their feedback yourself: ada" in said
    (page,) = (exchange / "course" / "feedback").glob("*.html")
    assert page.read_text(encoding="utf-8") == "for bob"


def test_a_check_of_the_instructors_own_is_not_held_against_anybody(room: Classroom) -> None:
    from nbformat.v4 import new_code_cell

    from tito.teach.nbgrader_hooks.sealed_execute import write
    from tito.teach.result import Key, Result

    cell = new_code_cell("assert mine")
    cell.metadata["nbgrader"] = {"grade": True, "solution": False, "grade_id": "check-mine", "points": 3}
    key = Key("ada", "01_tensor", "", "", "reference", {}, "", "", "")
    with pytest.raises(ValueError, match="check-mine is no check of the course"):
        write([cell], Result(key, "graded"))
    write([cell], Result(key, "refused", "no notebook"))
    assert cell.outputs[0].evalue == "no notebook"
