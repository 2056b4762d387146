"""`tito teach grade NN`: runs what is new or changed through the sealed grader, and keeps the results."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tito.course import Course, Milestone
from tito.errors import NOT_YET, UserError

if TYPE_CHECKING:
    from tito.teach.folder import Folder
    from tito.teach.grader.bundle import Bundle
    from tito.teach.grader.cluster import Cluster
    from tito.teach.grader.grading import Work
    from tito.teach.grader.workers import Pool
    from tito.teach.marks.store import Store
    from tito.teach.result import Key, Result

HELP = "grade an assignment; what is graded already is left alone"
SHOWN = 4
STEP = 100  # submissions between two lines where there is no bar
NOT_ISOLATED = "NOT ISOLATED: these submissions ran with limits alone, and could read and change what you can."


def arguments(parser: argparse.ArgumentParser) -> None:
    """What to grade, on what, how."""
    parser.add_argument("assignment", metavar="NN", help="a lesson or a milestone, as 03 or m2")
    parser.add_argument("--on", choices=("reference", "own"), default="reference", help="which earlier lessons to use")
    parser.add_argument("--student", metavar="GLOB", default="*", help="only these students")
    parser.add_argument("--level", type=int, choices=(1, 2, 3), help="of isolation; the best that works if not given")
    parser.add_argument("--accept-not-isolated", action="store_true", help="with --level 3, which isolates nothing")
    parser.add_argument("--workers", type=int, metavar="N", default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--scheduler", metavar="tls://HOST:PORT", help="grade on a cluster; see cluster-keys")
    parser.add_argument("--keys", metavar="DIR", type=Path, help="the folder client/ that cluster-keys made")
    parser.add_argument("--dry-run", action="store_true", help="say what would be graded")
    parser.add_argument("--yes", action="store_true", help="let changed marks of a regrade count without asking")


def run(args: argparse.Namespace, course: Course) -> int:
    """Grade, keep, show; changed marks count when that is confirmed. Exit 1 when nothing was handed in."""
    from tito.teach.assignments import course_folder, variants
    from tito.teach.folder import Folder
    from tito.teach.grader import bundle
    from tito.teach.marks.store import Store

    if args.level == 3 and not args.accept_not_isolated:
        again = f"tito teach grade {args.assignment} --level 3 --accept-not-isolated"
        raise UserError(f"level 3 isolates nothing; if you trust every submission: {again}")
    folder, item = Folder.enter(), course_folder.item(course, args.assignment)
    made = bundle.make(course, item, variants.released(folder, course_folder.name_of(item)))
    mode = "own" if isinstance(item, Milestone) else args.on
    with Store(folder.results) as store:
        desk = Desk(folder, store, made, mode, args)
        began = time.perf_counter()
        desk.grade()
        if not desk.counts.total():
            print(f"Nothing of {made.assignment} is in submitted/.  Next:  tito teach collect {args.assignment}")
            return NOT_YET
        desk.tell(time.perf_counter() - began)
        desk.settle()
    return 0


class Desk:
    """One assignment being graded: what is taken from submitted/, what came of it."""

    def __init__(self, folder: Folder, store: Store, bundle: Bundle, mode: str, args: argparse.Namespace) -> None:
        self.folder, self.store, self.bundle, self.mode, self.args = folder, store, bundle, mode, args
        self.counts: Counter[str] = Counter()
        self.refused: list[str] = []
        self.keys: list[Key] = []
        self.times: dict[str, datetime | None] = {}
        self.earned, self.earlier = 0.0, 0

    def grade(self) -> None:
        """Run what has no result yet, earlier attempts first where the best counts: so what has no time is in order."""
        from tito.teach.marks import policy

        if policy.load(self.folder, self.bundle.assignment).attempt == "best":
            self._grade(earlier=True)
        self._grade()

    def _grade(self, earlier: bool = False) -> None:
        works = self._works(earlier)
        first = next(works, None)
        if first is None or self.args.dry_run:
            self.counts["graded"] += (first is not None) + sum(1 for _ in works)
            return
        with self._graders() as graders:
            self._keep_all(graders.grade_all(_with_first(first, works), self.bundle))

    def _graders(self) -> Pool | Cluster:
        """This machine's workers, or a cluster's."""
        if self.args.scheduler:
            from tito.teach.grader.cluster import Cluster

            return Cluster(self.args.scheduler, self.args.keys, self.args.level or 1, self.folder.secret)
        from tito.teach.grader.workers import Pool

        return Pool(self.args.level, self.args.workers, self.folder.secret)

    def _keep_all(self, results: Iterator[Result]) -> None:
        """Each as it comes, with a bar on a terminal, else with a line for every hundred."""
        from tqdm import tqdm  # type: ignore[import-untyped]

        from tito.teach.grader import works

        many = sum(1 for _ in works.students(self.folder, self.bundle.assignment, self.args.student))
        with tqdm(total=many, unit=" submissions", disable=not sys.stderr.isatty()) as bar:
            for result in results:
                self._keep(result)
                bar.update(self.counts.total() - bar.n)
                if bar.disable and self.counts["graded"] % STEP == 0:
                    print(f"{self.counts.total()} of {many}", flush=True)

    def tell(self, seconds: float) -> None:
        """What was done, in a few lines."""
        counts, verb = self.counts, "would be graded" if self.args.dry_run else "graded"
        parts = [f"{counts['graded']} {verb}", f"{counts['refused']} refused", f"{counts['known']} graded before"]
        print(f"{self.bundle.assignment}: {', '.join(parts)}; {seconds:.1f} s.")
        if self.earlier:
            print(f"  {self.earlier} of these are earlier attempts: the best of a student's counts")
        if self.earned:
            points = sum(check.points for check in self.bundle.checks)
            print(f"Of these the mean is {self.earned / counts['graded']:.1f} of {points:g} points.")
        _list(self.refused)
        if self.args.level == 3:
            print(NOT_ISOLATED)

    def settle(self) -> None:
        """Show the marks that a regrade would change, and let them count if that is confirmed; what comes next."""
        from tito.teach.marks import regrading

        name = self.args.assignment
        settled = regrading.settle(self.store, self.keys, self.args.yes, f"tito teach grade {name}")
        if settled and not self.args.dry_run:
            print(f"Next:  tito teach feedback {name}, tito teach report {name}")

    def _works(self, earlier: bool = False) -> Iterator[Work]:
        """What has to be run, one at a time; what is refused is kept as such."""
        from tito.teach.grader import works
        from tito.teach.intake import intake
        from tito.teach.intake.sources import moment

        for student, place in works.places(self.folder, self.bundle.assignment, self.args.student, earlier):
            self.earlier += earlier
            try:
                work, submission = works.take(self.folder, student, self.bundle, self.mode, place)
            except intake.Refused as refused:
                self._refuse(student, refused.reason)
                continue
            key = self._key(work)
            self.keys.append(key)
            if not self._is_known(key, moment(submission.time)):
                yield work

    def _is_known(self, key: Key, when: datetime | None) -> bool:
        """Whether there is a result; files that came in again at another time are noted as such."""
        if not self.store.has(key):
            self.times[key.digest] = when
            return False
        self.counts["known"] += 1
        if not self.args.dry_run:
            self.store.came_in(key, when)
        return True

    def _refuse(self, student: str, reason: str) -> None:
        from tito.teach.grader.grading import Work
        from tito.teach.result import Result

        files = {"refused": reason.encode()}  # in the place of files: another reason is another result
        key = self._key(Work(student, self.bundle.assignment, files, self.mode))
        if not self.args.dry_run:
            self.store.add(Result(key, "refused", reason))
        self.counts["refused"] += 1
        self.refused.append(f"{student}: {reason}")

    def _key(self, work: Work) -> Key:
        from tito.teach.grader.grading import key_of
        from tito.teach.grader.workers import LIMITS

        return key_of(work, self.bundle, LIMITS, self.folder.secret)

    def _keep(self, result: Result) -> None:
        from tito.teach.grader.workers import FAULT

        when = self.times.pop(result.key.digest, None)
        if not result.reason.startswith(FAULT):  # of that nothing is kept: it is tried again the next time
            self.store.add(result, when)
        self.counts[result.status] += 1
        self.earned += result.earned
        if result.status == "refused":
            self.refused.append(f"{result.key.student}: {result.reason}")


def _with_first(first: Work, rest: Iterator[Work]) -> Iterator[Work]:
    yield first
    yield from rest


def _list(lines: Sequence[str]) -> None:
    for line in lines[:SHOWN]:
        print(f"  {line[:76]}")
    if len(lines) > SHOWN:
        print(f"  and {len(lines) - SHOWN} more")
