"""What runs in a reader's browser, run here: the page's verdict is tito's, cells run as in a notebook, earlier answers
of the reader's own are built on, and nothing but NumPy and the standard library is imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tito import percent, release
from tito.checks import values
from tito.course import Course, Lesson
from tito.dev.demo import answer
from tito.dev.mistakes import mistakes_of
from tito.inpage import alone, earlier, needs, printed, wide
from tito.inpage.door import Door
from tito.inpage.saved import Saved, digest, done, notebook, owner, solutions
from tito.teach.assignments import wheel
from tito.workspace import Workspace

HERE = Path(__file__).resolve().parent
COURSE = Course.find()
SMALL = Course.load(HERE / "fixtures" / "course")
PACKAGE = "tinytorch"
Json = dict[str, Any]


class Reader:
    """A page that is open, asked as the page's script asks it."""

    def __init__(self, folder: Path, course: Course, lesson: str | None, saved: Json, prebuilt: str) -> None:
        self.printed: list[tuple[str, str]] = []
        self.door = Door(str(folder), lambda kind, text: self.printed.append((kind, text)), course)
        self.about = self.ask("open", lesson=lesson, saved=saved, prebuilt=prebuilt)

    def ask(self, ask: str, **more: Any) -> Json:
        return dict(json.loads(self.door.ask(json.dumps({"ask": ask, **more}))))

    def run(self, id: str, source: str) -> Json:
        return self.ask("run", id=id, source=source)

    def check(self, exercise: str = "", **answers: str) -> list[Json]:
        """What the checks say with these answers, by the exercises' names."""
        sources = {f"exercise-{name}": text for name, text in answers.items()}
        return list(self.ask("check", exercise=exercise, sources=sources)["checks"])

    def run_all(self, lesson: Lesson, sources: dict[str, str]) -> list[Json]:
        """Run every cell that is no check, with these sources by id."""
        cells = [cell for cell in release.student_cells(lesson) if cell.kind == "code" and cell.role != "check"]
        return [self.run(cell.id, sources.get(cell.id, cell.source)) for cell in cells]


Open = Callable[..., Reader]


@pytest.fixture
def open_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens pages; afterwards this process is as it was."""
    path, main, modules = list(sys.path), sys.modules["__main__"], forget_package()
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    for variable in ("MPLBACKEND", "TINYTORCH_PACKAGE"):
        monkeypatch.setenv(variable, "")  # to have it put back
    count = iter(range(100))

    def open_(lesson: str | None, course: Course = SMALL, saved: Json | None = None, prebuilt: str = "") -> Reader:
        forget_package()
        return Reader(tmp_path / f"page-{next(count)}", course, lesson, saved or {}, prebuilt)

    yield open_
    forget_package()
    sys.path[:] = path
    sys.modules.update(modules)
    sys.modules["__main__"] = main


def forget_package() -> dict[str, Any]:
    names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}


def whole(lesson: Lesson, **answers: str) -> Json:
    """What a browser keeps of a lesson with these answers, the course's for the rest, all checks passed."""
    cells = solutions(lesson) | {f"exercise-{name}": text for name, text in answers.items()}
    course, passed = release.student_cells(lesson), {}
    for check in (cell for cell in course if cell.role == "check" and not cell.hidden):
        about = owner(course, check)
        passed[check.name] = digest(cells.get(about.id, about.source)) if about else ""
    return {"cells": cells, "passed": passed}


OURS = ("id", "digest", "at", "link")  # what the page adds


def wrong(lesson: Lesson) -> Iterator[tuple[str, str]]:
    """Exercises and wrong answers to them: three that students might give, and three that the lesson lists."""
    written = HERE / "wrong_answers" / f"w{lesson.stem}.py"
    cells = [cell for cell in percent.read(written.read_text(encoding="utf-8")) if cell.role == "exercise"]
    yield from ((cell.name, cell.source) for cell in cells[:3])
    ours = {cell.name: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    yield from ((each.exercise, answer(each.apply(ours[each.exercise]))) for each in mistakes_of(lesson)[:9:3])


@pytest.mark.parametrize("id", ["01", "03", "06"])
def test_the_page_says_what_tito_says(id: str, tmp_path: Path, open_page: Open) -> None:
    lesson, reader = COURSE.lesson(id), open_page(id, COURSE)
    workspace = Workspace.create(tmp_path / "work")
    earlier.store(workspace, [earlier.whose(each, Saved()) for each in COURSE.needs_of(lesson)], {})
    said, failures = [], 0
    for exercise, text in wrong(lesson):
        sources = solutions(lesson) | {f"exercise-{exercise}": text}
        file = workspace.modules / f"{lesson.stem}.ipynb"
        file.write_text(notebook(release.student_cells(lesson), sources), encoding="utf-8")
        told = tito_test(workspace, id)
        page = reader.ask("check", exercise="", sources=sources)
        assert tito_s(page["checks"]) == tito_s(told["checks"])
        assert {**page, "checks": [], "seconds": 0} == {**told, "checks": [], "seconds": 0}
        alone_asked = reader.ask("check", exercise=exercise, sources=sources)["checks"]
        assert alone_asked == [each for each in page["checks"] if each["exercise"] == exercise]
        said += [each["looks_like"] for each in page["checks"] if each["looks_like"]]
        failures += any(each["status"] == "FAIL" for each in page["checks"])
    assert failures >= 4 and len(said) >= 2


def tito_s(checks: list[Json]) -> list[Json]:
    """What tito says of them: all but what the page adds."""
    return [{key: value for key, value in each.items() if key not in OURS} for each in checks]


def tito_test(workspace: Workspace, id: str) -> Json:
    command = [sys.executable, "-m", "tito", "test", id, "--keep-going", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "TINYTORCH_PACKAGE": "", "TITO_SITE": ""}
    done = subprocess.run(command, cwd=workspace.root, env=environment, capture_output=True, check=False)
    return dict(json.loads(done.stdout)["lessons"][0])


def test_a_failure_tells_where_it_is_and_where_it_is_explained(open_page: Open) -> None:
    reader = open_page("01", COURSE)
    mistake = mistakes_of(COURSE.lesson("01"))[0]
    ours = next(cell.source for cell in COURSE.lesson("01").cells() if cell.id == f"exercise-{mistake.exercise}")
    failed = reader.check(mistake.exercise, **{mistake.exercise: answer(mistake.apply(ours))})[0]
    assert failed["at"] == f"exercise-{mistake.exercise}"
    assert failed["id"] == f"check-{mistake.exercise}"
    assert failed["looks_like"] == mistake.says
    assert failed["link"].startswith(f"#{mistake.exercise}-")


def test_checks_see_the_sources_and_not_what_was_run(open_page: Open) -> None:
    reader = open_page("01")
    source = solutions(SMALL.lesson("01"))["exercise-create"]
    reader.run_all(SMALL.lesson("01"), solutions(SMALL.lesson("01")))
    assert [each["status"] for each in reader.check("create")] == ["todo"]
    assert [each["status"] for each in reader.check("add", create=source)] == ["todo"]
    assert [each["status"] for each in reader.check("create", create=source)] == ["ok"]
    reader.run("cell-3", "np.set_printoptions(precision=1)\nVector.__neg__ = None")
    assert [each["status"] for each in reader.check("Vector.neg", create=source)] == ["ok"]


def test_a_check_changes_nothing_for_the_cells(open_page: Open) -> None:
    reader, ask = open_page("02"), f"import {PACKAGE}.vector as module\nid(module), id(__import__('__main__'))"
    before, main, options = reader.run("cell-3", ask)["value"], sys.modules["__main__"], np.get_printoptions()
    reader.check(dot="import os, numpy\nnumpy.set_printoptions(precision=1)\nos.chdir('/')")
    assert (sys.modules["__main__"], np.get_printoptions()) == (main, options)
    assert Path.cwd() != Path("/")
    assert reader.run("cell-3", ask)["value"] == before


@pytest.fixture
def reader(open_page: Open) -> Reader:
    """A page of the small course, its imports run."""
    page = open_page("01")
    page.run("imports", next(cell.source for cell in SMALL.lesson("01").cells() if cell.role == "imports"))
    return page


class TestCells:
    """Cells run as in a notebook."""

    def test_give_the_last_value(self, reader: Reader) -> None:
        assert reader.run("cell-3", "x = 2\nx * 21")["value"] == "42"
        assert reader.run("cell-3", "x")["value"] == "2"
        assert reader.run("cell-3", "x;")["value"] == ""
        assert reader.run("cell-3", "None")["value"] == ""

    def test_print_as_they_run(self, reader: Reader) -> None:
        reader.run("cell-3", "import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('three', end='')")
        assert reader.printed == [("out", "one\n"), ("err", "two\n"), ("out", "three")]

    def test_print_no_more_than_a_page_can_hold(self, reader: Reader) -> None:
        reader.run("cell-3", "for i in range(100_000):\n    print(i)")
        assert printed.MOST < sum(len(text) for _, text in reader.printed) < printed.MOST + 100
        assert reader.printed[-1][1].endswith(printed.CUT)

    def test_tell_errors_by_the_readers_lines(self, reader: Reader) -> None:
        reader.run("exercise-create", "def half(x):\n    return x / 0")
        failed = reader.run("cell-3", "1\nhalf(3)")
        lines = ["cell 3, line 2", "    half(3)", "exercise create, line 2, in half", "    return x / 0"]
        assert failed["error"].splitlines() == [*lines, "ZeroDivisionError: division by zero"]

    def test_tell_the_package_by_its_file_and_nothing_of_libraries(self, reader: Reader) -> None:
        failed = reader.run("cell-3", "tidy(object())")["error"].splitlines()
        assert failed[2].startswith("tinytorch/rounding.py, line ")
        assert len(failed) == 5  # two places, two lines, the error: nothing of numpy's own frames

    def test_tell_what_is_no_python(self, reader: Reader) -> None:
        failed = reader.run("cell-3", "x = 1\nif x\n    2")["error"]
        assert failed == "cell 3, line 2\n    if x\nSyntaxError: expected ':'"

    def test_cut_an_endless_recursion(self, reader: Reader) -> None:
        failed = reader.run("cell-3", "def f(n):\n    return f(n + 1)\nf(0)")["error"]
        assert len(failed.splitlines()) < 30
        assert "RecursionError" in failed

    def test_name_an_exercise_that_is_to_do(self, reader: Reader) -> None:
        stubs = {cell.id: cell.source for cell in release.student_cells(SMALL.lesson("01"))}
        assert reader.run("exercise-create", stubs["exercise-create"])["status"] == "ok"
        todo = reader.run("cell-3", "Vector([1])")
        assert (todo["status"], todo["todo"], todo["error"]) == ("todo", "exercise create", "")

    def test_tell_what_the_package_leaves_open_as_an_error(self, reader: Reader) -> None:
        code = "def left_open():\\n    raise NotImplementedError"
        source = f"import {PACKAGE}.rounding as module\nexec(compile('{code}', module.__file__, 'exec'))\nleft_open()"
        assert reader.run("cell-3", source)["status"] == "error"  # no stub: the package is whole

    def test_name_the_cells_that_a_reader_forgot_to_run(self, open_page: Open) -> None:
        reader = open_page("01")
        assert reader.run("cell-3", "np.array(3)")["not_run"] == ["imports"]
        assert reader.run("cell-3", "Vector")["not_run"] == ["exercise-create"]
        assert reader.run("cell-3", "nobody")["not_run"] == []
        reader.run("imports", "import numpy as np")
        assert reader.run("cell-3", "del np\nnp")["not_run"] == []  # that cell did run

    def test_ask_nobody(self, reader: Reader) -> None:
        assert "input() has nobody to ask" in reader.run("cell-3", "input('name?')")["error"]

    def test_say_which_packages_there_are(self, reader: Reader) -> None:
        assert "The page has NumPy" in reader.run("cell-3", "import pandas_of_nobody")["error"]

    def test_end_by_themselves_only(self, reader: Reader) -> None:
        assert reader.run("cell-3", "raise SystemExit(3)")["error"].endswith("SystemExit: 3")

    def test_show_html_of_a_value(self, reader: Reader) -> None:
        ran = reader.run("cell-3", "class Bold:\n    def _repr_html_(self):\n        return '<b>1</b>'\nBold()")
        assert ran["html"] == "<b>1</b>"

    def test_show_a_failed_check_as_a_block(self, reader: Reader) -> None:
        failed = reader.run("cell-3", 'check("1 + 1", want=3)')["error"]
        assert failed.split() == ["1", "+", "1", "want", "3", "got", "2"]

    def test_warn_by_the_readers_line(self, reader: Reader) -> None:
        said = warnings.formatwarning("careful", UserWarning, "cell 3", 2)
        assert said == "cell 3, line 2: UserWarning: careful\n"

    def test_draw_figures_with_words(self, reader: Reader) -> None:
        assert reader.ask("wanted", source="import math")["packages"] == []
        ran = reader.run(
            "cell-3",
            "import matplotlib.pyplot as plt\nplt.plot([1, 2], label='loss')\nplt.title('It falls')\n"
            "plt.xlabel('step')\nplt.plot([2, 1])",
        )
        (figure,) = ran["figures"]
        assert figure["alt"] == "It falls. across: step. loss"
        assert (ran["value"], figure["png"][:5]) == ("", "iVBOR")
        own = reader.run("cell-3", "from matplotlib.figure import Figure\nFigure()")
        assert [each["alt"] for each in own["figures"]] == ["A figure that this cell drew"]


class TestEarlier:
    """What a lesson builds on."""

    def test_is_ours_where_nothing_is_saved(self, open_page: Open) -> None:
        reader = open_page("02")
        assert reader.about == {"line": "Ours: 01 Vectors.", "unwritten": []}
        ran = reader.run_all(SMALL.lesson("02"), solutions(SMALL.lesson("02")))
        assert [each["status"] for each in ran] == ["ok"] * 3

    def test_is_the_readers_where_it_is_whole(self, open_page: Open) -> None:
        mine = solutions(SMALL.lesson("01"))["exercise-create"].replace("np.array(numbers)", "np.array(numbers) + 0")
        reader = open_page("02", saved={"01": whole(SMALL.lesson("01"), create=mine)})
        assert reader.about["line"] == "Yours: 01 Vectors."
        assert "+ 0" in reader.run("cell-3", f"import inspect, {PACKAGE}.vector as v\ninspect.getsource(v)")["value"]

    def test_is_both_where_some_exercises_are_done(self, open_page: Open) -> None:
        mine = solutions(SMALL.lesson("01"))["exercise-create"].replace("np.array(numbers)", "np.array(numbers) + 0")
        saved = whole(SMALL.lesson("01"), create=mine)
        saved["cells"]["exercise-add"] += "# changed since"
        reader = open_page("02", saved={"01": saved})
        assert reader.about["line"] == "Yours in part, ours for the rest: 01 Vectors (3 of 4)."
        text = reader.run("cell-3", f"import inspect, {PACKAGE}.vector as v\ninspect.getsource(v)")["value"]
        assert "+ 0" in text and "changed since" not in text

    def test_is_ours_with_a_word_when_the_readers_does_not_fold(self, open_page: Open) -> None:
        broken = solutions(SMALL.lesson("01"))["exercise-create"] + "\n@patch\ndef a(self: Nobody): pass"
        reader = open_page("02", saved={"01": whole(SMALL.lesson("01"), create=broken)})
        assert reader.about["line"].startswith("Ours: 01 Vectors. Yours do not go together, ")
        assert reader.run("cell-3", f"import {PACKAGE}.vector")["status"] == "ok"

    def test_stays_a_stub_in_a_class_edition(self, open_page: Open, tmp_path: Path) -> None:
        course = class_edition(SMALL, tmp_path / "class")
        reader = open_page("02", course)
        assert reader.about["line"] == "Write lesson 01 Vectors first: its exercises are not all done here."
        assert reader.about["unwritten"] == ["01_vector"]
        todo = reader.run("cell-3", f"from {PACKAGE} import Vector\nVector([1])")
        assert (todo["status"], todo["todo"]) == ("todo", "lesson 01 Vectors")
        (waits,) = reader.check("dot", dot=solutions(SMALL.lesson("02"))["exercise-dot"])
        assert (waits["status"], waits["waits_for"], waits["error"]) == ("waits", "lesson 01 Vectors", None)
        begun = open_page("02", course, saved={"01": {"cells": whole(SMALL.lesson("01"))["cells"], "passed": {}}})
        assert begun.run("cell-3", f"from {PACKAGE} import Vector\nVector([1]).data.tolist()")["value"] == "[1]"
        again = open_page("02", course, saved={"01": whole(SMALL.lesson("01"))})
        assert again.about["line"] == "Yours: 01 Vectors."

    def test_comes_from_the_archive_that_the_site_made(self, open_page: Open, tmp_path: Path) -> None:
        archive = tmp_path / "02.zip"
        archive.write_bytes(needs.archive(SMALL, SMALL.lesson("02")))
        with zipfile.ZipFile(archive) as file:
            (key,) = {name.split("/")[1] for name in file.namelist() if name.startswith("cache/")}
        reader = open_page("02", prebuilt=str(archive))
        assert reader.door.page and reader.door.page.package and reader.door.page.package.name == key
        assert reader.run("cell-3", f"import {PACKAGE}.vector")["status"] == "ok"

    def test_is_everything_on_a_page_without_a_lesson(self, open_page: Open) -> None:
        reader = open_page(None)
        assert reader.run("hello", "1 + 1")["value"] == "2"
        assert reader.door.page and reader.door.page.package is None  # nothing was built for that
        assert reader.run("hello", f"from {PACKAGE} import Vector\nVector([1]).data")["value"] == "array([1])"
        assert "refused" in reader.ask("check", exercise="", sources={})


def class_edition(course: Course, folder: Path) -> Course:
    """The course without solutions, as a class gets it."""
    for lesson in course.lessons:
        place = folder / "modules" / lesson.stem
        place.mkdir(parents=True)
        (place / lesson.source.name).write_text(wheel.class_text(lesson), encoding="utf-8")
        for path in lesson.supplied:
            (place / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "course.toml").write_text((course.root / "course.toml").read_text(encoding="utf-8"), encoding="utf-8")
    return Course.load(folder)


class TestSaved:
    """What the browser keeps."""

    def test_spaces_at_line_ends_change_no_digest(self) -> None:
        assert digest("x = 1  \n\t\ny\n") == digest("x = 1\n\ny") != digest("x = 1\ny")

    def test_odd_things_are_left_out(self) -> None:
        assert Saved.read({"cells": {"a": 3, "b": "x"}, "passed": []}) == Saved({"b": "x"}, {})
        assert Saved.read(None) == Saved()

    def test_an_exercise_is_done_while_its_text_is_the_one_that_passed(self) -> None:
        lesson, names = SMALL.lesson("01"), ("create", "add", "sub", "norm")
        table = whole(lesson)
        assert done(lesson, Saved.read(table)) == dict.fromkeys(names, True)
        table["cells"]["exercise-add"] += "\n# and more"
        assert done(lesson, Saved.read(table)) == {**dict.fromkeys(names, True), "add": False}
        assert done(lesson, Saved()) == dict.fromkeys(names, False)


class TestWide:
    """Whole numbers of 64 bits where NumPy chooses 32."""

    def test_what_a_function_chose_is_widened(self) -> None:
        made = wide.widened(lambda *values, dtype=None: np.array([1, 2], dtype or np.int32))
        assert made([1, 2]).dtype == np.int64
        assert made([1, 2], dtype=int).dtype == np.int64
        assert wide.widened(lambda: (np.int32(1), np.zeros(2, np.int32)))()[0].dtype == np.int64

    def test_what_was_asked_for_stays(self) -> None:
        made = wide.widened(lambda *values, dtype=None: np.array([1, 2], np.int32))
        for asked in (np.int32, "int32", np.dtype("int32")):
            assert made([1], dtype=asked).dtype == np.int32
        assert made(np.zeros(2, np.int32)).dtype == np.int32
        assert made([np.zeros(2, np.int32)]).dtype == np.int32

    def test_indices_come_in_numpys_size(self) -> None:
        seen = []
        wide.indexed(lambda *values: seen.extend(values), 1)(np.arange(3), np.arange(3), (np.arange(2),))
        assert [seen[1].dtype, seen[2][0].dtype] == [np.intp, np.intp]

    def test_checks_take_int32_for_int64_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert values.plain(np.zeros(2, np.int32)).dtype == np.int32
        monkeypatch.setattr(values, "NARROW", True)
        assert values.plain(np.zeros(2, np.int32)).dtype == np.int64
        assert type(values.plain(np.int32(3))) is np.int64


def test_one_process_needs_no_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "filelock", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "filelock")
    monkeypatch.setattr(alone, "find_spec", lambda name: None)
    alone.prepare()
    from filelock import FileLock

    assert FileLock is alone.FileLock
    with FileLock("nowhere").acquire(timeout=1):
        pass


WHOLE_LESSON = """
import json, sys

sys.path[:0] = sys.argv[3:]
from tito.course import Course
from tito.inpage.door import Door
from tito.inpage.saved import solutions

course = Course.find()
lesson = course.lesson(sys.argv[1])
door = Door(sys.argv[2], lambda kind, text: None, course)
ask = lambda ask, **more: json.loads(door.ask(json.dumps({"ask": ask, **more})))
ask("open", lesson=lesson.id, saved={})
ours = solutions(lesson)
ran = [ask("run", id=cell.id, source=ours.get(cell.id, cell.source)) for cell in door.page.cells
       if cell.kind == "code" and cell.role != "check"]
checks = ask("check", exercise="", sources=ours)["checks"]
print(json.dumps({"errors": [one["error"] for one in ran if one["status"] != "ok"],
                  "checks": [one["status"] for one in checks]}))
"""


@pytest.mark.parametrize("id", ["01", "08"])
def test_numpy_and_the_standard_library_are_enough(id: str, tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    installed = Path(np.__file__).parent.parent
    names = ["numpy*"] if sys.version_info >= (3, 11) else ["numpy*", "tomli*"]  # Python reads TOML from 3.11 on
    for folder in (found for name in names for found in installed.glob(name)):
        (tmp_path / "only" / folder.name).symlink_to(folder)
    path = [str(tmp_path / "only"), str(HERE.parent)]
    command = [sys.executable, "-I", "-S", "-c", WHOLE_LESSON, id, str(tmp_path / "page"), *path]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["errors"] == []
    assert set(found["checks"]) == {"ok"}
