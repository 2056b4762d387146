"""`tito teach cluster-keys DIR`: keys for the machines that grade together."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from tito.course import Course

HELP = "make the keys with which machines that grade together know each other"


def arguments(parser: ArgumentParser) -> None:
    """Where the keys go."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="a new folder, outside of what students reach")


def run(args: Namespace, course: Course) -> int:
    """Make them, and say which goes where."""
    from tito.teach.folder import Folder
    from tito.teach.grader import cluster_keys

    cluster_keys.make(args.folder, Folder.enter().secret)
    print(f"{args.folder}   keys for {cluster_keys.DAYS} days, each folder for one kind of machine:\n")
    print("  scheduler/  tito teach cluster-scheduler tls://0.0.0.0:8786 --keys scheduler")
    print("  worker/     tito teach cluster-worker tls://HOST:8786 --keys worker")
    print("  client/     tito teach grade NN --scheduler tls://HOST:8786 --keys client\n")
    print("Who has one of them can run code on the others. worker/ also holds the secret of")
    print("the hidden checks: carry it over an encrypted connection, and keep it at mode 0600.")
    return 0
