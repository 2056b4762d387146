"""What grading costs: `python benchmarks/grading.py [SECTION ...]` measures and writes grading.json; all without names.

    rate      submissions a second whose checks take no time (the toy lesson of tests/conftest.py), sealed at level 1
    nbgrader  the same 50 submissions by `nbgrader autograde` with its own Execute, and by `tito teach grade`
    lessons   each lesson's reference: the time of its checks alone, and sealed
    memory    `tito teach grade` over 10,000 toy submissions: resident memory of command, workers and zygotes
    load      `tito teach grade` over lesson 03, answered with known mistakes: throughput, memory, growth of cost
    cluster   the toy submissions on a Dask cluster of two workers on loopback with TLS, beside two workers of a pool

`--submissions N` is how many the section takes. Times are wall times, and beside them processor times of all processes
involved and the load of the machine: on a busy machine only processor time means something. `grading_page.py` writes
the figures into site/text/grading-at-scale.md. Begin at `SECTIONS`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "teach"))

import overhead  # noqa: E402

from tito.course import Course, Lesson  # noqa: E402
from tito.dev.mistakes import mistakes_of  # noqa: E402
from tito.teach.assignments import course_folder  # noqa: E402
from tito.teach.folder import Folder  # noqa: E402
from tito.teach.grader import bundle  # noqa: E402
from tito.teach.grader.grading import Work  # noqa: E402
from tito.teach.result import Result  # noqa: E402

OUT = HERE / "grading.json"
SECRET = bytes(32)
CORES = 2
STOCK = """
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.Execute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
"""  # nbgrader's own
Table = dict[str, Any]


def rate(many: int = 600) -> Table:
    """Two workers, warm: the first 20 are not counted."""
    with toys() as course:
        lesson = course.lesson("01")
        with pool() as grade_all:
            return timed(grade_all, list(overhead.works(lesson, many + 20)), bundle.make(course, lesson), 20)


def nbgrader(many: int = 50) -> Table:
    """Whole commands on the same folder, one after the other; and warm workers, as in a class of any size."""
    with toys() as course, tempfile.TemporaryDirectory() as place:
        folder = course_of(course, Path(place) / "course", STOCK)
        run(["nbgrader", "generate_assignment", overhead.NAME], folder)
        works = list(overhead.works(course.lesson("01"), many))
        submit(folder, works)
        theirs = run(["nbgrader", "autograde", overhead.NAME], folder)
        ours = run([*tito(course), "grade", "01", "--level", "1", "--workers", str(CORES)], folder)
        with pool() as grade_all:
            warm = timed(grade_all, works[:10] + works, bundle.make(course, course.lesson("01")), 10)
        same = marks(folder) == nbgrader_marks(folder)
    ratios = {"command": theirs["seconds"] / ours["seconds"], "warm": theirs["seconds"] / warm["seconds"]}
    ratios |= {"command_cpu": theirs["cpu"] / ours["cpu"], "warm_cpu": theirs["cpu"] / warm["cpu"]}
    return {"submissions": many, "nbgrader": theirs, "tito": ours, "warm": warm, "times": ratios, "same_marks": same}


def lessons(many: int = 10) -> Table:
    """One worker, one submission at a time."""
    course = Course.find()
    return {lesson.stem: one_lesson(course, lesson, many) for lesson in course.lessons}


def memory(many: int = 10_000) -> Table:
    """Every 1,000 submissions."""
    with toys() as course:
        return command(course, course.lesson("01"), overhead.works(course.lesson("01"), many), many, 1000)


def load(many: int = 5_000) -> Table:
    """Ten rows."""
    course = Course.find()
    lesson = course.lesson("03")
    return command(course, lesson, mistaken(lesson, many), many, many // 10)


def cluster(many: int = 300) -> Table:
    """The same works, warm, on two workers of each kind."""
    with toys() as course:
        made = bundle.make(course, course.lesson("01"))
        works = list(overhead.works(course.lesson("01"), many + 20))
        with pool() as grade_all:
            one_machine = timed(grade_all, works, made, 20)
        with dask() as grade_all:
            return {"pool": one_machine, "cluster": timed(grade_all, works, made, 20)}


SECTIONS: dict[str, Callable[..., Table]] = {
    "rate": rate,
    "nbgrader": nbgrader,
    "lessons": lessons,
    "memory": memory,
    "load": load,
    "cluster": cluster,
}


@contextmanager
def toys() -> Iterator[Course]:
    with tempfile.TemporaryDirectory() as folder:
        yield overhead.course(Path(folder))


@contextmanager
def pool() -> Iterator[Callable[..., Iterator[Result]]]:
    from tito.teach.grader.workers import Pool

    with Pool(1, CORES, SECRET) as workers:
        yield workers.grade_all


@contextmanager
def dask() -> Iterator[Callable[..., Iterator[Result]]]:
    from tito.teach.grader import cluster_keys
    from tito.teach.grader.cluster import Cluster

    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        keys = Path(place) / "keys"
        cluster_keys.make(keys, SECRET)
        free.bind(("127.0.0.1", 0))
        address = f"tls://127.0.0.1:{free.getsockname()[1]}"
        free.close()
        start = [*tito(), "cluster-scheduler", address, "--keys", str(keys / "scheduler")]
        join = [*tito(), "cluster-worker", address, "--keys", str(keys / "worker"), "--workers", str(CORES)]
        nodes = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for words in (start, join)]
        try:
            yield Cluster(address, keys / "client", 1, SECRET).grade_all
        finally:
            for node in nodes:
                node.terminate()
                node.wait()


def timed(grade_all: Callable[..., Iterator[Result]], works: Sequence[Work], made: Any, warm: int) -> Table:
    """Seconds and processor seconds of all but the first few submissions."""
    results = grade_all(works, made)
    for _ in range(warm):
        next(results)
    began, cpu = time.perf_counter(), cpu_seconds()
    many = sum(1 for _ in results)
    seconds = time.perf_counter() - began
    cpu = cpu_seconds() - cpu
    return {"submissions": many, "seconds": seconds, "cpu": cpu, "per_second": many / seconds, "cpu_each": cpu / many}


def cpu_seconds() -> float:
    """Of this process and all that came of it, those that are gone too if someone waited for them."""
    return sum(map(_cpu_of, family(psutil.Process())))


def _cpu_of(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):  # a sealed child lives for milliseconds
        return float(sum(process.cpu_times()[:4]))
    return 0.0


def family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def course_of(course: Course, root: Path, more: str = "") -> Folder:
    folder = Folder(root)
    course_folder.make(folder, course, "course")
    with open(folder.config, "a", encoding="utf-8") as config:
        config.write(more)
    return folder


def submit(folder: Folder, works: Iterator[Work] | Sequence[Work]) -> None:
    for work in works:
        place = folder.submitted / work.student / work.assignment
        place.mkdir(parents=True)
        for name, content in work.files.items():
            (place / name).write_bytes(content)


def tito(course: Course | None = None) -> list[str]:
    """The command `tito teach`, on another course if one is given."""
    if course is None:
        return [str(Path(sys.executable).with_name("tito")), "teach"]
    return [sys.executable, str(HERE.parent / "tests" / "fixtures" / "tito_on.py"), str(course.root), "teach"]


def run(command: Sequence[str], folder: Folder) -> Table:
    """Wall and processor seconds of a command that must succeed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    before, began = sum(os.times()[2:4]), time.perf_counter()
    done = subprocess.run(command, cwd=folder.root, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode()[-2000:])
    return {"seconds": time.perf_counter() - began, "cpu": sum(os.times()[2:4]) - before}


def marks(folder: Folder) -> dict[str, float]:
    from tito.teach.marks.store import Store

    with Store(folder.results) as store:
        return {student: result.earned for student, result in store.latest(overhead.NAME).items()}


def nbgrader_marks(folder: Folder) -> dict[str, float]:
    from nbgrader.api import Gradebook  # type: ignore[import-untyped]

    with Gradebook(f"sqlite:///{folder.root / 'gradebook.db'}", "course") as gradebook:
        return {one.student_id: one.score for one in gradebook.find_assignment(overhead.NAME).submissions}


def one_lesson(course: Course, lesson: Lesson, many: int) -> Table:
    from tito import release
    from tito.teach.grader.workers import Worker

    text = json.dumps(release.notebook(lesson, solutions=True))
    work = Work("reference", lesson.stem, {f"{lesson.stem}.ipynb": text.encode()})
    own = json.loads(subprocess.check_output([sys.executable, __file__, "--alone", lesson.id, str(many)]))
    made = bundle.make(course, lesson)
    with Worker(made, SECRET, 1) as worker:
        sealed = timed(lambda works, made: map(worker.grade, works), [work] * (many + 2), made, 2)
        result = worker.grade(work)
        assert result.earned == result.points, result
    whole = {"wall": sealed["seconds"] / many, "cpu": sealed["cpu_each"]}
    overhead, ratio = (
        {f"{kind}": f(whole[kind], own[kind]) for kind in whole} for f in (float.__sub__, float.__truediv__)
    )
    return {"checks": len(made.checks), "own": own, "sealed": whole, "overhead": overhead, "ratio": ratio}


def alone(lesson: Lesson, many: int) -> Table:
    """Seconds of the lesson's definitions and of its checks, all in this process with nothing between them."""
    from tito import release
    from tito.checks import draw
    from tito.teach.sealed import child

    made, name = bundle.make(Course.find(), lesson), f"{lesson.stem}.ipynb"
    compiled = [compile(check.source, f"<{check.id}>", "exec", dont_inherit=True) for check in made.checks]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in made.sealed.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text, encoding="utf-8")
        home, seconds = child.Home(folder), []
        file = np.frombuffer(json.dumps(release.notebook(lesson, solutions=True)).encode(), np.uint8)
        for _ in range(many):
            student = child.Student(home)
            plan = student.plan({"files": {name: file}, "lesson": lesson.stem, "own": False})["plan"]
            began, cpu = time.perf_counter(), time.process_time()
            student.define({"plan": plan, "seconds": 10.0})
            for check, code in zip(made.checks, compiled):
                draw.reset(check.name)
                exec(code, student.names)
            seconds.append((time.perf_counter() - began, time.process_time() - cpu))
    return dict(zip(("wall", "cpu"), map(statistics.median, zip(*seconds))))


def mistaken(lesson: Lesson, many: int) -> Iterator[Work]:
    """Students who answer four exercises of five, one of five of these with a known mistake."""
    mistakes = mistakes_of(lesson)
    return overhead.works(lesson, many, lesson.stem, [(one.exercise, one.apply) for one in mistakes])


def command(course: Course, lesson: Lesson, works: Iterator[Work], many: int, step: int) -> Table:
    """`tito teach grade` as a process, watched from outside."""
    with tempfile.TemporaryDirectory() as place:
        folder = course_of(course, Path(place) / "course")
        submit(folder, works)
        words = [*tito(course), "grade", lesson.id, "--level", "1", "--workers", str(CORES)]
        with open(Path(place) / "log", "wb") as log:
            process = subprocess.Popen(words, cwd=folder.root, stdout=log, stderr=log)
            rows = list(watched(process, folder, step))
        said = (Path(place) / "log").read_text(encoding="utf-8")
        size = folder.results.stat().st_size
    if process.wait():
        sys.exit(said[-2000:])
    return {
        "submissions": many,
        "rows": rows,
        "store_bytes": size,
        "said": [row for row in said.splitlines() if " graded, " in row],
    }


def watched(process: subprocess.Popen[bytes], folder: Folder, step: int) -> Iterator[Table]:
    """A row at the first result and whenever so many more are kept."""
    root, began, wanted = psutil.Process(process.pid), time.perf_counter(), 1
    while process.poll() is None:
        with suppress(psutil.Error, sqlite3.Error):
            done = kept(folder)
            sizes = resident(root) if done >= wanted else {"zygotes": 0}
            if sizes["zygotes"]:  # at the very end they may be gone already
                yield {"done": done, "seconds": time.perf_counter() - began, **sizes, "load": os.getloadavg()[0]}
                wanted = done // step * step + step
        time.sleep(0.05)


def kept(folder: Folder) -> int:
    if not folder.results.exists():
        return 0
    with sqlite3.connect(f"file:{folder.results}?mode=ro", uri=True) as results:
        return int(results.execute("SELECT COUNT(*) FROM result").fetchone()[0])


def resident(root: psutil.Process) -> Table:
    """MB of the command, of all its workers, of all their zygotes; and processor seconds of all."""
    workers = [one for one in root.children() if any("spawn_main" in word for word in one.cmdline())]
    zygotes = [one for worker in workers for one in worker.children()]
    groups = {"command": [root], "workers": workers, "zygotes": zygotes}
    sizes = {name: round(sum(one.memory_info().rss for one in group) / 1e6, 1) for name, group in groups.items()}
    cpu = sum(sum(one.cpu_times()[:4]) for one in family(root))
    return {**sizes, "cpu": round(cpu, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--submissions", type=int, metavar="N", help="how many, in place of the section's own number")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    for name in args.sections or SECTIONS:
        before = os.getloadavg()[0]
        found = SECTIONS[name](*[args.submissions] * (args.submissions is not None))
        about = {"load": [before, os.getloadavg()[0]], "cores": os.cpu_count(), "python": platform.python_version()}
        table = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        table[name] = {"about": {**about, "numpy": np.__version__, "level": 1, "workers": CORES}, "found": found}
        args.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(found)[:2000], flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        print(json.dumps(alone(Course.find().lesson(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
