"""Takes in one submission: plain bytes of regular files under safe names, or a reason why not. Begin at `take`.

Everything about a submission is hostile: names, links, sizes, archives, JSON. Nothing here follows a link, writes a
file, or looks at source. `Refused` carries one sentence for the student; whatever comes in, nothing else is raised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tito.studentfile import StudentCell
from tito.teach.intake import capped, openat, safenames, unzip
from tito.teach.intake.refusal import Refused, shown

__all__ = ["Entry", "Refused", "Submission", "read_archive", "read_submission", "take"]

MOST_FILES = 200
MOST_BYTES = 100 * 10**6  # of all files together
DEEPEST = 6  # parts of a path
TIME, SECRET = "timestamp.txt", "submission_secret.txt"  # nbgrader's notes beside a submission
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")


@dataclass(frozen=True)
class Entry:
    """A file of a submission before it is taken: its path with `/`, and what gives at most so many of its bytes."""

    name: str
    read: Callable[[int], bytes]


@dataclass(frozen=True)
class Submission:
    """What was taken: files by their path, cells of the assignment's notebook (none of a percent file), notes.

    `files` holds neither time nor secret, so that the same work has the same hash.
    """

    assignment: str
    files: dict[str, bytes]
    cells: tuple[StudentCell, ...]
    notes: tuple[str, ...] = ()
    time: str = ""  # timestamp.txt as it came
    secret: str = ""  # nbgrader's, which names the student's feedback in the exchange


def read_submission(folder: Path, assignment: str | None = None) -> Submission:
    """The submission in a folder, else Refused. The assignment is the folder's name unless it is given.

    Neither the folder nor the one that holds it may be a link.
    """
    with openat.walk(folder, MOST_FILES, DEEPEST) as files:
        return take((Entry(name, read) for name, read in files), assignment or folder.name)


def read_archive(path: Path, assignment: str) -> Submission:
    """The submission in a student's zip, else Refused. Archives in it stay closed."""
    with openat.file(path) as file, unzip.opened(file, MOST_FILES) as archive:
        return take((Entry(member.name, member.read) for member in unzip.members(archive)), assignment)


def take(entries: Iterable[Entry], assignment: str) -> Submission:
    """The submission that these files make, else Refused: the one gate that all sources pass."""
    notes: list[str] = []
    files = _bytes(entries, notes)
    time, secret = (_line(files.pop(name, b"")) for name in (TIME, SECRET))
    main = _name_main(files, f"{assignment}.ipynb", notes)
    _leave_out(files, notes)
    cells = _notebooks(files, main, notes)
    if not cells and not _is_code(files, assignment):
        raise Refused("; ".join([f"it holds no {assignment}.ipynb", *notes]))
    return Submission(assignment, dict(sorted(files.items())), cells, tuple(notes), time, secret)


def _bytes(entries: Iterable[Entry], notes: list[str]) -> dict[str, bytes]:
    """All files by path, hostile names and too much refused. Hidden files are passed over."""
    files: dict[str, bytes] = {}
    seen: dict[str, str] = {}
    left = MOST_BYTES
    for entry in entries:
        parts = _parts(entry.name)
        if safenames.hidden(parts):
            continue
        _refuse_doubled(parts, seen)
        if len(seen) > MOST_FILES:
            raise Refused(f"it has more than {MOST_FILES} files")
        if entry.name.casefold().endswith(ARCHIVES):
            notes.append(f"{shown(entry.name)} is an archive and was not opened")
            continue
        files[entry.name] = _read(entry, left)
        left -= len(files[entry.name])
    return files


def _parts(name: str) -> list[str]:
    odd = safenames.hostile(name)
    if odd:
        raise Refused(f"the name {shown(name)} holds {odd}")
    parts = name.split("/")
    if len(parts) > DEEPEST:
        raise Refused(f"{shown(name)} lies more than {DEEPEST} folders deep")
    return parts


def _refuse_doubled(parts: list[str], seen: dict[str, str]) -> None:
    """Two names for one file of some system, or a file that is a folder too."""
    path = "/".join(parts)
    keys = [safenames.key("/".join(parts[:end])) for end in range(1, len(parts) + 1)]
    for folder in keys[:-1]:
        if seen.setdefault(folder, "") != "":
            raise Refused(f"{shown(path)} lies in what is a file too")
    if keys[-1] in seen:
        raise Refused(f"{shown(path)} is there twice, also as {shown(seen[keys[-1]] or path + '/')}")
    seen[keys[-1]] = path


def _read(entry: Entry, left: int) -> bytes:
    data = entry.read(min(capped.LARGEST, left) + 1)
    if len(data) > capped.LARGEST:
        raise Refused(f"{shown(entry.name)} has more than {capped.LARGEST // 10**6} MB")
    if len(data) > left:
        raise Refused(f"its files have more than {MOST_BYTES // 10**6} MB together")
    return data


def _line(data: bytes) -> str:
    """The one short line that a note of nbgrader's holds; empty for anything else."""
    text = data[:200].decode("ascii", "replace").strip()
    return text if text.isprintable() and "\ufffd" not in text else ""


def _name_main(files: dict[str, bytes], wanted: str, notes: list[str]) -> str:
    """Give the assignment's notebook its name, where it is clear which one that is; the name, or "" for none."""
    if wanted in files:
        return wanted
    found = _candidates(list(files), wanted)
    if len(found) > 1:
        raise Refused(f"it holds no {wanted} but {', '.join(shown(name) for name in found[:4])}")
    if not found or any(safenames.key(name) == safenames.key(wanted) for name in files if name not in found):
        return ""
    files[wanted] = files.pop(found[0])
    notes.append(f"{shown(found[0])} was taken as {wanted}")
    return wanted


def _candidates(names: list[str], wanted: str) -> list[str]:
    """Which notebooks may be meant: of that name in a folder, of nearly that name, else any at the top."""
    notebooks = [name for name in names if name.casefold().endswith(".ipynb")]
    top = [name for name in notebooks if "/" not in name]
    nearly = re.compile(re.escape(wanted.removesuffix(".ipynb")) + r"[ _-]?\(?\d{0,3}\)?\.ipynb", re.IGNORECASE)
    below = [name for name in notebooks if name.endswith(f"/{wanted}")]
    return below or [name for name in top if nearly.fullmatch(name)] or top


def _leave_out(files: dict[str, bytes], notes: list[str]) -> None:
    """Leave out files whose names not every system takes."""
    for name in [name for name in files if not all(safenames.allowed(part) for part in name.split("/"))]:
        del files[name]
        notes.append(f"{shown(name)} was left out: its name is not plain ASCII, is too long, or is reserved")


def _notebooks(files: dict[str, bytes], main: str, notes: list[str]) -> tuple[StudentCell, ...]:
    """The cells of the assignment's notebook; other notebooks that cannot be read are left out."""
    cells: tuple[StudentCell, ...] = ()
    for name in [name for name in files if name.casefold().endswith(".ipynb")]:
        try:
            read = capped.cells(files[name])
        except Refused as refused:
            if name == main:
                raise Refused(f"{name} {refused.reason}") from None
            del files[name]
            notes.append(f"{name} was left out: it {refused.reason}")
            continue
        files[name] = files[name].removeprefix(capped.BOM)
        cells = read if name == main else cells
    if main and not cells:
        raise Refused(f"{main} has no cells")
    return cells


def _is_code(files: dict[str, bytes], assignment: str) -> bool:
    """Whether there is something to grade without a notebook: a percent file, or the student's package."""
    return f"{assignment}.py" in files or any(name.startswith("tinytorch/") for name in files)
