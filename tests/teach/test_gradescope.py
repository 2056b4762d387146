"""Gradescope: the format of results.json, and the zip in their folder layout, in a container like theirs.

Theirs is Docker's: root without CAP_SYS_ADMIN, and a seccomp filter that makes no namespaces. Needs bubblewrap.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tito import release
from tito.course import Course
from tito.teach.assignments import milestone_assignment
from tito.teach.folder import Folder
from tito.teach.marks import gradescope
from tito.teach.result import CheckResult, Key, Result

LESSON = "02_activations"
KEY = Key("ada", LESSON, "s1", "b1", "reference", {"wall": 10.0}, "0" * 16, "3.11.7", "2.2.0")
CHECKS = (
    CheckResult("ReLU", "ReLU", 2.0, 2.0, False, "ok"),
    CheckResult(
        "Sigmoid", "Sigmoid", 3.0, 0.0, False, "FAIL", expression="Sigmoid()(0)", want="0.5", got="1.0", looks_like="x"
    ),
    CheckResult("Sigmoid far", "Sigmoid", 1.0, 0.0, True, "FAIL", expression="secret(1)", want="secret"),
)
NUMBER = (int, float)
VISIBILITY = {"hidden", "after_due_date", "after_published", "visible"}

# ---- the format


def well_formed(table: dict[str, Any]) -> bool:
    """Whether all of it is what Gradescope's specification names, of the types that it names."""
    kinds = {
        "output": str,
        "visibility": str,
        "stdout_visibility": str,
        "extra_data": dict,
        "tests": list,
        "score": NUMBER,
    }
    test = {"name": str, "score": NUMBER, "max_score": NUMBER, "visibility": str, "output": str}
    tables = [(table, kinds), *((each, test) for each in table["tests"])]
    right = all(
        name in kinds and isinstance(value, kinds[name]) for each, kinds in tables for name, value in each.items()
    )
    shown = [each[name] for each, _ in tables for name in ("visibility", "stdout_visibility") if name in each]
    scored = "score" in table or all("score" in each for each in table["tests"])
    return right and scored and set(shown) <= VISIBILITY and json.loads(json.dumps(table)) == table


def test_a_result_is_a_test_for_each_check() -> None:
    table = gradescope.results(Result(KEY, "graded", checks=CHECKS, notes=("check ReLU was changed",), isolation=1))
    assert well_formed(table)
    assert [(each["name"], each["score"], each["max_score"], each["visibility"]) for each in table["tests"]] == [
        ("ReLU", 2, 2, "visible"),
        ("Sigmoid", 0, 3, "visible"),
        ("Sigmoid far", 0, 1, "after_published"),
    ]
    assert table["output"] == "check ReLU was changed" and table["stdout_visibility"] == "hidden"
    assert table["tests"][1]["output"] == "FAIL\nSigmoid()(0)\nwant  0.5\ngot   1.0\nlooks like: x"


def test_a_hidden_check_says_nothing_but_its_hint() -> None:
    table = gradescope.results(Result(KEY, "graded", checks=CHECKS), {"Sigmoid": ["What is far?", "Nearly the line."]})
    assert "secret" not in json.dumps(table)
    assert table["tests"][2]["output"] == "Hint: What is far?"


def test_a_refused_submission_has_a_score_and_a_reason() -> None:
    table = gradescope.results(Result(KEY, "refused", "the file is no notebook"))
    assert well_formed(table) and table["score"] == 0 and "no notebook" in table["output"]


def test_without_isolation_it_says_so() -> None:
    assert gradescope.NOT_ISOLATED in gradescope.results(Result(KEY, "graded", checks=CHECKS, isolation=3))["output"]


# ---- the zip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    root = tmp_path_factory.mktemp("course")
    (root / ".teach").mkdir()
    return Folder(root)


@pytest.fixture(scope="module")
def packed(folder: Folder) -> Path:
    path = folder.out / "gradescope.zip"
    gradescope.pack(path, Course.find(), folder, LESSON)
    return path


def test_the_zip_has_the_scripts_at_its_root_and_not_the_secret(folder: Folder, packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert folder.secret not in content and folder.secret.hex().encode() not in content
    assert packed.stat().st_mode & 0o077 == 0
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", "-c", zipfile.ZipFile(packed).read(script)], check=True)


# ---- the container

NUMBERS = {"x86_64": (272, 308, 165, 435, 56), "aarch64": (97, 268, 40, 435, 220)}
NAMESPACES = 0x7E020000  # CLONE_NEW*


def no_namespaces() -> bytes:
    """A seccomp filter as Docker's: unshare, setns, mount and clone with a new namespace are refused."""
    unshare, setns, mount, clone3, clone = NUMBERS[os.uname().machine]
    refuse, missing = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
    program = [
        (0x20, 0, 0, 0),  # load the number
        (0x15, 7, 0, unshare),
        (0x15, 6, 0, setns),
        (0x15, 5, 0, mount),
        (0x15, 3, 0, clone3),
        (0x15, 0, 4, clone),
        (0x20, 0, 0, 16),  # load the flags
        (0x45, 1, 2, NAMESPACES),
        (0x06, 0, 0, missing),
        (0x06, 0, 0, refuse),
        (0x06, 0, 0, 0x7FFF0000),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in program)


class Container:
    """Their layout: /autograder with source, submission, results, submission_metadata.json; no namespaces inside."""

    def __init__(self, root: Path, packed: Path) -> None:
        self.root = root / "autograder"
        for name in ("source", "submission", "results"):
            (self.root / name).mkdir(parents=True)
        shutil.unpack_archive(packed, self.root / "source")
        shutil.copy(self.root / "source" / "run_autograder", self.root / "run_autograder")
        (self.root / "run_autograder").chmod(0o755)
        metadata = {"id": 1, "users": [{"email": "ada@example.org", "id": 2, "name": "Ada"}]}
        (self.root / "submission_metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
        self.python()

    def python(self) -> None:
        """What setup.sh makes: /autograder/python with NumPy; here of the Python that runs the tests."""
        base, version = Path(sys.base_prefix).resolve(), f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.home = Path("/opt/python") if base != Path("/usr") else base
        place = self.root / "python"
        packages = place / "lib" / version / "site-packages"
        (place / "bin").mkdir(parents=True)
        (place / "pyvenv.cfg").write_text(
            f"home = {self.home}/bin\nversion = {sys.version.split()[0]}\n", encoding="utf-8"
        )
        (place / "bin" / "python").symlink_to(self.home / "bin" / version)
        for name in ("numpy", "numpy.libs"):
            found = Path(np.__file__).parents[1] / name
            if found.exists():
                shutil.copytree(found, packages / name, ignore=shutil.ignore_patterns("tests", "__pycache__"))

    def command(self, filter: int) -> list[str]:
        system = [path for path in ("/usr", "/lib", "/lib64", "/bin", "/etc") if os.path.lexists(path)]
        seen = [part for path in system for part in ("--ro-bind", path, path)]
        if self.home == Path("/opt/python"):
            seen += [
                "--perms",
                "0755",
                "--dir",
                "/opt",
                "--ro-bind",
                str(Path(sys.base_prefix).resolve()),
                "/opt/python",
            ]
        docker = [part for cap in ("SETUID", "SETGID", "CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL")
                  for part in ("--cap-add", f"CAP_{cap}")]  # fmt: skip
        rights = ["--cap-drop", "ALL", *docker] if os.getuid() == 0 else ["--unshare-user", "--disable-userns"]
        spaces = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--die-with-parent"]
        places = ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
        ours = ["--bind", str(self.root), "/autograder", "--chdir", "/autograder", "--clearenv"]
        path = ["--setenv", "PATH", "/usr/bin:/bin", "--seccomp", str(filter)]
        return ["bwrap", *rights, *spaces, *seen, *places, *ours, *path]

    def run(self, *program: str) -> subprocess.CompletedProcess[str]:
        read, write = os.pipe()
        os.write(write, no_namespaces())
        os.close(write)
        command = [*self.command(read), *program]
        ended = subprocess.run(command, pass_fds=[read], capture_output=True, encoding="utf-8", timeout=120)
        os.close(read)
        return ended

    def grade(self, notebook: dict[str, Any], name: str = LESSON) -> dict[str, Any]:
        (self.root / "submission" / f"{name}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        ended = self.run("/autograder/run_autograder")
        assert ended.returncode == 0, ended.stderr
        table: dict[str, Any] = json.loads((self.root / "results" / "results.json").read_text(encoding="utf-8"))
        assert well_formed(table)
        return table


@pytest.fixture
def container(tmp_path: Path, packed: Path) -> Container:
    return Container(tmp_path, packed)


def total(table: dict[str, Any], of: str = "score") -> float:
    return sum(test[of] for test in table["tests"])


def solved(name: str = LESSON) -> dict[str, Any]:
    """The student's notebook with the course's answers in it."""
    lesson = Course.find().lesson(name)
    answers = {cell["id"]: cell for cell in release.notebook(lesson, solutions=True)["cells"]}
    notebook = release.notebook(lesson)
    notebook["cells"] = [answers[c["id"]] if c["id"].startswith("exercise-") else c for c in notebook["cells"]]
    return notebook


def test_the_container_makes_no_namespaces(container: Container) -> None:
    assert container.run("/usr/bin/unshare", "-Ur", "true").returncode != 0
    assert container.run("/usr/bin/unshare", "-n", "true").returncode != 0


def test_right_answers_score_all_and_the_stub_nothing(container: Container) -> None:
    table = container.grade(solved())
    lesson = Course.find().lesson(LESSON)
    points = sum(cell.points for cell in lesson.cells() if cell.role == "check")
    assert total(table) == total(table, "max_score") == points
    assert table["output"] == gradescope.NOT_ISOLATED and table["extra_data"]["isolation"] == 3
    assert total(container.grade(release.notebook(lesson))) == 0


def test_a_milestone_runs_on_the_students_own_package(tmp_path: Path, folder: Folder) -> None:
    course = Course.find()
    gradescope.pack(tmp_path / "m1.zip", course, folder, "m1")
    container = Container(tmp_path, tmp_path / "m1.zip")
    milestone = milestone_assignment.notebook(course, course.milestone("m1"))
    (container.root / "submission" / "m1.ipynb").write_text(json.dumps(milestone), encoding="utf-8")
    table = container.grade(solved("01_tensor"), "01_tensor")
    assert total(table) == total(table, "max_score") > 0
    table = container.grade(release.notebook(course.lesson("01")), "01_tensor")
    assert total(table) == 0


ATTACK = """
import os, signal
reached = []
for path in ("/autograder/source/bundle.json", "/autograder/source/secret", "/autograder/results/results.json",
             "/autograder/source/milestones/data/digits.csv.gz"):
    try:
        reached.append(open(path, "rb").read(1))
    except OSError:
        pass
for path in ("/autograder/results/results.json", "/autograder/results/more", "/autograder/source/tito/__init__.py"):
    try:
        open(path, "a").write(" ")
        reached.append(path)
    except OSError:
        pass
for process in filter(str.isdigit, os.listdir("/proc")):
    for name in ("mem", "environ"):
        if int(process) not in (os.getpid(), os.getppid()):
            try:
                open(f"/proc/{process}/{name}", "rb").read(1)
                reached.append(process)
            except OSError:
                pass
if reached:
    raise SystemExit
"""


def test_student_code_reaches_neither_checks_nor_results(container: Container) -> None:
    """The attack ends the process when it reaches anything, which costs points: all of them mean that it did not."""
    notebook = solved()
    at = max(i for i, cell in enumerate(notebook["cells"]) if cell["id"].startswith("exercise-"))
    source = notebook["cells"][at]["source"]
    notebook["cells"][at]["source"] = [*source, "\n", *ATTACK.splitlines(keepends=True)]
    table = container.grade(notebook)
    assert total(table) == total(table, "max_score") > 0


def test_what_intake_refuses_is_told(container: Container) -> None:
    (container.root / "submission" / f"{LESSON}.ipynb").write_text("no JSON", encoding="utf-8")
    assert container.run("/autograder/run_autograder").returncode == 0
    table = json.loads((container.root / "results" / "results.json").read_text(encoding="utf-8"))
    assert well_formed(table) and table["score"] == 0 and table["output"].startswith("Not graded: ")


def test_when_grading_fails_there_is_no_score(container: Container) -> None:
    (container.root / "source" / "bundle.json").write_text("{}", encoding="utf-8")
    assert container.run("/autograder/run_autograder").returncode != 0
    assert not (container.root / "results" / "results.json").exists()
