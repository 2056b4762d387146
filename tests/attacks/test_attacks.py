"""Each attack of this folder against the sealed grader: none earns more than honest, reads, writes, stays or stops it.

An attack is a file: what it tries, HONEST (what its code honestly earns of 15), FLOOR (what it must keep, where it only
harms itself), EXERCISES (cells in place of the released ones), and where that is the attack, `change` of the notebook's
text and `place` of other files; what several begin with stands in parts/. They run as a class would: one worker, one
after the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tito import release
from tito.course import Course, Lesson
from tito.teach.folder import Folder
from tito.teach.grader import bundle, works
from tito.teach.grader.conversation import Limits
from tito.teach.grader.grading import Work, key_of
from tito.teach.grader.workers import FAULT, Worker
from tito.teach.grader.zygotes import FIRST_UID
from tito.teach.intake import intake
from tito.teach.result import Result

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "parts"))
LESSON = Lesson("01", "toy", "Toy", 10, (), HERE / "lesson")
COURSE = Course(HERE, "Toy", (LESSON,), ())
BUNDLE = bundle.make(COURSE, LESSON)
LIMITS = Limits(check_seconds=0.8, submission_seconds=4.0)
SLOT = 100 + os.getpid() % 900  # another grader on this machine has other users
SLACK = 4.0  # seconds: a busy machine, and the time to end things
TOKEN = "TOKEN-5d1f"  # in whatever no submission may read
HIDDEN = "HIDDEN-MARK-7f3a"  # in a hidden check
PORT = 28571  # of network.py; below those that the system gives out by itself
LEFT = [Path("/tmp") / name for name in ("ran", "pickled", "left-behind", "full0", "sitecustomize.py", "numpy.py")]
ATTACKS = sorted(path for path in HERE.glob("*.py") if path.stem not in ("test_attacks", "conftest"))

pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


class Room:
    """A course folder that everybody may read and write, with secrets in it, and a worker at work."""

    def __init__(self, root: Path, worker: Worker) -> None:
        self.folder, self.worker = Folder(root), worker
        root.chmod(0o777)
        with sqlite3.connect(root / "gradebook.db") as base:
            base.execute("create table marks (student text, score real)")
            base.execute("insert into marks values (?, 0)", (TOKEN,))
        base.close()
        self.submit("other", {"double": f"# {TOKEN}"})
        self.listener = socket.create_server(("127.0.0.1", PORT))
        self.listener.setblocking(False)

    def submit(self, student: str, exercises: Mapping[str, str], attack: ModuleType | None = None) -> None:
        notebook = release.notebook(LESSON)
        for cell in notebook["cells"]:
            cell["source"] = exercises.get(cell["id"].removeprefix("exercise-"), cell["source"])
        text = json.dumps(notebook)
        place = self.folder.submitted / student / LESSON.stem
        place.mkdir(parents=True)
        (place / f"{LESSON.stem}.ipynb").write_text(getattr(attack, "change", str)(text), encoding="utf-8")
        getattr(attack, "place", lambda folder: None)(place)

    def grade(self, student: str) -> Result:
        try:
            work, _ = works.take(self.folder, student, BUNDLE, "reference")
        except intake.Refused as refused:
            work = Work(student, LESSON.stem, {})
            return Result(key_of(work, BUNDLE, LIMITS, b""), "refused", refused.reason)
        return self.worker.grade(work)

    def state(self) -> dict[str, str]:
        """Every file here and in places that all may write, by content."""
        files = [path for path in self.folder.root.rglob("*") if path.is_file() and not path.is_symlink()]
        return {
            str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in [*files, *filter(Path.exists, LEFT)]
        }

    def was_called(self) -> bool:
        """Whether something connected to the listener."""
        try:
            self.listener.accept()
        except BlockingIOError:
            return False
        return True


def sealed_processes() -> set[int]:
    """Processes of the slot's user, where the tests run as root."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            if f"Uid:\t{FIRST_UID + SLOT}\t" in path.read_text(encoding="utf-8"):
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    root = Path(tempfile.mkdtemp(prefix="tito-room-"))
    os.environ["TITO_TEST_TOKEN"] = TOKEN
    with Worker(BUNDLE, TOKEN.encode() * 3, slot=SLOT, limits=LIMITS) as worker:
        made = Room(root, worker)
        yield made
        made.listener.close()
    del os.environ["TITO_TEST_TOKEN"]
    shutil.rmtree(root)


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"attack_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def solution() -> dict[str, str]:
    return {cell.name: cell.source for cell in LESSON.cells() if cell.role == "exercise"}


def test_there_are_enough() -> None:
    assert len(ATTACKS) >= 40
    assert all(load(path).__doc__ for path in ATTACKS)


@pytest.mark.parametrize("path", ATTACKS, ids=lambda path: path.stem)
def test_attack(path: Path, room: Room) -> None:
    attack = load(path)
    room.submit(path.stem, attack.EXERCISES, attack)
    before, processes, began = room.state(), sealed_processes(), time.monotonic()
    result = room.grade(path.stem)
    seconds = time.monotonic() - began
    told = f"{result.reason} {[(check.name, check.status, check.reason, check.error) for check in result.checks]}"
    assert getattr(attack, "FLOOR", 0) <= result.earned <= attack.HONEST, told
    assert TOKEN not in result.to_json() and HIDDEN not in result.to_json()
    assert FAULT not in result.reason
    assert seconds < LIMITS.submission_seconds + SLACK
    assert room.state() == before
    assert not room.was_called()
    assert gone(processes), "a process stayed behind"
    shutil.rmtree(room.folder.submitted / path.stem)


def gone(allowed: set[int]) -> bool:
    """Whether soon none is left but those that were there."""
    end = time.monotonic() + 5
    while sealed_processes() - allowed:
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def test_the_class_goes_on(room: Room) -> None:
    room.submit("honest", solution())
    result = room.grade("honest")
    assert (result.earned, result.points, result.notes, result.reason) == (15, 15, (), "")
