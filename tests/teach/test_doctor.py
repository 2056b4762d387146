"""`tito teach doctor`: a level holds when its canaries are stopped, and does not when one gets through."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tito.cli import main
from tito.errors import UserError
from tito.teach.grader import canaries, isolation, zygotes

ORDINARY = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]  # as somebody who is not root


@contextmanager
def without(monkeypatch: pytest.MonkeyPatch, module: str, line: str) -> Iterator[None]:
    """The sealed side with one of its doors left open: the line is taken out of its copy of the module."""
    real = zygotes.SealedHome.__init__

    def opened(self: zygotes.SealedHome, files: dict[str, str]) -> None:
        real(self, files)
        path = self.folder / "code/tito/teach/sealed" / module
        text = path.read_text(encoding="utf-8")
        assert line in text
        path.write_text(text.replace(line, "    pass\n" if line.startswith(" ") else "pass\n"), encoding="utf-8")

    with monkeypatch.context() as patch:
        patch.setattr(zygotes.SealedHome, "__init__", opened)
        yield


@pytest.mark.parametrize("level", [1, 2])
def test_the_level_holds(level: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["teach", "doctor", "--level", str(level)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"level {level}") and lines[0].endswith("holds")
    assert len(lines) == 1 + len(canaries.SAYS) <= 12
    assert all(line.startswith("  ok") and len(line) <= 78 for line in lines[1:])


OPENED = {
    "no filter of system calls": ("isolate.py", "seccomp.restrict()", canaries.open_a_socket),
    "no limits": ("isolate.py", "limit(keep)", canaries.take_memory),
    "files left open": ("isolate.py", "os.closerange(low + 1, high)", canaries.find_an_open_file),
    "the same user": ("isolate.py", "_become(place.uid)", canaries.be_the_grader),
    "no folder of its own": ("isolate.py", "_fresh_folders()\n", canaries.see_other_processes),
}


@pytest.mark.parametrize("name", OPENED)
def test_an_open_door_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, line, canary = OPENED[name]
    with without(monkeypatch, module, line):
        proof = isolation.prove(1, [canary])
    assert proof[canary]
    assert not isolation.holds(1, proof)


def test_files_are_kept_from_it_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a root of its own and by Landlock: what a canary may not read is read only without both."""
    landlock = ("isolate.py", "landlock.restrict(SCRATCH)\n")
    root = ("zygote.py", 'isolate.enter(isolate.Place(**settings["place"]))\n')
    with without(monkeypatch, *landlock):
        assert isolation.holds(1, isolation.prove(1, [canaries.read_a_file, canaries.write_a_file]))
    scratch = [("isolate.py", "    _fresh_folders()\n"), ("isolate.py", "os.chdir(SCRATCH)\n")]
    with ExitStack() as open_doors:
        for module, line in (landlock, root, *scratch):
            open_doors.enter_context(without(monkeypatch, module, line))
        assert isolation.prove(1, [canaries.read_a_file])[canaries.read_a_file]


def test_as_an_ordinary_user() -> None:
    done = subprocess.run(
        [*ORDINARY, sys.executable, "-m", "tito", "teach", "doctor", "--level", "1"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line[2:4] for line in done.stdout.splitlines()[1:]].count("no") == 1  # nobody but root can be another user
    assert "runs as another user: it runs as uid 1000" in done.stdout


def test_level_3_is_never_for_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert os.geteuid() == 0, "these tests are run as root, as in CI"
    with pytest.raises(UserError, match="level 3 does not isolate"):
        isolation.prove(3)
    assert main(["teach", "doctor", "--level", "3"]) == 1
    assert "tito teach doctor" in capsys.readouterr().out


def test_level_3_limits_and_no_more() -> None:
    done = subprocess.run(
        [*ORDINARY, sys.executable, "-m", "tito", "teach", "doctor", "--level", "3"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "limits alone" in done.stdout.splitlines()[0]
    assert "ok   cannot take more memory" in done.stdout and "no   cannot open a socket" in done.stdout
