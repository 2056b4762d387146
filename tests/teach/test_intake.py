"""Intake of folders: real links, pipes and devices, odd names, and whatever comes."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from handed import GOOD, NAME, NOTEBOOK, is_safe, notebook, reason, take
from hypothesis import given, settings
from hypothesis import strategies as st

from tito.teach.intake import intake, openat
from tito.teach.intake.intake import Entry, Refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission that is taken."""
    made = tmp_path / "submitted" / "ann" / NAME
    made.mkdir(parents=True)
    (made / NOTEBOOK).write_bytes(GOOD)
    return made


# What is taken


def test_a_good_submission_is_taken_whole(folder: Path) -> None:
    (folder / "tinytorch").mkdir()
    (folder / "tinytorch" / "tensor.py").write_bytes(b"y = 2\n")
    (folder / "timestamp.txt").write_text("2027-03-01 12:00:00.000000 UTC\n", encoding="ascii")
    (folder / "submission_secret.txt").write_text("abc123", encoding="ascii")
    taken = intake.read_submission(folder)
    assert taken.files == {NOTEBOOK: GOOD, "tinytorch/tensor.py": b"y = 2\n"}
    assert [(cell.kind, cell.source, cell.id) for cell in taken.cells] == [("code", "x = 1", "a")]
    assert (taken.assignment, taken.time, taken.secret) == (NAME, "2027-03-01 12:00:00.000000 UTC", "abc123")
    assert taken.notes == ()


def test_what_systems_leave_behind_is_passed_over(folder: Path) -> None:
    for name in (".ipynb_checkpoints", "__pycache__", ".git"):
        (folder / name).mkdir()
        (folder / name / NOTEBOOK).write_bytes(b"old")
    (folder / ".DS_Store").write_bytes(b"\0")
    assert intake.read_submission(folder).files == {NOTEBOOK: GOOD}
    assert take({NOTEBOOK: GOOD, f"__MACOSX/._{NOTEBOOK}": b"\0"}).files == {NOTEBOOK: GOOD}


@pytest.mark.parametrize("name", ["03_layers (1).ipynb", "03_layers-2.ipynb", "my work.ipynb", "Müller_final.IPYNB"])
def test_a_renamed_notebook_gets_its_name_back_and_a_note(name: str) -> None:
    taken = take({name: GOOD})
    assert list(taken.files) == [NOTEBOOK] and taken.cells
    assert len(taken.notes) == 1 and taken.notes[0].endswith(f"was taken as {NOTEBOOK}")


def test_a_zipped_workspace_gives_its_notebook_and_package() -> None:
    files = {"ws/modules/01_tensor.ipynb": GOOD, f"ws/modules/{NOTEBOOK}": GOOD, "tinytorch/tensor.py": b""}
    assert set(take(files).files) == {"ws/modules/01_tensor.ipynb", NOTEBOOK, "tinytorch/tensor.py"}


def test_of_several_notebooks_the_one_of_nearly_that_name_is_meant() -> None:
    taken = take({"03_layers-1.ipynb": GOOD, "scratch.ipynb": GOOD})
    assert set(taken.files) == {NOTEBOOK, "scratch.ipynb"}
    assert "but a.ipynb, b.ipynb" in reason(lambda: take({"a.ipynb": GOOD, "b.ipynb": GOOD}))


def test_a_percent_file_or_a_package_needs_no_notebook() -> None:
    assert take({f"{NAME}.py": b"def broken("}).cells == ()
    assert take({"tinytorch/tensor.py": b""}).cells == ()
    assert f"no {NOTEBOOK}" in reason(lambda: take({"helper.py": b""}))


def test_a_name_that_is_not_plain_is_left_out_with_a_note() -> None:
    odd = ["Übung.txt", "a\u202etxt.py", "con.py", "LPT1", "x" * 300 + ".py", "tail.", "a:b.txt"[1:], "\u043e.py"]
    taken = take({NOTEBOOK: GOOD, **dict.fromkeys(odd, b"")})
    assert list(taken.files) == [NOTEBOOK]
    assert len(taken.notes) == len(odd) and all("was left out" in note for note in taken.notes)


def test_a_lookalike_does_not_take_the_notebooks_place() -> None:
    other = json.dumps(notebook("evil = 1")).encode()
    taken = take({"03_l\u0430yers.ipynb": other, NOTEBOOK: GOOD})  # a Cyrillic a
    assert taken.files == {NOTEBOOK: GOOD}


def test_another_notebook_that_is_broken_is_left_out() -> None:
    taken = take({NOTEBOOK: GOOD, "scratch.ipynb": b"[" * 100_000})
    assert list(taken.files) == [NOTEBOOK]
    assert taken.notes == ("scratch.ipynb was left out: it is nested more than 64 levels deep",)


# Links, devices and the like


def secret_files(tmp_path: Path) -> list[Path]:
    gradebook = tmp_path / "gradebook.db"
    gradebook.write_bytes(b"SQLite format 3\0")
    return [gradebook, Path("/etc/shadow"), Path("/etc/passwd")]


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    for target in secret_files(tmp_path):
        (folder / "data.txt").symlink_to(target)
        assert reason(lambda: intake.read_submission(folder)).startswith("data.txt is a link")
        (folder / "data.txt").unlink()


def test_a_link_in_the_notebooks_place_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.ipynb").write_bytes(GOOD)
    (folder / NOTEBOOK).unlink()
    (folder / NOTEBOOK).symlink_to(tmp_path / "theirs.ipynb")
    assert "is a link" in reason(lambda: intake.read_submission(folder))
    (tmp_path / "handed.zip").symlink_to(tmp_path / "theirs.ipynb")
    assert "is a link" in reason(lambda: intake.read_archive(tmp_path / "handed.zip", NAME))


@pytest.mark.parametrize("part", ["inner", NAME, "ann"])
def test_a_linked_folder_is_not_entered(folder: Path, tmp_path: Path, part: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / NAME).mkdir(parents=True)
    (elsewhere / NOTEBOOK).write_bytes(GOOD)
    (elsewhere / NAME / NOTEBOOK).write_bytes(GOOD)
    place = {"inner": folder / "inner", NAME: folder, "ann": folder.parent}[part]
    if place.exists():
        place.rename(tmp_path / "away")
    place.symlink_to(elsewhere)
    assert "link" in reason(lambda: intake.read_submission(folder))


def test_a_link_put_in_place_after_the_look_is_not_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race: what was a file when it was looked at is a link when it is opened."""
    target, look = tmp_path / "gradebook.db", openat._stat
    target.write_bytes(GOOD)

    def look_and_swap(*where: Any) -> os.stat_result:
        seen = look(*where)
        (folder / NOTEBOOK).unlink()
        (folder / NOTEBOOK).symlink_to(target)
        return seen

    monkeypatch.setattr(openat, "_stat", look_and_swap)
    assert "is a link" in reason(lambda: intake.read_submission(folder))


def test_a_hard_link_is_not_taken(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_bytes(b"SQLite format 3\0")
    os.link(tmp_path / "gradebook.db", folder / "mine.txt")
    assert reason(lambda: intake.read_submission(folder)).startswith("mine.txt is a hard link")


def test_pipes_sockets_and_devices_are_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    os.mkfifo("pipe")
    assert reason(lambda: intake.read_submission(folder)).startswith("pipe is a pipe")
    os.unlink("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        assert reason(lambda: intake.read_submission(folder)).startswith("sock is a socket")
    os.unlink("sock")
    if os.geteuid() == 0:
        os.mknod("zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        assert reason(lambda: intake.read_submission(folder)).startswith("zero is a device")


def test_a_folder_that_may_not_be_read_or_is_none_is_refused(folder: Path) -> None:
    assert "cannot be read" in reason(lambda: intake.read_submission(folder.parent / "none"))
    assert "no folder" in reason(lambda: intake.read_submission(folder / NOTEBOOK))
    assert reason(lambda: intake.read_archive(folder, NAME)).endswith("no regular file")
    assert "no zip" in reason(lambda: intake.read_archive(folder / NOTEBOOK, NAME))


def test_too_many_files_or_too_deep_in_a_folder(folder: Path) -> None:
    deep = folder.joinpath(*"abcdefg")
    deep.mkdir(parents=True)
    assert "folders deep" in reason(lambda: intake.read_submission(folder))
    for i in range(201):
        (folder / "a" / f"{i}.py").touch()
    assert reason(lambda: intake.read_submission(folder)) == "a/ has more than 200 files"


def test_many_files_in_many_folders_are_too_many(folder: Path) -> None:
    for i in range(210):
        (folder / f"f{i // 50}").mkdir(exist_ok=True)
        (folder / f"f{i // 50}" / f"{i}.py").touch()
    assert "more than 200 files" in reason(lambda: intake.read_submission(folder))


# Whatever comes


NAMES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([NOTEBOOK, "03_LAYERS.ipynb", "a/b.py", "..", "a/../b", "/x", ".git/x", "nul", "x.zip", "a/"]),
    st.lists(st.sampled_from(["..", ".", "a", "", "con", "é", "e\u0301", "A"]), max_size=8).map("/".join),
)
JSON = st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3))
BYTES = st.one_of(
    st.binary(max_size=60),
    JSON.map(lambda value: json.dumps(value).encode()),
    JSON.map(lambda value: json.dumps(notebook(cells=value)).encode()),
    JSON.map(lambda value: json.dumps(notebook(nbformat=value)).encode()),
    st.tuples(st.integers(0, len(GOOD)), st.binary(max_size=2)).map(lambda at: GOOD[: at[0]] + at[1] + GOOD[at[0] :]),
    st.just(GOOD),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(NAMES, BYTES), max_size=5))
def test_any_names_and_bytes_give_a_submission_or_a_refusal(files: list[tuple[str, bytes]]) -> None:
    try:
        assert is_safe(intake.take([Entry(name, io.BytesIO(data).read) for name, data in files], NAME))
    except Refused as refused:
        assert refused.reason.isascii() and refused.reason.isprintable()
