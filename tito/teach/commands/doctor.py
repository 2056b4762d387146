"""`tito teach doctor`: which level of isolation works here, by harmless attacks."""

from __future__ import annotations

import argparse
import os

from tito.course import Course

HELP = "prove by harmless attacks how well submissions are isolated on this machine"


def arguments(parser: argparse.ArgumentParser) -> None:
    """--level."""
    parser.add_argument("--level", type=int, choices=(1, 2, 3), help="look at this level only")


def run(args: argparse.Namespace, course: Course) -> int:
    """One line a canary; 0 when the level is proved."""
    levels = [args.level] if args.level else [1, 2]
    if any(_tell(level) for level in levels[:1]) or any(_tell(level) for level in levels[1:]):
        return 0
    print("Grade in a container that allows user namespaces, or install bubblewrap: apt-get install bubblewrap")
    if os.geteuid() and not args.level:
        print("To grade code that you trust without isolation: tito teach grade NN --level 3 --accept-not-isolated")
    return 1


def _tell(level: int) -> bool:
    from tito.errors import UserError
    from tito.teach.grader import canaries, isolation

    try:
        proof = isolation.prove(level)
    except UserError as error:
        print(error.message)
        return False
    holds = isolation.holds(level, proof)
    print(f"level {level}  {isolation.NAMES[level]}: {'holds' if holds else 'does not hold'}")
    for canary, reached in proof.items():
        print(f"  {'no  ' if reached else 'ok  '} {canaries.SAYS[canary]}{f': it {reached}' if reached else ''}")
    return holds
