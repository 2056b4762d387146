"""Made results: a submission with every kind of outcome, and whole classes drawn from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from tito.course import Course, Lesson
from tito.teach.result import CheckResult, Key, Result

COURSE = Course.find()
LESSON = COURSE.lesson("03")
NAME = LESSON.stem


def key(student: str, assignment: str = NAME) -> Key:
    return Key(student, assignment, "ab12" * 16, "cd" * 32, "reference", {"wall": 10.0}, "0" * 16, "3.11.7", "2.4.0")


def check(name: str, points: float = 2, earned: float = 0, status: str = "FAIL", **more: Any) -> CheckResult:
    return CheckResult(name, name.split()[0], points, earned, more.pop("hidden", False), status, **more)


def result(student: str = "ada", *checks: CheckResult, **more: Any) -> Result:
    return Result(key(student, more.pop("assignment", NAME)), more.pop("status", "graded"), checks=checks, **more)


def mixed(student: str = "ada", **more: Any) -> Result:
    """Lesson 03 with every status, and all that a check can say."""
    told = {"expression": "Linear(3, 2)(x)", "want": "[[17. 22.]]", "got": "[[7. 2.]]", "says": "differs at [0, 1]"}
    where = ("<cell 14>", 9, "    return x @ weight.T")
    return result(
        student,
        check("affine", 3, **told, where=where, looks_like="leaves the bias out", output="shape (1, 3)\n"),
        check("affine drawn", 1, hidden=True),
        check("linear", 3, error=("AttributeError", "no attribute 'weight'"), expression="Linear(3, 2).weight"),
        check("linear draws", 1, 1, "ok", hidden=True),
        check("train", 3, status="todo"),
        check("dropout", 3, status="not run", reason="cell 40 took longer than 10 s"),
        check("load_state_dict", 3, status="waits", waits_for="state_dict"),
        check("state_dict", 3, 3, "ok"),
        **{"notes": ("cell 15 (check affine) was edited; the released one was used",), **more},
    )


def mistakes(lesson: Lesson) -> dict[str, list[str]]:
    known = json.loads((lesson.folder / "fingerprints.json").read_text(encoding="utf-8"))
    return {name: [one["says"] for one in table["mistakes"]] for name, table in known.items()}


def many(students: int, seed: int = 1) -> Iterator[Result]:
    """A class at lesson 03: exercises more or less hard, mistakes more or less frequent, some deaths, some notes."""
    rng, known = random.Random(seed), mistakes(LESSON)
    checks = [cell for cell in LESSON.cells() if cell.role == "check"]
    ease = {name: rng.uniform(0.4, 0.95) for name in known}
    for i in range(students):
        wrong = {name for name in known if rng.random() > ease[name]}
        dies, notes = rng.random() < 0.03, (f"cell {rng.randrange(60)} was deleted",) * (rng.random() < 0.05)
        outcomes = []
        for cell in checks:
            name, more = cell.name.split()[0], {"hidden": cell.hidden}
            if dies and name == "dropout":
                outcomes.append(check(cell.name, cell.points, status="not run", reason="took longer than 10 s", **more))
            elif name in wrong:
                says = known[name][min(int(rng.expovariate(0.7)), len(known[name]) - 1)]
                outcomes.append(check(cell.name, cell.points, looks_like="" if cell.hidden else says, **more))
            else:
                outcomes.append(check(cell.name, cell.points, cell.points, "ok", **more))
        yield result(f"s{i:04}", *outcomes, notes=notes)
