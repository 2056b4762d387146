"""The workspace: finding it, making it, and what tito writes there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tito.commands import doctor
from tito.commands import open as open_command
from tito.course import Course
from tito.errors import UserError
from tito.workspace import Workspace, read_json, write_json, write_text

COURSE = Path(__file__).resolve().parent / "fixtures" / "course"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = Workspace.create(tmp_path / "ws")
    monkeypatch.chdir(made.root)
    return made


def test_a_workspace_is_found_from_every_folder_in_it(workspace: Workspace) -> None:
    below = workspace.root / "modules" / "deep"
    below.mkdir()
    assert Workspace.find(below) == Workspace(workspace.root.resolve())
    with pytest.raises(UserError, match="tito init"):
        Workspace.find(workspace.root.parent)


def test_what_was_chosen_at_first_is_kept(tmp_path: Path) -> None:
    assert Workspace.create(tmp_path / "ws", percent=True).percent
    assert Workspace.find(tmp_path / "ws").percent
    assert json.loads((tmp_path / "ws" / ".tito" / "workspace.json").read_text(encoding="utf-8"))["version"] == 1


def test_an_empty_folder_may_become_a_workspace_and_a_full_one_not(tmp_path: Path) -> None:
    Workspace.create(tmp_path)
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="not empty"):
        Workspace.create(full)
    assert [path.name for path in full.iterdir()] == ["thesis.txt"]


def test_a_lessons_file_is_the_one_that_is_there(workspace: Workspace) -> None:
    lesson = Course.load(COURSE).lessons[0]
    assert workspace.file_of(lesson).name == "01_vector.ipynb"
    (workspace.modules / "01_vector.py").write_text("", encoding="utf-8")
    assert workspace.file_of(lesson).name == "01_vector.py"
    (workspace.modules / "01_vector.ipynb").write_text("", encoding="utf-8")
    assert workspace.file_of(lesson).name == "01_vector.ipynb"
    assert Workspace(workspace.root, percent=True).file_of(lesson).name == "01_vector.py"


def test_backups_keep_the_text_and_never_each_other(workspace: Workspace) -> None:
    path = workspace.modules / "01_vector.ipynb"
    kept = []
    for text in ("one", "two", "three"):
        path.write_text(text, encoding="utf-8")
        kept.append(workspace.backup(path))
    assert [backup.read_text(encoding="utf-8") for backup in kept] == ["one", "two", "three"]
    assert all(backup.parent == workspace.private / "backups" for backup in kept)


def test_a_file_is_written_whole_or_not_at_all(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workspace.modules / "file.txt"
    write_text(path, "old\n")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new\n")
    assert path.read_bytes() == b"old\n"
    assert [each.name for each in workspace.modules.iterdir()] == ["file.txt"]


def test_what_is_remembered_is_merged(workspace: Workspace) -> None:
    workspace.remember("hints", "01 add", 1)
    workspace.remember("hints", "01 sub", 2)
    workspace.remember("milestones", "m1", True)
    kept = {"hints": {"01 add": 1, "01 sub": 2}, "milestones": {"m1": True}}
    assert read_json(workspace.private / "progress.json") == kept
    assert workspace.recall("hints", "01 sub", int) == 2 and workspace.recall("milestones", "m2", bool) is None


@pytest.mark.parametrize("text", ["", "[1, 2]", "{broken", "null", '{"hints": 3}', '{"hints": {"01 add": "x"}}'])
def test_a_damaged_memory_counts_as_empty(workspace: Workspace, text: str) -> None:
    (workspace.private / "progress.json").write_text(text, encoding="utf-8")
    assert workspace.recall("hints", "01 add", int) is None
    workspace.remember("hints", "01 add", 1)
    assert read_json(workspace.private / "progress.json") == {"hints": {"01 add": 1}}


def test_json_is_written_with_plain_newlines(workspace: Workspace) -> None:
    write_json(workspace.private / "x.json", {"a": "λ"})
    assert b"\r" not in (workspace.private / "x.json").read_bytes()
    assert read_json(workspace.private / "x.json") == {"a": "λ"}


# tito open


def opened(args: Namespace, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> list[list[str]]:
    """The commands that `tito open` starts."""
    started: list[list[str]] = []

    def start(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", start)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert open_command.run(args, Course.load(COURSE)) == 0
    return started


def test_open_starts_jupyter_on_a_terminal_only(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, quiet = (
        Namespace(lesson="01", source=None, no_launch=False),
        Namespace(lesson="01", source=None, no_launch=True),
    )
    path = str(workspace.root.resolve() / "modules" / "01_vector.ipynb")
    monkeypatch.setattr(open_command, "find_spec", lambda name: name)
    assert opened(plain, monkeypatch, terminal=True) == [[sys.executable, "-m", "jupyterlab", path]]
    assert opened(plain, monkeypatch, terminal=False) == []
    assert opened(quiet, monkeypatch, terminal=True) == []
    monkeypatch.setattr(open_command, "find_spec", lambda name: None)
    assert opened(plain, monkeypatch, terminal=True) == []


def test_open_puts_back_what_is_missing_and_overwrites_nothing(workspace: Workspace) -> None:
    args = Namespace(lesson="01", source=None, no_launch=True)
    open_command.run(args, Course.load(COURSE))
    notebook, supplied = workspace.modules / "01_vector.ipynb", workspace.package / "rounding.py"
    notebook.write_text("mine", encoding="utf-8")
    supplied.unlink()
    open_command.run(args, Course.load(COURSE))
    assert notebook.read_text(encoding="utf-8") == "mine"
    notebook.unlink()
    original = supplied.read_bytes()
    supplied.write_text("mine too", encoding="utf-8")
    open_command.run(args, Course.load(COURSE))
    assert supplied.read_text(encoding="utf-8") == "mine too"
    supplied.write_bytes(original)
    assert supplied.read_bytes() == (COURSE / "modules" / "01_vector" / "rounding.py").read_bytes()


# tito doctor


def found(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """What the doctor says."""
    return doctor.run(Namespace(report=False), Course.load(COURSE)), capsys.readouterr().out


def test_the_doctor_finds_nothing_in_a_sound_place(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = found(capsys)
    assert "NumPy" in said
    assert "with BLAS" in said
    assert "FAIL" not in said
    assert code == 0


def test_the_doctor_names_what_hides_our_modules(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace.modules / "numpy.py").write_text("", encoding="utf-8")
    (workspace.modules / "tinytorch").mkdir()
    (workspace.modules / "tinytorch" / "__init__.py").write_text("", encoding="utf-8")
    owners = {"tinytorch": ["tinytorch"], "tito": ["tinytorch-course"]}
    monkeypatch.setattr(doctor.metadata, "packages_distributions", lambda: owners)
    code, said = found(capsys)
    assert code == 1
    assert "  FAIL  modules/numpy.py hides the module numpy\n" in said
    assert "  FAIL  modules/tinytorch hides the module tinytorch\n" in said
    assert "mend it with:  mv " in said
    assert "the installed package tinytorch brings a tinytorch that hides ours" in said
    assert f"{sys.executable} -m pip uninstall tinytorch\n" in said


def test_the_doctor_names_what_is_missing(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "NUMPY", "raise ImportError('libopenblas is missing')")
    monkeypatch.setattr(doctor, "PYTHONS", ((3, 6), (3, 7)))
    code, said = found(capsys)
    assert code == 1
    assert "NumPy does not start: ImportError: libopenblas is missing" in said
    assert "  note  JupyterLab is missing" in said
    assert "; needs 3.6 to 3.7\n" in said
    assert said.count("mend it with:  ") == 3
