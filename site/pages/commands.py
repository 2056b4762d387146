"""What commands print, for text pages: they really run, each in a process of its own, in a workspace made for it.

A story is a file of text/sessions: parts by name, each a list of steps, all in one workspace. `{{ commands.session
STORY.PART }}` shows a part: the commands as typed, and what they said. Begin at `session`; `Learner` takes the steps.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pages.site import ROOT, TEXT, Site
from tito import release
from tito.course import _read_toml
from tito.dev.demo import answer
from tito.dev.mistakes import mistakes_of
from tito.percent import Cell

SESSIONS = TEXT / "sessions"
TOOL = [ROOT / "tito" / name for name in ("checks", "fold", "commands")]
TOLD = re.compile(r"^\d\d:\d\d:\d\d  ", re.MULTILINE)  # a line of `tito watch` about one test
PATIENCE = 60.0  # seconds until a test that `tito watch` began must be told
STUB = re.compile(r"^( *)raise NotImplementedError.*$", re.MULTILINE)

Step = str | dict[str, Any]


def session(site: Site, name: str) -> str:
    """A part of a story, as a console block."""
    story, _, part = name.partition(".")
    told = said(site, story)
    if part not in told:
        raise KeyError(f"{story}.toml has no part {part!r}, only {', '.join(told)}")
    return block(told[part])


def block(told: Iterable[dict[str, str]]) -> str:
    """Commands and what they said, as Markdown."""
    lines = "\n".join(f"$ {each['typed']}\n{each['said']}".rstrip() for each in told)
    return f"```console\n{lines}\n```"


def written(site: Site, name: str) -> str:
    """The lines that a part's first step writes into an exercise, as a code block."""
    story, _, part = name.partition(".")
    first = next(step for step in steps(story)[part] if isinstance(step, dict))
    return "```python\n" + "\n".join(first["lines"]) + "\n```"


def steps(story: str) -> dict[str, list[Step]]:
    """The parts of a story and their steps."""
    return _read_toml(SESSIONS / f"{story}.toml")


def said(site: Site, story: str) -> dict[str, list[dict[str, str]]]:
    """By part, each command of the story and what it printed."""
    lessons = [site.course.root / "modules", site.course.root / "milestones", site.solved.root / "modules"]
    depends = [SESSIONS / f"{story}.toml", *lessons, *TOOL, *sorted((ROOT / "tito").glob("*.py")), Path(__file__)]
    edition = "class" if site.class_edition else "whole"
    made: dict[str, list[dict[str, str]]] = site.results.of(
        f"session-{story}-{edition}", [*depends, edition], lambda: _run(site, story)
    )
    return made


def _run(site: Site, story: str) -> dict[str, list[dict[str, str]]]:
    with TemporaryDirectory() as folder:
        learner = Learner(site, Path(folder).resolve())
        return {part: learner.take(each) for part, each in steps(story).items()}


class Learner:
    """Someone who types commands, and writes into the notebook of the first lesson."""

    def __init__(self, site: Site, home: Path) -> None:
        self.site, self.home, self.here = site, home, home
        self.lesson = site.solved.lessons[0]
        exercises = [cell for cell in self.lesson.cells() if cell.role == "exercise"]
        self.solved = {cell.name: cell for cell in exercises}
        self.stubs = {cell.id: cell for cell in release.student_cells(self.lesson)}

    def take(self, steps: Iterable[Step]) -> list[dict[str, str]]:
        """Take the steps; what was typed and said."""
        return [told for step in steps if (told := self._take(step))]

    def _take(self, step: Step) -> dict[str, str]:
        if isinstance(step, str):
            return self._told(step, self._command(step))
        if "run" in step:
            return self._told(step["run"], self._watch(step["run"], step["meanwhile"]))
        self._write(**step)
        return {}

    def _told(self, typed: str, said: str) -> dict[str, str]:
        return {"typed": typed, "said": said.replace(str(self.home), "~").rstrip()}

    def _command(self, line: str) -> str:
        """What the command prints. Raises RuntimeError when it is used wrongly; `not yet` is an answer."""
        first, *words = shlex.split(line)
        if first == "cd":
            self.here = self.here / words[0]
            return ""
        done = subprocess.run(
            self._tito(words),
            cwd=self.here,
            env=self._environment(),
            encoding="utf-8",
            capture_output=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{line} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout + done.stderr

    def _watch(self, line: str, meanwhile: list[dict[str, Any]]) -> str:
        """What a command that goes on prints while its file is written, until Ctrl-C."""
        log = self.home / "log"
        with log.open("wb") as out:
            command = self._tito(shlex.split(line)[1:])
            running = subprocess.Popen(command, cwd=self.here, env=self._environment(), stdout=out, stderr=out)
            try:
                _wait_for(log, 1)
                for tests, step in enumerate(meanwhile, 2):
                    self._write(**step)
                    _wait_for(log, tests)
            finally:
                running.send_signal(signal.SIGINT)
                running.wait()
        return log.read_text(encoding="utf-8")

    def _tito(self, words: list[str]) -> list[str]:
        return [sys.executable, "-m", "tito", *words]

    def _environment(self) -> dict[str, str]:
        """That of the edition: the class edition's tito is the one in its own wheel."""
        root = self.site.course.root
        place = root.parent.parent if root.name == "_course" else ROOT
        kept = {name: value for name, value in os.environ.items() if name != "TINYTORCH_PACKAGE"}
        ours = {"PYTHONPATH": str(place), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}
        return {**kept, **ours, "TITO_SITE": ""}  # else it would link to the site that was built here before

    def _write(self, write: str, lines: list[str] | None = None, mistake: str = "") -> None:
        """Write an answer into the exercise called `write`, or into all."""
        names = list(self.solved) if write == "*" else [write]
        answers = {self.solved[name].id: self._answer(self.solved[name], lines, mistake) for name in names}
        path = self.here / "modules" / f"{self.lesson.stem}.ipynb"
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["id"] in answers:
                cell["source"] = answers[cell["id"]].splitlines(keepends=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(notebook, indent=1), encoding="utf-8")
        new.replace(path)

    def _answer(self, cell: Cell, lines: list[str] | None, mistake: str) -> str:
        if lines is not None:
            return STUB.sub(lambda stub: "\n".join(stub[1] + line for line in lines), self.stubs[cell.id].source)
        source = answer(cell.source)
        if mistake:
            known = {each.says: each for each in mistakes_of(self.lesson) if each.exercise == cell.name}
            source = known[mistake].apply(source)
        return source


def _wait_for(log: Path, tests: int) -> None:
    """Wait until the log tells of so many tests; RuntimeError when it takes too long."""
    end = time.monotonic() + PATIENCE
    while len(TOLD.findall(log.read_text(encoding="utf-8"))) < tests:
        if time.monotonic() > end:
            raise RuntimeError(f"tito watch told of no test {tests} in {PATIENCE:.0f} s:\n{log.read_text()}")
        time.sleep(0.05)
