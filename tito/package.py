"""The package on disk: built from lessons, kept by hash for tests, and put in place of the live one by an export.

An export, under the workspace's lock:

    package.recover(workspace)
    with package.staging(workspace) as folder:
        package.build(folder, lessons)
        ...                                     run the checks against folder
        done = package.commit(workspace, folder, {"01_tensor.py": text})
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tito import transaction
from tito.course import Lesson
from tito.errors import UserError
from tito.fold import FoldInput, fold
from tito.fold.places import Span
from tito.percent import Cell
from tito.whence import SOURCEMAP
from tito.workspace import Workspace, read_json

PACKAGE = transaction.FOLDER
MANIFEST = "package.json"
STAGING = "staging-"
CACHED_BUILDS = 24
UNCHANGED = "your package is as it was"


@dataclass(frozen=True)
class Commit:
    """What an export did: names of the files that are new or changed, and backups of files edited by hand."""

    rewrote: tuple[str, ...]
    backups: Mapping[str, Path]


def build(target: Path, lessons: Sequence[FoldInput], notes: dict[str, list[str]] | None = None) -> None:
    """Write the folder target/tinytorch: folded lessons, supplied modules, `__init__`. Raises FoldError.

    `notes` gets for each lesson a line for every statement that is left out. Beside the folder lies a map of which
    lines came from which cells: see tito/whence.py.
    """
    origins: dict[str, list[Span]] = {}
    texts = fold(lessons, notes, origins)
    for lesson in lessons:
        texts |= {f"{module}.py": text for module, text in lesson.supplied.items()}
    folder = target / PACKAGE
    with told(UNCHANGED, "tito export"):
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (target / SOURCEMAP).write_text(_sourcemap(lessons, origins), encoding="utf-8", newline="\n")


def _sourcemap(lessons: Sequence[FoldInput], origins: Mapping[str, Sequence[Span]]) -> str:
    """`{"tensor.py": [[first line, last line, "modules/01_tensor.ipynb", cell, line in it], ...], ...}`"""
    files = {each.name: each.file for each in lessons}
    table = {
        name: [[*lines, files[lesson], cell, line] for *lines, lesson, cell, line in spans]
        for name, spans in origins.items()
    }
    return json.dumps(table) + "\n"


def fold_input(lesson: Lesson, cells: Sequence[Cell], file: str) -> FoldInput:
    """What a lesson gives to the package by these cells, which come from `file`."""
    title = f"Lesson {lesson.id}: {lesson.title}. Exported by tito from {file}."
    supplied = {path.stem: path.read_text(encoding="utf-8") for path in lesson.supplied}
    return FoldInput(lesson.name, title, cells, supplied, exported(lesson), file)


def exported(lesson: Lesson) -> list[Cell]:
    """The lesson's own cells of which the package is made."""
    return [cell for cell in lesson.cells() if cell.exported]


def cached(cache: Path, lessons: Sequence[FoldInput]) -> Path:
    """A folder of `cache` that holds the package of these lessons, built now unless it is there, whole."""
    place = cache / key(lessons)
    with told(UNCHANGED, "tito test"):
        if _is_whole(place):
            return place
        cache.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="new-", dir=cache))
        try:
            build(fresh, lessons)
            transaction.write(fresh / MANIFEST, json.dumps(hashes(fresh / PACKAGE)))
            _move(fresh, place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        _prune(cache)
    return place


def _is_whole(place: Path) -> bool:
    known = read_json(place / MANIFEST)
    return bool(known) and known == hashes(place / PACKAGE)


def _move(fresh: Path, place: Path) -> None:
    """Put a fresh build in its place; another process may have been faster."""
    if place.exists() and not _is_whole(place):
        shutil.rmtree(place)
    try:
        os.rename(fresh, place)
    except OSError:
        if not _is_whole(place):
            raise


def _prune(cache: Path) -> None:
    builds = sorted(cache.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in builds[:-CACHED_BUILDS]:
        shutil.rmtree(old, ignore_errors=True)


def key(lessons: Sequence[FoldInput]) -> str:
    """A hash of all that a build depends on."""
    parts = [[each.name, each.title, _cells(each), sorted(each.supplied.items())] for each in lessons]
    return hashlib.sha256(json.dumps([_code_digest(), parts]).encode("utf-8")).hexdigest()


def _cells(lesson: FoldInput) -> list[list[object]]:
    cells = [*lesson.cells, *lesson.course]
    return [[c.kind, c.role, c.marks.get("cell", c.number), c.marks.get("line"), c.source] for c in cells]


@lru_cache(maxsize=1)
def _code_digest() -> str:
    """A hash of the exporter itself: another tito builds another package from the same cells."""
    here = Path(__file__).resolve().parent
    files = [*sorted((here / "fold").glob("*.py")), here / "package.py", here / "pycell.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


@contextmanager
def staging(workspace: Workspace) -> Iterator[Path]:
    """A folder of `.tito` in which a build waits; removed afterwards, unless a journal needs it still."""
    with told(UNCHANGED, "tito export"):
        folder = Path(tempfile.mkdtemp(prefix=STAGING, dir=workspace.private))
    try:
        yield folder
    finally:
        if not pending(workspace):
            shutil.rmtree(folder, ignore_errors=True)


def commit(workspace: Workspace, folder: Path, snapshots: Mapping[str, str]) -> Commit:
    """Put folder/tinytorch in place and store `snapshots` (file name -> text), all of it or nothing.

    Files that the student added to the package are carried over; a generated file edited by hand is copied to a dated
    backup first. Call it under the workspace's lock. Raises UserError, and nothing has changed.
    """
    with told(UNCHANGED, "tito export", workspace):
        live = workspace.package.resolve()
        live.mkdir(exist_ok=True)
        new = folder / PACKAGE
        _drop_caches(new)
        built, before, known = hashes(new), hashes(live), manifest(workspace)
        edited = [name for name in before if before[name] not in (known.get(name), built.get(name))]
        backups = {name: workspace.backup(live / name) for name in edited if name in {*known, *built}}
        for name in before.keys() - known.keys() - built.keys():
            _carry(live / name, new / name)
        files = {f"exported/{name}": text for name, text in snapshots.items()}
        files[MANIFEST] = json.dumps({"build": _digest(built), "files": built}, indent=1) + "\n"
        files[SOURCEMAP] = (folder / SOURCEMAP).read_text(encoding="utf-8")
        transaction.commit(workspace.private, folder, live, files)
    return Commit(tuple(name for name in built if built[name] != before.get(name)), backups)


def _drop_caches(folder: Path) -> None:
    """Bytecode remembers the path that it was compiled at."""
    for cache in sorted(folder.rglob("__pycache__")):
        shutil.rmtree(cache)


def _carry(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def hashes(folder: Path) -> dict[str, str]:
    """Each file below the folder, by its name from there, and the hash of its content."""
    files = transaction.content(folder)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files).encode("utf-8")).hexdigest()


def manifest(workspace: Workspace) -> dict[str, str]:
    """The generated files of the live package, as they were written, by name -> hash."""
    files = read_json(workspace.private / MANIFEST).get("files", {})
    return files if isinstance(files, dict) else {}


def pending(workspace: Workspace) -> bool:
    """Whether an export was cut off, or is at work just now: take the lock, then call `recover`."""
    return (workspace.private / transaction.JOURNAL).exists()


def recover(workspace: Workspace) -> bool:
    """Complete or take back an export that was cut off, and clear its remains; whether there was one.

    Call it under the workspace's lock.
    """
    with told("the last export is still cut off", "tito", workspace):
        found = transaction.recover(workspace.private, workspace.package.resolve())
    for left in workspace.private.glob(f"{STAGING}*"):
        shutil.rmtree(left, ignore_errors=True)
    return found


@contextmanager
def told(outcome: str, again: str, workspace: Workspace | None = None) -> Iterator[None]:
    """Turn an OSError into one sentence: what the system said, what became of the package, what to do."""
    try:
        yield
    except OSError as error:
        if workspace and pending(workspace):
            outcome = "the export was cut off, and the next command completes it or takes it back"
        trouble, remedy = _trouble(error)
        raise UserError(f"{trouble}: {outcome}; {remedy}, then repeat: {again}") from error


def _trouble(error: OSError) -> tuple[str, str]:
    """What the system refused, and what to do about it."""
    file = error.filename or "a file"
    known = {
        errno.ENOSPC: ("the disk is full", "free some space"),
        errno.EDQUOT: ("your disk quota is used up", "free some space"),
        errno.EROFS: (f"{file} lies on a read-only disk", "copy the workspace to a folder that you may write"),
        errno.EACCES: (f"you may not write {file}", "give yourself the right to"),
    }
    return known.get(error.errno or 0, (f"{file}: {error.strerror or error}", "look for the cause with tito doctor"))
