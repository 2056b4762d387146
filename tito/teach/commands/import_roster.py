"""`tito teach import-roster CSV`: the students of a course, into roster.csv and nbgrader's gradebook."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tito.course import Course

HELP = "take in the list of students"


def arguments(parser: ArgumentParser) -> None:
    """The list."""
    parser.add_argument("csv", metavar="CSV", help="columns id, first_name, last_name, email, and any of your own")


def run(args: Namespace, course: Course) -> int:
    """Check the whole list, then put it in place of roster.csv; nobody is taken out of the gradebook."""
    from tito.teach.folder import Folder
    from tito.teach.intake import roster

    folder, given = Folder.enter(), Path(args.csv)
    new, old = roster.read(given), roster.read(folder.roster)
    if given.resolve() != folder.roster.resolve():
        fresh = folder.roster.with_suffix(".new")
        shutil.copyfile(given, fresh)
        fresh.replace(folder.roster)
    count = roster.into_gradebook(folder)
    print(f"{count} students are in roster.csv and the gradebook, {len(new.keys() - old.keys())} of them new.")
    gone = sorted(old.keys() - new.keys())
    if gone:
        print(f"No longer listed, marks kept: {', '.join(gone[:10])}{', ...' if len(gone) > 10 else ''}")
    print(f"Next:  tito teach release {course.lessons[0].id}")
    return 0
