"""Marks in nbgrader's real gradebook, in SQLite and in a PostgreSQL server that is started here.

Needs Debian's package postgresql beside the extras [dev,instructor].
"""

from __future__ import annotations

import csv
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psycopg
import pytest
from nbformat.v4 import new_notebook
from nbgrader.preprocessors import AssignLatePenalties

import tito
from tito import release
from tito.cli import main
from tito.course import Course, Lesson
from tito.teach import nbgrader_api
from tito.teach.folder import Folder
from tito.teach.marks import gradebook
from tito.teach.marks.gradebook import Book
from tito.teach.marks.late import ByHand, marks
from tito.teach.marks.policy import Policy
from tito.teach.marks.store import Store
from tito.teach.result import CheckResult, Key, Result

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own queries

ASSIGNMENT = "01_toy"
POINTS = {"Box": 2.0, "Box negative": 1.0, "Add": 1.0, "Sub": 1.0}  # of the toy lesson in tests/conftest.py
QUESTION = "\n\n# %% [markdown]\n# **Think.** Why twice?\n# <details><summary>Answer</summary>It is.</details>\n"
NOON = datetime(2027, 3, 1, 12, tzinfo=timezone.utc)
KILLS, COMMITS = (20, 1) if os.environ.get("TITO_LONG") else (2, 5)
CONFIG = Path(tito.__file__).parent / "teach" / "nbgrader_config.py"


def made(student: str, earned: float = 1.0, submission: str = "s1", bundle: str = "b1", **only: float) -> Result:
    """A result in which each check earned its points, or a share of them, or what is named."""
    key = Key(student, ASSIGNMENT, submission, bundle, "reference", {"wall": 10.0}, "0" * 16, "3.11.7", "2.2.0")
    checks = (
        CheckResult(name, name.split()[0], points, only.get(name.replace(" ", "_"), points * earned), False, "ok")
        for name, points in POINTS.items()
    )
    return Result(key, "graded", checks=tuple(checks))


# ---- a course, a database


class Server:
    """A PostgreSQL server in a folder of its own, on a Unix socket, run by a user that is not root."""

    def __init__(self) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        assert programs, "PostgreSQL is missing; install it: apt-get install postgresql"
        self.programs = programs[-1]
        self.root = Path(mkdtemp(prefix="tito-pg-", dir="/tmp"))  # short: a socket's path has at most 107 bytes
        self.user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            shutil.chown(self.root, self.user)
        self.run("initdb", "--auth=trust", "--encoding=UTF8", "--no-sync")
        options = f"-k {self.root} -c listen_addresses='' -F"
        self.run("pg_ctl", "-w", "-l", str(self.root / "log"), "-o", options, "start")

    def run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.root / "data"), *arguments]
        user = self.user if os.getuid() == 0 else None
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", user=user)

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{self.user}@/{name}?host={self.root}"

    def sql(self, statement: str) -> None:
        with psycopg.connect(f"host={self.root} user={self.user} dbname=postgres", autocommit=True) as connection:
            connection.execute(statement)

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(self.root)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL server."""
    server = Server()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def template(make_lesson: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course folder in which nbgrader generated the toy lesson with one written question of 2 points."""
    lesson = replace(make_lesson(tmp_path_factory.mktemp("toy")), question_points=2)
    with open(lesson.source, "a", encoding="utf-8") as file:
        file.write(QUESTION)
    root = tmp_path_factory.mktemp("template")
    (root / ".teach").mkdir()
    shutil.copy(CONFIG, root / "nbgrader_config.py")
    source = root / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(release.notebook_text(lesson, solutions=True), encoding="utf-8")
    generate(Folder(root))
    return root


def generate(folder: Folder) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # nbgrader calls alembic
        made = nbgrader_api.open_course(folder).generate_assignment(ASSIGNMENT, force=True)
    assert made["success"], made["log"]


Fresh = Callable[[], Folder]


@pytest.fixture(scope="module")
def postgres_template(server: Server, template: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database in which nbgrader generated the same."""
    root = tmp_path_factory.mktemp("postgres") / "course"
    shutil.copytree(template, root)
    server.sql("CREATE DATABASE template_of_ours")
    use(root, server.url("template_of_ours"))
    generate(Folder(root))
    return "template_of_ours"


def use(root: Path, url: str) -> None:
    """What an instructor writes into nbgrader_config.py for another database."""
    with open(root / "nbgrader_config.py", "a", encoding="utf-8") as file:
        file.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    (root / "gradebook.db").unlink()


@pytest.fixture(params=["sqlite", "postgresql"])
def fresh(request: pytest.FixtureRequest, template: Path, tmp_path: Path) -> Fresh:
    """Makes course folders of this test's own, on either database."""
    numbers = count()

    def make() -> Folder:
        root = tmp_path / f"course{next(numbers)}"
        shutil.copytree(template, root)
        if request.param == "postgresql":
            server, made = request.getfixturevalue("server"), request.getfixturevalue("postgres_template")
            name = f"test_{abs(hash(root))}"
            server.sql(f"CREATE DATABASE {name} TEMPLATE {made}")
            use(root, server.url(name))
        return Folder(root)

    return make


@pytest.fixture
def folder(fresh: Fresh) -> Folder:
    """A course folder."""
    return fresh()


on_sqlite = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)


def push(folder: Folder, store: Store, policy: Policy | None = None, again: bool = False) -> int:
    """Bring the gradebook up to the store; how many students it was about."""
    policy = policy or Policy()
    with gradebook.opened(folder, ASSIGNMENT) as book:
        hands, written = gradebook.by_hand(book)
        found = marks(store, ASSIGNMENT, policy, hands, written)
        return sum(gradebook.push(book, store, policy, found, again))


def grades(book: Book, student: str) -> dict[str, tuple[float | None, float | None, bool]]:
    """Cell to auto score, manual score, whether somebody must look at it."""
    (notebook,) = book.gradebook.find_submission(ASSIGNMENT, student).notebooks
    return {
        grade.cell.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade) for grade in notebook.grades
    }


def enter(book: Book, student: str, **cells: float) -> None:
    """What a person does in formgrader: a score and a comment, and the cell is seen to."""
    for name, score in cells.items():
        grade = book.gradebook.find_grade(name.replace("_", "-"), ASSIGNMENT, ASSIGNMENT, student)
        grade.manual_score, grade.needs_manual_grade = score, False
    comment = book.gradebook.find_comment("answer-think-1", ASSIGNMENT, ASSIGNMENT, student)
    comment.manual_comment = "Well seen."
    book.gradebook.db.commit()


# ---- what stands in it


@on_sqlite
def test_scores_stand_in_their_cells(folder: Folder) -> None:
    with Store(folder.results) as store:
        store.add(made("ada"), NOON)
        store.add(made("bob", 0, Box_negative=0.5))
        assert push(folder, store) == 2 and push(folder, store) == 0 and push(folder, store, again=True) == 2
    with gradebook.opened(folder, ASSIGNMENT) as book:
        assert grades(book, "ada") == {
            "check-Box": (2, None, False),
            "check-Box-negative": (1, None, False),
            "check-Add": (1, None, False),
            "check-Sub": (1, None, False),
            "answer-think-1": (None, None, True),
        }
        ada, bob = (book.gradebook.find_submission(ASSIGNMENT, student) for student in ("ada", "bob"))
        assert (ada.score, ada.max_score, ada.max_written_score, ada.needs_manual_grade) == (5, 7, 2, True)
        assert bob.score == 0.5
        assert (ada.timestamp, bob.timestamp) == (NOON.replace(tzinfo=None), None)


def test_what_people_entered_stays(folder: Folder) -> None:
    with Store(folder.results) as store:
        store.add(made("ada", 0), NOON)
        push(folder, store)
        with gradebook.opened(folder, ASSIGNMENT) as book:
            enter(book, "ada", answer_think_1=1.5, check_Box=1)
        result = made("ada", 1, bundle="b2")
        store.add(result)
        store.apply([result.key])
        push(folder, store)
        with gradebook.opened(folder, ASSIGNMENT) as book:
            found = grades(book, "ada")
            assert found["check-Box"] == (2, 1, True)  # looked at again, since the grader now says otherwise
            assert found["check-Add"] == (1, None, False)
            assert found["answer-think-1"] == (None, 1.5, False)  # the same submission: nothing to look at
            comment = book.gradebook.find_comment("answer-think-1", ASSIGNMENT, ASSIGNMENT, "ada")
            assert comment.manual_comment == "Well seen."
            hands, written = gradebook.by_hand(book)
            assert written == 2 and hands["ada"] == ByHand({"check-Box": 1}, 1.5)
            (mark,) = marks(store, ASSIGNMENT, Policy(), hands, written)
            assert (mark.score, mark.points) == (5.5, 7) == (book.gradebook.find_submission(ASSIGNMENT, "ada").score, 7)
        store.add(made("ada", 1, submission="s2"), NOON + timedelta(hours=1))
        push(folder, store)
        with gradebook.opened(folder, ASSIGNMENT) as book:
            assert grades(book, "ada")["answer-think-1"] == (None, 1.5, True)  # another answer, perhaps


@on_sqlite
def test_a_penalty_is_not_sticky(folder: Folder) -> None:
    late = Policy(due=NOON, late="per day", percent=10)
    with Store(folder.results) as store:
        store.add(made("ada"), NOON + timedelta(days=1, hours=1))
        for policy, penalty in ((late, 1.4), (replace(late, late="zero"), 5), (late, 1.4), (Policy(due=NOON), 0)):
            push(folder, store, policy)
            with gradebook.opened(folder, ASSIGNMENT) as book:
                submission = book.gradebook.find_submission(ASSIGNMENT, "ada")
                assert submission.late_submission_penalty == pytest.approx(penalty)
                assert submission.total_seconds_late == 25 * 3600


@on_sqlite
def test_plain_nbgrader_asks_for_the_same_penalty(folder: Folder) -> None:
    late = "{policy = 'per day', percent = 10}"
    rows = f"""[assignment."{ASSIGNMENT}"]\ndue = 2027-03-01T12:00:00Z\nlate = {late}\n"""
    with Store(folder.results) as store:
        store.add(made("ada"), NOON + timedelta(days=1, hours=1))
        push(folder, store, Policy(due=NOON))
    config = nbgrader_api.open_course(folder).config  # as it is shipped
    about = {"notebook": ASSIGNMENT, "assignment": ASSIGNMENT, "student": "ada"}
    with gradebook.opened(folder, ASSIGNMENT) as book:
        resources = {"nbgrader": {**about, "db_url": str(book.gradebook.engine.url)}}
    for text, penalty in ((rows, 1.4), (rows.replace("10}", "20}"), 2.8), ("", 0)):
        folder.settings.write_text(text, encoding="utf-8")
        AssignLatePenalties(config=config).preprocess(new_notebook(), resources)
        with gradebook.opened(folder, ASSIGNMENT) as book:
            found = book.gradebook.find_submission(ASSIGNMENT, "ada").late_submission_penalty
            assert (found or 0) == pytest.approx(penalty)


@on_sqlite
def test_a_dropped_check_counts_nowhere_and_comes_back(folder: Folder) -> None:
    with Store(folder.results) as store:
        store.add(made("ada"))
        for policy, score, most in ((Policy(), 5, 7), (Policy(drop=frozenset({"Box"})), 3, 5), (Policy(), 5, 7)):
            push(folder, store, policy)
            with gradebook.opened(folder, ASSIGNMENT) as book:
                submission = book.gradebook.find_submission(ASSIGNMENT, "ada")
                assert (submission.score, submission.max_score) == (score, most)


@on_sqlite
def test_a_refused_submission_has_nothing_for_its_checks(folder: Folder) -> None:
    with Store(folder.results) as store:
        store.add(Result(made("ada").key, "refused", "the file is no notebook"))
        push(folder, store)
    with gradebook.opened(folder, ASSIGNMENT) as book:
        found = grades(book, "ada")
    assert found.pop("answer-think-1") == (None, None, True)
    assert set(found.values()) == {(0, None, False)}


@on_sqlite
def test_a_gradebook_made_anew_is_filled_anew(folder: Folder) -> None:
    with Store(folder.results) as store:
        store.add(made("ada"))
        push(folder, store)
        with gradebook.opened(folder, ASSIGNMENT) as book:
            book.gradebook.remove_submission(ASSIGNMENT, "ada")
        assert push(folder, store) == 1


@on_sqlite
def test_the_commands_fill_it_and_take_from_it_what_people_entered(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    course = Course(folder.root, "Toys", (Lesson("01", "toy", "Toys", 60, (), folder.root),), ())
    folder.roster.write_text("id,first_name,last_name,email\nada,Ada,L,a@x\nbob,Bob,M,b@x\n", encoding="utf-8")
    monkeypatch.chdir(folder.root)

    def tito(*line: str) -> str:
        assert main(["teach", "export", "01", "--to", *line], course) == 0
        return capsys.readouterr().out

    with Store(folder.results) as store:
        store.add(made("ada", 0.5), NOON)
    assert "1 submissions would go" in tito("gradebook", "--dry-run")
    assert "1 submissions went" in tito("gradebook") and "0 submissions went" in tito("gradebook")
    assert "1 of 2 handed in, 0 late, 1 wait for a grader" in tito("csv")
    with gradebook.opened(folder, ASSIGNMENT) as book:
        enter(book, "ada", answer_think_1=1.5)
    assert "0 wait for a grader" in tito("csv")
    with open(folder.out / f"{ASSIGNMENT}-csv.csv", encoding="utf-8", newline="") as file:
        ada, bob = csv.DictReader(file)
    assert (ada["score"], ada["points"], ada["waits_for_a_grader"]) == ("4", "7", "0")
    assert (bob["status"], bob["score"]) == ("missing", "")


# ---- killed in the middle

DRIVER = """
import os, signal, sys
from collections import Counter
from pathlib import Path
import sqlalchemy.engine
from sqlalchemy import event
import nbgrader.api
from tito.teach.marks import gradebook
from tito.teach.folder import Folder
from tito.teach.marks.late import marks
from tito.teach.marks.policy import Policy
from tito.teach.marks.store import Store

gradebook.BATCH = 2
seen = Counter()

def run(root, kind, number):
    def count(name):
        seen[name] += 1
        if (name, seen[name]) == (kind, number):
            os.kill(os.getpid(), signal.SIGKILL)
    event.listen(sqlalchemy.engine.Engine, "before_cursor_execute", lambda *_: count("statement"))
    event.listen(sqlalchemy.engine.Engine, "commit", lambda *_: count("commit"))
    folder, policy = Folder(Path(root)), Policy()
    with Store(folder.results) as store, gradebook.opened(folder, "01_toy") as book:
        done = sum(gradebook.push(book, store, policy, marks(store, "01_toy", policy)))
    print(seen["statement"], seen["commit"], done, flush=True)

for line in sys.stdin:
    root, kind, number = line.split()
    child = os.fork()
    if not child:
        run(root, kind, int(number))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)
"""


Run = Callable[..., list[str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Brings a folder's gradebook up to its store in a process, which kills itself before a statement or a commit."""
    command = [sys.executable, "-W", "ignore", "-c", DRIVER]
    driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    assert driver.stdin and driver.stdout
    ask, answers = driver.stdin, driver.stdout

    def run(folder: Folder, kind: str = "never", number: int = 0) -> list[str]:
        print(folder.root, kind, number, file=ask, flush=True)
        said = [answers.readline().strip()]
        return said if said[0] == "killed" else [*said, answers.readline().strip()]

    yield run
    driver.communicate()


def everything(folder: Folder) -> object:
    """All that the gradebook says, but for ids that are drawn anew."""
    with gradebook.opened(folder, ASSIGNMENT) as book, Store(folder.results) as store:
        found = [
            (
                submission.student_id,
                submission.timestamp,
                [(n.name, n.late_submission_penalty, sorted(grades(book, submission.student_id).items()))
                 for n in submission.notebooks],
                [sorted((c.name, c.comment) for c in n.comments) for n in submission.notebooks],
            )
            for submission in book.gradebook.assignment_submissions(ASSIGNMENT)
        ]  # fmt: skip
        return sorted(found), store.marked(book.name, ASSIGNMENT)


def test_killed_in_the_middle_and_repeated_it_ends_the_same(fresh: Fresh, run: Run) -> None:
    def filled() -> Folder:
        folder = fresh()
        with Store(folder.results) as store:
            for i in range(6):
                store.add(made(f"student{i}", i / 6), NOON + timedelta(hours=i))
        return folder

    whole = filled()
    statements, commits, done = map(int, run(whole)[0].split())
    assert done == 6
    points = [("statement", part * statements // (KILLS + 1)) for part in range(1, KILLS + 1)]
    for kind, number in (*points, *(("commit", number) for number in range(commits, commits // 2, -COMMITS))):
        folder = filled()
        assert run(folder, kind, number) == ["killed"]
        assert everything(folder) != everything(whole)
        assert run(folder)[1] == "ended"
        assert everything(folder) == everything(whole)
