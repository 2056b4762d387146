"""`tito teach results [NN]`: what is kept; takes in another grader's results, copies, tries a dropped check."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tito.course import Course
from tito.errors import UserError

if TYPE_CHECKING:
    from tito.teach.folder import Folder
    from tito.teach.marks.store import Store

HELP = "show what was graded; merge with another grader's results"
SHOWN = 6


def arguments(parser: ArgumentParser) -> None:
    """What to do with the results."""
    parser.add_argument("assignment", metavar="NN", nargs="?", help="a lesson or a milestone, check by check")
    parser.add_argument("--drop", metavar="CHECK", action="append", help="with NN: what marks would be without it")
    parser.add_argument("--merge", metavar="FILE", type=Path, help="take in another grader's results")
    parser.add_argument("--copy", metavar="FILE", type=Path, help="all results in a file, for another grader")


def run(args: Namespace, course: Course) -> int:
    """Exit 1 after a merge that found conflicts."""
    from tito.teach.assignments import course_folder
    from tito.teach.folder import Folder
    from tito.teach.marks.store import Store

    folder = Folder.enter()
    if args.drop and not args.assignment:
        raise UserError("--drop wants an assignment; as in: tito teach results 03 --drop 'Linear bias'")
    with Store(folder.results) as store:
        if args.copy:
            store.copy(args.copy)
            print(f"Wrote {args.copy}.  There:  tito teach results --merge {args.copy.name}")
        elif args.merge:
            return _merge(store, args.merge)
        elif args.assignment:
            name = course_folder.name_of(course_folder.item(course, args.assignment))
            (_dropped if args.drop else _checks)(folder, store, name, args.drop)
        else:
            _overview(folder, store)
    return 0


def _merge(store: Store, path: Path) -> int:
    from tito.teach.marks.store import Store as Other

    if not path.is_file():
        raise UserError(f"there is no {path}; the other grader makes it with: tito teach results --copy {path.name}")
    with Other(path) as other:
        merged = store.merge(other)
    print(f"{merged.added} results were new; {len(merged.conflicts)} keys have two different results")
    _list(f"  {key.assignment} {key.student}: the one with more points counts" for key in merged.conflicts)
    return 1 if merged.conflicts else 0


def _overview(folder: Folder, store: Store) -> None:
    from tito.teach.marks import late, policy

    for name in store.assignments():
        counts: Counter[str] = Counter()
        total = most = 0.0
        for mark in late.marks(store, name, policy.load(folder, name)):
            counts["in"] += 1
            counts["refused"] += mark.result.status != "graded"
            counts["late"] += mark.days_late > 0
            total, most = total + mark.score, max(most, mark.points)
        told = f"{counts['in']:>6} handed in  {counts['refused']:>4} refused  {counts['late']:>4} late"
        print(f"{name:<16} {told}  mean {total / counts['in']:.1f} of {most:g}")
    if not store.assignments():
        print("No results yet.  Next:  tito teach grade 01")


def _checks(folder: Folder, store: Store, name: str, drop: None) -> None:
    """How many passed each check, in the order of the lesson."""
    passed: dict[str, int] = {}
    students = 0
    for _, attempts in store.attempts(name):
        students += 1
        for check in attempts[-1].result.checks:
            passed[check.name] = passed.get(check.name, 0) + (check.earned >= check.points)
    print(f"{name}: {students} students")
    for check_name, count in passed.items():
        print(f"  {count:>6}  {check_name}")


def _dropped(folder: Folder, store: Store, name: str, drop: list[str]) -> None:
    """What marks would be, before anything is changed."""
    from dataclasses import replace

    from tito.teach.marks import gradebook, policy

    now = policy.load(folder, name)
    then = replace(now, drop=now.drop | set(drop))
    before, after = (gradebook.final(folder, store, name, rules) for rules in (now, then))
    told = [
        f"  {new.student}: {old.score:g} of {old.points:g} would be {new.score:g} of {new.points:g}"
        for old, new in zip(before, after)
        if old.points - old.score != new.points - new.score
    ]
    print(f"{len(told)} students would lose fewer points, or more:")
    _list(told)
    names = ", ".join(f'"{check}"' for check in sorted(then.drop))
    print(f'To do it, put into course.toml, [assignment."{name}"]:  drop = [{names}]')


def _list(rows: Iterable[str]) -> None:
    rows = list(rows)
    print("\n".join(rows[:SHOWN]) + "\n" * bool(rows), end="")
    if len(rows) > SHOWN:
        print(f"  and {len(rows) - SHOWN} more")
