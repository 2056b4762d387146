"""`tito teach unlock NN`: the reference for those who failed NN, so that nobody is locked out of NN+1."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tito.course import Course, Lesson
from tito.errors import NOT_YET, UserError
from tito.teach.edition import require_solutions
from tito.teach.folder import Folder

HELP = "after the due date: a lesson's reference for those who failed it"


def arguments(parser: ArgumentParser) -> None:
    """Which lesson, and whether to wait."""
    parser.add_argument("lesson", metavar="NN")
    parser.add_argument("--now", action="store_true", help="before the due date, or without one")


def run(args: Namespace, course: Course) -> int:
    """Write the file and the list, and say what to do with them."""
    require_solutions(course, "tito teach unlock")
    from tito.teach.assignments import unlocking
    from tito.teach.nbgrader_api import open_course

    folder, lesson = Folder.enter(), course.lesson(args.lesson)
    _require_marks(folder, lesson)
    with open_course(folder).gradebook as gradebook:
        done = unlocking.unlock(folder, course, gradebook, lesson, args.now)
    place = done.file.relative_to(folder.root)
    print(f"{len(done.students)} students failed {lesson.stem}; they stand in {place.parent}/students.csv.")
    if done.waiting:
        print(f"Not yet, by their own due dates: {', '.join(done.waiting)}")
    print(f"Send them {place}; in their workspace:")
    print(f"  tito unlock {done.file.name}")
    return 0


def _require_marks(folder: Folder, lesson: Lesson) -> None:
    """The gradebook says who failed, so it has to know what `tito teach grade` found."""
    from tito.teach.marks import gradebook, late, policy
    from tito.teach.marks.store import Store

    if not folder.results.exists():
        return
    rules = policy.load(folder, lesson.stem)
    with Store(folder.results) as store:
        if lesson.stem not in store.assignments():
            return
        with gradebook.opened(folder, lesson.stem) as book:
            found = late.marks(store, lesson.stem, rules, *gradebook.by_hand(book))
            if gradebook.lacking(book, store, rules, found):
                way_out = f"tito teach export {lesson.id} --to gradebook"
                raise UserError(f"the gradebook lacks results of {lesson.stem}; first: {way_out}", NOT_YET)
