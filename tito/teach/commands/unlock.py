"""`tito teach unlock NN`: the reference for those who failed NN, so that nobody is locked out of NN+1."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tito.course import Course
from tito.teach.edition import require_solutions

HELP = "after the due date: a lesson's reference for those who failed it"


def arguments(parser: ArgumentParser) -> None:
    """Which lesson, and whether to wait."""
    parser.add_argument("lesson", metavar="NN")
    parser.add_argument("--now", action="store_true", help="before the due date, or without one")


def run(args: Namespace, course: Course) -> int:
    """Write the file and the list, and say what to do with them."""
    require_solutions(course, "tito teach unlock")
    from tito.teach import unlocking
    from tito.teach.folder import Folder
    from tito.teach.nbgrader_api import open_course

    folder, lesson = Folder.enter(), course.lesson(args.lesson)
    with open_course(folder).gradebook as gradebook:
        done = unlocking.unlock(folder, course, gradebook, lesson, args.now)
    place = done.file.relative_to(folder.root)
    print(f"{len(done.students)} students failed {lesson.stem}; they stand in {place.parent}/students.csv.")
    if done.waiting:
        print(f"Not yet, by their own due dates: {', '.join(done.waiting)}")
    print(f"Send them {place}; in their workspace:")
    print(f"  tito unlock {done.file.name}")
    return 0
