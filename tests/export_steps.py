"""Exports whose every step can be counted, failed or killed. As a program: exports in a loop and dies at step N.

python export_steps.py WORKSPACE N one|three      (N = 0: print how many steps there are)
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tito import package, percent, swap
from tito.fold import FoldInput
from tito.workspace import Workspace

CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
WRAPPED = ((os, "fsync"), (swap, "in_one_step"))  # changes that Python raises no audit event for
VERSIONS = ("old", "new", "newer")


class Steps:
    """Calls `act` at the n-th change of the file system, before it happens."""

    def __init__(self, at: int, act: Callable[[int], None]) -> None:
        self.at, self.act, self.count, self.on = at, act, 0, False
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


def main(root: str, at: str, way: str) -> None:
    if way == "three":
        swap.in_one_step = lambda new, live: False
    steps = Steps(int(at), lambda count: os.kill(os.getpid(), signal.SIGKILL))
    workspace = Workspace(Path(root))
    print("ready", flush=True)
    steps.on = True
    for version in VERSIONS[1:]:
        export(workspace, version)
    steps.on = False
    print(steps.count)
    while at == "-1":
        for version in VERSIONS:
            export(workspace, version)


if __name__ == "__main__":
    main(*sys.argv[1:])
