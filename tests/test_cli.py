"""The commands: what they say (golden files), what they change, and what they do when things are wrong.

`WRITE_GOLDEN=1 pytest tests/test_cli.py` writes the golden files anew; read the difference before you keep it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tito import report
from tito.cli import main
from tito.course import Course
from tito.testing import Outcome

HERE = Path(__file__).resolve().parent
COURSE = HERE / "fixtures" / "course"
GOLDEN = HERE / "golden" / "cli"
FOREIGN = ("numpy", "jupytext", "nbformat", "libcst", "matplotlib")


class Session:
    """A learner at a terminal: runs commands in this process and keeps what was said."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capfd = folder, capfd
        self.course = Course.load(COURSE)
        self.said: list[str] = []

    def tito(self, line: str = "") -> tuple[int, str, str]:
        """Run one command: exit code, stdout, stderr."""
        try:
            code = main(shlex.split(line), self.course)
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        out, err = self.capfd.readouterr()
        self.said.append(
            f"$ {f'tito {line}'.strip()}\n{out}{''.join(f'! {row}' for row in err.splitlines(True))}[{code}]\n"
        )
        return code, out, err

    def file(self, key: str) -> Path:
        """The lesson's file in the workspace."""
        stem = self.course.lesson(key).stem
        return next(self.folder.glob(f"modules/{stem}.*"))

    def write(self, key: str, **answers: str) -> None:
        """Put answers into a lesson's exercises; the reference's with answer "ours"."""
        notebook = json.loads(self.file(key).read_text(encoding="utf-8"))
        ours = {cell.name: cell.source for cell in self.course.lesson(key).cells() if cell.role == "exercise"}
        for name, answer in answers.items():
            text = re.sub(r" *### (BEGIN|END) SOLUTION\n", "", ours[name]) if answer == "ours" else answer
            _cell(notebook, f"exercise-{name}")["source"] = text.splitlines(keepends=True)
        self.save(key, notebook)

    def solve(self, key: str) -> None:
        """Put the reference's answers into all exercises."""
        names = [cell.name for cell in self.course.lesson(key).cells() if cell.role == "exercise"]
        self.write(key, **dict.fromkeys(names, "ours"))

    def save(self, key: str, notebook: dict[str, Any]) -> None:
        """Write a notebook as Jupyter would."""
        self.file(key).write_text(json.dumps(notebook, indent=1), encoding="utf-8")

    def notebook(self, key: str) -> dict[str, Any]:
        """The lesson's notebook."""
        return dict(json.loads(self.file(key).read_text(encoding="utf-8")))

    def transcript(self) -> str:
        """All that was said, without what differs from run to run."""
        text = "".join(self.said).replace(str(self.folder), "~/ws").replace(str(self.folder.parent), "~")
        text = re.sub(r"in \d+\.\d s", "in 0.1 s", text)
        return re.sub(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(_\d)?", "DATE", text)


def _cell(notebook: dict[str, Any], id: str) -> dict[str, Any]:
    return next(cell for cell in notebook["cells"] if cell["id"] == id)


@pytest.fixture
def outside(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return Session(tmp_path / "ws", capfd)


@pytest.fixture
def session(outside: Session, monkeypatch: pytest.MonkeyPatch) -> Session:
    """A session in a new workspace."""
    assert outside.tito("init ws")[0] == 0
    monkeypatch.chdir(outside.folder)
    outside.said.clear()
    return outside


def agrees(session: Session, name: str) -> None:
    """The transcript is that of the golden file."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(session.transcript(), encoding="utf-8", newline="\n")
    assert session.transcript() == path.read_text(encoding="utf-8")


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder and the hash of its bytes."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# What is said


def test_help(outside: Session) -> None:
    outside.tito("--help")
    words = re.sub(r"(?<=\S) {2,}|\n {6,}", "  ", outside.said[0])  # Python 3.13 sets the columns anew
    outside.said = [re.sub(r"^ +", "  ", words, flags=re.MULTILINE)]
    agrees(outside, "help")


def test_the_first_lesson(outside: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    outside.tito()
    outside.tito("init ws")
    monkeypatch.chdir(outside.folder)
    for line in ("", "open 01 --no-launch", "test", "hint", "hint", "hint", "hint", "export"):
        outside.tito(line)
    outside.write(
        "01", create="ours", add="@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return self"
    )
    for line in ("", "test", "", "hint", "hint norm"):
        outside.tito(line)
    outside.solve("01")
    for line in ("test", "", "hint", "export", "", "status", "diff 01", "open 02 --no-launch"):
        outside.tito(line)
    agrees(outside, "first_lesson")


def test_to_the_end(session: Session) -> None:
    session.solve("01")
    session.tito("export 01")
    session.tito("open 02")
    session.solve("02")
    session.write(
        "01",
        add="@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return Vector(other.data + self.data)",
    )
    for line in ("test --all", "export --all", "", "milestone", "milestone 1637", "", "milestone m1 --seed 13"):
        session.tito(line)
    for line in (
        "status",
        "diff vector",
        "reset 01 add",
        "test 01",
        "reset 1",
        "test 1",
        "hint line",
        "test",
        "export",
    ):
        session.tito(line)
    agrees(session, "to_the_end")


def test_failures(session: Session) -> None:
    session.solve("01")
    head = "@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n"
    for body in (
        "    print('from', self.data, other.data)\n    change = self.data - other.data\n    return Vector(change)",
        "    return Vector(self.data + other.datum)",
        "    return Vector(self.data + other.data",
        "    return 7",
        "    import sys\n    sys.exit(1)",
        "    import os\n    os._exit(3)",
        "    for i in range(99):\n        print('line', i)\n    return Vector(np.ones((3, 3)))",
    ):
        session.write("01", add=head + body)
        session.tito("test")
    session.tito("test --keep-going")
    session.tito("export")
    agrees(session, "failures")


def test_an_endless_loop(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITO_SECONDS", "0.5")
    session.solve("01")
    session.write("01", norm="@patch\ndef norm(self: Vector) -> float:\n    while True:\n        pass")
    code, out, _ = session.tito("test")
    assert code == 1
    assert "  FAIL  norm       cell 14, line " in out
    assert "cell 14 ran longer than 0.5 s" in out


def test_what_a_learner_does_to_a_notebook(session: Session) -> None:
    session.solve("01")
    notebook = session.notebook("01")
    cells = notebook["cells"]
    cells.remove(_cell(notebook, "exercise-norm"))
    cells.remove(_cell(notebook, "supplied-Vector-repr"))
    _cell(notebook, "check-add")["source"] = "assert True"
    added: dict[str, Any] = {
        "cell_type": "code",
        "source": "%time\nHALF = 0.5\n",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    session.save("01", {**notebook, "cells": [*reversed(cells), added]})
    session.tito("test")
    agrees(session, "edited_notebook")


def test_wrong_use(outside: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in (
        "test",
        "export",
        "status",
        "open 01",
        "hint",
        "diff 01",
        "reset 01",
        "milestone m1",
        "frobnicate",
        "test --fast",
    ):
        assert outside.tito(line)[0] == 2
    (outside.folder.parent / "full").mkdir()
    (outside.folder.parent / "full" / "thesis.txt").write_text("mine", encoding="utf-8")
    outside.tito("init full")
    outside.tito("init full/thesis.txt")
    outside.tito("init ws")
    outside.tito("init ws")
    monkeypatch.chdir(outside.folder / "modules")
    for line in ("open 2", "open 9", "test 02", "export 02", "diff 01", "hint nothing", "reset 01 nothing", "reset 02"):
        outside.tito(line)
    for line in ("milestone m1", "milestone m7", "milestone m1 --seed -1", "test --all"):
        outside.tito(line)
    agrees(outside, "wrong_use")


def test_broken_files(session: Session) -> None:
    path = session.file("01")
    whole = path.read_text(encoding="utf-8")
    for text in (
        whole[:1000],
        "[]",
        whole.replace('"nbformat": 4', '"nbformat": 5'),
        whole.replace('"nbformat_minor": 5', '"nbformat_minor": 9'),
        "<<<<<<< HEAD\n" + whole,
        "",
    ):
        path.write_text(text, encoding="utf-8")
        assert session.tito("test")[0] == 2
        assert path.read_text(encoding="utf-8") == text
    session.tito("reset 01")
    session.tito("test")
    agrees(session, "broken_files")
    assert len(list((session.folder / ".tito" / "backups").iterdir())) == 1


def test_every_error_is_one_line_and_ends_with_a_command() -> None:
    said = [line for path in GOLDEN.glob("*.txt") for line in path.read_text(encoding="utf-8").splitlines()]
    errors = [line[2:] for line in said if line.startswith("! ")]
    assert len(errors) > 30
    assert [line for line in errors if not re.search(r": (tito|cd|pip)\b[^:;]*$", line)] == []


def test_reports_keep_to_a_screen() -> None:
    for path in GOLDEN.glob("*.txt"):
        for said in path.read_text(encoding="utf-8").split("$ ")[1:]:
            lines = [line for line in said.splitlines()[1:-1] if not line.startswith("! ")]
            if said.startswith(("tito test", "tito export", "tito\n")) and "--" not in said.splitlines()[0]:
                assert len(lines) <= (15 if "FAIL" in said else 12), said
                assert all(len(line) <= 78 for line in lines), said


def test_the_longest_failure_keeps_to_a_screen() -> None:
    names = [Outcome("01", f"check_number_{i}", f"e{i}", "ok", i) for i in range(40)]
    names += [Outcome("01", f"check_{i}", f"e{i}", "waits", i, f"exercise_{i}") for i in range(20)]
    long = "\n".join(["x" * 100] * 9)
    bad = Outcome("01", "bad", "bad", "FAIL", 9, "", long, long, long, long, None, ("<cell 9>", 3, "y" * 200), long)
    text = report.text(report.Result("01", "tensor", "f", [*names, bad], ["n" * 200] * 5))
    assert len(text.splitlines()) + 2 <= 15
    assert max(map(len, text.splitlines())) <= 78
    assert {"want", "got", "yours", "FAIL"} <= set(text.split())


@pytest.mark.parametrize("intro", ["", "modules/01_tensor.ipynb is ok, but not the package built from it:"])
def test_a_link_is_whole_and_the_last_line_however_long_the_rest(intro: str) -> None:
    names = [Outcome("01", f"check_number_{i}", f"e{i}", "ok", i) for i in range(40)]
    names += [Outcome("01", f"check_{i}", f"e{i}", "waits", i, f"exercise_{i}") for i in range(20)]
    long, link = "\n".join(["x" * 100] * 9), f"https://example.org/{'y' * 200}#add-subtracts"
    told = {"looks_like": long, "more": link, "inside": ("modules/01_tensor.ipynb, cell 3", 3, "z")}
    bad = Outcome("01", "bad", "bad", "FAIL", 9, "", long, long, long, long, None, ("<cell 9>", 3, "y" * 200), long)
    bad = Outcome(**{**vars(bad), **told})
    text = report.text(report.Result("01", "tensor", "f", [*names, bad], ["n" * 200] * 5, intro=intro))
    *lines, last = text.splitlines()
    assert last == f"        more  {link}"
    assert len(lines) + 1 + 2 <= 15 and max(map(len, lines)) <= 78
    words = {line.split()[0] for line in lines if line.strip()}
    assert {"want", "got", "yours", "FAIL", "looks"} <= words and "printed" not in words


def test_a_cell_that_fails_before_the_checks_is_none_of_them() -> None:
    outcomes = [Outcome("01", "imports", "", "FAIL", 1), Outcome("01", "add", "add", "not run")]
    assert report.count(report.Result("01", "tensor", "f", outcomes)) == "0 of 1, 1 not run"


def test_control_characters_do_not_reach_the_terminal() -> None:
    odd = "\x1b[31mred\x00\n\n\x0b\n\u009b2J end"
    bad = Outcome("01", "bad", "bad", "FAIL", 9, got=odd, where=("<cell 9>", 3, "\t\tx\x1b" * 40), output="\n\n" + odd)
    said = report.text(report.Result("01", "tensor", "f", [bad]))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said) and r"\x1b[31mred\x00" in said
    assert [line for line in said.splitlines() if line.split() == ["printed"]] == []
    assert len([line for line in said.splitlines() if "yours" in line or line.endswith("...")]) == 1


@pytest.mark.parametrize("words", ["add", "01 add", "vector add", "01_vector add"])
def test_a_hint_is_asked_for_by_lesson_and_exercise(session: Session, words: str) -> None:
    assert session.tito(f"hint {words}")[1].startswith("01 vector, add: hint 1 of 3\n")


def test_commands_to_paste_quote_their_paths(outside: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Next:  cd 'my ws' && tito open 01\n" in outside.tito("init 'my ws'")[1]
    assert "cd 'my ws' && tito\n" in outside.tito("init 'my ws'")[2]
    (outside.folder.parent / "file").touch()
    assert outside.tito("init 'file/a b'")[2].endswith("then repeat: tito init 'file/a b'\n")


def test_folders_that_were_deleted_come_back(session: Session) -> None:
    for key in ("01", "02"):
        session.tito(f"open {key}")
        session.solve(key)
        session.tito("export")
    shutil.rmtree(session.folder / "tinytorch")
    code, out, error = session.tito("milestone m1")
    assert (code, out) == (1, "") and error.endswith("is missing; build your package again with: tito export --all\n")
    assert session.tito("export --all")[0] == 0 and session.tito("milestone m1")[0] == 0
    shutil.rmtree(session.folder / "tinytorch")
    shutil.rmtree(session.folder / "modules")
    assert f"mkdir {session.folder / 'modules'}\n" in session.tito("doctor")[1]
    assert session.tito("open 01 --no-launch")[0] == 0
    assert session.tito("test 01")[0] == 1


@pytest.mark.parametrize("damage", [b"\xff\xfe", b'# %% exercise="norm"\ndef norm(:\n'])
def test_a_damaged_snapshot_is_named(session: Session, damage: bytes) -> None:
    session.solve("01")
    session.tito("export")
    session.tito("open 02")
    (session.folder / ".tito" / "exported" / "01_vector.py").write_bytes(damage)
    for command in ("test 02", "export 02"):
        code, _, error = session.tito(command)
        assert code == 2 and error.endswith(": tito export 01\n")
    assert session.tito("export 01")[0] == 0 and session.tito("test 02")[0] == 1


def test_the_diff_of_an_exercise_that_was_split(session: Session) -> None:
    session.solve("01")
    notebook = session.notebook("01")
    at = next(i for i, cell in enumerate(notebook["cells"]) if cell["id"] == "exercise-norm")
    rest = {**notebook["cells"][at], "id": "rest", "source": "MORE = 1"}
    notebook["cells"].insert(at + 1, rest)
    session.save("01", notebook)
    assert session.tito("export")[0] == 0
    out = session.tito("diff 01")[1]
    assert "-MORE = 1\n" in out and "-    return" not in out


# What is changed


def test_a_test_changes_nothing_of_the_learners(session: Session) -> None:
    session.solve("01")
    before = tree(session.folder)
    assert session.tito("test")[0] == 0
    after = tree(session.folder)
    assert {name for name in after if after[name] != before.get(name)} <= {".tito/progress.json"} | {
        name for name in after if name.startswith(".tito/cache/")
    }


def test_percent_files_go_the_same_way(outside: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    outside.tito("init ws --py")
    monkeypatch.chdir(outside.folder)
    path = outside.file("01")
    assert path.name == "01_vector.py"
    text = path.read_text(encoding="utf-8")
    sources = {cell.name: cell.source for cell in outside.course.lesson("01").cells() if cell.role == "exercise"}
    for source in sources.values():
        solved = re.sub(r"\n *### (BEGIN|END) SOLUTION", "", source)
        stub = re.sub(
            r"( *)### BEGIN SOLUTION\n.*?### END SOLUTION", r"\1raise NotImplementedError", source, flags=re.DOTALL
        )
        assert stub in text
        text = text.replace(stub, solved)
    path.write_text(text.replace("self.data + other.data", "self.data - other.data"), encoding="utf-8")
    code, out, _ = outside.tito("test")
    line = path.read_text(encoding="utf-8").splitlines().index("    return Vector(self.data - other.data)") + 1
    assert code == 1
    assert f"modules/01_vector.py, line {line}" in out
    path.write_text(text, encoding="utf-8")
    assert outside.tito("export")[0] == 0
    assert "Exported by tito from modules/01_vector.py." in (outside.folder / "tinytorch" / "vector.py").read_text(
        encoding="utf-8"
    )
    outside.tito("reset 01 add")
    reset = path.read_text(encoding="utf-8")
    assert reset.count("raise NotImplementedError") == 1
    assert len(reset.splitlines()) == len(text.splitlines())
    assert outside.tito("open 02")[0] == 0
    assert outside.file("02").suffix == ".py"


def test_reset_of_an_exercise_leaves_the_rest(session: Session) -> None:
    session.solve("01")
    before = session.notebook("01")
    session.tito("reset 01 add")
    after = session.notebook("01")
    assert "raise NotImplementedError" in "".join(_cell(after, "exercise-add").pop("source"))
    _cell(before, "exercise-add").pop("source")
    assert after == before
    [backup] = (session.folder / ".tito" / "backups").iterdir()
    assert "Vector(self.data + other.data)" in backup.read_text(encoding="utf-8")


def test_two_backups_in_one_second_do_not_collide(session: Session) -> None:
    for _ in range(3):
        session.tito("reset 01")
    assert len(list((session.folder / ".tito" / "backups").iterdir())) == 3


def test_an_exported_answer_that_is_deleted_is_todo_again(session: Session) -> None:
    session.solve("01")
    assert session.tito("export")[0] == 0
    session.write("01", norm="@patch\ndef norm(self: Vector) -> float:\n    raise NotImplementedError")
    code, out, _ = session.tito("test 01")
    assert code == 1
    assert "  todo  norm\n" in out


def test_a_lesson_is_tested_on_snapshots_not_on_the_live_package(session: Session) -> None:
    session.solve("01")
    session.tito("export")
    session.tito("open 02")
    session.solve("02")
    (session.folder / "tinytorch" / "vector.py").write_text("1 / 0\n", encoding="utf-8")
    assert session.tito("test 02")[0] == 0


def test_cells_that_were_added_and_are_used_are_exported(session: Session) -> None:
    session.solve("01")
    notebook = session.notebook("01")
    place = notebook["cells"].index(_cell(notebook, "exercise-norm"))
    added: dict[str, Any] = {
        "cell_type": "code",
        "source": "def root(x):\n    return x ** 0.5",
        "metadata": {},
        "outputs": [],
        "id": "mine",
    }
    notebook["cells"].insert(place, {**added, "execution_count": None})
    norm = "@patch\ndef norm(self: Vector) -> float:\n    return float(root((self.data**2).sum()))"
    _cell(notebook, "exercise-norm")["source"] = norm
    session.save("01", notebook)
    assert session.tito("export")[0] == 0
    assert "def root(x):" in (session.folder / "tinytorch" / "vector.py").read_text(encoding="utf-8")


def test_an_export_that_fails_leaves_the_package_byte_for_byte(session: Session) -> None:
    session.solve("01")
    session.tito("export")
    session.tito("open 02")
    session.solve("02")
    session.tito("export")
    session.said.clear()
    before = tree(session.folder / "tinytorch"), tree(session.folder / ".tito" / "exported")
    picky = "class Vector:\n    def __init__(self, numbers):\n        assert numbers[0] != 4\n"
    own = "@patch\ndef norm(self: Vector) -> float:\n    return 5.0 if __name__ == '__main__' else 0.0"
    lost = "@patch\ndef norm(self: Vector, root=np.sqrt) -> float:\n    return float(root((self.data**2).sum()))"
    for answer in ({"norm": "raise NotImplementedError"}, {"create": picky + "        self.data = np.array(numbers)"}):
        session.solve("01")
        session.write("01", **answer)
        assert session.tito("export 01")[0] == 1
    for norm in (own, lost):
        session.solve("01")
        session.write("01", norm=norm)
        session.tito("export 01")
    assert (tree(session.folder / "tinytorch"), tree(session.folder / ".tito" / "exported")) == before
    assert not list((session.folder / ".tito").glob("staging-*"))
    agrees(session, "export_fails")


def test_a_generated_file_that_was_edited_is_kept(session: Session) -> None:
    session.solve("01")
    session.tito("export")
    edited = session.folder / "tinytorch" / "vector.py"
    edited.write_text(edited.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    (session.folder / "tinytorch" / "extra.py").write_text("answer = 42\n", encoding="utf-8")
    _, out, _ = session.tito("export 01")
    [backup] = (session.folder / ".tito" / "backups").iterdir()
    assert f"tinytorch/vector.py was changed by hand; yours is kept:\n        .tito/backups/{backup.name}\n" in out
    assert "Restart running kernels" in out and max(map(len, out.splitlines())) <= 78
    assert backup.read_text(encoding="utf-8").endswith("# mine\n")
    assert (session.folder / "tinytorch" / "extra.py").exists()


def test_what_is_left_out_is_noted_for_its_own_lesson_and_within_a_screen(session: Session) -> None:
    session.solve("01")
    ours = next(cell.source for cell in session.course.lesson("01").cells() if cell.name == "norm")
    session.write("01", norm=ours + "\n".join(f"\nprint({i})" for i in range(9)))
    _, out, _ = session.tito("export")
    assert out.count("  note  ") == 3 and "left out of the package: print(" in out and "(and 6 more)" in out
    session.tito("open 02")
    session.solve("02")
    assert "left out" not in session.tito("export 02")[1]


def test_what_is_left_out_may_be_why_an_export_fails(session: Session) -> None:
    session.solve("01")
    norm = "def _norm(self):\n    return float(np.sqrt((self.data**2).sum()))\n\n\nsetattr(Vector, 'norm', _norm)"
    session.write("01", norm=norm)
    code, out, _ = session.tito("export")
    assert code == 1 and "left out of the package: setattr(Vector" in out and len(out.splitlines()) <= 15
    norm = "@patch\ndef norm(self: Vector):\n    return float(root((self.data**2).sum()))"
    session.write("01", norm=f"if True:\n    root = np.sqrt\n\n\n{norm}")
    code, out, error = session.tito("export")
    assert code == 1 and "left out of the package: if True:" in out and "norm uses root" in error


def test_a_learners_scratch_names_may_come_again_in_the_next_lesson(session: Session) -> None:
    for key, exercise in (("01", "norm"), ("02", None)):
        session.tito(f"open {key}")
        session.solve(key)
        cells = session.course.lesson(key).cells()
        ours = next(cell for cell in cells if cell.role == "exercise" and exercise in (None, cell.name))
        session.write(key, **{ours.name: ours.source + "\n\n\nscratch = 3\n\n\nclass Mine:\n    pass\n"})
        assert session.tito(f"export {key}")[0] == 0
    assert "scratch" not in "".join(path.read_text("utf-8") for path in (session.folder / "tinytorch").glob("*.py"))


def test_a_hint_is_for_the_file_as_it_is_now(session: Session) -> None:
    session.solve("01")
    session.write("01", add="raise NotImplementedError")
    session.tito("test")
    session.solve("01")
    session.write("01", norm="raise NotImplementedError")
    assert session.tito("hint")[1].startswith("01 vector, norm: hint 1 of 3\n")


def test_what_an_export_left_behind_is_cleared(session: Session) -> None:
    session.solve("01")
    (session.folder / ".tito" / "staging-old" / "tinytorch").mkdir(parents=True)
    assert session.tito("export")[0] == 0
    assert not list((session.folder / ".tito").glob("staging-*"))


def test_every_command_looks_for_an_export_that_was_cut_off(session: Session) -> None:
    (session.folder / ".tito" / "journal.json").write_text("{", encoding="utf-8")
    for line in ("", "test", "status", "hint", "open 01", "reset 01", "milestone", "export"):
        code, out, err = session.tito(line)
        assert (code, out) == (2, ""), line
        assert "journal.json is damaged" in err


def test_milestones_write_into_the_workspace(session: Session) -> None:
    for key in ("01", "02"):
        session.tito(f"open {key}")
        session.solve(key)
        session.tito(f"export {key}")
    assert session.tito("milestone m1")[0] == 0
    assert (session.folder / "plots" / "m1.txt").exists()
    assert session.tito("milestone m1 --seed 13")[0] == 1


# For programs


def test_json_of_test(session: Session) -> None:
    session.write(
        "01", create="ours", add="@patch\ndef __add__(self: Vector, other: Vector) -> Vector:\n    return self"
    )
    code, out, err = session.tito("test --json")
    [lesson] = json.loads(out)["lessons"]
    assert (code, err) == (1, "")
    assert {key: lesson[key] for key in ("id", "name", "file", "ok", "passed", "of", "notes")} == {
        "id": "01", "name": "vector", "file": "modules/01_vector.ipynb", "ok": False, "passed": 2, "of": 5, "notes": [],
    }  # fmt: skip
    assert [check["status"] for check in lesson["checks"]] == ["ok", "ok", "FAIL", "not run", "not run"]
    assert lesson["checks"][2] == {
        "check": "add", "exercise": "add", "status": "FAIL", "cell": 8, "file": "<cell 8>", "line": 3,
        "yours": "return self", "inside": None,
        "expression": "(Vector([1, 2, 3]) + Vector([10, 20, 30])).data", "want": "[11 22 33]", "got": "[1 2 3]",
        "says": None, "looks_like": None, "more": None, "error": None, "waits_for": None, "output": "",
    }  # fmt: skip


def test_json_of_status_and_milestone(session: Session) -> None:
    session.solve("01")
    session.tito("export")
    status = json.loads(session.tito("status --json")[1])
    assert status["workspace"] == str(session.folder)
    assert [lesson["state"] for lesson in status["lessons"]] == ["done", "ready"]
    assert status["lessons"][0] == {
        "id": "01", "name": "vector", "title": "Vectors", "state": "done", "needs": [], "missing": [],
        "file": "modules/01_vector.ipynb", "opened": True, "passed": 5, "of": 5, "same": True,
    }  # fmt: skip
    locked = {"id": "m1", "year": 1637, "title": "Descartes", "state": "locked", "missing": ["02"], "passed": None}
    assert status["milestones"] == [locked]
    listed = {"milestones": [locked], "electives": {"milestones": []}}
    assert json.loads(session.tito("milestone --json")[1]) == listed
    session.tito("open 02")
    session.solve("02")
    session.tito("export")
    code, out, _ = session.tito("milestone m1 --json --seed 13")
    assert (code, json.loads(out)["passed"]) == (1, False)


# As a process of its own


def process(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run tito on the small course as a process of its own."""
    command, env = _command(*arguments), _environment(**environment)
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, str(HERE / "fixtures" / "tito_on.py"), str(COURSE), *arguments]


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONUTF8": "1", **more}


def in_namespace(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script with mounts of its own, as root of a user namespace."""
    command = ["unshare", "-rm", "bash", "-euc", script]
    return subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, encoding="utf-8", check=False)


@pytest.fixture
def halfway(session: Session) -> Session:
    """A workspace with lesson 01 exported and lesson 02 solved."""
    session.solve("01")
    session.tito("export")
    session.tito("open 02")
    session.solve("02")
    return session


FULL = """
mkdir disk && mount -t tmpfs -o size=1m none disk && cp -r ws disk/ws && cd disk/ws
dd if=/dev/zero of=../filler bs=1k count=4096 2>/dev/null || true
truncate -s -{free}k ../filler
code=0; {run} >../../said 2>&1 || code=$?
rm ../filler; cp -r . ../../after; exit $code
"""


@pytest.mark.parametrize("free", [0, 12, 24, 36, 48, 60])
def test_a_full_disk(halfway: Session, free: int) -> None:
    """With `free` KB left an export is done whole or not at all, says so, and can be repeated."""
    home = halfway.folder.parent
    result = in_namespace(home, FULL.format(free=free, run=shlex.join(_command("export", "02"))))
    said = (home / "said").read_text(encoding="utf-8")
    assert result.returncode in (0, 2), said + result.stderr
    if result.returncode:
        assert re.fullmatch(r"[^\n]*\bdisk is full\b[^\n]*\n", said), said
        assert tree(home / "after" / "tinytorch") == tree(halfway.folder / "tinytorch")
        assert tree(home / "after" / "modules") == tree(halfway.folder / "modules")
    else:
        assert (home / "after" / "tinytorch" / "line.py").exists()
    assert process(home / "after", "export", "02").returncode == 0


@pytest.mark.parametrize("command", ["open 02", "reset 01", "init ../new"])
def test_a_full_disk_for_other_commands(session: Session, command: str) -> None:
    session.solve("01")
    session.tito("export")
    home = session.folder.parent
    result = in_namespace(home, FULL.format(free=0, run=shlex.join(_command(*command.split()))))
    said = (home / "said").read_text(encoding="utf-8")
    assert result.returncode == 2, said + result.stderr
    assert re.fullmatch(r"the disk is full [^\n]*: tito [^\n]*\n", said), said
    assert tree(home / "after" / "modules") == tree(session.folder / "modules")


@pytest.mark.parametrize("command", ["export 02", "reset 01", "test 02", "milestone m1"])
def test_a_read_only_folder(halfway: Session, command: str) -> None:
    if command == "milestone m1":
        halfway.tito("export")
    run = shlex.join(_command(*command.split()))
    before = tree(halfway.folder)
    script = f"mount --bind ws ws && mount -o remount,ro,bind ws && cd ws && {run}"
    result = in_namespace(halfway.folder.parent, script)
    assert result.returncode in (1, 2), result.stdout
    assert tree(halfway.folder) == before
    if command != "milestone m1":  # there it is the program itself that cannot write, and says so
        assert re.fullmatch(r"[^\n]*[Rr]ead-only[^\n]*\n", result.stderr), result.stderr


def test_status_of_a_read_only_folder(halfway: Session) -> None:
    run = shlex.join(_command("status"))
    script = f"mount --bind ws ws && mount -o remount,ro,bind ws && cd ws && {run}"
    assert in_namespace(halfway.folder.parent, script).returncode == 0


def test_two_exports_at_once_wait_for_each_other(halfway: Session) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    env, folder = _environment(), halfway.folder
    both = [subprocess.Popen(_command("export", key), cwd=folder, env=env, **pipes) for key in ("01", "02")]  # type: ignore[call-overload]
    said = [each.communicate() for each in both]
    assert [each.returncode for each in both] == [0, 0], said
    assert {"line.py", "vector.py"} <= tree(halfway.folder / "tinytorch").keys()
    assert not (halfway.folder / ".tito" / "journal.json").exists()


def test_a_tito_that_works_too_long_is_told_of(halfway: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    from tito import workspace

    monkeypatch.setattr(workspace, "WAIT_SECONDS", 0.1)
    with FileLock(halfway.folder / ".tito" / "lock", is_singleton=False):
        said = [halfway.tito(line) for line in ("export 02", "reset 01")]
    told = f"another tito is at work in {halfway.folder}; once it has ended: tito status\n"
    assert said == [(2, "", told)] * 2


@pytest.mark.parametrize("delay", [0.15, 0.3, 0.45, 0.6])
def test_a_killed_export_is_finished_or_undone_by_the_next_command(halfway: Session, delay: float) -> None:
    old = tree(halfway.folder / "tinytorch")
    export = subprocess.Popen(
        _command("export", "02"), cwd=halfway.folder, env=_environment(), stdout=subprocess.DEVNULL
    )
    time.sleep(delay)
    export.kill()
    export.wait()
    assert halfway.tito("status")[0] == 0
    state = tree(halfway.folder / "tinytorch")
    exported = (halfway.folder / ".tito" / "exported" / "02_line.py").exists()
    assert exported == ("line.py" in state)
    assert exported or state == old
    assert halfway.tito("export 02")[0] == 0


def test_ctrl_c_ends_the_run_and_its_child(session: Session) -> None:
    pid = session.folder.parent / "pid"
    session.solve("01")
    tells = (
        f"import os\nfrom pathlib import Path\n\nPath({str(pid)!r}).write_text(str(os.getpid()))\nwhile True:\n    pass"
    )
    session.write("01", norm=tells)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with it ignored
    running = subprocess.Popen(_command("test"), cwd=session.folder, env=_environment(), stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    while not (pid.exists() and pid.read_text(encoding="utf-8")):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    assert running.communicate()[1] == b"stopped; go on with: tito\n"
    assert running.returncode == 130
    assert not Path("/proc", pid.read_text(encoding="utf-8")).exists()


def test_a_terminal_of_an_old_code_page_is_no_hindrance(session: Session) -> None:
    session.solve("01")
    session.write("01", norm="@patch\ndef norm(self: Vector) -> float:\n    return 'λ → ∞'")
    result = process(session.folder, "test", PYTHONIOENCODING="cp1252:strict", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (1, "")
    assert "yours return '? ? ?'" in result.stdout


def test_colour_is_for_terminals_only(session: Session) -> None:
    assert "\033" not in process(session.folder, "test").stdout
    assert "\033[33mtodo\033[0m  create" in on_terminal(session.folder, TERM="xterm", NO_COLOR="")
    assert "\033" not in on_terminal(session.folder, TERM="xterm", NO_COLOR="1")
    assert "\033" not in on_terminal(session.folder, TERM="dumb", NO_COLOR="")


def on_terminal(folder: Path, **environment: str) -> str:
    """What `tito test` prints on a terminal."""
    import pty

    parent, child = pty.openpty()
    subprocess.run(
        _command("test"), cwd=folder, env=_environment(**environment), stdout=child, stdin=child, check=False
    )
    os.close(child)
    with open(parent, "rb", buffering=0) as stream:
        return stream.read(1 << 16).decode("utf-8")


LISTED = """
import sys
from tito.cli import main
from tito.course import Course
from pathlib import Path
code = main(sys.argv[2:], Course.load(Path(sys.argv[1])))
print([name for name in {foreign} if name in sys.modules])
"""


@pytest.mark.parametrize("line", ["test", "status", "", "hint", "export"])
def test_nothing_heavy_is_imported(session: Session, line: str) -> None:
    session.solve("01")
    norm = f"return [name for name in {FOREIGN[1:]} if name in __import__('sys').modules] and 0.0 or 5.0"
    session.write("01", norm=f"@patch\ndef norm(self: Vector) -> float:\n    {norm}")
    command = [sys.executable, "-c", LISTED.format(foreign=FOREIGN), str(COURSE), *line.split()]
    result = subprocess.run(
        command, cwd=session.folder, env=_environment(), capture_output=True, encoding="utf-8", check=False
    )
    assert result.stdout.splitlines()[-1] == "[]"
    if line == "test":
        assert "5 of 5" in result.stdout


def test_help_comes_at_once() -> None:
    """At most 0.15 s over a bare Python; the best of several, as the machine may be busy."""
    bare, help = [sys.executable, "-c", "pass"], [sys.executable, "-m", "tito", "--help"]
    assert min(map(_seconds, [help] * 7)) - min(map(_seconds, [bare] * 7)) < 0.15


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=_environment(), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began
