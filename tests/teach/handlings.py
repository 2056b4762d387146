"""What students do to notebooks, a function a kind. Begin at `HANDLINGS`, which holds all; `Draft` is a notebook."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from tito import release
from tito.course import Lesson

Cell = dict[str, Any]


@dataclass
class Draft:
    """A notebook being made. `minor` is its version of nbformat 4."""

    lesson: Lesson
    rng: random.Random
    cells: list[Cell]
    did: list[str]
    minor: int = 5
    answers: dict[str, str] = field(default_factory=dict)
    as_percent: bool = False

    def pick(self, role: str, kind: str = "code") -> int:
        """The place of some cell whose id begins so."""
        places = [i for i, cell in enumerate(self.cells) if cell["id"].startswith(role) and cell["cell_type"] == kind]
        return self.rng.choice(places) if places else 0

    def marks(self, role: str) -> Cell:
        """nbgrader's metadata of some cell, to be edited."""
        return dict.setdefault(self.cells[self.pick(role)]["metadata"], "nbgrader", {})

    def explore(self, source: str) -> None:
        """The student tries something in a cell of their own."""
        self.cells.insert(self.rng.randrange(1, len(self.cells)), code(source))

    def say_in_answer(self, statement: str) -> None:
        """Put a statement at the beginning of some answer's first function."""
        cell = self.cells[self.pick("exercise-")]
        cell["source"] = with_statement(cell["source"], statement)


Handling = Callable[[Draft], object]
HANDLINGS: list[Handling] = []


def code(source: str) -> Cell:
    """A code cell of the student's."""
    cell = {"cell_type": "code", "id": f"own-{crc32(source.encode())}", "metadata": {}, "outputs": []}
    return {**cell, "execution_count": None, "source": source}


def with_statement(source: str, statement: str) -> str:
    """The source with a statement before the first of its first function, behind the docstring."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    body = functions[0].body
    first = body[1] if len(body) > 1 and isinstance(body[0], ast.Expr) else body[0]
    lines = source.split("\n")
    lines.insert(first.lineno - 1, " " * first.col_offset + statement)
    return "\n".join(lines)


def handling(function: Handling) -> Handling:
    """One of the things that students do to notebooks."""
    HANDLINGS.append(function)
    return function


def _copied(draft: Draft, role: str, **changes: str) -> None:
    place = draft.pick(role)
    draft.cells.insert(place + 1, {**copy.deepcopy(draft.cells[place]), "id": "copied", **changes})


def _retyped(draft: Draft, role: str, kind: str) -> None:
    place = draft.pick(role)
    kept = {key: draft.cells[place][key] for key in ("id", "metadata", "source")}
    draft.cells[place] = {**kept, "cell_type": kind}


# Cells moved, split, doubled, deleted, retyped


@handling
def check_to_the_front(draft: Draft) -> None:
    draft.cells.insert(0, draft.cells.pop(draft.pick("check-")))


@handling
def exercise_to_the_end(draft: Draft) -> None:
    draft.cells.append(draft.cells.pop(draft.pick("exercise-")))


@handling
def demo_elsewhere(draft: Draft) -> None:
    draft.explore(draft.cells.pop(draft.pick("cell-"))["source"])


@handling
def exercise_split(draft: Draft) -> None:
    """The second function in a cell of its own, where there is one."""
    for place in [i for i, cell in enumerate(draft.cells) if cell["id"].startswith("exercise-")]:
        first, mark, rest = draft.cells[place]["source"].partition("\n\n\n")
        if mark:
            draft.cells[place]["source"] = first
            draft.cells.insert(place + 1, code(rest))
            return


@handling
def check_doubled(draft: Draft) -> None:
    _copied(draft, "check-")


@handling
def exercise_doubled(draft: Draft) -> None:
    _copied(draft, "exercise-")


@handling
def exercise_doubled_and_left(draft: Draft) -> None:
    """The copy below holds a first try."""
    _copied(draft, "exercise-", source="# my first try\npass")


@handling
def exercise_doubled_and_begun_anew(draft: Draft) -> None:
    place = draft.pick("exercise-")
    name = draft.cells[place]["id"]
    stub = next(cell.source for cell in release.student_cells(draft.lesson) if cell.id == name)
    draft.cells.insert(place + 1, {**copy.deepcopy(draft.cells[place]), "id": "copied", "source": stub})


@handling
def check_deleted(draft: Draft) -> None:
    draft.cells.pop(draft.pick("check-"))


@handling
def exercise_deleted(draft: Draft) -> None:
    draft.cells.pop(draft.pick("exercise-"))


@handling
def supplied_deleted(draft: Draft) -> None:
    draft.cells.pop(draft.pick("supplied-"))


@handling
def imports_deleted(draft: Draft) -> None:
    draft.cells.pop(draft.pick("imports"))


@handling
def text_deleted(draft: Draft) -> None:
    draft.cells[:] = [cell for cell in draft.cells if cell["cell_type"] == "code"]


@handling
def demos_deleted(draft: Draft) -> None:
    draft.cells[:] = [cell for cell in draft.cells if not (cell["id"].startswith("cell-") and "outputs" in cell)]


@handling
def check_made_raw(draft: Draft) -> None:
    _retyped(draft, "check-", "raw")


@handling
def exercise_made_text(draft: Draft) -> None:
    _retyped(draft, "exercise-", "markdown")


# Cells of their own


@handling
def explores_and_raises(draft: Draft) -> None:
    draft.explore("a = [1, 2]\na[5]")


@handling
def explores_and_warns(draft: Draft) -> None:
    draft.explore("import warnings\nwarnings.warn('mind the step')")


@handling
def explores_on_stderr(draft: Draft) -> None:
    draft.explore("import sys\nprint('shape?', file=sys.stderr)")


@handling
def explores_at_length(draft: Draft) -> None:
    draft.explore("for i in range(3000):\n    print(i, 'x' * 60)")


@handling
def explores_with_a_plot(draft: Draft) -> None:
    draft.explore("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()")


@handling
def explores_with_commands(draft: Draft) -> None:
    draft.explore("%timeit -n 2 -r 2 sum(range(10))\n!echo hello\nnumbers = !echo 3")


@handling
def explores_and_leaves(draft: Draft) -> None:
    draft.explore("exit()")


@handling
def explores_with_a_typo(draft: Draft) -> None:
    draft.explore("print('a'")


@handling
def writes_a_helper(draft: Draft) -> None:
    draft.explore("EPS = 1e-12\n\n\ndef helper(a, b=2):\n    return a + b")


# Answers that say something, imports


@handling
def answer_warns(draft: Draft) -> None:
    draft.say_in_answer("import warnings; warnings.warn('slow path')")


@handling
def answer_on_stderr(draft: Draft) -> None:
    draft.say_in_answer("import sys; print('called', file=sys.stderr)")


@handling
def answer_prints(draft: Draft) -> None:
    draft.say_in_answer("print('here')")


@handling
def answer_ends_the_process(draft: Draft) -> None:
    draft.say_in_answer("import os; os._exit(1)")


@handling
def cell_fails_at_its_end(draft: Draft) -> None:
    """A trial below the answer that does not work."""
    draft.cells[draft.pick("exercise-")]["source"] += "\n\n[1, 2][7]"


@handling
def trial_below_an_answer(draft: Draft) -> None:
    draft.cells[draft.pick("exercise-")]["source"] += "\n\nsum([1, 2])"


@handling
def imports_a_plotter(draft: Draft) -> None:
    draft.cells[draft.pick("imports")]["source"] += "\nimport matplotlib.pyplot as plt"


@handling
def imports_fewer(draft: Draft) -> None:
    cell = draft.cells[draft.pick("imports")]
    cell["source"] = cell["source"].replace("import numpy as np\n", "")


# Metadata, formats


@handling
def check_is_no_check(draft: Draft) -> None:
    draft.marks("check-").update(grade=False, points=0)


@handling
def check_is_an_answer(draft: Draft) -> None:
    draft.marks("check-").update(solution=True, locked=False)


@handling
def check_of_more_points(draft: Draft) -> None:
    draft.marks("check-").update(points=1000)


@handling
def check_of_an_old_schema(draft: Draft) -> None:
    draft.marks("check-").update(schema_version=0)


@handling
def check_rewritten(draft: Draft) -> None:
    draft.cells[draft.pick("check-")]["source"] = "7"


@handling
def metadata_stripped(draft: Draft) -> None:
    draft.cells[draft.pick("check-")]["metadata"].clear()


@handling
def metadata_added(draft: Draft) -> None:
    for cell in draft.cells:
        cell["metadata"].update(collapsed=True, tags=["mine"], jupyter={"outputs_hidden": True})


@handling
def outputs_saved(draft: Draft) -> None:
    for cell in draft.cells:
        if cell["cell_type"] == "code":
            cell.update(outputs=[{"output_type": "stream", "name": "stderr", "text": ["saved\n"]}], execution_count=3)


@handling
def windows_newlines(draft: Draft) -> None:
    for cell in draft.cells:
        cell["source"] = cell["source"].replace("\n", "\r\n")


@handling
def format_without_ids(draft: Draft) -> None:
    draft.minor = 4


@handling
def percent_file(draft: Draft) -> None:
    draft.as_percent = True
