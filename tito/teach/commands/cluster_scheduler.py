"""`tito teach cluster-scheduler tls://HOST:PORT --keys DIR`: the one process that all machines of a cluster reach."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from tito.course import Course

HELP = "run the scheduler of a grading cluster, until it is stopped"


def arguments(parser: ArgumentParser) -> None:
    """Where it listens, and its keys."""
    parser.add_argument("address", help="where to listen: tls://0.0.0.0:8786, or tcp:// on loopback")
    parser.add_argument("--keys", metavar="DIR", type=Path, help="the folder scheduler/ that cluster-keys made")


def run(args: Namespace, course: Course) -> int:
    """Run it."""
    from tito.teach.grader import cluster_nodes

    cluster_nodes.scheduler(args.address, args.keys)
    return 0
