"""Gradescope: a result as its results.json, and the zip that grades there.

Formats are those of gradescope-autograders.readthedocs.io, "Autograder Specifications" and "Submission Metadata". Their
container gives a root without user namespaces. So `main` reads bundle, secret and submission, opens results.json, and
then becomes another user for good: the kernel makes a process that changed its user unreadable for others of that user,
and the student's code can open neither the bundle nor the results. Begin at `results`, `pack`, `main`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tito
from tito.course import Course
from tito.errors import UserError
from tito.teach.folder import Folder
from tito.teach.result import CheckResult, Result

if TYPE_CHECKING:
    from tito.teach.grader.bundle import Bundle
    from tito.teach.grader.workers import Worker

PYTHON = "python3.11"  # Ubuntu 22.04 has it beside its own 3.10; 24.04 has 3.12
SETUP = f"""#!/usr/bin/env bash
# Builds the image: a Python for the grader, with NumPy.
set -euo pipefail
apt-get update
apt-get install -y {PYTHON} {PYTHON}-venv || apt-get install -y python3 python3-venv
"$(command -v {PYTHON} || command -v python3)" -m venv /autograder/python
/autograder/python/bin/python -m pip install -r /autograder/source/requirements.txt
"""
RUN = """#!/usr/bin/env bash
# Grades /autograder/submission into /autograder/results/results.json.
set -euo pipefail
cd /autograder
chmod -R go-rwx source/bundle.json source/secret source/milestones results
exec /autograder/python/bin/python -I /autograder/source/grade.py
"""
GRADE = """import sys
from pathlib import Path
sys.path.insert(0, "/autograder/source")
from tito.teach.marks.gradescope import main
main(Path("/autograder"))
"""
LEFT_OUT = {"dev", "commands", "_course", "milestone_checks", "milestone_questions.py"}  # not needed, or answers
MILESTONES = ("course.toml", "milestones/digits.py", "milestones/data/digits.csv.gz")  # what milestones are scored by
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # so that the same input gives the same zip
NOT_ISOLATED = "Graded without isolation: for code that is trusted."
Table = dict[str, Any]


def results(result: Result, hints: Mapping[str, Sequence[str]] | None = None) -> Table:
    """What results.json holds: a test a check. Hidden ones show after grades are published, without any detail."""
    told = [*result.notes, *([NOT_ISOLATED] if result.isolation == 3 else [])]
    about = {"digest": result.key.digest, "bundle": result.key.bundle, "isolation": result.isolation}
    common = {"visibility": "visible", "stdout_visibility": "hidden", "extra_data": about}
    if result.status != "graded":
        return {"score": 0.0, "output": _lines([f"Not graded: {result.reason}", *told]), "tests": [], **common}
    tests = [_test(check, (hints or {}).get(check.exercise, ())) for check in result.checks]
    return {"output": _lines([result.reason, *told]), "tests": tests, **common}


def pack(path: Path, course: Course, folder: Folder, assignment: str) -> None:
    """Write an assignment's autograder as a zip: as it was released, with hidden checks and a secret of its own."""
    from tito.teach.assignments import course_folder, variants
    from tito.teach.grader import bundle

    made = bundle.make(course, course_folder.item(course, assignment), variants.released(folder, assignment))
    secret = hmac.new(folder.secret, f"gradescope {assignment}".encode(), hashlib.sha256)
    _write(path, [("bundle.json", made.to_bytes()), ("secret", secret.digest()), *_programs(course)])


def main(root: Path) -> None:
    """Inside: grade root/submission with what lies in root/source. Leaves no results.json when grading itself fails."""
    from tito.teach.grader.bundle import Bundle
    from tito.teach.grader.grading import Work, submission_hash
    from tito.teach.intake import intake, refusal

    source = root / "source"
    bundle, secret = Bundle.from_bytes((source / "bundle.json").read_bytes()), (source / "secret").read_bytes()
    student, mode = _student(root / "submission_metadata.json"), "reference" if bundle.package else "own"
    place = root / "results" / "results.json"
    try:
        files = _files(intake.read_submission(root / "submission", bundle.assignment).files, bundle, mode)
    except refusal.Refused as refused:
        _put(place, {"score": 0.0, "output": f"Not graded: {refused.reason}", "tests": []})
        return
    work = Work(student, bundle.assignment, files, mode)
    with open(place, "w", encoding="utf-8") as file, _worker(bundle, secret, mode) as worker:
        table = results(worker.grade(work), bundle.hints)
        json.dump(table, file, ensure_ascii=False, indent=1)
    print(f"graded {submission_hash(files)[:16]} at level {table['extra_data']['isolation']}")


def _worker(bundle: Bundle, secret: bytes, mode: str) -> Worker:
    """At the best level that is proved here; else as another user, with limits alone."""
    from tito.teach.grader import isolation, milestone_grading, workers, zygotes

    milestone_grading.digits()  # now, since the other user may not read them
    try:
        level = isolation.best()
    except UserError:
        level = 3
        _become(zygotes.FIRST_UID)
        os.chdir(tempfile.mkdtemp())  # where submissions may write
    return workers.Worker(bundle, secret, level, mode)


def _files(handed_in: Mapping[str, bytes], bundle: Bundle, mode: str) -> dict[str, bytes]:
    """What grading uses; with mode "own" the student's package too, or the lessons that make it."""
    from tito.teach.grader import works

    files = works.used(handed_in, bundle.assignment)
    if mode == "own":
        package = {name: data for name, data in handed_in.items() if name.startswith(works.PACKAGE)}
        lessons = [works.used(handed_in, stem) for stem in bundle.lessons]
        files |= package or {name: data for lesson in lessons for name, data in lesson.items()}
    return files


def _become(user: int) -> None:
    """Give up root. What is open stays open."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _student(path: Path) -> str:
    """Who handed in, by e-mail; a group's by all of theirs. It decides what hidden checks draw."""
    users = json.loads(path.read_text(encoding="utf-8"))["users"]
    return ",".join(sorted(str(user["email"]) for user in users))


def _test(check: CheckResult, hints: Sequence[str]) -> Table:
    shown = [f"Hint: {hint}" for hint in hints[:1]] if check.earned < check.points else []
    output = shown if check.hidden else _details(check)
    visibility = "after_published" if check.hidden else "visible"
    points = {"score": check.earned, "max_score": check.points}
    return {"name": check.name, **points, "output": _lines(output), "visibility": visibility}


def _details(check: CheckResult) -> Iterator[str]:
    yield check.status
    yield check.expression
    yield from (f"{name:<5} {value}" for name, value in (("want", check.want), ("got", check.got)) if value)
    yield check.says
    yield ": ".join(check.error) if check.error else ""
    yield f"looks like: {check.looks_like}" if check.looks_like else ""
    yield f"waits for {check.waits_for}" if check.waits_for else ""
    yield check.reason
    yield f"printed:\n{check.output}" if check.output else ""


def _lines(parts: Iterable[str]) -> str:
    return "\n".join(part for part in parts if part)


def _programs(course: Course) -> Iterator[tuple[str, bytes]]:
    """The scripts, tito itself without what only authors and students use, and the milestones' data."""
    import numpy as np

    yield "setup.sh", SETUP.encode()
    yield "run_autograder", RUN.encode()
    yield "grade.py", GRADE.encode()
    yield "requirements.txt", f"numpy=={np.__version__}\n".encode()
    yield from ((name, (course.root / name).read_bytes()) for name in MILESTONES)
    package = Path(tito.__file__).parent
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if not LEFT_OUT.intersection(name.parts):
            yield f"tito/{name.as_posix()}", path.read_bytes()


def _write(path: Path, files: Iterable[tuple[str, bytes]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, ZIP_TIME)
            executable = name in ("setup.sh", "run_autograder")
            info.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    new.chmod(0o600)
    os.replace(new, path)


def _put(path: Path, table: Table) -> None:
    path.write_text(json.dumps(table, ensure_ascii=False, indent=1), encoding="utf-8")
