"""The grader in the layout of container/Containerfile, by bubblewrap in place of an engine, which CI has none of.

As there: a user without rights, a read-only root, /tmp in memory, parts of /proc masked, no network, and the course's
folder as the only place to write.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import overhead
import pytest

from tito.course import Course
from tito.teach.assignments import course_folder
from tito.teach.folder import Folder
from tito.teach.grader import bundle
from tito.teach.grader.workers import Worker
from tito.teach.marks.store import Store

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "container" / "Containerfile").read_text(encoding="utf-8")
TITO_ON = ROOT / "tests" / "fixtures" / "tito_on.py"
UID = re.findall(r"^USER (\d+):\d+$", CONTAINERFILE, re.M)[0]


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return overhead.course(tmp_path_factory.mktemp("toys"))


@pytest.fixture
def folder(toys: Course, tmp_path: Path) -> Folder:
    """A course folder with five submissions."""
    made = Folder(tmp_path / "course")
    course_folder.make(made, toys, "toys")
    for work in overhead.works(toys.lesson("01"), 5):
        place = made.submitted / work.student / work.assignment
        place.mkdir(parents=True)
        (place / f"{work.assignment}.ipynb").write_bytes(work.files[f"{work.assignment}.ipynb"])
    return made


@pytest.fixture(scope="module")
def marks(toys: Course) -> dict[str, float]:
    """What level 1 gives outside of any container."""
    made = bundle.make(toys, toys.lesson("01"))
    with Worker(made, b"", 1) as worker:
        return {work.student: worker.grade(work).earned for work in overhead.works(toys.lesson("01"), 5)}


def contained(folder: Folder, toys: Course, *words: str, namespaces: bool) -> subprocess.CompletedProcess[str]:
    """Run `tito teach` in there."""
    layout = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/proc/irq"]
    layout += [
        "--ro-bind",
        "/dev/null",
        "/proc/interrupts",
        "--ro-bind",
        str(toys.root),
        "/tmp/toys",
        "--ro-bind",
        str(ROOT),
        str(ROOT),  # where it lies below /tmp
        "--remount-ro",
        "/",
    ]
    layout += ["--bind", str(folder.root), "/tmp/course", "--chdir", "/tmp/course"]
    user = [
        "--unshare-all",
        "--unshare-user",
        "--uid",
        UID,
        "--gid",
        UID,
        "--new-session",
        "--die-with-parent",
        "--as-pid-1",
    ]
    settings = ["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp"]
    limits = [] if namespaces else ["--disable-userns"]
    command = [sys.executable, str(TITO_ON), "/tmp/toys", "teach", *words]
    return run(["bwrap", *layout, *user, *settings, *limits, *command])


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def kept(folder: Folder) -> dict[str, tuple[float, int]]:
    with Store(folder.results) as store:
        return {student: (one.earned, one.isolation) for student, one in store.latest(overhead.NAME).items()}


def test_with_user_namespaces_level_1_holds_and_grades(folder: Folder, toys: Course, marks: dict[str, float]) -> None:
    told = contained(folder, toys, "doctor", "--level", "1", namespaces=True)
    assert told.returncode == 0 and "level 1" in told.stdout and "does not" not in told.stdout, (
        told.stdout + told.stderr
    )
    graded = contained(folder, toys, "grade", "01", "--level", "1", namespaces=True)
    assert graded.returncode == 0, graded.stderr
    assert kept(folder) == {student: (earned, 1) for student, earned in marks.items()}


def test_without_user_namespaces_nothing_grades_by_itself(folder: Folder, toys: Course) -> None:
    for level in ("1", "2"):
        assert contained(folder, toys, "doctor", "--level", level, namespaces=False).returncode == 1
    graded = contained(folder, toys, "grade", "01", namespaces=False)
    assert graded.returncode == 2 and "tito teach doctor" in graded.stderr
    assert not kept(folder)


def test_without_user_namespaces_level_3_must_be_accepted(
    folder: Folder, toys: Course, marks: dict[str, float]
) -> None:
    refused = contained(folder, toys, "grade", "01", "--level", "3", namespaces=False)
    assert refused.returncode == 2 and "--accept-not-isolated" in refused.stderr
    graded = contained(folder, toys, "grade", "01", "--level", "3", "--accept-not-isolated", namespaces=False)
    assert graded.returncode == 0 and "NOT ISOLATED" in graded.stdout, graded.stderr
    assert kept(folder) == {student: (earned, 3) for student, earned in marks.items()}


@pytest.mark.parametrize("level", ["1", "2"])
def test_installed_for_all_users_without_an_environment(level: str) -> None:
    """NumPy then lies in the folder whose other packages no submission may see."""
    base = Path(sys.base_prefix) / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages = ["--ro-bind", sysconfig.get_path("purelib"), str(base)]
    python = [
        f"{sys.base_prefix}/bin/python3",
        "-c",
        "import sys; from tito.cli import main; sys.exit(main(sys.argv[1:]))",
    ]
    told = run(["bwrap", "--dev-bind", "/", "/", *packages, *python, "teach", "doctor", "--level", level])
    assert told.returncode == 0 and "holds" in told.stdout, told.stdout + told.stderr


def test_what_the_containerfile_copies_is_there() -> None:
    copied = [word for line in re.findall(r"^COPY (.+)$", CONTAINERFILE, re.M) for word in line.split()[:-1]]
    assert len(copied) >= 8 and all((ROOT / name).exists() for name in copied)
    assert "USER 10001:10001" in CONTAINERFILE and UID != "0"
