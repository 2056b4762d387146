"""Harmless submissions, made by made.py, get the same marks from stock nbgrader, SealedExecute and `tito teach grade`.

They are compared check by check. Where they differ, one of EDGES explains it, by what is seen in that very submission.
TITO_MADE is how many there are, 20 unless it is given. `pytest -s` shows how many differences each edge explains.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import made
import pytest
from conftest import Classroom, read
from made import Made

from tito.course import Course, Lesson
from tito.teach.assignments import releasing, variants
from tito.teach.marks.store import Store
from tito.teach.nbgrader_api import open_course

COURSE = Course.find()
MANY = int(os.environ.get("TITO_MADE", "200" if os.environ.get("TITO_LONG") else "20"))
ALL = {"01": 40, "02": 40, "03": 40, "04": 30, "05": 20, "06": 12, "07": 12, "08": 6}
SHARES = ALL if MANY > 20 else {"02": 1}
UNSAFE = """
# In tests only: nbgrader's own Execute, where the course has SealedExecute.
c.Autograde.autograde_preprocessors = [
    "nbgrader.preprocessors.Execute",
    *c.Autograde.autograde_preprocessors[1:],
]
"""

Scores = dict[str, dict[str, float]]  # by student, by check's cell


@dataclass(frozen=True)
class Case:
    """One check of one submission. A score is None where the grader has no result for the submission."""

    lesson: Lesson
    made: Made
    check: str  # the cell's id
    points: float
    stock: float | None
    sealed: float | None
    ours: float
    graded: dict[str, Any] | None = None  # the notebook as stock nbgrader left it
    said: str = ""  # by stock nbgrader, about this submission

    def __str__(self) -> str:
        scores = f"stock {self.stock}, sealed {self.sealed}, ours {self.ours}"
        return f"{self.lesson.stem} {self.made.student} {self.check}: {scores}; made by {', '.join(self.made.did)}"

    @property
    def is_equal(self) -> bool:
        return self.stock == self.sealed == self.ours

    @property
    def exercise(self) -> str:
        """The cell that the check is about."""
        named = next(cell.name for cell in self.lesson.cells() if cell.id == self.check).split()[0]
        return next(c.id for c in self.lesson.cells() if c.role in ("exercise", "twin") and c.name == named)

    @property
    def needed(self) -> list[str]:
        """The cells with definitions before the check, in the lesson."""
        cells = self.lesson.cells()
        place = next(i for i, cell in enumerate(cells) if cell.id == self.check)
        return [cell.id for cell in cells[:place] if cell.exported]

    @property
    def theirs(self) -> list[tuple[str, str, str]]:
        """Name, type and source of the cells that were handed in."""
        cells = self.made.cells or []
        names = (cell["metadata"].get("nbgrader", {}).get("grade_id") or cell.get("id", "") for cell in cells)
        return [(name, cell["cell_type"], cell["source"]) for name, cell in zip(names, cells)]

    def outputs(self, id: str) -> set[str]:
        """The kinds of output that a cell had after the stock kernel ran it: "error", "stderr", ..."""
        cells = (self.graded or {"cells": []})["cells"]
        found = (cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == id)
        return {each.get("name", each["output_type"]) for cell in found for each in cell.get("outputs", ())}


# What a kernel that runs a notebook from top to bottom, and nbgrader's reading of its outputs, see otherwise.


def no_notebook(case: Case) -> bool:
    """nbgrader grades no percent files: with either executor there is no result."""
    return case.made.cells is None and case.stock is None and case.sealed is None


def death(case: Case) -> bool:
    """A kernel that ends takes all points of the submission along."""
    ends = any(re.search(r"\bexit\(\)|os\._exit", source) for _, _, source in case.theirs)
    return ends and case.stock is None and "Kernel died" in case.said


def stderr(case: Case) -> bool:
    """A word on stderr while a check runs costs all its points."""
    return case.stock == 0 < case.ours and case.outputs(case.check) >= {"stderr"} and not failed(case)


def order(case: Case) -> bool:
    """A check ran before a cell that it needs; we define everything first."""
    names = [name for name, _, _ in case.theirs]
    where = names.index(case.check) if case.check in names else len(names)
    return lost(case) and any(name in names[where:] and name not in names[:where] for name in case.needed)


def missing(case: Case) -> bool:
    """A cell of the course was deleted, or lines of its imports; nbgrader puts back only what has points."""
    theirs = {name: source for name, _, source in case.theirs}
    imports = next(cell for cell in case.lesson.cells() if cell.role == "imports")
    lines = set(imports.source.splitlines()) - set(theirs.get(imports.id, "").splitlines())
    return lost(case) and bool(lines or set(case.needed) - theirs.keys())


def last_counts(case: Case) -> bool:
    """Of two cells of one name a kernel keeps what the last defines; for us the first counts."""
    texts = [(name, source) for name, _, source in case.theirs if name in case.needed]
    names = Counter(name for name, _ in set(texts))
    return lost(case) and any(count > 1 for count in names.values())


def text_is_code(case: Case) -> bool:
    """nbgrader runs an answer that was made a text cell; for us it is the student's wish that it is none."""
    text = {name for name, kind, _ in case.theirs if kind != "code"}
    return bool(text & set(case.needed)) and case.ours == 0 < (case.stock or 0)


def half_way(case: Case) -> bool:
    """An answer's cell raises below its definitions: a kernel has them, for us the exercise fails."""
    return case.ours == 0 < (case.stock or 0) and "error" in case.outputs(case.exercise)


def replaced_later(case: Case) -> bool:
    """A later answer replaces a method that the check calls; we, as `tito test`, define everything first.

    No edge of nbgrader's. In lesson 07 `SGD.update` is given and `step` is checked with it; an exercise further down
    puts another in its place.
    """
    cells = case.lesson.cells()
    place = next(i for i, cell in enumerate(cells) if cell.id == case.check)
    given = {name for cell in cells[:place] if cell.exported for name in methods(cell.source)}
    written = {cell.id: cell.source for cell in cells[place:] if cell.role == "exercise"}
    wrong = [name for name, _, source in case.theirs if written.get(name, source) != source]
    return case.ours == 0 < (case.stock or 0) and any(given & methods(written[name]) for name in wrong)


def methods(source: str) -> set[tuple[str, str]]:
    """Class and name of all methods that a cell defines, in a class or by `@patch`."""
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    inside = {(one.name, node.name) for one in classes for node in one.body if isinstance(node, ast.FunctionDef)}
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.args.args)
    owners = ((node.args.args[0].annotation, node.name) for node in functions)
    return inside | {(ast.unparse(owner), name) for owner, name in owners if owner}


def failed(case: Case) -> bool:
    return "error" in case.outputs(case.check)


def lost(case: Case) -> bool:
    """Stock nbgrader ran the check, which raised, and ours is ok."""
    return case.stock == 0 < case.ours and failed(case)


EDGES = (no_notebook, death, stderr, order, missing, last_counts, text_is_code, half_way, replaced_later)


def explained(case: Case) -> str | None:
    """The edge that explains a difference."""
    if case.sealed != case.ours and not no_notebook(case):
        return None  # these two are one grader
    return next((edge.__name__ for edge in EDGES if edge(case)), None)


@pytest.fixture(scope="module")
def cases(make_classroom: Callable[..., Classroom], tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """All submissions through all three, those of a lesson in one run each."""
    room, by_lesson = make_classroom(), {lesson: list(made.make(lesson, many)) for lesson, many in shares()}
    api = open_course(room.folder)
    for lesson, submissions in by_lesson.items():
        releasing.release(room.folder, COURSE, api, lesson, variants.load(room.folder))
        for one in submissions:
            hand_in(room, lesson, one)
    stock = copied(room, tmp_path_factory.mktemp("stock") / "course")
    said = run_all(room, stock, [lesson.stem for lesson in by_lesson])
    return [case for lesson, some in by_lesson.items() for case in compared(room, stock, lesson, some, said)]


def shares() -> Iterator[tuple[Lesson, int]]:
    """How many of each lesson: more where checks are quick."""
    for id, share in SHARES.items():
        yield COURSE.lesson(id), MANY * share // sum(SHARES.values())


def hand_in(room: Classroom, lesson: Lesson, one: Made) -> None:
    place = room.submit(one.student, lesson.stem, {})
    (place / f"{lesson.stem}.ipynb").unlink()
    for name, data in one.files.items():
        (place / name).write_bytes(data)


def copied(room: Classroom, place: Path) -> Classroom:
    """The same course with the same submissions, and nbgrader's own Execute."""
    shutil.copytree(room.root, place)
    other = Classroom.__new__(Classroom)
    other.root, other.course, other.folder = place, room.course, type(room.folder)(place)
    with open(other.folder.config, "a", encoding="utf-8") as config:
        config.write(UNSAFE)
    return other


def run_all(room: Classroom, stock: Classroom, names: list[str]) -> dict[str, str]:
    """Grade everything, two commands at once; what stock nbgrader said of each lesson."""
    with ThreadPoolExecutor(2) as pool:
        slow = {name: pool.submit(stock.run, "nbgrader", "autograde", name) for name in names}
        quick = [pool.submit(room.run, "nbgrader", "autograde", name) for name in names]
        quick += [pool.submit(room.run, "tito", "teach", "grade", name, "--workers", "1") for name in names]
        for future in quick:
            assert future.result().returncode == 0, future.result().stdout
        return {name: future.result().stdout for name, future in slow.items()}


def compared(
    room: Classroom, stock: Classroom, lesson: Lesson, submissions: list[Made], said: dict[str, str]
) -> Iterator[Case]:
    checks = [cell for cell in lesson.cells() if cell.role == "check"]
    theirs, sealed = nbgrader_scores(stock, lesson.stem), nbgrader_scores(room, lesson.stem)
    with Store(room.folder.results) as store:
        results = store.latest(lesson.stem)
    for one in submissions:
        ours = {check.name: check.earned for check in results[one.student].checks}
        path = stock.root / "autograded" / one.student / lesson.stem / f"{lesson.stem}.ipynb"
        graded = read(path) if path.exists() else None
        for cell in checks:
            scores = (each.get(one.student, {}).get(cell.id) for each in (theirs, sealed))
            told = about(said[lesson.stem], one.student)
            yield Case(lesson, one, cell.id, cell.points, *scores, ours[cell.name], graded, told)


def nbgrader_scores(room: Classroom, name: str) -> Scores:
    """Every submission's automatic scores, by the cell."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{room.root / 'gradebook.db'}", "course") as gradebook:
        found = gradebook.find_assignment(name).submissions
        return {
            each.student_id: {grade.name: grade.auto_score for notebook in each.notebooks for grade in notebook.grades}
            for each in found
        }


def about(said: str, student: str) -> str:
    """What nbgrader told while it was at a student's submission."""
    parts = re.split(r"(?m)^(?=.*Copying .*/submitted/)", said)
    return next((part for part in parts if f"/submitted/{student}/" in part.partition("\n")[0]), "")


def test_every_difference_has_an_edge_of_nbgrader_that_explains_it(cases: list[Case]) -> None:
    reasons = Counter(explained(case) or "unexplained" for case in cases if not case.is_equal)
    submissions = {(case.lesson.id, case.made.student) for case in cases}
    otherwise = {(case.lesson.id, case.made.student) for case in cases if not case.is_equal}
    print(f"\n{len(submissions)} submissions, {len(cases)} checks; {len(otherwise)} and {sum(reasons.values())} differ")
    for name, count in reasons.most_common():
        print(f"  {count:>5}  {name}")
    assert [str(case) for case in cases if not case.is_equal and not explained(case)] == []


def test_equal_is_more_than_all_zero_or_all_right(cases: list[Case]) -> None:
    scores = Counter(case.ours == case.points for case in cases if case.is_equal)
    assert scores[True] > len(cases) // 4 and scores[False] > len(cases) // 20


def test_a_difference_without_a_cause_is_not_explained(cases: list[Case]) -> None:
    """The same submissions with a score changed: where nothing else differed, no edge takes it."""
    equal = [case for case in cases if case.is_equal and case.points]
    equal = equal[:: max(1, len(equal) // 200)]
    changed = [replace(case, stock=case.points - (case.stock or 0)) for case in equal]
    changed += [replace(case, sealed=case.points - (case.sealed or 0)) for case in equal]
    wrongly = Counter(explained(case) for case in changed)
    assert wrongly[None] >= 0.9 * len(changed), wrongly
