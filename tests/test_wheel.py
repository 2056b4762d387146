"""What is installed, and that it works where there is no checkout: the wheel alone in an environment of its own.

The environment holds the wheel, what the wheel asks for (linked from this one, so that nothing is downloaded) and
nothing else: not the checkout, and none of the extras. tests/long does the same with pip and a package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

from tito import __version__
from tito.course import Course
from tito.dev.demo import fill

ROOT = Path(__file__).resolve().parent.parent
COURSE = "tito/_course"
DESCRIPTION = f"tinytorch_course-{__version__}.dist-info"


class Installed(NamedTuple):
    """An environment with the wheel in it, and an empty folder that is far from the checkout."""

    environment: Path
    folder: Path

    def run(self, *words: str, at: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment in the folder."""
        scripts = self.environment / ("Scripts" if os.name == "nt" else "bin")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TINYTORCH"))}
        env |= {"PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"}
        command = [str(scripts / words[0]), *words[1:]]
        return subprocess.run(
            command, cwd=at or self.folder, env=env, capture_output=True, encoding="utf-8", check=False
        )

    def said(self, *words: str, at: Path | None = None) -> str:
        """What the program prints when all is well."""
        done = self.run(*words, at=at)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment)
    pip = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    made = Installed(environment, tmp_path_factory.mktemp("elsewhere"))
    libraries = made.said("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    for name in needed(described(wheel)):
        link(name, Path(libraries))
    return made


def needed(distribution: metadata.Distribution) -> set[str]:
    """The names of all distributions that this one asks for, without extras, and that those ask for."""
    found: set[str] = set()
    waiting = [distribution]
    while waiting:
        new = {need.name for need in requirements(waiting.pop())} - found
        found |= new
        waiting += map(metadata.distribution, new)
    return found


def requirements(distribution: metadata.Distribution) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def described(wheel: Path) -> metadata.Distribution:
    """What the wheel says of itself."""
    return metadata.PathDistribution(zipfile.Path(wheel, f"{DESCRIPTION}/"))


def link(name: str, target: Path) -> None:
    """Make a distribution of this environment importable from another."""
    distribution = metadata.distribution(name)
    tops = {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}
    for top in tops:
        (target / top).symlink_to(distribution.locate_file(top).resolve())  # type: ignore[attr-defined]


def course_files() -> set[str]:
    """The files of the course that git knows or would add."""
    git = "git ls-files --cached --others --exclude-standard course.toml modules milestones"
    names = subprocess.run(git.split(), cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    return {name for name in names.splitlines() if (ROOT / name).exists()}


def test_the_wheel_holds_tito_and_the_course_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names} == {"tito", DESCRIPTION}
    assert {name for name in names if name.startswith(COURSE)} == {f"{COURSE}/{name}" for name in course_files()}
    code, pages = (ROOT / "tito").rglob("*.py"), (ROOT / "tito" / "teach" / "pages" / "templates").iterdir()
    ours = {path.relative_to(ROOT).as_posix() for path in (*code, *pages)}
    assert {name for name in names if name.startswith("tito/") and not name.startswith(COURSE)} == ours


def test_the_wheel_brings_one_command_and_small_needs(wheel: Path) -> None:
    entries = [(entry.group, entry.name, entry.value) for entry in described(wheel).entry_points]
    assert entries == [("console_scripts", "tito", "tito.cli:main"), ("pytest11", "tito", "tito.pytest_plugin")]
    needs = {requirement.name for requirement in requirements(described(wheel))}
    assert needs - {"tomli"} == {"numpy", "jupytext", "filelock", "matplotlib", "threadpoolctl", "tqdm"}


def test_the_source_archive_makes_the_same_wheel_whatever_caches_lie_about(built: Path, tmp_path: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    for cache in ("modules/01_tensor/.ipynb_checkpoints/tensor.ipynb", "tito/__pycache__/cli.pyc"):
        (folder / cache).parent.mkdir()
        (folder / cache).touch()
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (again,), (first,) = (tmp_path / "again").glob("*.whl"), built.glob("*.whl")
    assert again.read_bytes() == first.read_bytes()
    assert {"Makefile", "README.md", "requirements", "tests"} <= {each.name for each in folder.iterdir()}


def test_tito_is_that_of_the_environment_and_tinytorch_is_nowhere(installed: Installed) -> None:
    code = "import sys, tito, importlib.util as u; print(tito.__file__, *map(u.find_spec, sys.argv[1:]))"
    file, *others = installed.said("python", "-I", "-c", code, "tinytorch", "modules", "pytest").split()
    assert Path(file).is_relative_to(installed.environment)
    assert others == ["None"] * 3


def test_a_first_lesson_without_a_checkout(installed: Installed) -> None:
    installed.said("tito", "init", "x")
    workspace = installed.folder / "x"
    assert "Next:  tito test 01" in installed.said("tito", at=workspace)
    assert installed.run("tito", "test", at=workspace).returncode == 1
    notebook = workspace / "modules" / "01_tensor.ipynb"
    fill(Course.find().lesson("01"), notebook)
    installed.said("tito", "test", at=workspace)
    assert "Wrote tinytorch/tensor.py" in installed.said("tito", "export", at=workspace)
    assert "Passed" in installed.said("tito", "milestone", "m1", at=workspace)
    assert str(workspace) in installed.said("tito", "open", "02", "--no-launch", at=workspace)


def test_what_an_author_needs_is_named(installed: Installed) -> None:
    done = installed.run("tito", "dev", "check", "01")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'tinytorch-course[dev]'" in done.stderr
