"""How long a student waits for each command, beside what Python and NumPy take by themselves.

    tito dev export && python benchmarks/loop.py [--rounds N] [--make-test]    wants an idle machine

Every time is of a whole process, from its start to its end, in a new workspace where all lessons are solved; the
commands take turns. `checks` is what the checks themselves take of it: the same cells in a process that has NumPy and
the package imported. A target is met by the median of the differences within a round. Processor time, which other work
on the machine disturbs less, is given beside it: of a command and all that it starts. From 15 rounds on, loop.json is
written. Not for Windows.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import numpy as np

from tito import student, testing
from tito.commands.checking import package_for
from tito.commands.lessons import job_of, package_jobs
from tito.course import Course, Lesson
from tito.dev import demo
from tito.spare import IMPORTS
from tito.testing import Job
from tito.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 15
NOT_A_STUDENTS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH")
TITO = shutil.which("tito", path=str(Path(sys.executable).parent)) or "tito"
PYTHON, NUMPY, PYTEST, PACKAGE = "python3 -c pass", 'python3 -c "import numpy"', "pytest empty.py", "import tinytorch"
NO_TESTS = 5  # pytest's exit code for an empty file

Timed = Callable[[], float]  # does the thing, and tells how many seconds it took
Samples = dict[str, list[float]]


def facts() -> dict[str, Any]:
    """What the figures depend on."""
    told = {"date": str(datetime.date.today()), "python": platform.python_version(), "numpy": np.__version__}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {**told, "system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count(), "load": load}


def summary(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    return dict(zip(("median", "low", "high"), (float(value) for value in np.percentile(values, (50, 25, 75)))))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--make-test", action="store_true", help="run `make test`, too, once")
    chosen = options.parse_args()
    told = facts()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        samples, processor = in_turns({**place.commands(), **place.checks()}, chosen.rounds)
        samples |= {f"watch {key}, save to verdict": place.watch(key, chosen.rounds) for key in ("01", "08")}
    if chosen.make_test:
        samples["make test"] = [process("make", "test", cwd=ROOT)()]
    found = {part: {name: summary(values) for name, values in times.items()}
             for part, times in (("seconds", samples), ("processor", processor))}  # fmt: skip
    found |= {"targets": targets(samples), "targets by processor": targets(processor)}
    show(found)
    if chosen.rounds >= ROUNDS:
        text = json.dumps({**told, "rounds": chosen.rounds, **found}, indent=1)
        Path(__file__).with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def in_turns(actions: dict[str, Timed], rounds: int) -> tuple[Samples, Samples]:
    """Seconds of each, and of the processor, one after the other, again and again; the first round warms up."""
    turns = [{name: both(action) for name, action in actions.items()} for _ in range(rounds + 1)][1:]
    wall, processor = ({name: [turn[name][i] for turn in turns] for name in actions} for i in (0, 1))
    return wall, {**processor, **{name: wall[name] for name in actions if name.startswith("checks")}}


def both(action: Timed) -> tuple[float, float]:
    before = spent()
    return action(), spent() - before


def spent() -> float:
    """Seconds of processor of all that was started from here and has ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment() -> dict[str, str]:
    """A student's: without what is set on this machine for other purposes."""
    return {name: value for name, value in os.environ.items() if name not in NOT_A_STUDENTS}


def process(*command: str, cwd: Path, code: int = 0, before: Callable[[], object] = bool) -> Timed:
    """Times one process that must end with this code; `before` is done first, untimed."""

    def run() -> float:
        before()
        began = time.perf_counter()
        done = subprocess.run(command, cwd=cwd, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        seconds = time.perf_counter() - began
        if done.returncode != code:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout.decode()}")
        return seconds

    return run


class Place:
    """A workspace with all lessons solved and exported, and another from which a notebook may be missing."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.course = folder, Course.find()
        with contextlib.redirect_stdout(io.StringIO()):
            demo.run(argparse.Namespace(folder=str(folder / "solved")))
        shutil.copytree(folder / "solved", folder / "opened")
        (folder / "empty.py").touch()
        self.workspace = Workspace(folder / "solved")

    def commands(self) -> dict[str, Timed]:
        python, tests = sys.executable, (sys.executable, "-m", "pytest", "-q", "empty.py")
        plain = {
            PYTHON: process(python, "-c", "pass", cwd=self.folder),
            NUMPY: process(python, "-c", "import numpy", cwd=self.folder),
            PYTEST: process(*tests, cwd=self.folder, code=NO_TESTS),
            PACKAGE: process(python, "-c", "import tinytorch", cwd=self.folder / "opened"),
            "tito --help": self.tito("--help"),
            "tito": self.tito(),
        }
        keys = [lesson.id for lesson in self.course.lessons]
        tested = {f"tito test {key}": self.tito("test", key) for key in keys}
        exported = {f"tito export {key}": self.tito("export", key) for key in keys}
        opened = {f"tito open {key}": self.opening(lesson) for key, lesson in zip(keys, self.course.lessons)}
        return {**plain, **tested, **exported, "tito export --all": self.tito("export", "--all"), **opened}

    def tito(self, *words: str) -> Timed:
        return process(TITO, *words, cwd=self.workspace.root)

    def opening(self, lesson: Lesson) -> Timed:
        """Make the notebook, which is not there."""
        other = self.folder / "opened"
        path = Workspace(other).file_of(lesson)
        return process(TITO, "open", lesson.id, "--no-launch", cwd=other, before=lambda: path.unlink(missing_ok=True))

    def checks(self) -> dict[str, Timed]:
        """Of each lesson its own cells, as in `tito test`; and those that `tito export` runs on the package, too."""
        ready = {lesson.id: self.own(lesson) for lesson in self.course.lessons}
        package = package_jobs(self.course, self.course.lessons), self.workspace.root
        own = {f"checks of {key}": lambda job=job: checked(*job) for key, job in ready.items()}
        return {**own, "checks of the package": lambda: checked(*package)}

    def own(self, lesson: Lesson) -> tuple[list[Job], Path]:
        plan = student.plan(lesson, student.read(self.workspace.opened(lesson)))
        return [job_of(plan)], package_for(self.course, self.workspace, lesson)

    def watch(self, key: str, rounds: int) -> list[float]:
        """Seconds from a save to the line with the verdict."""
        path, command = self.workspace.file_of(self.course.lesson(key)), (TITO, "watch", key)
        places = {"cwd": self.workspace.root, "env": environment(), "stdin": subprocess.DEVNULL}
        with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", **places) as watching:
            verdict_from(watching)
            seconds = [saved(path, watching, 0.5 + 0.01 * i) for i in range(rounds)]
            watching.kill()
        return seconds


def checked(jobs: list[Job], package: Path) -> float:
    """Seconds of the cells, in a process that waits with all imported."""
    child = testing.start(package, IMPORTS)
    time.sleep(0.5)
    began = time.perf_counter()
    outcomes = testing.run(jobs, package, child=child)
    seconds = time.perf_counter() - began
    if any(outcome.status != "ok" for outcome in outcomes):
        raise RuntimeError(f"not ok: {outcomes}")
    return seconds


def saved(path: Path, watching: subprocess.Popen[str], pause: float) -> float:
    """Save the file after the pause, as an editor does, and wait for the verdict: at any moment between two looks."""
    time.sleep(pause)
    new = path.with_suffix(".tmp")
    shutil.copyfile(path, new)
    began = time.perf_counter()
    os.replace(new, path)
    verdict_from(watching)
    return time.perf_counter() - began


def verdict_from(watching: subprocess.Popen[str]) -> None:
    while watching.stdout and (line := watching.stdout.readline()):
        if re.match(r"\d\d:\d\d:\d\d +ok", line):
            return
    raise RuntimeError("tito watch ended without a verdict")


def targets(samples: Samples) -> dict[str, dict[str, float]]:
    """What was reached of what is asked for: seconds over something else of the same round."""
    found = {
        "import tinytorch, over NumPy": over(0.015, samples, PACKAGE, NUMPY),
        "tito --help, over Python": over(0.060, samples, "tito --help", PYTHON),
    }
    for key in [name.split()[-1] for name in samples if name.startswith("tito test ")]:
        test, export, without = f"tito test {key}", f"tito export {key}", (NUMPY, f"checks of {key}")
        found[f"{test}, over NumPy and checks"] = over(0.4, samples, test, *without)
        found[f"{export}, over NumPy and checks"] = over(0.5, samples, export, *without, "checks of the package")
    return {**found, "tito export --all, with all checks": over(6.0, samples, "tito export --all")}


def over(at_most: float, samples: Samples, whole: str, *parts: str) -> dict[str, float]:
    left = [seconds - sum(rest) for seconds, *rest in zip(samples[whole], *(samples[part] for part in parts))]
    return {**summary(left), "at_most": at_most}


def show(found: dict[str, dict[str, dict[str, float]]]) -> None:
    print(f"{'ms':<38}{'median':>10}{'quartiles':>20}{'processor':>10}")
    for name, row in found["seconds"].items():
        median, low, high = (1e3 * row[part] for part in ("median", "low", "high"))
        processor = f"{1e3 * found['processor'][name]['median']:.1f}" if name in found["processor"] else ""
        print(f"{name:<38}{median:>10.1f}{f'{low:.1f} to {high:.1f}':>20}{processor:>10}")
    print(f"\n{'ms':<38}{'reached':>10}{'processor':>10}{'at most':>10}")
    for name, one in found["targets"].items():
        processor, missed = found["targets by processor"][name]["median"], one["median"] > one["at_most"]
        numbers = "".join(f"{1e3 * value:>10.1f}" for value in (one["median"], processor, one["at_most"]))
        print(f"{name:<38}{numbers}{'   missed' * missed}")


if __name__ == "__main__":
    main()
