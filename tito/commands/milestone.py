"""`tito milestone [ID] [--seed N] [--json]`: runs a program from history on the learner's package.

With --json, stdout is the object that the program itself prints: {"milestone", "seed", "passed", "seconds", "figures",
"pictures"}; without an ID it is the list of `tito status --json`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from argparse import Namespace

from tito import package
from tito.commands import status
from tito.commands.common import enter, require
from tito.course import Course
from tito.errors import NOT_YET, UserError


def run(args: Namespace, course: Course) -> int:
    """Run the milestone as any program would be run, but that its errors name cells; its exit code."""
    workspace = enter()
    if args.id is None:
        return status.list_milestones(course, workspace, args.json)
    milestone = course.milestone(args.id)
    require(workspace, course.needs_of(milestone), f"milestone {milestone.id} {milestone.title}")
    lost = [name for name in package.manifest(workspace) if not (workspace.package / name).exists()]
    if lost:
        raise UserError(f"tinytorch/{lost[0]} is missing; build your package again with: tito export --all", NOT_YET)
    command = [sys.executable, "-m", "tito.run", str(course.root / "milestones" / milestone.file)]
    command += [] if args.seed is None else ["--seed", str(args.seed)]
    command += ["--json"] if args.json else []
    rank = os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK"))  # mpirun's, which talks by open files
    path = os.pathsep.join(filter(None, (str(workspace.root), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path}
    code = subprocess.run(command, cwd=workspace.root, env=environment, check=False, close_fds=rank is None).returncode
    if code < 0:
        raise UserError(f"{milestone.id} was ended by signal {-code}; test what it uses: tito test --all", NOT_YET)
    if code in (0, 1) and rank in (None, "0"):
        workspace.remember("milestones", milestone.id, code == 0)
    return code
