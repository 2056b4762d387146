"""A pool of workers on one machine: nothing is lost, nothing is left behind, however workers or the command end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import overhead
import psutil
import pytest

from tito.course import Course
from tito.teach.assignments import course_folder
from tito.teach.folder import Folder
from tito.teach.grader import bundle
from tito.teach.grader.bundle import Bundle
from tito.teach.grader.conversation import Limits
from tito.teach.grader.grading import Work
from tito.teach.grader.workers import Pool, Worker
from tito.teach.marks.store import Store
from tito.teach.result import Result

SECRET = bytes(range(32))
TITO_ON = Path(__file__).parents[1] / "fixtures" / "tito_on.py"
SECONDS = 60.0


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return overhead.course(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="module")
def made(toys: Course) -> Bundle:
    return bundle.make(toys, toys.lesson("01"))


@pytest.fixture(scope="module")
def works(toys: Course) -> list[Work]:
    return list(overhead.works(toys.lesson("01"), 60))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, to see which stay."""
    import tempfile

    tmp_path.chmod(0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def texts(results: Iterator[Result]) -> list[str]:
    return sorted(result.to_json() for result in results)


def below(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def workers_of(pid: int) -> list[psutil.Process]:
    return [one for one in psutil.Process(pid).children() if is_called("spawn_main", one)]


def is_called(name: str, process: psutil.Process) -> bool:
    """By its command line; a process may end while it is looked at."""
    try:
        return any(name in word for word in process.cmdline())
    except psutil.Error:
        return False


def await_(happens: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.02)


def zygotes_here() -> list[psutil.Process]:
    """All below this process; other tests' fixtures may hold some."""
    return [one for one in below(os.getpid()) if is_called("zygote.py", one)]


def test_two_workers_give_what_one_gives(made: Bundle, works: list[Work], temporary: Path) -> None:
    with Worker(made, SECRET, 1) as worker:
        alone = sorted(worker.grade(work).to_json() for work in works[:12])
    before = zygotes_here()
    with Pool(1, 2, SECRET) as pool:
        assert texts(pool.grade_all(works[:12], made)) == alone
        zygotes = [one for one in zygotes_here() if one not in before]
        uids = {uid for one in zygotes for uid in one.uids()}
        assert len(zygotes) == 2 and (os.geteuid() != 0 or len(uids) == 2 and 0 not in uids)
    assert not psutil.wait_procs(zygotes, timeout=10)[1]
    assert not list(temporary.iterdir())


def test_works_are_taken_a_few_ahead(made: Bundle, works: list[Work]) -> None:
    taken: list[Work] = []

    def given() -> Iterator[Work]:
        for work in works:
            taken.append(work)
            yield work

    with Pool(1, 2, SECRET) as pool:
        results = pool.grade_all(given(), made)
        for _ in range(5):
            next(results)
        assert len(taken) <= 5 + 2 * 2
        results.close()  # type: ignore[attr-defined]


def test_worker_killed_in_the_middle(made: Bundle, works: list[Work], temporary: Path) -> None:
    with Pool(1, 2, SECRET) as pool:
        whole = texts(pool.grade_all(works[:24], made))
        results = pool.grade_all(works[:24], made)
        first = [next(results).to_json() for _ in range(5)]
        os.kill(workers_of(os.getpid())[0].pid, signal.SIGKILL)
        assert sorted(first + texts(results)) == whole
    assert not list(temporary.iterdir())


def test_a_child_ends_with_its_zygote(toys: Course, made: Bundle) -> None:
    """As when the machine is short of memory and kills it: a submission that sleeps must not stay behind."""
    notebook = overhead.notebook(toys.lesson("01"), 1)
    cell = next(cell for cell in notebook["cells"] if cell["id"] == "exercise-Sub")
    cell["source"] = ["import time\n", "time.sleep(100)\n"]
    work = Work("ada", overhead.NAME, {f"{overhead.NAME}.ipynb": json.dumps(notebook).encode()})
    before = zygotes_here()
    with Worker(made, SECRET, 1, limits=Limits(check_seconds=2.0)) as worker:
        (zygote,) = (one for one in zygotes_here() if one not in before)
        grading = threading.Thread(target=worker.grade, args=(work,))
        grading.start()
        await_(lambda: zygote.children())
        time.sleep(0.5)
        children = zygote.children()
        zygote.kill()
        assert children and not psutil.wait_procs(children, timeout=10)[1]
        grading.join()


def test_command_killed_in_the_middle_grades_only_the_rest(toys: Course, works: list[Work], temporary: Path) -> None:
    folder = Folder(temporary / "course")
    course_folder.make(folder, toys, "toys")
    for work in works:
        place = folder.submitted / work.student / work.assignment
        place.mkdir(parents=True)
        (place / f"{work.assignment}.ipynb").write_bytes(work.files[f"{work.assignment}.ipynb"])
    words = [sys.executable, str(TITO_ON), str(toys.root), "teach", "grade", "01", "--level", "1", "--workers", "2"]
    command = subprocess.Popen(words, cwd=folder.root, stdout=subprocess.DEVNULL)
    await_(lambda: kept(folder) >= 10)
    started = below(command.pid)
    command.kill()
    command.wait()
    assert not psutil.wait_procs(started, timeout=10)[1]
    before = results_of(folder)
    assert 10 <= len(before) < len(works)
    done = subprocess.run(words, cwd=folder.root, capture_output=True, encoding="utf-8", check=True)
    assert f"{len(works) - len(before)} graded, 0 refused, {len(before)} graded before" in done.stdout
    after = results_of(folder)
    assert len(after) == len(works) and before.items() <= after.items()


def kept(folder: Folder) -> int:
    return len(results_of(folder)) if folder.results.exists() else 0


def results_of(folder: Folder) -> dict[str, str]:
    with Store(folder.results) as store:
        return {student: result.to_json() for student, result in store.latest(overhead.NAME).items()}
