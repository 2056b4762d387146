"""An instructor's course folder: where everything lies in it. nbgrader's own names are nbgrader's defaults.

COURSE/
  nbgrader_config.py  course.toml  roster.csv  header.ipynb
  source/  release/  submitted/  autograded/  feedback/  gradebook.db      nbgrader's
  out/                                                                     made for others: wheel, CSV, zips, report
  .teach/                                                                  secret, bundles, results; never shared
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tito.errors import UserError

PRIVATE = ".teach"


@dataclass(frozen=True)
class Folder:
    """A course folder by its root."""

    root: Path

    @classmethod
    def enter(cls) -> Folder:
        """The nearest course folder from the current one upwards."""
        here = Path.cwd()
        for folder in (here, *here.parents):
            if (folder / PRIVATE).is_dir():
                return cls(folder)
        raise UserError(f"{here} is no course folder; make one with: tito teach init my-course")

    @property
    def config(self) -> Path:
        """nbgrader's configuration."""
        return self.root / "nbgrader_config.py"

    @property
    def settings(self) -> Path:
        """What this course changes: variants, policies, dates."""
        return self.root / "course.toml"

    @property
    def roster(self) -> Path:
        """The students: id, first_name, last_name, email, and columns of their own."""
        return self.root / "roster.csv"

    @property
    def source(self) -> Path:
        """Assignments with solutions, from which nbgrader releases."""
        return self.root / "source"

    @property
    def release(self) -> Path:
        """Assignments as students get them."""
        return self.root / "release"

    @property
    def submitted(self) -> Path:
        """What came in: submitted/STUDENT/ASSIGNMENT/."""
        return self.root / "submitted"

    @property
    def out(self) -> Path:
        """What is made for others."""
        return self.root / "out"

    @property
    def private(self) -> Path:
        """What nobody else may read."""
        return self.root / PRIVATE

    @property
    def results(self) -> Path:
        """Where results are kept."""
        return self.private / "results"

    @property
    def reference(self) -> Path:
        """Packages of earlier lessons, solved, one folder a lesson: reference/03 holds what 03 needs."""
        return self.private / "reference"

    @cached_property
    def secret(self) -> bytes:
        """32 random bytes, made at the first use, that decide what hidden checks draw."""
        place = self.private / "secret"
        if not place.exists():
            fresh = place.with_suffix(f".{os.getpid()}")
            fresh.touch(mode=0o600)
            fresh.write_bytes(secrets.token_bytes(32))
            try:
                os.link(fresh, place)  # of two processes the first decides
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
        return place.read_bytes()
