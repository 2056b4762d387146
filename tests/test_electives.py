"""Electives on a small course: they work like any other when named, and are outside of --all, counts and progress."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tito.course import Course, Lesson, Milestone
from tito.dev import check, demo, export, figures, fingerprints, measure
from tito.errors import UserError
from tito.inpage import earlier, lite, needs
from tito.inpage.saved import Saved
from tito.workspace import Workspace

FIXTURES = Path(__file__).resolve().parent / "fixtures"
WRONG_01 = "@patch\ndef norm(self: Vector) -> float:\n    return 5.0\n"  # its own check asks for no other number


WithElective = Callable[..., Course]  # tests/conftest.py


@pytest.fixture
def course(with_elective: WithElective, tmp_path: Path) -> Course:
    return with_elective(tmp_path / "course")


@pytest.fixture
def ada(learner: Any, course: Course) -> Any:
    """A learner on that course who has exported 01 and opened e1."""
    learner.course = course
    learner.solve("01")
    assert learner.tito("export 01")[0] == 0
    assert learner.tito("open e1 --no-launch")[0] == 0
    learner.said.clear()
    return learner


def exported(ada: Any) -> set[str]:
    return {path.stem for path in (ada.folder / ".tito" / "exported").iterdir()}


def package_of(ada: Any) -> dict[str, bytes]:
    files = sorted((ada.folder / "tinytorch").rglob("*.py"))
    return {path.name: path.read_bytes() for path in files}


def imported(ada: Any, program: str) -> str:
    """What a program says that runs on the learner's package."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ada.folder, capture_output=True, encoding="utf-8", check=True).stdout


class TestCourse:
    """What course.toml says."""

    def test_electives_stand_beside_the_course(self, course: Course) -> None:
        assert [lesson.id for lesson in course.lessons] == ["01", "02"]
        assert [lesson.id for lesson in course.electives] == ["e1"]
        assert [lesson.id for lesson in course.everything] == ["01", "02", "e1"]
        assert [one.id for one in course.milestones] == ["m1"]
        assert [one.id for one in course.every_milestone] == ["m1", "m1b"]
        assert [one.elective for one in course.everything] == [False, False, True]

    @pytest.mark.parametrize("key", ["e1", "E1", "path", "e1_path"])
    def test_they_are_found_by_name(self, course: Course, key: str) -> None:
        assert course.lesson(key) == course.electives[0]

    @pytest.mark.parametrize("key", ["m1b", "1962", "bezier", "m1b_bezier_1962"])
    def test_milestones_too(self, course: Course, key: str) -> None:
        assert course.milestone(key) == course.elective_milestones[0]

    def test_who_asks_for_what_is_not_there_hears_of_them(self, course: Course) -> None:
        with pytest.raises(UserError, match="only 01 vector, 02 line, e1 path; see them with"):
            course.lesson("e2")
        with pytest.raises(UserError, match="only m1 Descartes, m1b Bezier; see them with"):
            course.milestone("m2")

    def test_needs_are_followed_through_them(self, course: Course) -> None:
        (path,), (bezier,) = course.electives, course.elective_milestones
        assert [lesson.id for lesson in course.needs_of(path)] == ["01"]
        assert [lesson.id for lesson in course.needs_of(bezier)] == ["01", "e1"]
        further = replace(path, id="e2", needs=("02", "e1"))
        more = replace(course, electives=(path, further))
        assert [lesson.id for lesson in more.needs_of(further)] == ["01", "02", "e1"]
        assert [lesson.id for lesson in more.needs_of(course.milestones[0])] == ["01", "02"]

    @pytest.mark.parametrize("kind", ["lesson", "milestone"])
    def test_nothing_of_the_course_may_need_one(self, kind: str, with_elective: WithElective, tmp_path: Path) -> None:
        minutes = 'name = "late"\nminutes = 5' if kind == "lesson" else 'year = 2000\nfile = "late.py"'
        entry = f'\n[[{kind}]]\nid = "x"\ntitle = "Late"\nneeds = ["01", "e1"]\n{minutes}\n'
        with pytest.raises(UserError, match=r"course.toml: x needs e1, an elective; make x one too, then: tito status"):
            with_elective(tmp_path / "one", entry)
        made = with_elective(tmp_path / "two", f"{entry}elective = true\n")
        late: Lesson | Milestone = made.electives[-1] if kind == "lesson" else made.elective_milestones[-1]
        assert [lesson.id for lesson in made.needs_of(late)] == ["01", "e1"]


class TestWorkspace:
    """What a learner does with one."""

    def test_all_the_way(self, learner: Any, course: Course) -> None:
        learner.course = course
        for line in ("", "open e1 --no-launch", "status"):
            learner.tito(line)
        learner.solve("01")
        for line in ("export 01", "", "status", "milestone m1b", "open e1 --no-launch", "", "test e1", "hint e1"):
            learner.tito(line)
        learner.answer("e1", between="")
        for line in ("test e1", "", "hint walk", "hint e1 walk"):
            learner.tito(line)
        learner.solve("e1")
        for line in ("test e1", "export e1", "", "milestone", "milestone m1b", "milestone 1962", "", "status"):
            learner.tito(line)
        learner.agrees("elective")

    def test_the_lesson_that_one_is_at_is_never_one(self, ada: Any) -> None:
        assert ada.tito("test")[2] == "there is no modules/02_line.ipynb yet; make it with: tito open 02\n"
        ada.tito("open 02 --no-launch")
        ada.solve("02")
        assert "02 line" in ada.tito("export")[1]
        code, _, err = ada.tito("test")
        assert code == 1 and err == "all lessons are exported; name one, as in: tito test 02\n"
        assert ada.tito("")[1].splitlines()[-2:] == [
            "Next:  tito milestone m1",
            "Or:    tito test e1  (1962: points that bend, an elective)",
        ]

    def test_all_of_it_is_yours_without_it(self, ada: Any) -> None:
        ada.tito("open 02 --no-launch")
        ada.solve("02")
        ada.tito("export 02")
        assert ada.tito("milestone m1")[0] == 0
        assert "2 of 2 lessons exported.\nAll of it is yours." in ada.tito("")[1]

    def test_all_leaves_it_out_unless_it_is_named(self, ada: Any) -> None:
        ada.tito("open 02 --no-launch")
        ada.solve("02")
        for command in ("test", "export"):
            code, out, _ = ada.tito(f"{command} --all")
            assert code == 0 and "e1" not in out
            code, out, _ = ada.tito(f"{command} e1 --all")
            assert code == 1 and "02 line" in out and "e1 path   modules/e1_path.ipynb" in out
        assert exported(ada) == {"01_vector", "02_line"}
        ada.solve("e1")
        code, out, _ = ada.tito("test --all e1 --json")
        assert code == 0 and [each["id"] for each in json.loads(out)["lessons"]] == ["01", "02", "e1"]
        assert ada.tito("export --all e1")[0] == 0
        assert exported(ada) == {"01_vector", "02_line", "e1_path"}

    def test_it_survives_the_export_of_another_lesson(self, ada: Any) -> None:
        ada.solve("e1")
        ada.tito("export e1")
        before = package_of(ada)["path.py"]
        ada.tito("open 02 --no-launch")
        ada.solve("02")
        assert "Wrote tinytorch/line.py" in ada.tito("export 02")[1]
        assert package_of(ada)["path.py"] == before
        assert imported(ada, "from tinytorch import Line, between, walk; print(walk([]))") == "0\n"

    def test_export_all_builds_it_anew_as_it_was_exported(self, ada: Any) -> None:
        ada.solve("e1")
        ada.tito("export e1")
        before = package_of(ada)
        ada.answer("e1", walk="def walk(points):\n    return 0.0\n")  # its file is being worked at
        for name in ("path.py", "trail.py"):
            (ada.folder / "tinytorch" / name).unlink()
        assert ada.tito("milestone m1b")[2].endswith("build your package again with: tito export --all\n")
        assert ada.tito("export --all")[0] == 0
        assert package_of(ada) == before
        assert ada.tito("milestone m1b")[0] == 0

    def test_a_lesson_that_breaks_an_exported_one_stays_out(self, ada: Any) -> None:
        ada.solve("e1")
        ada.tito("export e1")
        before = package_of(ada)
        ada.answer("01", norm=WRONG_01)
        code, out, _ = ada.tito("export 01")
        assert code == 1 and "is ok, but not the package built from it:" in out
        assert "tinytorch/path.py" in out and "Not exported.  Stuck?  tito hint e1" in out
        assert package_of(ada) == before

    def test_its_test_is_of_what_its_needs_are_now(self, ada: Any) -> None:
        ada.solve("e1")
        assert ada.tito("test e1")[0] == 0
        ada.answer("01", norm=WRONG_01)
        assert ada.tito("export 01")[0] == 0  # e1 is not exported, so nothing breaks
        code, out, _ = ada.tito("test e1")
        assert code == 1 and "want  17" in out and "got   10" in out

    def test_a_hint_for_an_exercise_finds_it_behind_the_course(self, ada: Any) -> None:
        assert "e1 path, between: hint 1 of 3" in ada.tito("hint between")[1]
        assert "01 vector, add: hint 1 of 3" in ada.tito("hint add")[1]
        (ada.folder / "modules" / "e1_path.ipynb").unlink()
        assert ada.tito("hint between")[2].startswith("lesson 02 has no exercise 'between' but dot, line")

    @pytest.mark.parametrize("line", ["reset e1 walk", "reset e1", "update e1", "diff e1"])
    def test_other_commands_take_it_by_name(self, ada: Any, line: str) -> None:
        ada.solve("e1")
        ada.tito("export e1")
        code, _, err = ada.tito(line)
        assert (code, err) == (0, "")

    def test_a_reference_that_was_given_is_taken(self, ada: Any, course: Course) -> None:
        from tito.teach.assignments.unlocking import given_text

        path = ada.folder / "e1_path.given.py"
        path.write_text(given_text(course.lesson("e1"), "2026-01-02"), encoding="utf-8")
        code, out, _ = ada.tito("unlock e1_path.given.py")
        assert code == 0 and out.endswith("Next:  tito open 02\n")
        assert exported(ada) == {"01_vector", "e1_path"}
        assert imported(ada, "import tinytorch; print(tinytorch.walk([]))") == "0\n"
        ada.tito("open 02 --no-launch")
        ada.solve("02")
        assert ada.tito("export 02")[0] == 0
        assert imported(ada, "from tinytorch import Line, walk; print(walk([]))") == "0\n"

    def test_status_for_programs_holds_it_apart(self, ada: Any) -> None:
        told = json.loads(ada.tito("status --json")[1])
        assert [each["id"] for each in told["lessons"]] == ["01", "02"]
        assert [each["id"] for each in told["milestones"]] == ["m1"]
        (path,), (bezier,) = told["electives"]["lessons"], told["electives"]["milestones"]
        assert (path["id"], path["state"], path["opened"]) == ("e1", "ready", True)
        assert (bezier["id"], bezier["state"], bezier["missing"]) == ("m1b", "locked", ["e1"])
        told = json.loads(ada.tito("milestone --json")[1])
        assert [each["id"] for each in told["milestones"]] == ["m1"]
        assert [each["id"] for each in told["electives"]["milestones"]] == ["m1b"]

    def test_a_bug_report_tells_of_it_once_it_is_opened(self, ada: Any, course: Course) -> None:
        from tito.commands.status import lessons_in_short

        workspace = Workspace.find(ada.folder)
        assert lessons_in_short(course, workspace) == "01 done, 02 not opened, e1 not tested yet"
        ada.file("e1").unlink()
        assert lessons_in_short(course, workspace) == "01 done, 02 not opened"

    def test_a_course_without_electives_says_nothing_of_them(self, learner: Any) -> None:
        for line in ("", "status", "milestone"):
            assert "lective" not in learner.tito(line)[1]


class TestAuthors:
    """`tito dev`: an elective is built into the reference, and proved when it is named."""

    @pytest.fixture(autouse=True)
    def found(self, course: Course, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(Course, "find", lambda: course)
        monkeypatch.chdir(tmp_path)

    def test_the_reference_holds_it_and_counts_it_apart(
        self, course: Course, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert export.run(Namespace()) == 0
        folder = course.root / "build" / "reference" / "tinytorch"
        lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}
        assert lines.keys() == {"__init__.py", "vector.py", "rounding.py", "line.py", "path.py", "trail.py"}
        theirs = lines["path.py"] + lines["trail.py"]
        told = f"(4 files, {sum(lines.values()) - theirs} lines; electives: 2 files, {theirs} lines)."
        assert capsys.readouterr().out == f"Wrote build/reference/tinytorch {told}\n"

    def test_it_is_proved_like_any_other(self, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "tinytorch", ModuleType("tinytorch"))  # as if a test had imported another
        found = check.check(course, course.lesson("e1"))
        assert (found.exercises, found.checks, found.mistakes, found.caught) == (2, 3, 2, 2)
        assert found.problems == tuple(f"{name} has under 6 known mistakes" for name in ("between", "walk"))

    @pytest.mark.parametrize("command", [figures, fingerprints, measure])
    def test_authors_commands_take_it_when_it_is_named(
        self, command: Any, course: Course, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []

        def note(*arguments: Any) -> Any:
            asked.append(next(each for each in arguments if isinstance(each, Lesson)).id)
            return {} if command is not measure else []

        name = {figures: "drawn", fingerprints: "fingerprints", measure: "measures"}[command]
        monkeypatch.setattr(command, name, note)
        for lesson in (None, "e1"):
            command.run(Namespace(lesson=lesson))
        assert asked == ["01", "02", "e1"]

    def test_a_demo_leaves_it_out_and_says_so(
        self, course: Course, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(demo, "TITO", (sys.executable, str(FIXTURES / "tito_on.py"), str(course.root)))
        assert demo.run(Namespace(folder="demo")) == 0
        said = capfd.readouterr().out.splitlines()
        assert said[-1] == "An elective waits there:  tito open e1  (1962: points that bend)"
        assert not Path("demo/tinytorch/path.py").exists()


class TestPage:
    """The site's pages."""

    def test_its_page_builds_on_what_it_needs(self, course: Course, tmp_path: Path) -> None:
        data = tmp_path / "e1.zip"
        data.write_bytes(needs.archive(course, course.lesson("e1")))
        workspace = Workspace.create(tmp_path / "ws")
        needs.unpack(workspace, data)
        assert {path.stem for path in (workspace.private / "exported").iterdir()} == {"01_vector"}
        built = needs.build(course, workspace, course.lesson("e1"))
        assert (built / "tinytorch" / "trail.py").exists() and not (built / "tinytorch" / "line.py").exists()
        assert "def " not in (built / "tinytorch" / "path.py").read_text(encoding="utf-8")  # nothing of its own answers

    def test_a_page_without_a_lesson_has_none(self, course: Course) -> None:
        assert needs.lessons(course, None) == course.lessons

    def test_its_notebook_is_read_like_any_other(self, ada: Any, course: Course) -> None:
        ada.answer("e1", between="")
        found = dict(lite.saved(course, ada.folder / "modules"))
        assert set(found) == {"01", "e1"} and set(found["e1"].passed) == {"between"}
        assert earlier.whose(course.lesson("e1"), found["e1"]).whose == "both"
        assert earlier.whose(course.lesson("e1"), Saved()).whose == "ours"
