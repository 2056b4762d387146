"""`tito watch [NN]`: tests a lesson each time its file is saved, and says in one line how it stands.

A whole report comes only when a check fails that did not fail before. Files are looked at by name, time and size, ten
times a second: that works on network drives too, and with editors that write a new file in the old one's place.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from contextlib import closing, suppress
from pathlib import Path

from tito import report
from tito.commands import hint
from tito.commands.checking import check_lesson, package_for
from tito.commands.common import chosen, enter
from tito.course import Course, Lesson
from tito.errors import UserError
from tito.keys import Keys
from tito.package import MANIFEST
from tito.report import Result
from tito.spare import Spare
from tito.testing import Outcome
from tito.workspace import Workspace

POLL = 0.1  # seconds between two looks at the file
SETTLE = 3  # looks at a file that cannot be read before it is told: it may be half written
Stamp = tuple[int, int, int] | None


def run(args: Namespace, course: Course) -> int:
    """Watch until q is typed, or Ctrl-C."""
    workspace = enter()
    lesson = chosen(args.lesson, course, workspace)
    path = workspace.opened(lesson)
    with closing(Spare()) as spare, Keys() as keys:
        ways = "h hint, a all, q quit" if keys.on else "Ctrl-C ends it"
        print(f"{lesson.id} {lesson.name}   {workspace.shown(path)}   {ways}", flush=True)
        try:
            Watch(course, workspace, lesson, spare, keys).follow()
        except KeyboardInterrupt:
            print()
    return 0


class Watch:
    """What was seen of the lesson's file and of the package, and which checks failed at the last test."""

    def __init__(self, course: Course, workspace: Workspace, lesson: Lesson, spare: Spare, keys: Keys) -> None:
        self.course, self.workspace, self.lesson = course, workspace, lesson
        self.spare, self.keys = spare, keys
        self.failing: set[str] = set()
        self.colour = report.wants_colour(sys.stdout)

    def follow(self) -> None:
        """Test now and after each save; answer keys."""
        saved: object = "never"
        exported, key = self._exported(), ""
        while key != "q":
            if saved != (now := self._saved()):
                saved = now
                self._test()
            elif exported != (now := self._exported()):
                exported = now
                with suppress(UserError):  # told at the next test
                    self.spare.prepare(package_for(self.course, self.workspace, self.lesson))
            elif key == "a":
                self._test(keep_going=True)
            elif key == "h":
                self._hint()
            key = self.keys.wait(POLL)

    def _saved(self) -> Stamp:
        return stamp(self.workspace.file_of(self.lesson))

    def _exported(self) -> Stamp:
        return stamp(self.workspace.private / MANIFEST)

    def _test(self, keep_going: bool = False) -> None:
        """Test, say it, and have the next process ready."""
        result = self._result(keep_going)
        if result is not None:
            self._tell(result, whole=keep_going)
            self.spare.prepare(self.spare.package)

    def _result(self, keep_going: bool) -> Result | None:
        """What the test found; None when the file changes while it cannot be read, or stays so and this is told."""
        saved, trouble = self._saved(), ""
        for _ in range(SETTLE):
            try:
                return check_lesson(
                    self.course, self.workspace, self.lesson, keep_going=keep_going, run=self.spare.run
                )[0]
            except UserError as error:
                trouble = error.message
            time.sleep(POLL)
            if saved != self._saved():
                return None
        print(f"{clock()}  {trouble}", flush=True)
        return None

    def _tell(self, result: Result, whole: bool) -> None:
        failing = {outcome.check for outcome in result.failures}
        print(line(result, self.colour), flush=True)
        if whole or failing - self.failing:
            print(f"\n{report.text(result, self.colour)}\n", flush=True)
        self.failing = failing

    def _hint(self) -> None:
        try:
            hint.run(Namespace(words=[self.lesson.id]), self.course)
        except UserError as error:
            print(error.message)
        print(flush=True)


def stamp(path: Path) -> Stamp:
    """What changes when a file is written or replaced; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def line(result: Result, colour: bool = False) -> str:
    """`12:03:04  FAIL  add        cell 9, line 3   1 of 6, 4 not run`"""
    if result.ok:
        told = f"{report.count(result)} in {result.seconds:.1f} s.  Next:  tito export {result.id}"
        return f"{clock()}{report.label('ok', colour)}{told}"
    first = next((one for one in result.outcomes if one.status == "FAIL"), None) or _open(result)
    where = f" {report.place(first)}  " if first.status == "FAIL" else ""
    about = report.cut(f"{first.check:<10}{where} {report.count(result)}", report.WIDTH - 16)
    return f"{clock()}{report.label(first.status, colour)}{about}"


def _open(result: Result) -> Outcome:
    """The first outcome that is not ok."""
    return next(one for one in result.outcomes if one.status != "ok")


def clock() -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S")
