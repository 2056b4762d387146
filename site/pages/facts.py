"""Numbers and versions as text, for `{{ facts.NAME words }}` in a written page; each comes from where it is true.

| call | what it gives |
|---|---|
| `lessons`, `milestones` | how many there are |
| `exercises`, `checks`, `checks_visible`, `checks_hidden` | of all lessons; `exercises 03` of one |
| `mistakes`, `mistakes_named`, `hints` | as those; named are those that `tito test` can tell by what they give |
| `alternatives` | right answers of another kind that the tests try |
| `mutants_least` | share of generic changes of the solutions that the checks must catch: `95 %` |
| `answer_lines` | lines that the stubs promise in all, or in one lesson |
| `minutes`, `hours` | of all lessons; `minutes 03` of one |
| `minutes_range` | of a lesson: `45 to 120` |
| `files`, `files_supplied` | of the package |
| `lines`, `lines_exported`, `lines_supplied` | lines of code: no blank line, comment, docstring, import |
| `budget` | lines of code that the exported lessons may have |
| `functions`, `functions_median`, `functions_longest` | of the exported lessons, and lines of code in one |
| `names` | public names of the package |
| `same`, `differs`, `absent` | entries of the PyTorch map by verdict |
| `attacks` | submissions that try to cheat the grader, each run by a test |
| `pythons`, `python_first`, `python_last` | supported: `3.10 to 3.13`, `3.10`, `3.13` |
| `requires numpy` | what the package index is asked for: `numpy>=2.1,<3` |
| `version` | of tito |
| `ratio W1`, `ratio W1 fast`, `ratio W1 torch` | a step's processor time, times that of NumPy by hand |
| `step W1`, `step W1 numpy`, `step W1 torch` | a step's processor time: `51.6 us` |
| `to_torch W1` | processor time of PyTorch's step, times ours |
| `peak W4`, `peak W4 torch` | peak memory of a process that trains: `100 MB` |
| `calls W1`, `calls W1 numpy` | Python functions that a step calls |
| `call_us W1` | microseconds that each of those calls more takes |
| `node_us`, `node_bytes` | of a recorded operation in the longest chain, forward and backward |
| `chain` | operations in that chain |
| `digits_seconds`, `digits_right` | the third milestone's digits: processor time, share of held-out ones right |
| `command tito test 01` | wall time of a whole command: `187 ms` |
| `processor`, `cores`, `measured_on` | the machine of the benchmarks, and the day |
| `measured_with numpy`, `measured_with python` | versions there |
| `grading_ms`, `grading_rate` | overhead of grading: processor time of one submission, submissions a second |
| `grading_ms 06` | processor time of one submission of a lesson, sealed |
| `grading_times` | processor time of nbgrader's own Execute, times that of `tito teach grade` |
| `graded` | submissions of the load test |

Words behind a lesson's count are its id or name. Electives, and their files and names, count only where they are named.
Begin at any function: all are a few lines.
"""

from __future__ import annotations

import ast
import re
import statistics
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from pages import about, measured, pytorch
from pages.site import ROOT, Site
from tito import __version__, diagnosis
from tito.course import Course, Lesson, _read_toml
from tito.dev import survivors
from tito.dev.export import files_of
from tito.dev.mistakes import mistakes_of
from tito.dev.size import BUDGET, code_lines, function_lengths
from tito.percent import Cell

PEERS = {"": "ours", "fast": "ours, fast", "numpy": "by hand", "torch": "torch", "jax": "jax, jit"}
LONGEST = "chain of 1,000,000"
Words = str


# The course


def lessons(site: Site) -> str:
    return str(len(site.course.lessons))


def milestones(site: Site) -> str:
    return str(len(site.course.milestones))


def exercises(site: Site, *lesson: Words) -> str:
    return _count(site, lesson, lambda cell: cell.role == "exercise")


def checks(site: Site, *lesson: Words) -> str:
    return _count(site, lesson, lambda cell: cell.role == "check")


def checks_visible(site: Site, *lesson: Words) -> str:
    return _count(site, lesson, lambda cell: cell.role == "check" and not cell.hidden)


def checks_hidden(site: Site, *lesson: Words) -> str:
    return _count(site, lesson, lambda cell: cell.role == "check" and cell.hidden)


def mistakes(site: Site, *lesson: Words) -> str:
    return f"{sum(len(mistakes_of(one)) for one in _lessons(site.solved, lesson)):,}"


def mistakes_named(site: Site, *lesson: Words) -> str:
    known = [each for one in _lessons(site.solved, lesson) for each in diagnosis.load(one).values()]
    return f"{sum(not mistake['unsure'] for each in known for mistake in each['mistakes']):,}"


def alternatives(site: Site) -> str:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "alternatives").glob("*.py"))
    return str(sum(source.count("\n# %% exercise=") for source in sources))


def mutants_least(site: Site) -> str:
    return f"{100 * survivors.LEAST:.0f} %"


def hints(site: Site, *lesson: Words) -> str:
    tables = [_read_toml(one.folder / "hints.toml") for one in _lessons(site.solved, lesson)]
    return f"{sum(len(steps) for table in tables for steps in table.values()):,}"


def answer_lines(site: Site, *lesson: Words) -> str:
    cells = [cell for one in _lessons(site.solved, lesson) for cell in one.cells() if cell.role == "exercise"]
    return f"{sum(map(about.lines_of, cells)):,}"


def minutes(site: Site, *lesson: Words) -> str:
    return str(sum(one.minutes for one in _lessons(site.course, lesson)))


def hours(site: Site) -> str:
    return f"{sum(one.minutes for one in site.course.lessons) / 60:.0f}"


def minutes_range(site: Site) -> str:
    found = [one.minutes for one in site.course.lessons]
    return f"{min(found)} to {max(found)}"


def _lessons(course: Course, named: Iterable[str]) -> list[Lesson]:
    return [course.lesson(name) for name in named] or list(course.lessons)


def _count(site: Site, named: Iterable[str], wanted: Callable[[Cell], bool]) -> str:
    return f"{sum(wanted(cell) for one in _lessons(site.solved, named) for cell in one.cells()):,}"


# The package


def files(site: Site) -> str:
    theirs = {name for lesson in site.solved.electives for name in files_of(lesson)}
    return str(len({path.name for path in _package(site).glob("*.py")} - theirs))


def files_supplied(site: Site) -> str:
    return str(len(_supplied(site)))


def lines(site: Site) -> str:
    return f"{_length([*_exported(site), *_supplied(site)]):,}"


def lines_exported(site: Site) -> str:
    return f"{_length(_exported(site)):,}"


def lines_supplied(site: Site) -> str:
    return f"{_length(_supplied(site)):,}"


def budget(site: Site) -> str:
    return f"{BUDGET:,}"


def functions(site: Site) -> str:
    return f"{len(_functions(site)):,}"


def functions_median(site: Site) -> str:
    return f"{statistics.median(_functions(site)):g}"


def functions_longest(site: Site) -> str:
    return str(max(_functions(site)))


def names(site: Site) -> str:
    theirs = {name for lesson in site.solved.electives for file in files_of(lesson) for name in _listed(site, file)}
    return str(len({*public(site.reference)} - theirs))


def public(folder: Path) -> list[str]:
    """What `tinytorch.__all__` lists, in a folder that holds the package."""
    return _all_of(folder / "tinytorch" / "__init__.py")


def _listed(site: Site, file: str) -> list[str]:
    return _all_of(_package(site) / file)


def _all_of(path: Path) -> list[str]:
    """What `__all__` of a file lists; in an empty one it is annotated."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    made = (node for node in body if isinstance(node, ast.Assign | ast.AnnAssign))
    (listing,) = (node.value for node in made if re.match(r"__all__\b", ast.unparse(node)))
    assert listing is not None  # it is written with what it holds
    return list(ast.literal_eval(listing))


def _package(site: Site) -> Path:
    return site.reference / "tinytorch"


def _exported(site: Site) -> tuple[Path, ...]:
    return tuple(_package(site) / f"{lesson.name}.py" for lesson in site.solved.lessons)


def _supplied(site: Site) -> tuple[Path, ...]:
    return tuple(_package(site) / path.name for lesson in site.solved.lessons for path in lesson.supplied)


def _functions(site: Site) -> list[int]:
    return [
        length for path in _exported(site) for length in function_lengths(path.read_text(encoding="utf-8")).values()
    ]


def _length(paths: Iterable[Path]) -> int:
    return sum(_lines_of(path, path.stat().st_mtime_ns) for path in paths)


@lru_cache
def _lines_of(path: Path, changed: int) -> int:
    return len(code_lines(path.read_text(encoding="utf-8")))


# Beside it


def same(site: Site) -> str:
    return _verdicts(site, "same")


def differs(site: Site) -> str:
    return _verdicts(site, "differs")


def absent(site: Site) -> str:
    return _verdicts(site, "absent")


def _verdicts(site: Site, verdict: str) -> str:
    return str(sum(row.verdict == verdict for lesson in site.course.lessons for row in pytorch.rows(lesson.stem)))


def attacks(site: Site) -> str:
    files = (ROOT / "tests" / "attacks").glob("*.py")
    return str(sum(path.stem not in ("test_attacks", "conftest") for path in files))


def version(site: Site) -> str:
    return __version__


def pythons(site: Site) -> str:
    return f"{python_first(site)} to {python_last(site)}"


def python_first(site: Site) -> str:
    return _python()[0]


def python_last(site: Site) -> str:
    """The one before the first that is refused."""
    major, minor = _python()[1].split(".")
    return f"{major}.{int(minor) - 1}"


def requires(site: Site, package: str) -> str:
    (found,) = (need for need in _project()["dependencies"] if re.match(rf"{package}\b", need))
    return str(found)


def _python() -> tuple[str, str]:
    first, end = re.findall(r"\d+\.\d+", str(_project()["requires-python"]))
    return first, end


def _project() -> dict[str, list[str]]:
    return dict(_read_toml(ROOT / "pyproject.toml")["project"])


# What was measured


def ratio(site: Site, work: str, peer: str = "") -> str:
    return f"{_of(work, peer)['cpu_ratio'][0]:.2f}"


def step(site: Site, work: str, peer: str = "") -> str:
    return str(measured.maker().time_of(_of(work, peer)["cpu"][0]))


def to_torch(site: Site, work: str) -> str:
    return f"{_of(work, 'torch')['cpu'][0] / _of(work, '')['cpu'][0]:.2f}"


def peak(site: Site, work: str, peer: str = "") -> str:
    return f"{measured.of('results')['memory'][work][PEERS[peer]]['peak'] / 1e6:.0f} MB"


def calls(site: Site, work: str, peer: str = "") -> str:
    return f"{measured.of('calls')['calls'][work][PEERS[peer]]:,}"


def call_us(site: Site, work: str) -> str:
    counts = measured.of("calls")["calls"][work]
    longer = 1e6 * (_of(work, "")["cpu"][0] - _of(work, "numpy")["cpu"][0])
    return f"{longer / (counts['ours'] - counts['by hand']):.2f}"


def node_us(site: Site) -> str:
    return f"{1e6 * measured.of('results')['W5']['ours'][LONGEST]['cpu'][0]:.1f}"


def node_bytes(site: Site) -> str:
    return f"{measured.of('results')['W5']['ours'][LONGEST]['bytes']:,}"


def chain(site: Site) -> str:
    return LONGEST.split()[-1]


def digits_seconds(site: Site) -> str:
    return f"{measured.of('results')['W9']['cpu'][0]:.2f}"


def digits_right(site: Site) -> str:
    return f"{100 * measured.of('results')['W9']['accuracy']:.1f} %"


def command(site: Site, *words: Words) -> str:
    return f"{1000 * measured.of('loop')['seconds'][' '.join(words)]['median']:.0f} ms"


def processor(site: Site) -> str:
    return str(measured.of("results")["processor"])


def cores(site: Site) -> str:
    return str(measured.of("results")["cores"])


def measured_with(site: Site, name: str) -> str:
    found = measured.of("results")
    return str(found["python"] if name == "python" else found["versions"][name])


def _of(work: str, peer: str) -> dict[str, list[float]]:
    return dict(measured.of("results")["threads"]["1"][work][PEERS[peer]])


def grading_ms(site: Site, *lesson: Words) -> str:
    found = measured.of("grading")
    if not lesson:
        return f"{1000 * found['rate']['found']['cpu_each']:.1f}"
    return f"{1000 * found['lessons']['found'][site.course.lesson(lesson[0]).stem]['sealed']['cpu']:.0f}"


def grading_rate(site: Site) -> str:
    return f"{measured.of('grading')['rate']['found']['per_second']:.0f}"


def grading_times(site: Site) -> str:
    return f"{measured.of('grading')['nbgrader']['found']['times']['command_cpu']:.0f}"


def graded(site: Site) -> str:
    return f"{measured.of('grading')['load']['found']['submissions']:,}"


def measured_on(site: Site) -> str:
    return str(measured.of("results")["date"])
