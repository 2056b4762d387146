"""`tito dev demo DIR`: a student's whole way in a minute, with the course's answers.

Makes a workspace, solves lesson after lesson in its notebooks, exports and tests them all, and runs the milestones.
Every step is a command that a student types, in a process of its own. Electives are left out, and named at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE, STDOUT

from tito import report
from tito.course import Course, Lesson
from tito.errors import NOT_YET, UserError
from tito.workspace import Workspace, write_text

TITO = (sys.executable, "-m", "tito")
MARK = "demo"  # a file in .tito: this workspace is ours, and the next demo may replace it


def run(args: argparse.Namespace) -> int:
    """Make the workspace anew and go all the way; the first step that fails ends it with 1."""
    course, folder = Course.find(), Path(args.folder)
    _remove_last(folder)
    _tito(Path.cwd(), "init", str(folder))
    (folder / ".tito" / MARK).touch()
    print(f"Made the workspace {folder}; solve and export lesson by lesson:", flush=True)
    for lesson in course.lessons:
        print(report.cut(f"  {_solve(lesson, Workspace(folder))}"), flush=True)
    for command in ("export", "test"):
        print(_all(folder, command), flush=True)
    for milestone in course.milestones:
        print(_tito(folder, "milestone", milestone.id).replace("plots/", f"{folder}/plots/"), flush=True)
    for lesson in course.electives:
        print(report.cut(f"An elective waits there:  tito open {lesson.id}  ({lesson.title})"), flush=True)
    return 0


def fill(lesson: Lesson, path: Path) -> None:
    """Write the course's answers into the exercises of a lesson's notebook; no other cell changes."""
    answers = {cell.id: answer(cell.source) for cell in lesson.cells() if cell.role == "exercise"}
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] in answers:
            cell["source"] = answers[cell["id"]].splitlines(keepends=True)
    write_text(path, json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def answer(source: str) -> str:
    """The source of a solved exercise, without the marks around the solution."""
    return re.sub(r"^[ \t]*### (BEGIN|END) SOLUTION[^\n]*\n?", "", source, flags=re.MULTILINE).rstrip("\n")


def _remove_last(folder: Path) -> None:
    """Remove what the last demo left; anything else that is there stays, and is named."""
    if (folder / ".tito" / MARK).is_file():
        shutil.rmtree(folder)
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} was not made by a demo and stays as it is; name a new folder: tito dev demo DIR")


def _solve(lesson: Lesson, workspace: Workspace) -> str:
    """Open, fill in and export one lesson; the first line of what the export says."""
    _tito(workspace.root, "open", lesson.id, "--no-launch")
    fill(lesson, workspace.opened(lesson))
    first, *_ = _tito(workspace.root, "export", lesson.id).splitlines()
    return f"{first} ..." if first.endswith(",") else first


def _all(folder: Path, command: str) -> str:
    """Run the command on all lessons; one line about it."""
    began = time.perf_counter()
    said = _tito(folder, command, "--all")
    counts = re.findall(r"(\d+) of \d+ in", said)
    checks, seconds = sum(map(int, counts)), time.perf_counter() - began
    return f"tito {command} --all: {len(counts)} lessons, {checks} checks ok, {seconds:.1f} s"


def _tito(folder: Path, *words: str) -> str:
    """What a command says when a student types it in the folder; UserError when it ends with another code than 0."""
    command, env = [*TITO, *words], {**os.environ, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=env, stdout=PIPE, stderr=STDOUT, encoding="utf-8", check=False)
    if done.returncode:
        print(done.stdout)
        raise UserError(f"the demo stopped; repeat its last step with: cd {folder} && tito {' '.join(words)}", NOT_YET)
    return done.stdout.strip()
