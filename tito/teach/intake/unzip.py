"""Reads zip archives from elsewhere: counts and measures before it unpacks. Begin at `opened`."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from tito.teach.intake.refusal import Refused, shown

RATIO = 200  # text and notebooks come to 3 to 20
UTF8 = 0x800  # the flag of a name's encoding, which not every program sets
FREE = 10**6  # bytes up to which no ratio is asked for
DIRECTORY_ENTRY = 46 + 400  # bytes: the fixed part, and a name with what programs add to it
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may ask for gigabytes to unpack
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)


@dataclass(frozen=True)
class Member:
    """A file in an archive."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo

    @property
    def name(self) -> str:
        """Its name as it stands in the archive: zipfile cuts one at NUL, and takes what is not marked for DOS's."""
        if self.info.flag_bits & UTF8:
            return self.info.orig_filename
        try:
            return self.info.orig_filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            return self.info.orig_filename

    def read(self, size: int) -> bytes:
        """At most so many bytes; Refused for what is no regular file, a bomb, encrypted or damaged."""
        name = shown(self.name.rpartition("/")[2])
        _refuse_odd(self.info, name)
        try:
            archive = self.archive
            with archive.open(self.info) as file:
                return file.read(size)
        except BROKEN as error:
            raise Refused(f"{name} cannot be unpacked: {error}") from None


@contextmanager
def opened(file: BinaryIO, most: int) -> Iterator[zipfile.ZipFile]:
    """An archive of at most about `most` entries, else Refused."""
    try:
        _refuse_large_directory(file, most)
        archive = zipfile.ZipFile(file)
    except BROKEN as error:
        raise Refused(f"it is no zip: {error}") from None
    with archive:
        if len(archive.infolist()) > most:
            raise Refused(f"it has {len(archive.infolist())} entries, the most is {most}")
        yield archive


def members(archive: zipfile.ZipFile) -> Iterator[Member]:
    """The files of an archive, its folders left out."""
    return (Member(archive, info) for info in archive.infolist() if not info.orig_filename.endswith("/"))


def _refuse_large_directory(file: BinaryIO, most: int) -> None:
    """Refuse by the size of the list of files: zipfile reads all of it at once. The reader is zipfile's own."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    if end and end[zipfile._ECD_SIZE] > most * DIRECTORY_ENTRY + 4096:  # type: ignore[attr-defined]
        raise Refused(f"its list of files is longer than {most} files need")


def _refuse_odd(info: zipfile.ZipInfo, name: str) -> None:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Refused(f"{name} is a link or a device, and only regular files are taken")
    if info.flag_bits & 0x1:
        raise Refused(f"{name} is encrypted")
    if info.compress_type not in METHODS:
        raise Refused(f"{name} is packed by a method that is not taken; pack it as an ordinary zip")
    if info.file_size > FREE and info.file_size > RATIO * max(info.compress_size, 1):
        raise Refused(f"{name} unpacks to {info.file_size // max(info.compress_size, 1)} times its size")
