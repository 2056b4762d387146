"""A learner's workspace: where its files lie, what has been exported, and what tito remembers in `.tito`."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

from tito.course import Lesson
from tito.errors import UserError

FOLDERS = ("modules", "tinytorch", "milestones", "plots", ".tito")
WAIT_SECONDS = 10.0
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Workspace:
    """The folder that `tito init` made."""

    root: Path
    percent: bool = False

    @classmethod
    def find(cls, start: Path | None = None) -> Workspace:
        """The workspace that `start` (else the current folder) lies in."""
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / ".tito" / "workspace.json").is_file():
                return cls(folder, read_json(folder / ".tito" / "workspace.json").get("percent") is True)
        raise UserError("this folder lies in no workspace; make one with: tito init my-tinytorch")

    @classmethod
    def create(cls, root: Path, percent: bool = False) -> Workspace:
        """A new workspace in an empty or missing folder."""
        if (root / ".tito" / "workspace.json").exists():
            raise UserError(f"{root} is a workspace already; go on there with: cd {quote(str(root))} && tito")
        if root.exists() and not root.is_dir():
            raise UserError(f"{root} is a file; give a new folder: tito init my-tinytorch")
        if root.exists() and any(root.iterdir()):
            raise UserError(f"{root} is not empty; give a new folder: tito init my-tinytorch")
        for name in FOLDERS:
            (root / name).mkdir(parents=True, exist_ok=True)
        write_json(root / ".tito" / "workspace.json", {"version": 1, "percent": percent})
        return cls(root, percent)

    @property
    def modules(self) -> Path:
        """The folder of notebooks."""
        return self.root / "modules"

    @property
    def package(self) -> Path:
        """The learner's package."""
        return self.root / "tinytorch"

    @property
    def private(self) -> Path:
        """The folder `.tito`."""
        return self.root / ".tito"

    def file_of(self, lesson: Lesson) -> Path:
        """Where the lesson's notebook or percent file lies or would lie."""
        endings = (".py", ".ipynb") if self.percent else (".ipynb", ".py")
        paths = [self.modules / f"{lesson.stem}{ending}" for ending in endings]
        return next((path for path in paths if path.exists()), paths[0])

    def opened(self, lesson: Lesson) -> Path:
        """The lesson's file, which must be there."""
        path = self.file_of(lesson)
        if not path.exists():
            raise UserError(f"there is no {self.shown(path)} yet; make it with: tito open {lesson.id}")
        return path

    def snapshot(self, lesson: Lesson) -> Path:
        """Where the exported code of the lesson is stored."""
        return self.private / "exported" / f"{lesson.stem}.py"

    def exported(self, lesson: Lesson) -> bool:
        """Whether the lesson has been exported."""
        return self.snapshot(lesson).is_file()

    def shown(self, path: Path) -> str:
        """The path as the learner knows it, from the workspace on."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def backup(self, path: Path) -> Path:
        """Copy a file to a dated name under .tito/backups; where it is."""
        folder = self.private / "backups"
        folder.mkdir(exist_ok=True)
        date = time.strftime("%Y-%m-%d_%H-%M-%S")
        names = (f"{path.stem}.{date}{more}{path.suffix}" for more in ("", *(f"_{i}" for i in range(2, 1000))))
        target = next(folder / name for name in names if not (folder / name).exists())
        shutil.copy2(path, target)
        return target

    def recall(self, part: str, key: str, kind: type[Kind]) -> Kind | None:
        """What tito remembers between calls: results of tests and milestones, hints given; None for anything odd."""
        found = table_of(read_json(self.private / "progress.json").get(part)).get(key)
        return found if isinstance(found, kind) else None

    def remember(self, part: str, key: str, value: Any) -> None:
        """Remember one value, where the folder can be written; it is a convenience, and nothing is lost without it."""
        progress = read_json(self.private / "progress.json")
        progress[part] = {**table_of(progress.get(part)), key: value}
        with suppress(OSError):
            write_json(self.private / "progress.json", progress)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other tito commands out of this workspace meanwhile; waits for one that is at work."""
        from filelock import FileLock, Timeout

        try:
            lock = FileLock(self.private / "lock").acquire(timeout=WAIT_SECONDS)
        except Timeout:
            raise UserError(f"another tito is at work in {self.root}; once it has ended: tito status") from None
        with lock:
            yield


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file's table; empty when there is none or it cannot be read."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return table_of(table)


def table_of(value: Any) -> dict[str, Any]:
    """The value if it is a table, else an empty one."""
    return value if isinstance(value, dict) else {}


def write_json(path: Path, table: dict[str, Any]) -> None:
    """Write a table whole or not at all."""
    write_text(path, json.dumps(table, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(beside, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(beside, path)
    except BaseException:  # also when interrupted: no half file stays behind
        beside.unlink(missing_ok=True)
        raise
