"""The wheel, real pip, the pinned packages and the whole demo, on every Python of this machine that we support.

A version that is not here is no parameter; what ran is printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SUPPORTED = range(10, 14)
VERSION = "import sys, venv, ensurepip; print('%d.%d.%d' % sys.version_info[:3])"


def found() -> dict[str, str]:
    """Every supported version on this machine, and an interpreter of it that really runs."""
    versions = {version_of(python): python for python in candidates()}
    return {version: versions[version] for version in sorted(versions) if is_supported(version)}


def candidates() -> Iterator[str]:
    """This one, those on the path, and those that pyenv keeps."""
    names = ("python3", *(f"python3.{minor}" for minor in SUPPORTED))
    yield from (sys.executable, *filter(None, map(shutil.which, names)))
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, encoding="utf-8", check=True).stdout.strip()
        yield from map(str, Path(root).glob("versions/3.*/bin/python3"))


def version_of(python: str) -> str:
    """`3.11.7`; nothing when it does not run (a shim of a version that is not chosen) or cannot make environments."""
    return subprocess.run([python, "-c", VERSION], capture_output=True, encoding="utf-8", check=False).stdout.strip()


def is_supported(version: str) -> bool:
    return version.startswith(tuple(f"3.{minor}." for minor in SUPPORTED))


PYTHONS = found()


@pytest.fixture(scope="session")
def wheel(run: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, at=ROOT)
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.parametrize("version", PYTHONS)
def test_the_demo(
    version: str, wheel: Path, run: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment, began = tmp_path / "environment", time.perf_counter()
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(PYTHONS[version], "-m", "venv", environment, at=tmp_path)
    run(python, "-m", "pip", "install", "--constraint", ROOT / "requirements" / "lock.txt", wheel, at=tmp_path)
    run(python, "-m", "pip", "check", at=tmp_path)
    installed = time.perf_counter()
    said = run(python, "-W", "error", "-m", "tito", "dev", "demo", "demo", at=tmp_path)
    assert said.count("Passed in") == 3
    assert len(said.splitlines()) <= 40
    with capsys.disabled():
        ended = time.perf_counter()
        print(f"\nPython {version}: installed in {installed - began:.0f} s, demo {ended - installed:.0f} s")
