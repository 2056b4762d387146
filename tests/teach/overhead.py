"""A class whose submissions cost nothing but overhead: the toy lesson of tests/conftest.py, handed in many times."""

from __future__ import annotations

import importlib.util
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tito import release
from tito.course import Course, Lesson
from tito.teach.grading import Work

NAME = "01_toy"
TABLE = """title = "Toys"

[[lesson]]
id = "01"
name = "toy"
title = "Toys"
minutes = 60
needs = []
"""
WRONG = ("a - b", "a + b"), ("2 * self.value", "self.value + 21"), ("self.value = value", "self.value = 1 / 0")


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


def works(lesson: Lesson, many: int, stem: str = NAME) -> Iterator[Work]:
    """So many submissions, no two alike: most exercises answered, some of them wrongly."""
    for i in range(many):
        name = f"s{i:05d}"
        text = json.dumps(notebook(lesson, i), ensure_ascii=False, indent=1)
        yield Work(name, stem, {f"{stem}.ipynb": text.encode()})


def notebook(lesson: Lesson, seed: int) -> dict[str, Any]:
    """One of them."""
    rng, made = random.Random(seed), release.notebook(lesson)
    answers = {cell.id: cell.source for cell in lesson.cells() if cell.role == "exercise"}
    for cell in made["cells"]:
        if cell["id"] in answers and rng.random() < 0.8:
            text = "\n".join(row for row in answers[cell["id"]].split("\n") if "### " not in row)
            if rng.random() < 0.3:
                text = text.replace(*rng.choice(WRONG))
            cell["source"] = f"# answer {seed}\n{text}".splitlines(keepends=True)
    return made
