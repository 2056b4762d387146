"""The folder of sources that Sphinx reads: a file that stays the same is not touched, one that is no longer made goes.

So a second build has little to do: Sphinx reads again only what is newer.
"""

from __future__ import annotations

from pathlib import Path


class Tree:
    """Writes files below a folder, and remembers which."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: set[Path] = set()

    def write(self, name: str, content: str | bytes) -> None:
        """Write `folder/name` unless it holds this already."""
        path, data = self.folder / name, content.encode() if isinstance(content, str) else content
        self.written.add(path)
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def copy(self, name: str, source: Path) -> None:
        """Write `folder/name` with the content of a file."""
        self.write(name, source.read_bytes())

    def finish(self) -> None:
        """Remove what an earlier build wrote and this one did not."""
        for path in [path for path in self.folder.rglob("*") if path.is_file()]:
            if path not in self.written:
                path.unlink()
