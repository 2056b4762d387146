"""Starts the sealed side and speaks with it: a zygote at levels 1 and 3, bubblewrap at level 2. Trusted side.

Level 1: namespaces, an own uid a slot, Landlock, seccomp, limits. Level 2: bubblewrap, a fresh interpreter a child.
Level 3: limits alone. Begin at `start`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import numpy as np

import tito
from tito.errors import UserError

FIRST_UID = 61_000  # the uid of slot 0 where the grader runs as root
START_SECONDS = 60.0
SOURCES = ("*.py", "checks/*.py", "fold/*.py", "teach/__init__.py", "teach/sealed/*.py")
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
COVERED = ("site-packages", "dist-packages")
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SCRATCH = "/scratch"


class Starter(Protocol):
    """What starts children, one at a time."""

    def start(self, talk: int, printed: int) -> None:
        """A child that answers on the socket `talk` and prints into the pipe `printed`."""

    def stop(self, is_gone: bool) -> int | None:
        """End it with all that it left -> how it had ended by itself: its exit code, or minus a signal's number.

        `is_gone` says that it hung up, so that it may be about to end.
        """

    def close(self) -> None:
        """End all, remove all."""


def start(level: int, slot: int, files: Mapping[str, str]) -> Starter:
    """The sealed side for these files of a bundle (`Bundle.sealed`). Raises UserError."""
    if level == 3 and os.geteuid() == 0:
        raise UserError("level 3 does not isolate, and as root a submission could do anything; see: tito teach doctor")
    if level == 2 and shutil.which("bwrap") is None:
        raise UserError("level 2 needs bubblewrap, which is missing; install it: apt-get install bubblewrap")
    home = SealedHome(files)
    return Wrapped(home) if level == 2 else Zygote(home, level, slot)


class SealedHome:
    """A folder with all that the sealed side may read: the probe runner, the bundle's sealed files, NumPy by link."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tito-sealed-"))
        self.folder.chmod(0o755)
        self.root = self.folder / "root"
        for folder in (self.root, self.folder / "package", self.folder / "numpy"):
            folder.mkdir()
        self._copy_tito()
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        self.numpy = [path for path in map(Path(np.__file__).parents[1].joinpath, ("numpy", "numpy.libs"))]
        self.numpy = [path for path in self.numpy if path.exists()]
        for path in self.numpy:
            (self.folder / "numpy" / path.name).symlink_to(path)

    @property
    def path(self) -> list[str]:
        """What the sealed interpreter adds to its sys.path."""
        return [str(self.folder / "code"), str(self.folder / "numpy")]

    @property
    def script(self) -> str:
        """The folder of the programs that run sealed."""
        return str(self.folder / "code" / "tito" / "teach" / "sealed")

    @property
    def visible(self) -> list[str]:
        """Paths outside of it that are needed: Python, NumPy, the system's libraries."""
        base = Path(sys.base_prefix).resolve()
        python = [] if base == Path("/usr") else [str(base / "lib"), str(base / "bin")]
        numpy = [str(path) for path in self.numpy if str(path) not in self.uncovered]
        return [*filter(os.path.lexists, SYSTEM), *python, *numpy, str(self.folder)]

    @property
    def covered(self) -> list[str]:
        """Folders among these that hold other packages."""
        folders = {Path(sysconfig.get_path("stdlib")).resolve(), *Path("/usr/lib").glob("python3*")}
        folders |= set(Path("/usr/local/lib").glob("python3*"))
        return sorted(str(folder / name) for folder in folders for name in COVERED if (folder / name).is_dir())

    @property
    def uncovered(self) -> list[str]:
        """NumPy, where it lies in one of these: installed for all, not in a virtual environment."""
        return [str(path) for path in self.numpy if any(path.is_relative_to(folder) for folder in self.covered)]

    def close(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _copy_tito(self) -> None:
        source = Path(tito.__file__).parent
        for pattern in SOURCES:
            for path in source.glob(pattern):
                target = self.folder / "code" / "tito" / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


class Zygote:
    """A warm process that forks children."""

    def __init__(self, home: SealedHome, level: int, slot: int) -> None:
        self.home = home
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.link, self.log = ours, home.folder / "log"
        seen = {"visible": home.visible, "covered": home.covered, "uncovered": home.uncovered}
        place = {"root": str(home.root), **seen, "uid": FIRST_UID + slot}
        settings = {"home": str(home.folder), "level": level, "path": home.path, "place": place}
        command = [*_python(), f"{home.script}/zygote.py", json.dumps(settings)]
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=log, stderr=log, env=THREADS)
        self.link.settimeout(START_SECONDS)
        why = self._await_ready()
        if why:
            self.close()
            raise UserError(f"level {level} does not work here ({why}); look for the cause with: tito teach doctor")

    def start(self, talk: int, printed: int) -> None:
        """Fork one."""
        socket.send_fds(self.link, [b"start"], [talk, printed])
        self.link.recv(16)

    def stop(self, is_gone: bool) -> int | None:
        """Kill it and its namespaces."""
        self.link.send(b"gone" if is_gone else b"stop")
        told = self.link.recv(16)
        return None if told == b"None" else int(told)

    def close(self) -> None:
        """End the zygote; its children end with it."""
        self.link.close()
        self.process.kill()
        self.process.wait()
        self.home.close()

    def _await_ready(self) -> str:
        """Why it cannot start children; "" when it can."""
        try:
            word = self.link.recv(4096).decode("utf-8", "replace")
        except OSError as error:
            word = str(error)
        return "" if word == "ready" else word or _last_line(self.log)


class Wrapped:
    """bubblewrap around a fresh interpreter for each child."""

    def __init__(self, home: SealedHome) -> None:
        self.home = home
        self.process: subprocess.Popen[bytes] | None = None
        self.bwrap = shutil.which("bwrap") or "bwrap"

    def start(self, talk: int, printed: int) -> None:
        """Run one."""
        command = [*self._bwrap(), *_python(), "-c", _BOOT, *self.home.path, str(self.home.folder), str(talk)]
        nothing = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=nothing, stdout=printed, stderr=printed, pass_fds=[talk], env=THREADS
        )

    def stop(self, is_gone: bool) -> int | None:
        """Kill bubblewrap, and with it the pid namespace."""
        assert self.process is not None  # start comes first
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(0.2 if is_gone else 0)
        ended = self.process.poll()
        self.process.kill()
        self.process.wait()
        return ended if ended is None or ended < 128 else 128 - ended

    def close(self) -> None:
        """Remove the home."""
        self.home.close()

    def _bwrap(self) -> list[str]:
        command = [self.bwrap, "--unshare-all", "--unshare-user", "--as-pid-1", "--die-with-parent", "--new-session"]
        command += ["--cap-drop", "ALL", "--uid", str(FIRST_UID), "--gid", str(FIRST_UID), "--clearenv"]
        command += ["--proc", "/proc", "--dev", "/dev"]
        for name, value in {**THREADS, "HOME": SCRATCH, "TMPDIR": SCRATCH}.items():
            command += ["--setenv", name, value]
        for path in self.home.visible:
            command += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
        for path in self.home.covered:
            command += ["--tmpfs", path]
        for path in self.home.uncovered:
            command += ["--ro-bind", path, path]
        for path in self.home.covered:
            command += ["--remount-ro", path]
        scratch = ["--size", str(64 * 2**20), "--tmpfs", SCRATCH]
        return [*command, *scratch, "--remount-ro", "/", "--chdir", SCRATCH, "--"]


_BOOT = (
    "import sys; sys.path += sys.argv[1:3]; sys.argv[1:3] = []; sys.dont_write_bytecode = True;"
    "from tito.teach.sealed import child; child.main()"
)


def _python() -> list[str]:
    """The interpreter itself, not a virtual environment's: no site, no environment variables, UTF-8."""
    return [os.path.realpath(sys.executable), "-I", "-S", "-X", "utf8"]


def _last_line(log: Path) -> str:
    return log.read_bytes()[-500:].decode("utf-8", "replace").strip().rpartition("\n")[2] or "it ended at once"
