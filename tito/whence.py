"""From a line of the exported package to the line of a notebook's cell that it came from.

An export leaves a map beside the package: `.tito/sourcemap.json`, written by tito/package.py. The notebook may have
changed since: the line is looked for in it as it is now. `tito test` and `tito milestone` tell these places, pytest
does by tito/pytest_plugin.py, and any program of the student's that is run by `python -m tito.run program.py`.
"""

from __future__ import annotations

import json
import linecache
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any

from tito.errors import UserError

SOURCEMAP = "sourcemap.json"
PACKAGE = "tinytorch"
HEAD = "Of your notebooks:"
FRAMES = 5  # of the package that are told, the deepest


@dataclass(frozen=True)
class Origin:
    """A line of a notebook's cell, or of a percent file. `found` says whether it stands there now."""

    file: str
    cell: int
    line: int
    found: bool = True

    @property
    def label(self) -> str:
        """What the line counts in: `modules/01_tensor.ipynb, cell 31`."""
        known = self.file if self.file.endswith(".py") else f"{self.file}, cell {self.cell}"
        return known if self.found else f"{known} as exported"

    def __str__(self) -> str:
        return f"{self.label}, line {self.line}"


def origin(sourcemap: Path, root: Path, name: str, line: int, text: str) -> Origin | None:
    """Where a line of the package's file `name` came from; None where nobody but tito wrote it, or no map is there.

    `root` is the workspace, `text` what stands in the line.
    """
    for first, last, file, cell, begun in _read(sourcemap).get(name, ()):
        if first <= line <= last:
            return _now(root, Origin(file, cell, begun + line - first), text.strip())
    return None


def lines(trace: TracebackType | None) -> list[str]:
    """A sentence for each line of the package in a traceback, the deepest last; [] where there is none."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(trace)]
    told = [f"  {PACKAGE}/{Path(file).name} line {line} = {place}" for file, line, place in _placed(frames)]
    return list(dict.fromkeys(told))[-FRAMES:]


def place_of(file: str, line: int) -> str:
    """Where a line of a workspace's package came from, as text; "" of any other file's."""
    return next((str(place) for _, _, place in _placed([(file, line)])), "")


def workspace_of(path: Path) -> Path:
    """The workspace that a path lies in, else its own folder."""
    return next((folder for folder in path.parents if (folder / ".tito").is_dir()), path.parent)


def file_of_package(path: PurePath) -> str:
    """The name of a file of the package; "" of any other."""
    return path.name if path.parent.name == PACKAGE and path.suffix == ".py" else ""


def _placed(frames: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, Origin]]:
    for file, line in frames:
        name, root = file_of_package(Path(file)), Path(file).parent.parent
        place = origin(root / ".tito" / SOURCEMAP, root, name, line, linecache.getline(file, line)) if name else None
        if place is not None:
            yield file, line, place


def _read(sourcemap: Path) -> dict[str, Any]:
    try:
        table = json.loads(sourcemap.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # exported by an older tito, or being exported now
        return {}
    return table if isinstance(table, dict) else {}


def _now(root: Path, place: Origin, text: str) -> Origin:
    """The place in the file as it is now: where it was, else the one place where such a line stands."""
    from tito import studentfile

    try:
        cells = studentfile.read(root / place.file).cells
    except UserError:
        return replace(place, found=False)
    same = [
        (cell.number, number)
        for cell in cells
        for number, line in enumerate(cell.source.split("\n"), cell.line)
        if line.strip() == text
    ]
    if (place.cell, place.line) in same:
        return place
    return replace(place, cell=same[0][0], line=same[0][1]) if len(same) == 1 else replace(place, found=False)
