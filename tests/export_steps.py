"""Exports whose every step can be counted, failed or killed. As a program: exports in a loop and dies at a step.

python export_steps.py WORKSPACE one|three KILL [FAIL]

Killed before step KILL (0: prints how many steps there are, and which are renames; -1: goes on until it is killed);
before that, step FAIL finds the disk full.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tito import package, percent, swap
from tito.errors import UserError
from tito.fold import FoldInput
from tito.workspace import Workspace

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
WRAPPED = ((os, "fsync"), (swap, "in_one_step"))  # changes that Python raises no audit event for
VERSIONS = ("old", "new", "newer")


class Steps:
    """Calls `act` at the n-th change of the file system, before it happens."""

    def __init__(self, at: int, act: Callable[[int], None]) -> None:
        self.at, self.act, self.count, self.on = at, act, 0, False
        self.renames: list[int] = []
        sys.addaudithook(self._hear)
        for module, name in WRAPPED:
            setattr(module, name, self._around(getattr(module, name)))

    def step(self) -> None:
        if self.on:
            self.count += 1
            if self.at and self.count >= self.at:
                self.act(self.count)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE):
            self.step()
        if event == "os.rename" and self.on:
            self.renames.append(self.count)

    def _around(self, function: Callable[..., object]) -> Callable[..., object]:
        def stepped(*arguments: object) -> object:
            self.step()
            done = function(*arguments)
            self.step()
            return done

        return stepped


def export(workspace: Workspace, version: str) -> package.Commit:
    """Export one lesson in the old version, two in the new ones."""
    texts = {"01_one": f'# %% exercise="f"\ndef f():\n    return "{version}"\n'}
    if version != "old":
        texts["02_two"] = f'# %% exercise="g"\nVERSION = "{version}"\n'
    lessons = [FoldInput(stem[3:], f"Lesson {stem}.", percent.read(text)) for stem, text in texts.items()]
    lessons[-1] = FoldInput(lessons[-1].name, "Last.", lessons[-1].cells, {"extra": f"ONE = '{version}'\n"})
    with package.staging(workspace) as folder:
        package.build(folder, lessons)
        return package.commit(workspace, folder, {f"{stem}.py": text for stem, text in texts.items()})


def main(root: str, way: str, kill: int, fail: int = 0) -> None:
    def act(count: int) -> None:
        if count == fail:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if kill and count >= kill:
            os.kill(os.getpid(), signal.SIGKILL)

    if way == "three":
        swap.in_one_step = lambda new, live: False
    steps = Steps(fail or max(kill, 0), act)
    workspace = Workspace(Path(root))
    print("ready", flush=True)
    while kill == -1:
        for version in VERSIONS[1:]:
            export(workspace, version)
    steps.on = True
    try:
        for version in VERSIONS[1:]:
            export(workspace, version)
    except UserError:
        pass
    steps.on = False
    print(json.dumps({"count": steps.count, "renames": steps.renames}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
