"""What works on one system and breaks on another: encodings, consoles of code page 1252, paths, exchanged folders."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from tito import swap
from tito.course import Course
from tito.studentfile import StudentCell, StudentFile

ROOT = Path(__file__).resolve().parent.parent
SUPPLIED = [path for lesson in Course.find().everything for path in (*lesson.supplied, lesson.source)]
SOURCES = sorted([*(ROOT / "tito").rglob("*.py"), *SUPPLIED, *(ROOT / "milestones").glob("*.py")])
BINARY = "b"
OTHERS = ("tarfile", "os", "archive", "Image", "Run", "cls")  # whose `open` is another: of archives, of a run's folder


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_file_of_text_is_opened_as_utf_8(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [f"line {call.lineno}" for call in calls if opens_text(call) and not names_utf_8(call)] == []


def opens_text(call: ast.Call) -> bool:
    """Whether a call opens, reads or writes a file of text, or a program's output as text."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = {keyword.arg for keyword in call.keywords}
    if name in ("read_text", "write_text") and owner(call) != "self":
        return not (name == "write_text" and isinstance(call.func, ast.Name))  # our own, which names it
    if name in ("open", "fdopen", "NamedTemporaryFile", "TemporaryFile") and owner(call) not in OTHERS:
        return name.startswith(("open", "fdopen")) and BINARY not in mode(call)
    return bool({"text", "universal_newlines"} & given) or (name in ("run", "Popen") and "errors" in given)


def owner(call: ast.Call) -> str:
    return call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""


def mode(call: ast.Call) -> str:
    words = [each.value for each in (*call.args, *(k.value for k in call.keywords)) if isinstance(each, ast.Constant)]
    return next((str(word) for word in words if isinstance(word, str) and set(word) <= set("rwxab+t")), "r")


def names_utf_8(call: ast.Call) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "encoding"]
    return any(isinstance(value, ast.Constant) and str(value.value).startswith("utf-8") for value in given)


def test_the_test_of_encodings_sees_what_it_should() -> None:
    bad = ("open(p)", "open(p, 'w')", "p.open()", "p.read_text()", "p.write_text(x, newline='')", "run(c, text=True)")
    good = ("open(p, 'rb')", "p.open('wb')", "p.read_text(encoding='utf-8-sig')", "os.open(p, 0)", "p.read_bytes()")
    for text, expected in [*((each, True) for each in bad), *((each, False) for each in good)]:
        [call] = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        assert (opens_text(call) and not names_utf_8(call)) is expected, text


# A console of Windows, and a folder with a name of one's own


@pytest.fixture
def elsewhere(learner: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The learner's workspace in a folder with spaces and letters of other alphabets."""
    place = learner.folder.parent / "Ada Löves Übungen λ"
    shutil.move(learner.folder, place)
    learner.folder = place
    monkeypatch.chdir(place)
    return learner


def console(learner: Any, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """tito on a console of code page 1252, where Python's own default is that, too."""
    env = learner.environment(PYTHONIOENCODING="cp1252:strict", PYTHONUTF8="0", NO_COLOR="1", LC_ALL="C")
    command = learner.command(*arguments)
    return subprocess.run(command, cwd=learner.folder, env=env, capture_output=True, check=False)


def test_the_whole_way_on_a_console_of_code_page_1252(elsewhere: Any) -> None:
    elsewhere.solve()
    norm = "@patch\ndef norm(self: Vector) -> float:\n    print('λ → ∞')\n    return 'ö λ'"
    elsewhere.answer(norm=norm)
    failed = console(elsewhere, "test")
    assert (failed.returncode, failed.stderr) == (1, b"")
    text = failed.stdout.decode("cp1252")
    assert "yours return 'ö ?'" in text and "printed ? ? ?" in text and "\x1b" not in text
    elsewhere.answer(norm="# λ: die Länge\n" + norm.replace("'ö λ'", "float(np.sqrt((self.data**2).sum()))  # √ λ"))
    ways = ("test", "export", "", "status", "diff 01", "hint 01 norm", "open 02 --no-launch", "update 01", "reset 01")
    for line in ways:
        done = console(elsewhere, *line.split())
        assert (done.returncode, done.stderr) == (0, b""), line
        done.stdout.decode("cp1252")
    assert "# √ λ" in (elsewhere.folder / "tinytorch" / "vector.py").read_text(encoding="utf-8")
    report = console(elsewhere, "doctor", "--report").stdout.decode("cp1252")
    assert "mend it with:  export PYTHONUTF8=1" in report and "stdout cp1252" in report


def test_errors_inside_the_package_where_letters_are_foreign(elsewhere: Any) -> None:
    elsewhere.solve()
    elsewhere.answer(
        norm="@patch\ndef norm(self: Vector) -> float:\n    return float(np.sqrt((self.data**2).sum()))  # λ"
    )
    elsewhere.tito("export 01")
    program = elsewhere.folder / "probieren λ.py"
    program.write_text("from tinytorch import Vector\nVector('λ').norm()\n", encoding="utf-8")
    env = elsewhere.environment(PYTHONIOENCODING="cp1252:replace", PYTHONUTF8="0")
    command = [sys.executable, "-m", "tito.run", program.name]
    done = subprocess.run(command, cwd=elsewhere.folder, env=env, capture_output=True, check=False)
    assert b" = modules/01_vector.ipynb, cell 14, line 3" in done.stderr


@pytest.mark.parametrize("ending", [".ipynb", ".py"])
def test_a_path_of_windows_in_messages(ending: str) -> None:
    path = PureWindowsPath(rf"C:\Users\Ada Löve\my tinytorch\modules\01_tensor{ending}")
    label = StudentFile(path, ()).label(StudentCell(9, "code", ""))  # type: ignore[arg-type]
    assert label == ("<cell 9>" if ending == ".ipynb" else "modules/01_tensor.py")


def test_an_export_where_folders_change_places_in_three_steps(elsewhere: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "in_one_step", lambda new, live: False)
    elsewhere.solve()
    assert elsewhere.tito("export 01")[0] == 0
    (elsewhere.folder / "tinytorch" / "notes of mine.txt").write_text("λ", encoding="utf-8")
    assert elsewhere.tito("open 02 --no-launch")[0] == 0
    elsewhere.solve("02")
    assert elsewhere.tito("export 02")[0] == 0
    assert sorted(names(elsewhere.folder / "tinytorch")) == [
        "__init__.py", "line.py", "notes of mine.txt", "rounding.py", "vector.py",
    ]  # fmt: skip
    assert [name for name in names(elsewhere.folder / ".tito") if name.startswith(("staging", "journal"))] == []
    assert elsewhere.tito("milestone m1")[0] == 0


def names(folder: Path) -> Iterator[str]:
    return (path.name for path in folder.iterdir() if path.name != "__pycache__")


def test_watch_where_letters_are_foreign(elsewhere: Any) -> None:
    elsewhere.solve()
    env = elsewhere.environment(PYTHONIOENCODING="cp1252:strict", PYTHONUTF8="0")
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    with subprocess.Popen(elsewhere.command("watch", "01"), cwd=elsewhere.folder, env=env, **pipes) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().decode("cp1252") for _ in range(2)]
        process.kill()
    assert said[0].startswith("01 vector   modules/01_vector.ipynb   Ctrl-C ends it") and "  ok  " in said[1]
