"""A child process that waits ready for the next test run: NumPy and the learner's package are imported by then.

Each process serves one run, as every test run has a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tito import testing
from tito.testing import Child, Job, Outcome

TOOLS = ("tito.checks.observe", "tito.notebook")  # they bring NumPy, and need no package
IMPORTS = (*TOOLS, "tinytorch")


class Spare:
    """At most one process that waits. Close it at the end; it also ends by itself when this process does."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.package: Path | None = None

    def prepare(self, package: Path | None, imports: Sequence[str] = IMPORTS) -> None:
        """Have a process ready for this package; TOOLS are its imports where the package is not built yet."""
        if package is None or (self.child and package == self.package and self.child.process.poll() is None):
            return
        self.close()
        self.child, self.package = testing.start(package, imports), package

    def run(self, jobs: Sequence[Job], package: Path, *, keep_going: bool = False) -> list[Outcome]:
        """As testing.run, in the process that waits."""
        self.prepare(package)
        child, self.child = self.child, None
        return testing.run(jobs, package, keep_going=keep_going, child=child)

    def close(self) -> None:
        """End the process that waits."""
        child, self.child = self.child, None
        if child is not None:
            child.kill()
