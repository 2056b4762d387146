"""`tito teach export NN --to WHERE`: marks and feedback for an LMS or a spreadsheet, marks into the gradebook."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from tito.course import Course
from tito.errors import NOT_YET, UserError

if TYPE_CHECKING:
    from tito.teach.folder import Folder
    from tito.teach.marks.exports import Line
    from tito.teach.marks.store import Store

HELP = "marks and feedback for Canvas, Moodle, Gradescope, a spreadsheet or the gradebook"
UPLOAD = {"canvas": "Grades, Import", "moodle": "View all submissions, Upload grading worksheet", "csv": ""}
SHOWN = 5


def arguments(parser: ArgumentParser) -> None:
    """NN and where to."""
    parser.add_argument("assignment", metavar="NN", help="a lesson or a milestone")
    parser.add_argument("--to", required=True, choices=("gradebook", "canvas", "moodle", "csv", "gradescope"))
    parser.add_argument(
        "--column", metavar="TITLE", default="", help="the assignment's title in Canvas: 'Layers (123)'"
    )
    parser.add_argument("--anonymous", action="store_true", help="pseudonyms, the same for a student in every file")
    parser.add_argument("--again", action="store_true", help="gradebook: also what went in before")
    parser.add_argument("--dry-run", action="store_true", help="say what would be written and write nothing")


def run(args: Namespace, course: Course) -> int:
    """Exit 1 when there are no results yet."""
    from tito.teach.assignments import course_folder
    from tito.teach.folder import Folder
    from tito.teach.marks.store import Store

    folder, name = Folder.enter(), course_folder.name_of(course_folder.item(course, args.assignment))
    if args.anonymous and args.to in ("gradebook", "gradescope"):
        raise UserError(f"{args.to} has to know who is who; write: tito teach export {args.assignment} --to {args.to}")
    if args.to == "gradescope":
        return _gradescope(args, course, folder, name)
    with Store(folder.results) as store:
        if name not in store.assignments():
            raise UserError(f"{name} has no results; grade first: tito teach grade {args.assignment}", NOT_YET)
        return (_gradebook if args.to == "gradebook" else _files)(args, folder, store, name)


def _gradebook(args: Namespace, folder: Folder, store: Store, name: str) -> int:
    from tqdm import tqdm  # type: ignore[import-untyped]

    from tito.teach.marks import gradebook, late, policy

    rules = policy.load(folder, name)
    with gradebook.opened(folder, name) as book:
        found = late.marks(store, name, rules, *gradebook.by_hand(book))
        if args.dry_run:
            print(f"{gradebook.missing(book, store, rules, found)} submissions would go into the gradebook")
            return 0
        with tqdm(disable=None, unit=" submissions") as bar:
            done = 0
            for count in gradebook.push(book, store, rules, found, args.again):
                done += count
                bar.update(count)
    print(f"{done} submissions went into the gradebook; what went in before stands.")
    print("Next:  jupyter lab, menu Nbgrader, Formgrader, for what is graded by hand")
    return 0


def _files(args: Namespace, folder: Folder, store: Store, name: str) -> int:
    from tito.teach.intake import roster
    from tito.teach.marks import exports, gradebook

    students = roster.read(folder.roster)
    lines = exports.lines(folder, name, students, gradebook.final(folder, store, name))
    strangers = [line.student.id for line in lines if line.student.id not in students]
    if args.to != "csv":
        lines = [line for line in lines if line.student.id in students]
    _say(name, lines, strangers)
    _say_timeless(folder, name, lines)
    shown = exports.anonymous(lines, folder.secret) if args.anonymous else lines
    rows = exports.table(args.to, name, shown, args.column)
    stem = f"{name}-{args.to}" + "-anonymous" * args.anonymous
    if args.dry_run:
        print(f"A dry run: nothing is written, but would be: out/{stem}.csv")
        return 0
    exports.write(folder.out / f"{stem}.csv", rows)
    print(f"  out/{stem}.csv" + (f"\n    upload under {UPLOAD[args.to]}" if UPLOAD[args.to] else ""))
    if not args.anonymous:  # a page says whose it is
        _pages(args, folder, name, f"{stem}-feedback.zip")
    if args.to == "moodle" and not any(line.participant for line in lines):
        print("No Identifier is known, by which Moodle finds rows; its own zip has them:")
        print(f"  tito teach collect {args.assignment} --zip FILE")
    return 0


def _pages(args: Namespace, folder: Folder, name: str, file: str) -> None:
    """Zip the feedback, under the LMS's names what came from there."""
    from tito.teach.marks import exports

    found = list(exports.feedback(folder, name, args.to))
    if found:
        whose = "" if args.to == "csv" else f", for what came by {args.to.capitalize()}"
        print(f"  out/{file}   {exports.zipped(folder.out / file, found)} pages{whose}")
    elif any((folder.out / "feedback" / name).glob("*.html")):
        print(f"  no feedback zip: nothing came by {args.to.capitalize()}; see out/feedback/{name}/")
    else:
        print(f"  no feedback zip; write the pages first:  tito teach feedback {args.assignment}")


def _say(name: str, lines: list[Line], strangers: list[str]) -> None:
    marks = [line.mark for line in lines if line.mark]
    late, open_ = sum(mark.days_late > 0 for mark in marks), sum(mark.open > 0 for mark in marks)
    print(f"{name}: {len(marks)} of {len(lines)} handed in, {late} late, {open_} wait for a grader")
    if strangers:
        more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
        print(f"  not in the roster: {', '.join(strangers[:SHOWN])}{more}")


def _say_timeless(folder: Folder, name: str, lines: list[Line]) -> None:
    """Whom the LMS calls late without saying when: nothing can be taken off."""
    from tito.teach.intake import collected

    history = collected.read(folder, name)
    known = {line.student.id: collected.standing(history.get(line.student.id, ())) for line in lines}
    late = [id for id, one in known.items() if one and one.late and not one.when]
    if late:
        more = f" and {len(late) - SHOWN} more" if len(late) > SHOWN else ""
        print(f"  late by Canvas, without a time; nothing was taken off: {', '.join(late[:SHOWN])}{more}")


def _gradescope(args: Namespace, course: Course, folder: Folder, name: str) -> int:
    from tito.teach.marks import gradescope

    path = folder.out / f"{name}-gradescope.zip"
    if args.dry_run:
        print(f"A dry run: nothing is written, but would be: {path.relative_to(folder.root)}")
        return 0
    gradescope.pack(path, course, folder, name)
    print(f"Wrote {path.relative_to(folder.root)}, {path.stat().st_size // 1024} KB")
    print("Upload it there under Configure Autograder.")
    print("It holds hidden checks: show it to no student.")
    return 0
