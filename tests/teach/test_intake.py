"""Intake against what students and attackers hand in: real links, pipes, archives, bombs and broken notebooks."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tito.teach import capped, intake, openat, safenames, unzip
from tito.teach.intake import Entry, Refused, Submission

NAME = "03_layers"
NOTEBOOK = f"{NAME}.ipynb"


def notebook(source: str = "x = 1", **changes: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": [source]}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell], **changes}


GOOD = json.dumps(notebook()).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A submission that is taken."""
    made = tmp_path / "submitted" / "ann" / NAME
    made.mkdir(parents=True)
    (made / NOTEBOOK).write_bytes(GOOD)
    return made


def reason(read: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        read()
    text = refused.value.reason
    assert text.isascii() and text.isprintable() and len(text) < 400
    return text


def zipped(files: dict[str, bytes], **how: Any) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", **{"compression": zipfile.ZIP_DEFLATED, **how}) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, archive.compression)
    return data.getvalue()


@pytest.fixture
def archived(tmp_path: Path) -> Callable[[bytes], Submission]:
    """Reads these bytes as a student's zip."""

    def read(data: bytes) -> Submission:
        path = tmp_path / "handed.zip"
        path.write_bytes(data)
        return intake.read_archive(path, NAME)

    return read


def take(files: dict[str, bytes]) -> Submission:
    return intake.take([Entry(name, io.BytesIO(data).read) for name, data in files.items()], NAME)


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


def test_what_systems_leave_behind_is_passed_over(folder: Path, archived: Callable[[bytes], Submission]) -> None:
    for name in (".ipynb_checkpoints", "__pycache__", ".git"):
        (folder / name).mkdir()
        (folder / name / NOTEBOOK).write_bytes(b"old")
    (folder / ".DS_Store").write_bytes(b"\0")
    assert intake.read_submission(folder).files == {NOTEBOOK: GOOD}
    assert archived(zipped({NOTEBOOK: GOOD, f"__MACOSX/._{NOTEBOOK}": b"\0"})).files == {NOTEBOOK: GOOD}


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


def test_archives_inside_stay_closed(archived: Callable[[bytes], Submission]) -> None:
    taken = archived(zipped({NOTEBOOK: GOOD, "more.zip": zipped({"x.py": b""}), "old.tar.gz": b"\x1f\x8b"}))
    assert list(taken.files) == [NOTEBOOK]
    assert taken.notes == ("more.zip is an archive and was not opened", "old.tar.gz is an archive and was not opened")


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


# Names in archives


@pytest.mark.parametrize(
    "name",
    [
        "../gradebook.db",
        "/etc/cron.d/x",
        "a/../../x",
        "a//b",
        "./x",
        "C:/x",
        "..\\x",
        "a\\b",
        "x\0.ipynb",
        "a\nb",
        "..",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(archived: Callable[[bytes], Submission], name: str) -> None:
    swapped = name.replace("\0", "\x01").encode("utf-8")
    data = zipped({NOTEBOOK: GOOD, name.replace("\0", "\x01"): b"x"}).replace(swapped, name.encode("utf-8"))
    assert reason(lambda: archived(data)).startswith("the name ")


@pytest.mark.parametrize("other", ["03_LAYERS.ipynb", "03_layers.ipynb/x.py", "\uff103_layers.ipynb", NOTEBOOK])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_names_for_one_file_are_refused(archived: Callable[[bytes], Submission], other: str) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(NOTEBOOK, GOOD)
        archive.writestr(other, GOOD)
    assert "twice" in reason(lambda: archived(data.getvalue())) or "a file too" in reason(
        lambda: archived(data.getvalue())
    )


def test_two_unicode_forms_of_one_name_are_refused() -> None:
    assert "twice" in reason(lambda: take({NOTEBOOK: GOOD, "\u00e9.txt": b"", "e\u0301.txt": b""}))


def test_a_link_or_a_device_in_an_archive_is_refused(archived: Callable[[bytes], Submission]) -> None:
    for kind in (stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            info = zipfile.ZipInfo("data.txt")
            info.external_attr = (kind | 0o777) << 16
            archive.writestr(info, "/etc/shadow")
        assert "link or a device" in reason(lambda: archived(data.getvalue()))  # noqa: B023


def test_an_encrypted_or_oddly_packed_file_is_refused(archived: Callable[[bytes], Submission]) -> None:
    plain = zipped({NOTEBOOK: GOOD}, compression=zipfile.ZIP_STORED)
    at = plain.rindex(b"PK\x01\x02")
    locked = plain[:6] + b"\x01" + plain[7 : at + 8] + b"\x01" + plain[at + 9 :]
    assert "is encrypted" in reason(lambda: archived(locked))
    assert "packed by a method" in reason(lambda: archived(zipped({NOTEBOOK: GOOD}, compression=zipfile.ZIP_LZMA)))


# Limits


def test_a_zip_bomb_is_not_unpacked(archived: Callable[[bytes], Submission]) -> None:
    data = zipped({NOTEBOOK: b" " * 40 * 10**6}, compresslevel=9)
    assert len(data) < 60_000  # a real one: more than 600 to 1
    tracemalloc.start()
    assert "times its size" in reason(lambda: archived(data))
    assert tracemalloc.get_traced_memory()[1] < 2 * 10**6
    tracemalloc.stop()


def test_a_zip_that_lies_about_its_sizes_is_refused(archived: Callable[[bytes], Submission]) -> None:
    data = zipped({NOTEBOOK: b" " * 5 * 10**6})
    at = data.rindex(b"PK\x01\x02")
    lying = data[: at + 24] + struct.pack("<I", 10) + data[at + 28 :]
    assert "cannot be unpacked" in reason(lambda: archived(lying))


def test_many_small_bombs_come_to_the_limit_of_all_files(archived: Callable[[bytes], Submission]) -> None:
    unit = os.urandom(10**6)
    data = zipped({f"{i}.bin": unit * 40 for i in range(3)}, compression=zipfile.ZIP_STORED)
    assert "100 MB together" in reason(lambda: archived(data))


def test_too_many_entries_are_not_even_listed(archived: Callable[[bytes], Submission]) -> None:
    data = zipped({f"{i}.py": b"" for i in range(100_000)}, compression=zipfile.ZIP_STORED)
    tracemalloc.start()
    assert "list of files" in reason(lambda: archived(data))
    assert tracemalloc.get_traced_memory()[1] < 2 * 10**6
    tracemalloc.stop()
    assert "entries" in reason(lambda: archived(zipped({f"{i}.py": b"" for i in range(201)})))


def test_too_many_files_or_too_deep_in_a_folder(folder: Path) -> None:
    deep = folder.joinpath(*"abcdefg")
    deep.mkdir(parents=True)
    assert "folders deep" in reason(lambda: intake.read_submission(folder))
    for i in range(201):
        (folder / "a" / f"{i}.py").touch()
    assert "more than 200 files" in reason(lambda: intake.read_submission(folder))


def test_many_files_in_many_folders_are_too_many(folder: Path) -> None:
    for i in range(210):
        (folder / f"f{i // 50}").mkdir(exist_ok=True)
        (folder / f"f{i // 50}" / f"{i}.py").touch()
    assert "more than 200 files" in reason(lambda: intake.read_submission(folder))


def test_a_notebook_of_60_MB_is_not_parsed(folder: Path) -> None:
    with open(folder / NOTEBOOK, "wb") as file:
        file.truncate(60 * 10**6)
    assert reason(lambda: intake.read_submission(folder)) == f"{NOTEBOOK} has more than 50 MB"


# Notebooks


def refusal(data: bytes) -> str:
    return reason(lambda: take({NOTEBOOK: data})).removeprefix(f"{NOTEBOOK} ")


@pytest.mark.parametrize("mark", [b"[", b'{"a":', b"[[],", b'{"\\\\":[', b'["\\"",'])
def test_deep_json_is_refused_before_it_is_parsed(mark: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("parsed"))
    assert refusal(b'{"nbformat": 4, "cells": ' + mark * 100_000) == "is nested more than 64 levels deep"


def test_brackets_in_strings_are_not_depth() -> None:
    source = 'x = "' + "[" * 100_000 + '\\"' + "\\\\" + "{" * 100_000
    taken = take({NOTEBOOK: json.dumps(notebook(source)).encode()})
    assert taken.cells[0].source == source


def test_json_that_fills_the_memory_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda text: pytest.fail("parsed"))
    for many in (b"[],", b"1,", b'"",'):
        assert "the most is 500000" in refusal(b"[" + many * 600_000 + b"1]")


@pytest.mark.parametrize(
    "data, why",
    [
        (GOOD.decode().encode("utf-16"), "is UTF-16, not UTF-8"),
        (b'{"nbformat": "\xff"}', "is not UTF-8 at byte 14"),
        (GOOD[:-5], "is broken, line 1, column"),
        (b"", "is broken, line 1, column 1"),
        (b"[]", "is broken, it holds JSON but no notebook"),
        (b'{"nbformat": ' + b"9" * 5000 + b"}", "is broken, "),
        (json.dumps(notebook(nbformat=3)).encode(), "cannot be read, its format 3.5 is too old"),
        (json.dumps(notebook(nbformat=5)).encode(), "cannot be read, its format 5.5 is newer"),
        (json.dumps(notebook(nbformat="4")).encode(), "is broken, its nbformat is no number"),
        (json.dumps(notebook(cells=[7])).encode(), "is broken, cell 1 has no type or no source"),
        (json.dumps(notebook(cells={"a": 1})).encode(), "is broken, it has no list of cells"),
        (json.dumps(notebook(cells=[{"cell_type": "code", "source": [1]}])).encode(), "is broken, cell 1 has"),
        (json.dumps(notebook(cells=[])).encode(), "has no cells"),
        (json.dumps(notebook(cells=notebook()["cells"] * 2001)).encode(), "has 2001 cells, the most is 2000"),
        (json.dumps(notebook("'\ud800'")).encode(), "holds half a character (U+D800)"),
    ],
)
def test_a_broken_notebook_is_refused_in_a_sentence(data: bytes, why: str) -> None:
    assert refusal(data).startswith(why)


def test_a_byte_order_mark_is_taken_away() -> None:
    assert take({NOTEBOOK: b"\xef\xbb\xbf" + GOOD}).files == {NOTEBOOK: GOOD}


def test_whole_emoji_are_fine() -> None:
    assert take({NOTEBOOK: json.dumps(notebook("'\U0001f600'")).encode()}).cells[0].source == "'\U0001f600'"


def test_nothing_parses_what_a_student_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    import ast
    import tokenize

    for module, name in ((ast, "parse"), (tokenize, "generate_tokens")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("parsed"))
    take({NOTEBOOK: json.dumps(notebook("(" * 100_000)).encode(), f"{NAME}.py": b"(" * 100_000})


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


def is_safe(taken: Submission) -> bool:
    parts = [part for name in taken.files for part in name.split("/")]
    return all(safenames.allowed(part) for part in parts) and len({n.casefold() for n in taken.files}) == len(
        taken.files
    )


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(NAMES, BYTES), max_size=5))
def test_any_names_and_bytes_give_a_submission_or_a_refusal(files: list[tuple[str, bytes]]) -> None:
    try:
        assert is_safe(intake.take([Entry(name, io.BytesIO(data).read) for name, data in files], NAME))
    except Refused as refused:
        assert refused.reason.isascii() and refused.reason.isprintable()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 400), damage=st.binary(min_size=1, max_size=4), cut=st.integers(0, 4))
def test_any_damage_to_a_zip_gives_a_submission_or_a_refusal(at: int, damage: bytes, cut: int, tmp_path: Path) -> None:
    data = zipped({NOTEBOOK: GOOD, "tinytorch/a.py": b"x = 1"})
    path = tmp_path / "x.zip"
    path.write_bytes(data[:at] + damage + data[at + cut :])
    try:
        assert is_safe(intake.read_archive(path, NAME))
    except Refused as refused:
        assert refused.reason.isascii() and refused.reason.isprintable()


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='[]{}",:\\ a1', max_size=200))
def test_the_depth_is_never_less_than_what_the_parser_goes(text: str) -> None:
    """The scanner's count against a parser's own, on text full of quotes and backslashes."""
    plain = b"".join(text.encode().replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    try:
        value = json.loads(text)
    except ValueError:
        return
    assert capped._depth(plain) == depth(value)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def test_names_without_the_flag_for_utf8_are_read_as_what_they_are(tmp_path: Path) -> None:
    """Canvas's zips hold UTF-8 without saying so."""
    data = zipped({"m\u00fcller_1_2_a.ipynb": b"x"}).replace(b"\x00\x08", b"\x00\x00")
    with open(tmp_path / "a.zip", "w+b") as file:
        file.write(data)
        with unzip.opened(file, 10) as archive:
            assert [member.name for member in unzip.members(archive)] == ["m\u00fcller_1_2_a.ipynb"]
