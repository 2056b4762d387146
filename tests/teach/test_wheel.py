"""The class wheel: what is in it, what is not, and that a student can work with it and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tito import diagnosis, release
from tito.course import Course, Lesson
from tito.dev.demo import fill
from tito.errors import UserError
from tito.teach.assignments import course_folder, leaks, wheel
from tito.teach.folder import Folder

COURSE = Course.find()
SITE = "https://example.org/our-class"
LESSONS = [lesson.stem for lesson in COURSE.everything]


def class_wheel(root: Path) -> Path:
    """The wheel of a new course folder, whose settings name the class's site."""
    folder = Folder(root)
    course_folder.make(folder, COURSE, "course")
    folder.settings.write_text(f'site = "{SITE}"\n' + folder.settings.read_text(encoding="utf-8"), encoding="utf-8")
    return wheel.build(COURSE, folder)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return class_wheel(tmp_path_factory.mktemp("teach") / "course")


@pytest.fixture(scope="module")
def unpacked(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(target)
    return target


@pytest.fixture(scope="module")
def students(unpacked: Path) -> Course:
    """The course as the wheel holds it."""
    return Course.load(unpacked / "tito" / "_course")


def test_failures_link_to_the_site_of_the_class(students: Course) -> None:
    assert students.site == SITE


def test_a_site_that_is_no_address_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.settings.write_text('site = "our class"\n', encoding="utf-8")
    with pytest.raises(UserError, match="'our class', no https"):
        wheel.course_toml(COURSE, folder)
    folder.settings.write_text("", encoding="utf-8")
    assert wheel.course_toml(COURSE, folder) == (COURSE.root / "course.toml").read_text(encoding="utf-8")


def secret_lines(lesson: Lesson) -> Iterator[str]:
    """Lines between the marks of solutions and hidden checks, read here in the plainest way."""
    inside = False
    for line in lesson.source.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith(("### BEGIN SOLUTION", "### BEGIN HIDDEN TESTS")):
            inside = True
        elif line.lstrip().startswith(("### END SOLUTION", "### END HIDDEN TESTS")):
            inside = False
        elif inside and len(line.strip()) >= 12:
            yield line.strip()


@pytest.mark.parametrize("stem", LESSONS)
def test_no_line_of_a_solution_or_a_hidden_check_is_in_it(unpacked: Path, stem: str) -> None:
    given = "\n".join(path.read_text(encoding="utf-8") for path in (unpacked / "tito/_course").rglob("*.py"))
    given = "\n".join(line.strip() for line in given.splitlines())
    public = set()
    for lesson in COURSE.everything:  # what a twin, a visible check, a supplied module shows anyway
        public |= {line.strip() for cell in release.student_cells(lesson) for line in cell.source.splitlines()}
        public |= {line.strip() for path in lesson.supplied for line in path.read_text(encoding="utf-8").splitlines()}
    for path in (COURSE.root / "milestones").glob("*.py"):
        public |= {line.strip() for line in path.read_text(encoding="utf-8").splitlines()}
    secrets = set(secret_lines(COURSE.lesson(stem))) - public
    assert len(secrets) > 25
    assert [line for line in secrets if f"\n{line}\n" in given] == []


def test_neither_mistakes_nor_answers_nor_tests_nor_what_quotes_them(unpacked: Path) -> None:
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert not [
        name for name in names if re.search(r"_course/.*(mistakes|equivalent|lookalikes|draw)\.|(^|/)tests?/", name)
    ]
    assert f"tito/{wheel.ANSWERS}" not in names
    milestones = {path.relative_to(COURSE.root).as_posix() for path in (COURSE.root / "milestones").rglob("*.*")}
    assert {f"tito/_course/{name}" for name in milestones if "__pycache__" not in name} <= names
    assert {path.name for path in (unpacked / "tito/_course/modules/01_tensor").iterdir()} == {
        "tensor.py", "determinism.py", "dtypes.py", "generator.py", "settings.py", "hints.toml", "fingerprints.json",
        "figures",
    }  # fmt: skip


@pytest.mark.parametrize("stem", LESSONS)
def test_a_student_gets_the_same_notebook_from_either_wheel(students: Course, stem: str) -> None:
    ours, theirs = COURSE.lesson(stem), students.lesson(stem)
    assert release.notebook(theirs) == release.notebook(ours)
    assert [cell.id for cell in theirs.cells()] == [cell.id for cell in ours.cells()]
    assert release.has_solutions(ours) and not release.has_solutions(theirs)


@pytest.mark.parametrize("stem", LESSONS)
def test_fingerprints_fit_the_checks_that_are_in_it(students: Course, stem: str) -> None:
    lesson = students.lesson(stem)
    for exercise, known in diagnosis.load(lesson).items():
        assert known["checks"] == diagnosis.digest(lesson.cells(), exercise)


def test_a_wheel_with_an_answer_is_refused(built: Path, tmp_path: Path) -> None:
    line = max(secret_lines(COURSE.lesson("01")), key=len)
    for name, content in {
        "tito/_course/modules/01_tensor/tensor.py": f"x = 1\n        {line}\n",
        "tito/_course/modules/01_tensor/fingerprints.json": json.dumps({"why": [f"because {line} is so"]}),
        "tito/_course/modules/01_tensor/mistakes.py": "",
    }.items():
        bad = tmp_path / "bad.whl"
        with zipfile.ZipFile(bad, "w") as archive:
            archive.writestr(name, content)
        with pytest.raises(UserError, match="would tell an answer"):
            wheel.refuse_leaks(bad, COURSE)


def test_two_builds_are_the_same(built: Path, tmp_path: Path) -> None:
    assert class_wheel(tmp_path / "again").read_bytes() == built.read_bytes()


def test_leaks_are_found_in_a_notebook_whatever_its_layout(tmp_path: Path) -> None:
    secrets = leaks.secrets_of(["def f(x):\n    ### BEGIN SOLUTION\n    return  np.exp(x) / 2\n    ### END SOLUTION"])
    assert secrets == {"returnnp.exp(x)/2"}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.ipynb", json.dumps({"cells": [{"source": ["def f(x):\n", "  return np.exp(x)/2\n"]}]}))
    assert leaks.found(leaks.archive(tmp_path / "a.zip"), secrets) == [("a.ipynb", "returnnp.exp(x)/2")]


class Student:
    """A fresh environment with the class wheel, NumPy and the rest from this one, far from the checkout."""

    def __init__(self, wheel: Path, root: Path) -> None:
        self.root = root
        venv.create(root / "env", system_site_packages=False)
        python = root / "env" / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
        subprocess.run(pip, check=True, capture_output=True)
        asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        theirs = Path(subprocess.run(asked, check=True, capture_output=True, encoding="utf-8").stdout.strip())
        import numpy

        ours = Path(numpy.__file__).parents[1]
        for path in ours.iterdir():
            ours_alone = path.name.startswith(("tito", "tinytorch", "__editable__", "_tinytorch", "__pycache__"))
            if not ours_alone and path.suffix != ".pth" and not (theirs / path.name).exists():
                (theirs / path.name).symlink_to(path)

    def tito(self, *words: str, at: str = "ws") -> tuple[int, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TINYTORCH"))}
        command = [str(self.root / "env" / "bin" / "tito"), *words]
        shared = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "check": False}
        done = subprocess.run(command, cwd=self.root / at, env=env, **shared)  # type: ignore[call-overload]
        return done.returncode, done.stdout


def test_a_student_works_with_it(built: Path, tmp_path: Path) -> None:
    student = Student(built, tmp_path)
    assert student.tito("init", "ws", at=".")[0] == 0
    code, said = student.tito("open", "01", "--no-launch")
    assert (code, str(tmp_path / "ws")) == (0, said.split("  ")[1].rpartition("/modules")[0])
    code, said = student.tito("test", "01")
    assert code == 1 and "todo" in said
    assert "hint 1 of 3" in student.tito("hint", "01")[1]
    notebook = tmp_path / "ws" / "modules" / "01_tensor.ipynb"
    fill(COURSE.lesson("01"), notebook)
    right = notebook.read_text(encoding="utf-8")
    notebook.write_text(right.replace("array = array.astype(np.float32)", "array = array"), encoding="utf-8")
    assert "looks like: keeps float64" in student.tito("test", "01")[1]
    notebook.write_text(right, encoding="utf-8")
    code, said = student.tito("export", "01")
    assert code == 0 and "Wrote tinytorch/tensor.py" in said
    code, said = student.tito("diff", "01")
    assert (code, said.count("\n")) == (2, 1) and "class edition" in said and "no solutions" in said
    code, said = student.tito("teach", "init", "course")
    assert (code, said.count("\n")) == (2, 1) and "class edition" in said
