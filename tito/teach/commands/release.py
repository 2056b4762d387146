"""`tito teach release NN [--variant NAME]`: what students get, in release/, in out/ and in the exchange."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tito.course import Course
from tito.teach.edition import require_solutions

HELP = "give an assignment out: release/, out/NN.zip, the exchange"


def arguments(parser: ArgumentParser) -> None:
    """Which assignment, in which variant."""
    parser.add_argument("assignment", metavar="NN", help="a lesson or a milestone")
    parser.add_argument("--variant", metavar="NAME", help="a named set of exercises, points and dates in course.toml")


def run(args: Namespace, course: Course) -> int:
    """Release, and say what went where."""
    require_solutions(course, "tito teach release")
    from tito.teach.assignments import course_folder, releasing, variants
    from tito.teach.folder import Folder
    from tito.teach.nbgrader_api import open_course

    folder, one = Folder.enter(), course_folder.item(course, args.assignment)
    variant = variants.load(folder, args.variant)
    done = releasing.release(folder, course, open_course(folder), one, variant)
    name = course_folder.name_of(one)
    print(f"Released {name}{f' as {variant.name}' if variant.name else ''}: {done.points:g} points, no answer in it.")
    if done.by_hand:
        print(f"  note  source/{name}/{name}.ipynb was changed by hand and went out as it is;")
        print("        its checks are graded as the course has them")
    print(f"  release/{name}/   {done.archive.relative_to(folder.root)}")
    print("  and in the exchange" if done.exchanged else "  no exchange is set up: hand the zip out yourself")
    print(f"Next:  tito teach collect {args.assignment}")
    return 0
