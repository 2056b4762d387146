"""The course's table, and what every lesson's source must keep to."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tito.course import Course, Lesson
from tito.errors import UserError

MakeLesson = Callable[..., Lesson]

COURSE = Course.find()
WRITTEN = [lesson for lesson in COURSE.everything if lesson.source.is_file()]
FIRST_LINE = "from tito.notebook import check, draw, patch, probe, raises"


def test_the_course_of_a_checkout_is_found() -> None:
    assert (COURSE.root / "course.toml").is_file()
    names = [lesson.name for lesson in COURSE.lessons]
    assert names == ["tensor", "activations", "layers", "losses", "dataloader", "autograd", "optimizers", "training"]
    assert [lesson.stem for lesson in COURSE.lessons] == [f"0{i}_{name}" for i, name in enumerate(names, 1)]
    assert COURSE.title == "TinyTorch"


@pytest.mark.parametrize("key", ["1", "01", "tensor", "01_tensor", "Tensor"])
def test_a_lesson_has_four_names(key: str) -> None:
    lesson = COURSE.lesson(key)
    assert lesson.id == "01"
    assert lesson.source == COURSE.root / "modules" / "01_tensor" / "tensor.py"


@pytest.mark.parametrize("key", ["9", "", "0", "tensors", "tensor.py"])
def test_an_unknown_lesson_is_answered_with_the_list(key: str) -> None:
    listed = r"there is no lesson .*, only 01 tensor, 02 activations, .*08 training.*; see them with: tito status"
    with pytest.raises(UserError, match=listed):
        COURSE.lesson(key)


@pytest.mark.parametrize("key", ["m2", "1969", "xor", "m2_xor_1969", "m2_xor_1969.py", "M2"])
def test_a_milestone_is_found_by_any_of_its_names(key: str) -> None:
    assert COURSE.milestone(key).id == "m2"


def test_an_unknown_milestone_is_answered_with_the_list() -> None:
    listed = "there is no milestone 'm4', only m1 Perceptron, m2 XOR, m3 MLP.*; see them with: tito milestone"
    with pytest.raises(UserError, match=listed):
        COURSE.milestone("m4")


@pytest.mark.parametrize(
    ("key", "needs"),
    [
        ("01", ""),
        ("03", "01 02"),
        ("05", "01"),
        ("06", "01 02 03 04"),
        ("07", "01 02 03 04 06"),
        ("08", "01 02 03 04 05 06 07"),
    ],
)
def test_needs_are_followed_to_the_end_in_course_order(key: str, needs: str) -> None:
    assert [lesson.id for lesson in COURSE.needs_of(COURSE.lesson(key))] == needs.split()


@pytest.mark.parametrize(("key", "needs"), [("m1", "01"), ("m2", "01 02 03"), ("m3", "01 02 03 04 05 06 07 08")])
def test_a_milestone_needs_lessons_too(key: str, needs: str) -> None:
    assert [lesson.id for lesson in COURSE.needs_of(COURSE.milestone(key))] == needs.split()


def test_needs_stand_before_what_needs_them() -> None:
    seen: set[str] = set()
    for lesson in COURSE.everything:
        assert set(lesson.needs) <= seen
        seen.add(lesson.id)


def test_a_sitting_is_45_to_90_minutes_and_120_for_the_two_big_ones() -> None:
    assert all(45 <= lesson.minutes <= 90 for lesson in COURSE.everything if lesson.id not in ("01", "06"))
    assert COURSE.lesson("01").minutes == COURSE.lesson("06").minutes == 120


def test_a_lesson_says_how_difficult_it_is() -> None:
    found = {number: "".join(one.id[1] for one in COURSE.lessons if one.difficulty == number) for number in (1, 2, 3)}
    assert found == {1: "25", 2: "1347", 3: "68"}


def test_supplied_files_are_all_others_but_the_mistakes(toy: Lesson) -> None:
    for name in ("toy.py", "mistakes.py", "zebra.py", "ape.py", "hints.toml"):
        (toy.folder / name).touch()
    assert [path.name for path in toy.supplied] == ["ape.py", "zebra.py"]


def test_a_changed_source_is_read_again(make_lesson: MakeLesson, tmp_path: Path) -> None:
    lesson = make_lesson(tmp_path, "# %%\n1\n")
    assert lesson.cells() is lesson.cells()
    lesson.source.write_text("# %%\n1\n\n# %%\n2\n", encoding="utf-8")
    assert [cell.source for cell in lesson.cells()] == ["1", "2"]


def test_two_cells_of_one_name_are_refused(make_lesson: MakeLesson, tmp_path: Path) -> None:
    lesson = make_lesson(tmp_path, '# %% twin="a.b"\n1\n# %% twin="a b"\n2\n')
    with pytest.raises(UserError, match="toy.py has two cells called twin-a-b; give one of them another name"):
        lesson.cells()


def test_a_folder_without_a_course_is_said_so(tmp_path: Path) -> None:
    package = tmp_path / "lib" / "tito"
    package.mkdir(parents=True)
    for name in ("__init__", "course", "errors", "percent", "questions"):
        source = Path(__file__).parents[1] / "tito" / f"{name}.py"
        (package / f"{name}.py").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    program = "from tito.course import *\ntry:\n    print(Course.find().root)\nexcept UserError as e:\n    print(e)"
    assert "install it again" in _run(program, tmp_path / "lib")
    (package / "_course").mkdir()
    (package / "_course" / "course.toml").write_text('title = "T"\nlesson = []\n', encoding="utf-8")
    assert _run(program, tmp_path / "lib").strip() == str(package / "_course")


def _run(program: str, folder: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("lesson", WRITTEN, ids=lambda lesson: str(lesson.stem))
class TestEveryLesson:
    def test_the_first_code_cell_with_a_mark_is_the_imports(self, lesson: Lesson) -> None:
        marked = [cell for cell in lesson.cells() if cell.role not in ("demo", "prose")]
        assert [cell.role for cell in marked].count("imports") == 1
        assert marked[0].role == "imports"
        assert marked[0].source.split("\n")[0] == FIRST_LINE

    def test_an_exercise_is_worth_what_its_checks_are(self, lesson: Lesson) -> None:
        earned: Counter[str] = Counter()
        for cell in lesson.cells():
            if cell.role == "check":
                earned[cell.name.split()[0]] += cell.points
        exercises = {cell.name: cell.points for cell in lesson.cells() if cell.role == "exercise"}
        assert {name: earned[name] for name in exercises} == exercises
        assert all(points > 0 for points in exercises.values())

    def test_a_check_belongs_to_an_exercise_or_twin_above_it(self, lesson: Lesson) -> None:
        seen: set[str] = set()
        for cell in lesson.cells():
            if cell.role in ("exercise", "twin"):
                seen.add(cell.name)
            if cell.role == "check":
                assert cell.name.split()[0] in seen

    def test_a_hidden_check_shows_one_comment_line(self, lesson: Lesson) -> None:
        for cell in lesson.cells():
            lines = cell.source.split("\n")
            assert cell.hidden == ("### BEGIN HIDDEN TESTS" in lines)
            if cell.hidden:
                assert lines[0].startswith("# ") and lines[1].endswith("BEGIN HIDDEN TESTS")
                assert lines[-1] == "### END HIDDEN TESTS"
