"""A class whose submissions cost nothing but overhead: the toy lesson of tests/conftest.py, handed in many times."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tito import release
from tito.course import Course, Lesson
from tito.teach.grader.grading import Work

NAME = "01_toy"
TABLE = """title = "Toys"

[[lesson]]
id = "01"
name = "toy"
title = "Toys"
minutes = 60
needs = []
"""
Change = tuple[str, Callable[[str], str]]  # an exercise, and what makes its answer a wrong one


def _swap(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


WRONG: tuple[Change, ...] = (
    ("Sub", _swap("a - b", "a + b")),
    ("Box", _swap("2 * self.value", "self.value + 21")),
    ("Box", _swap("self.value = value", "self.value = 1 / 0")),
)


def course(root: Path) -> Course:
    """A course of that one lesson, written to a folder."""
    spec = importlib.util.spec_from_file_location("_toy", Path(__file__).parents[1] / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = root / "modules" / NAME
    folder.mkdir(parents=True)
    (folder / "toy.py").write_text(module.TOY, encoding="utf-8", newline="\n")
    (root / "course.toml").write_text(TABLE, encoding="utf-8")
    return Course.load(root)


def works(lesson: Lesson, many: int, stem: str = NAME, wrong: Sequence[Change] = WRONG) -> Iterator[Work]:
    """So many submissions, no two alike: four exercises of five are answered, one of five of these wrongly."""
    for i in range(many):
        text = json.dumps(notebook(lesson, i, wrong), ensure_ascii=False, indent=1)
        yield Work(f"s{i:05d}", stem, {f"{stem}.ipynb": text.encode()})


def notebook(lesson: Lesson, seed: int, wrong: Sequence[Change] = WRONG) -> dict[str, Any]:
    """One of them."""
    rng, made = random.Random(seed), release.notebook(lesson)
    answers = {cell.id: cell for cell in lesson.cells() if cell.role == "exercise"}
    for cell in made["cells"]:
        if cell["id"] in answers and rng.random() < 0.8:
            name, text = answers[cell["id"]].name, answers[cell["id"]].source
            changes = [change for exercise, change in wrong if exercise == name]
            if changes and rng.random() < 0.2:
                text = rng.choice(changes)(text)
            rows = [row for row in text.splitlines(keepends=True) if "### " not in row]
            cell["source"] = [f"# answer {seed}\n", *rows]
    return made
