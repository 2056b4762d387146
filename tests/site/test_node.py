"""Every lesson under Pyodide, in Node: all cells of the solved lesson run, all visible checks are ok, and a wrong
answer is told as it is told here. Runs when it is named, as it needs Node.js and what npm brings: make site-test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tito import release
from tito.course import Course, Lesson
from tito.dev.demo import answer
from tito.dev.mistakes import mistakes_of
from tito.inpage.saved import digest, solutions

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

import vendor  # noqa: E402

COURSE = Course.load(ROOT)
LESSONS = {lesson.stem: lesson for lesson in COURSE.everything}
MOST_LOCAL = 2  # cells of a lesson that may be left out
Json = dict[str, Any]


@pytest.fixture(scope="session")
def pyodide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pyodide as the site has it."""
    folder = tmp_path_factory.mktemp("pyodide")
    assert vendor.pyodide(folder, "own") == vendor.BESIDE, "no wheels: neither a folder of them nor Pyodide's CDN"
    return folder


def asked(pyodide: Path, *requests: Json) -> list[Json]:
    """What the door in Pyodide answers."""
    command = ["node", str(ROOT / "tests" / "site" / "node_lessons.mjs"), str(pyodide), str(ROOT)]
    done = subprocess.run(command, input=json.dumps(requests), capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def opened(lesson: Lesson) -> Json:
    return {"ask": "open", "lesson": lesson.id, "saved": {}, "prebuilt": None}


def runs(lesson: Lesson) -> Iterator[Json]:
    """A request for each cell that is no check and not marked as local, the course's answers in."""
    ours = solutions(lesson)
    for cell in release.student_cells(lesson):
        if cell.kind == "code" and cell.role != "check" and "local" not in cell.marks:
            yield {"ask": "run", "id": cell.id, "source": ours.get(cell.id, cell.source)}


@pytest.mark.parametrize("stem", LESSONS)
def test_every_cell_runs_and_every_check_is_ok(stem: str, pyodide: Path) -> None:
    lesson = LESSONS[stem]
    check = {"ask": "check", "exercise": "", "sources": solutions(lesson)}
    _, *ran, checked = asked(pyodide, opened(lesson), *runs(lesson), check)
    assert [(one["error"], one["todo"]) for one in ran if one["status"] != "ok"] == []
    assert {one["check"]: one["status"] for one in checked["checks"]} == {
        cell.name: "ok" for cell in lesson.cells() if cell.role == "check" and not cell.hidden
    }


@pytest.mark.parametrize("stem", LESSONS)
def test_few_cells_are_local_and_none_that_is_written(stem: str) -> None:
    local = [cell for cell in LESSONS[stem].cells() if "local" in cell.marks]
    assert len(local) <= MOST_LOCAL
    assert all(cell.role == "demo" and len(str(cell.marks["local"]).split()) > 2 for cell in local)


@pytest.mark.parametrize("id", ["01", "03", "06"])
def test_a_wrong_answer_is_told_as_it_is_told_here(id: str, pyodide: Path) -> None:
    """`tito test` says it in tests/test_inpage.py, of the same mistakes, on the machine that they are listed for."""
    lesson = COURSE.lesson(id)
    ours = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    mistakes = mistakes_of(lesson)[::4]
    sources = [
        {**solutions(lesson), f"exercise-{one.exercise}": answer(one.apply(ours[one.exercise]))} for one in mistakes
    ]
    checks = [{"ask": "check", "exercise": one.exercise, "sources": text} for one, text in zip(mistakes, sources)]
    _, *answers = asked(pyodide, opened(lesson), *checks)
    assert [told(each) for each in answers] == here(lesson, checks)


def told(answer: Json) -> list[list[Any]]:
    return [[one[key] for key in ("check", "status", "line", "yours", "looks_like")] for one in answer["checks"]]


HERE = """
import json, sys
from tito.inpage.door import Door
door = Door(sys.argv[1], lambda kind, text: None)
print(json.dumps([json.loads(door.ask(json.dumps(request))) for request in json.load(sys.stdin)]))
"""


def here(lesson: Lesson, requests: list[Json]) -> list[list[list[Any]]]:
    """What the same door says in this Python."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", HERE, f"{folder}/page"]
        text = json.dumps([opened(lesson), *requests])
        done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, encoding="utf-8", check=True)
    return [told(each) for each in json.loads(done.stdout)[1:]]


def test_whole_numbers_have_64_bits(pyodide: Path) -> None:
    source = """
a, i = np.array([3, 1, 2]), np.array([2, 0], dtype=np.int64)
kinds = [a, np.arange(3), np.where(a > 1, 1, 0), a.argmax(), a.argsort(), (a > 1).sum(), a.astype(int), np.full(2, 7),
         np.zeros(2, int), np.nonzero(a)[0], np.concatenate([[1], [2]]), a.take(i), np.take(a, i), a.repeat([1, 2, 1]),
         np.bincount(i), np.unique(a, return_counts=True)[1], np.random.default_rng(0).permutation(3)]
[str(np.asarray(one).dtype) for one in kinds], str(np.array([1], np.int32).dtype), repr(a)
"""
    numpy = {"ask": "run", "id": "imports", "source": "import numpy as np"}
    *_, ran = asked(pyodide, opened(LESSONS["01_tensor"]), numpy, {"ask": "run", "id": "cell-3", "source": source})
    assert ran["error"] == ""
    assert ran["value"] == str((["int64"] * 17, "int32", "array([3, 1, 2])"))


def test_the_script_and_python_digest_alike() -> None:
    script = f"import {{ digest }} from {json.dumps((ROOT / 'site/run/src/digest.js').as_uri())};"
    sources = ["", "x = 1", "x = 1  \n\n", "\n\tä = '€𝄞'\t\n  y"]
    script += f"console.log(JSON.stringify({json.dumps(sources)}.map(digest)))"
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, check=True)
    assert json.loads(done.stdout) == [digest(source) for source in sources]
