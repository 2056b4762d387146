"""Electives in a class: not in the folder until released, graded like any other lesson, stubs in the class wheel."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tito import release
from tito.cli import main
from tito.course import Course
from tito.dev.demo import answer
from tito.errors import UserError
from tito.teach.assignments import course_folder, kernel, wheel
from tito.teach.folder import Folder
from tito.teach.grader import bundle
from tito.teach.grader.grading import Work
from tito.teach.grader.workers import Pool
from tito.teach.intake import sources
from tito.teach.pages import feedback

SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def course(with_elective: Callable[..., Course], tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The small course with an elective; its milestones have the real ones' ids, and the elective one has no checks."""
    made = with_elective(tmp_path_factory.mktemp("electives") / "course")
    (made.root / "entries.toml").unlink()
    return made


@pytest.fixture(scope="module")
def folder(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    made = Folder(tmp_path_factory.mktemp("class") / "course")
    course_folder.make(made, course, "course")
    return made


def test_a_new_folder_has_the_course_alone_and_says_how_to_get_more(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with chdir(tmp_path):
        assert main(["teach", "init", "class"], course) == 0
    said = capsys.readouterr().out
    assert "in source/ 2 lessons, 1 milestones." in said
    assert "Electives (path) come when named:  tito teach release e1\n" in said
    assert {path.name for path in (tmp_path / "class" / "source").iterdir()} == {"01_vector", "02_line", "m1"}


def test_it_is_released_when_it_is_named(course: Course, folder: Folder, tmp_path: Path) -> None:
    shutil.copytree(folder.root, tmp_path / "class")
    kernel.register(Folder(tmp_path / "class"), course)
    with chdir(tmp_path / "class"):
        assert main(["teach", "release", "e1"], course) == 0
    given = (tmp_path / "class/release/e1_path/e1_path.ipynb").read_text(encoding="utf-8")
    assert "NotImplementedError" in given and "end - start" not in given
    assert (tmp_path / "class/source/e1_path/e1_path.ipynb").exists()


def test_its_kernel_has_what_it_needs(folder: Folder) -> None:
    found = {
        place.name: {path.stem for path in (place / "tinytorch").glob("*.py")} for place in folder.reference.iterdir()
    }
    assert found["e1"] == {"__init__", "vector", "rounding", "path", "trail"}
    assert found["m1b"] == {"__init__", "vector", "rounding", "path", "trail"}
    assert found["m1"] == {"__init__", "vector", "rounding", "line"}


def test_it_is_graded(course: Course) -> None:
    lesson = course.lesson("e1")
    made = bundle.make(course, lesson)
    assert made.lessons == ["01_vector", "e1_path"]
    whole = release.percent_text(lesson)
    stubs = {cell.name: cell.source for cell in release.student_cells(lesson) if cell.role == "exercise"}
    solved = {cell.name: answer(cell.source) for cell in lesson.cells() if cell.role == "exercise"}
    half = whole.replace(stubs["between"], solved["between"])
    texts = {"ada": half.replace(stubs["walk"], solved["walk"]), "bob": half}
    works = [Work(name, lesson.stem, {"e1_path.py": text.encode()}) for name, text in texts.items()]
    with Pool(None, 1, SECRET) as pool:
        marks = {result.key.student: result.earned for result in pool.grade_all(works, made)}
    assert marks == {"ada": 3, "bob": 1}


def test_a_milestone_without_checks_is_not_handed_in(course: Course) -> None:
    assert course_folder.item(course, "M1") == course.milestones[0]
    with pytest.raises(UserError, match="m1b Bezier is not graded; run it with: tito milestone m1b"):
        course_folder.item(course, "m1b")


def test_feedback_names_it(course: Course) -> None:
    one = feedback.found(course, "e1_path")
    assert feedback.title(one, "e1_path") == "e1 1962: points that bend"
    assert set(feedback.hints(one)) == {"between", "walk"}
    assert feedback.title(feedback.found(course, "m1b"), "m1b") == "Milestone m1b: Bezier (1962)"


@pytest.mark.parametrize("assignment", ["03_layers", "e1_path", "m1b"])
def test_a_command_to_paste_names_the_assignment_whole(assignment: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught, sources.lms_zip(tmp_path / "no.zip", assignment, {}, None):
        pass
    short = assignment.partition("_")[0]
    assert re.search(rf"tito teach collect {short}\b", caught.value.message)


def test_the_class_wheel_holds_it_without_answers(course: Course, folder: Folder) -> None:
    made = wheel.build(course, folder)
    with zipfile.ZipFile(made) as archive:
        names = {name.removeprefix("tito/_course/") for name in archive.namelist()}
        given = archive.read("tito/_course/modules/e1_path/path.py").decode()
        table = archive.read("tito/_course/course.toml").decode()
    assert {"modules/e1_path/trail.py", "modules/e1_path/hints.toml", "milestones/m1b_bezier_1962.py"} <= names
    assert "modules/e1_path/mistakes.py" not in names
    assert "end - start" not in given and "draw.integers" not in given and "NotImplementedError" in given
    assert "elective = true" in table


def test_a_wheel_that_tells_its_answer_is_refused(course: Course, tmp_path: Path) -> None:
    path = tmp_path / "leak.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tito/_course/note.py", "    return sum(between(*pair).norm() for pair in pairs(points))\n")
    with pytest.raises(UserError, match="would tell an answer"):
        wheel.refuse_leaks(path, course)
