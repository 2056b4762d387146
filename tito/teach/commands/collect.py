"""`tito teach collect NN`: brings what students handed in into submitted/, and says what was not taken and why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tito.course import Course
from tito.errors import NOT_YET, UserError
from tito.teach.folder import Folder

if TYPE_CHECKING:
    from tito.teach.intake.collecting import Report
    from tito.teach.intake.roster import Student
    from tito.teach.intake.sources import Found

HELP = "bring submissions from the exchange, a folder or an LMS's zip into submitted/"
WIDTH, SHOWN = 78, 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """NN and where from."""
    parser.add_argument("assignment", metavar="NN", help="a lesson or a milestone")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--exchange", action="store_true", help="nbgrader's exchange (default)")
    source.add_argument("--folder", metavar="DIR", type=Path, help="STUDENT/... or STUDENT_*.ipynb")
    source.add_argument("--zip", metavar="FILE", type=Path, help="all submissions, as Canvas or Moodle gives them")
    parser.add_argument("--lms", choices=("canvas", "moodle"), help="whose zip it is, else by the names in it")
    parser.add_argument("--all-attempts", action="store_true", help="earlier attempts too, as where the best counts")
    parser.add_argument("--dry-run", action="store_true", help="say what would be collected and write nothing")


def run(args: argparse.Namespace, course: Course) -> int:
    """Exit 1 when nothing was there to collect."""
    from filelock import FileLock, Timeout

    from tito.teach.assignments import course_folder
    from tito.teach.intake import collecting, roster

    folder, students = Folder.enter(), roster.read(Folder.enter().roster)
    assignment = course_folder.name_of(course_folder.item(course, args.assignment))
    try:
        with FileLock(folder.private / "collect.lock", timeout=0), _source(args, course, assignment, students) as found:
            report = _collect(args, folder, assignment, found)
            collecting.clear_staging(folder)
    except Timeout:
        raise UserError("another collecting is at work here; when it is done, repeat: tito teach collect") from None
    _say(args, folder, assignment, found.title, report, students)
    return 0 if found.attempts else NOT_YET


@contextmanager
def _source(
    args: argparse.Namespace, course: Course, assignment: str, students: Mapping[str, Student]
) -> Iterator[Found]:
    from tito.teach.assignments import course_folder
    from tito.teach.intake import sources

    if args.lms and not args.zip:
        raise UserError(f"--lms is for a zip; name it: tito teach collect {args.assignment} --zip FILE")
    if args.zip:
        with sources.lms_zip(args.zip, assignment, students, args.lms) as found:
            yield found
    elif args.folder:
        yield sources.files(args.folder, assignment, students, course_folder.assignments(course))
    else:
        yield sources.exchange(Folder.enter(), assignment, students)


def _collect(args: argparse.Namespace, folder: Folder, assignment: str, found: Found) -> Report:
    from tqdm import tqdm  # type: ignore[import-untyped]

    from tito.teach.intake import collecting
    from tito.teach.marks import policy

    all_attempts = args.all_attempts or policy.load(folder, assignment).attempt == "best"
    with tqdm(total=len(found.by_student()), disable=not sys.stderr.isatty(), leave=False) as bar:
        return collecting.collect(folder, assignment, found, all_attempts, args.dry_run, bar.update)


def _say(
    args: argparse.Namespace,
    folder: Folder,
    assignment: str,
    title: str,
    report: Report,
    students: Mapping[str, Student],
) -> None:
    late = _late(folder, assignment, report)
    missing = _missing(folder, assignment, report, students)
    counts = {"new": len(report.new), "unchanged": len(report.unchanged), "late": len(late)}
    rows = [("refused", f"{line.student}: {line.refused}") for line in report.refused]
    rows += [("unknown", f"{ascii(name)[1:-1]}: {why}") for name, why in report.unknown]
    counts |= {"refused": len(report.refused), "unknown": len(report.unknown), "nothing from": len(missing)}
    print(_cut("a dry run, nothing is written: " * args.dry_run + f"{assignment} from {title}"))
    print("  " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    for what, text in rows[:SHOWN]:
        print(_cut(f"  {what}  {text}"))
    if len(rows) > SHOWN:
        print(f"  and {len(rows) - SHOWN} more that were not taken")
    if not args.dry_run:
        path = _write(folder, assignment, report, late, missing)
        print(f"All of it:  {path.relative_to(folder.root)}")
        print(f"Next:       tito teach grade {args.assignment}")


def _late(folder: Folder, assignment: str, report: Report) -> set[str]:
    """Students whose attempt came after their due date, or that the LMS marked late."""
    from tito.teach.marks import policy

    due = policy.load(folder, assignment).due_of
    late = set()
    for line in (*report.new, *report.unchanged):
        limit = due(line.student)
        if line.late or (line.submitted and limit and line.submitted > limit):
            late.add(line.student)
    return late


def _missing(folder: Folder, assignment: str, report: Report, students: Mapping[str, Student]) -> list[str]:
    """Of whom there is nothing in submitted/, and would be nothing after a dry run."""
    come = {line.student for line in (*report.new, *report.unchanged)}
    return [id for id in students if id not in come and not (folder.submitted / id / assignment).is_dir()]


def _write(folder: Folder, assignment: str, report: Report, late: set[str], missing: list[str]) -> Path:
    """Everything, a line each."""
    lines = [f"refused\t{line.student}\t{line.name!a}\t{line.refused}" for line in report.refused]
    lines += [f"unknown\t\t{name!a}\t{why}" for name, why in report.unknown]
    for what in ("new", "earlier", "older", "unchanged"):
        for line in getattr(report, what):
            words = ["late"] * (line.student in late) + list(line.notes)
            lines.append(f"{what}\t{line.student}\t{line.name!a}\t{'; '.join(words)}")
    lines += [f"nothing\t{student}" for student in missing]
    folder.out.mkdir(exist_ok=True)
    path = folder.out / f"collect_{assignment}.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
