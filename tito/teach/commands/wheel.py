"""`tito teach wheel`: the class wheel, which students install."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tito.course import Course
from tito.teach.edition import require_solutions

HELP = "build the class wheel: lessons without solutions, hidden checks and mistakes"


def arguments(parser: ArgumentParser) -> None:
    """None."""


def run(args: Namespace, course: Course) -> int:
    """Build it, and say what students type."""
    require_solutions(course, "tito teach wheel")
    from tito.teach.assignments import wheel
    from tito.teach.folder import Folder

    folder = Folder.enter()
    made = wheel.build(course, folder)
    print(f"Built {made.relative_to(folder.root)} ({made.stat().st_size // 1024} KiB), no answer in it.")
    print("Points and questions are those of the variants released so far.")
    print(f"Students:  pip install {made.name}, then tito init my-tinytorch")
    return 0
