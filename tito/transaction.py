"""One step for a folder and some files: the package is exchanged and files of `.tito` are replaced, or neither.

Everything new is first written beside the old, below a staging folder. Then a journal is put in place by one rename:
from there on the change will be completed, by `recover` if this process is killed. Each step of it can be repeated.
When a step fails, the journal is exchanged (again by one rename, which needs no space on a full disk) for one that
takes everything back.

    staging/tinytorch   the new package, and after the exchange the old one
    staging/new, old    the small files as they will be, and as they were
    staging/back.json   the journal of the way back
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tito import swap
from tito.errors import UserError

JOURNAL = "journal.json"
FOLDER = "tinytorch"
FLUSHING = 16  # files at once


def commit(root: Path, staging: Path, live: Path, files: Mapping[str, str]) -> None:
    """Replace `files` (path below `root` -> text) and exchange `live` for staging/tinytorch: all of it, or nothing.

    `staging` is a folder of `root`. Raises OSError, and everything is as it was, unless taking back failed too: then
    the journal stays, and `recover` goes on with it.
    """
    journal = _prepare(root, staging, live, files)
    try:
        os.replace(staging / "forward.json", root / JOURNAL)
        _sync(root)
        _forward(root, live, journal)
    except OSError:
        if (root / JOURNAL).exists():
            os.replace(staging / "back.json", root / JOURNAL)
            _back(root, live, journal)
        raise


def recover(root: Path, live: Path) -> bool:
    """Complete, or take back, what a killed process had begun; whether there was anything."""
    path = root / JOURNAL
    if not path.exists():
        return False
    try:
        journal = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path} is damaged; delete it, then repeat: tito export --all") from None
    (_back if journal["back"] else _forward)(root, live, journal)
    return True


def _prepare(root: Path, staging: Path, live: Path, files: Mapping[str, str]) -> dict[str, Any]:
    """Write all that the change needs, flushed to the disk, without touching what is in use."""
    existing = {name: (root / name).exists() for name in files}
    for name, text in files.items():
        _put(staging / "new" / name, text)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if existing[name]:
            _put(staging / "old" / name, (root / name).read_bytes())
    digests = {"new": digest(staging / FOLDER), "old": digest(live)}
    journal = {"staging": staging.name, "files": existing, **digests, "back": False}
    _put(staging / "forward.json", json.dumps(journal))
    _put(staging / "back.json", json.dumps({**journal, "back": True}))
    _sync_all(content(staging))
    return journal


def _forward(root: Path, live: Path, journal: dict[str, Any]) -> None:
    """Make everything new. What is done already is left out."""
    staging = root / journal["staging"]
    swap.finish(staging / FOLDER, live)
    if digest(staging / FOLDER) == journal["new"]:
        swap.exchange(staging / FOLDER, live)
    for name in journal["files"]:
        if (staging / "new" / name).exists():
            os.replace(staging / "new" / name, root / name)
    _end(root, staging, live, journal["old"])


def _back(root: Path, live: Path, journal: dict[str, Any]) -> None:
    """Make everything old again. What is done already is left out."""
    staging = root / journal["staging"]
    swap.finish(staging / FOLDER, live)
    if digest(staging / FOLDER) != journal["new"]:
        swap.exchange(staging / FOLDER, live)
    for name, existed in journal["files"].items():
        if not existed:
            (root / name).unlink(missing_ok=True)
        elif (staging / "old" / name).exists():
            os.replace(staging / "old" / name, root / name)
    _end(root, staging, live, journal["new"])


def _end(root: Path, staging: Path, live: Path, expected: str) -> None:
    """Flush, close the journal, and keep the folder that went out if someone changed it meanwhile."""
    _sync_all((root, live.parent))
    left = staging / FOLDER
    if left.exists() and digest(left) != expected:
        date = time.strftime("%Y-%m-%d_%H-%M-%S")
        os.replace(left, _made(root / "backups") / f"{FOLDER}.{date}.{staging.name}")
    (root / JOURNAL).unlink()
    shutil.rmtree(staging, ignore_errors=True)  # what stays is removed by the next export


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def content(folder: Path) -> Iterator[Path]:
    """All files below a folder, sorted, without Python's caches."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def digest(folder: Path) -> str:
    """A hash of all names and contents below a folder."""
    total = hashlib.sha256()
    for path in content(folder):
        name = path.relative_to(folder).as_posix()
        total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def write(path: Path, data: str | bytes) -> None:
    """Write a file, in a folder that is made if missing, and flush it to the disk."""
    _put(path, data)
    _sync(path)


def _put(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)


def _sync_all(paths: Iterable[Path]) -> None:
    """Flush them side by side: a file system that is asked for many at once writes its own journal once for all."""
    errors: list[OSError] = []

    def flush(part: Sequence[Path]) -> None:
        try:
            for path in part:
                with suppress(PermissionError):  # Windows flushes no read-only file
                    _sync(path)
        except OSError as error:
            errors.append(error)

    every = list(paths)
    threads = [threading.Thread(target=flush, args=(every[i::FLUSHING],)) for i in range(min(FLUSHING, len(every)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _sync(path: Path) -> None:
    """Flush a file, or (where the system can) a folder's list of names."""
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
