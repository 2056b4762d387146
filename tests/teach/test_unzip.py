"""Intake of zips: names that lead elsewhere, links, bombs, lies about sizes, damage."""

from __future__ import annotations

import io
import os
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from handed import GOOD, NAME, NOTEBOOK, is_safe, reason, take, zipped
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tito.teach.intake import intake, unzip
from tito.teach.intake.intake import Refused, Submission


@pytest.fixture
def archived(tmp_path: Path) -> Callable[[bytes], Submission]:
    """Reads these bytes as a student's zip."""

    def read(data: bytes) -> Submission:
        path = tmp_path / "handed.zip"
        path.write_bytes(data)
        return intake.read_archive(path, NAME)

    return read


def test_archives_inside_stay_closed(archived: Callable[[bytes], Submission]) -> None:
    taken = archived(zipped({NOTEBOOK: GOOD, "more.zip": zipped({"x.py": b""}), "old.tar.gz": b"\x1f\x8b"}))
    assert list(taken.files) == [NOTEBOOK]
    assert taken.notes == ("more.zip is an archive and was not opened", "old.tar.gz is an archive and was not opened")


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


def test_names_without_the_flag_for_utf8_are_read_as_what_they_are(tmp_path: Path) -> None:
    """Canvas's zips hold UTF-8 without saying so."""
    data = zipped({"m\u00fcller_1_2_a.ipynb": b"x"}).replace(b"\x00\x08", b"\x00\x00")
    with open(tmp_path / "a.zip", "w+b") as file:
        file.write(data)
        with unzip.opened(file, 10) as archive:
            assert [member.name for member in unzip.members(archive)] == ["m\u00fcller_1_2_a.ipynb"]
