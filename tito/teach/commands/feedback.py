"""`tito teach feedback NN [--student ID]`: a page for each student, where nbgrader looks for it and in out/."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tito.course import Course

HELP = "write each student's feedback as one offline page"


def arguments(parser: ArgumentParser) -> None:
    """Which assignment, and for whom."""
    parser.add_argument("assignment", metavar="NN", help="a lesson or a milestone")
    parser.add_argument("--student", metavar="ID", help="for one student only")


def run(args: Namespace, course: Course) -> int:
    """Write the pages, and say where they are."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    from tito.errors import NOT_YET, UserError
    from tito.teach.assignments import course_folder
    from tito.teach.folder import Folder
    from tito.teach.marks import late, policy
    from tito.teach.marks.store import Store
    from tito.teach.pages import feedback
    from tito.teach.pages.pages import count

    folder, name = Folder.enter(), course_folder.name_of(course_folder.item(course, args.assignment))
    with Store(folder.results) as store:
        marks = late.marks(store, name, policy.load(folder, name))
        wanted = [mark for mark in marks if args.student in (None, mark.student)]
    if not wanted:
        whose = f" of {args.student}" if args.student else ""
        raise UserError(f"{name} has no results{whose}; grade first: tito teach grade {args.assignment}", NOT_YET)
    for mark in tqdm(wanted, disable=None, unit=" pages"):
        feedback.write(folder, feedback.page(mark.result, course, feedback.counted(mark)), mark.student, name)
    print(f"{count(len(wanted), 'page')}:  feedback/STUDENT/{name}/{name}.html")
    print(f"  and to send:  out/feedback/{name}/STUDENT.html")
    print(f"Next:  tito teach export {args.assignment} --to canvas (or moodle, csv, gradebook)")
    print(f"  or with an exchange:  nbgrader release_feedback {name}")
    return 0
