"""`tito teach cluster-worker tls://HOST:PORT --keys DIR`: this machine's workers of a grading cluster."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tito.course import Course

HELP = "run this machine's workers of a grading cluster, until they are stopped"


def arguments(parser: ArgumentParser) -> None:
    """Where the scheduler is, keys, how many workers."""
    parser.add_argument("address", help="the scheduler: tls://HOST:8786, or tcp:// on loopback")
    parser.add_argument("--keys", metavar="DIR", type=Path, help="the folder worker/ that cluster-keys made")
    parser.add_argument("--secret", metavar="FILE", type=Path, help="the course's secret (default: DIR/secret)")
    parser.add_argument("--workers", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="default: cores")


def run(args: Namespace, course: Course) -> int:
    """Run them."""
    from tito.errors import UserError
    from tito.teach.grader import cluster_keys, cluster_nodes

    secret = args.secret or (args.keys and args.keys / cluster_keys.SECRET)
    if secret is None:
        raise UserError("a worker needs the course's secret; name its file: --secret .teach/secret")
    cluster_nodes.workers(args.address, args.keys, secret, args.workers)
    return 0
