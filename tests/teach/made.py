"""Harmless submissions, made from the lessons themselves: answers in seeded combinations, in notebooks handled badly.

An answer is the solution, the stub, a known mistake or another right answer (tests/alternatives). What is done to a
notebook besides stands in handlings.py. Begin at `make`.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from handlings import HANDLINGS, Cell, Draft, Handling

from tito import percent, release
from tito.course import Lesson
from tito.dev.mistakes import mistakes_of

ALTERNATIVES = Path(__file__).parents[1] / "alternatives"
CHANCES = {"solution": 11, "mistake": 4, "alternative": 3, "stub": 2}


@dataclass(frozen=True)
class Made:
    """One submission. `cells` are the notebook's, None for a percent file; `did` says how it was made."""

    student: str
    files: dict[str, bytes]
    cells: list[Cell] | None
    did: tuple[str, ...]


def make(lesson: Lesson, count: int) -> Iterator[Made]:
    """So many submissions, the same each time: every handling comes in turn, at times a second one."""
    for i in range(count):
        rng = random.Random(f"{lesson.stem} {i}")
        draft = drafted(lesson, rng)
        kinds = [handling_of(lesson, i)] if i else []
        kinds += rng.sample(HANDLINGS, 1) if i and rng.random() < 0.3 else []
        for handle in kinds:
            handle(draft)
            draft.did.append(handle.__name__)
        yield finished(draft, f"s{i:03}")


def handling_of(lesson: Lesson, i: int) -> Handling:
    """The i-th, in an order of the lesson's own."""
    order = random.Random(lesson.stem).sample(HANDLINGS, len(HANDLINGS))
    return order[(i - 1) % len(order)]


def drafted(lesson: Lesson, rng: random.Random) -> Draft:
    """The released notebook with an answer of some kind in each exercise."""
    cells: list[Cell] = copy.deepcopy(release.notebook(lesson)["cells"])
    draft = Draft(lesson, rng, cells, [])
    for cell in cells:
        cell["source"] = "".join(cell["source"])
    kind = rng.choice([{"solution": 1}, CHANCES, CHANCES])
    for exercise in (cell for cell in lesson.cells() if cell.role == "exercise"):
        (chosen,) = rng.choices(list(kind), list(kind.values()))
        given = answers(lesson, chosen)[exercise.name]
        draft.answers[exercise.name] = source = rng.choice(given)
        next(cell for cell in cells if cell["id"] == exercise.id)["source"] = source
        draft.did += [f"{chosen} of {exercise.name}"] if chosen != "solution" else []
    return draft


@cache
def answers(lesson: Lesson, kind: str) -> dict[str, list[str]]:
    """All answers of a kind, by exercise."""
    exercises = [cell for cell in lesson.cells() if cell.role == "exercise"]
    if kind == "solution":
        return {cell.name: [cell.source] for cell in exercises}
    if kind == "stub":
        return {cell.name: [cell.source] for cell in release.student_cells(lesson) if cell.role == "exercise"}
    if kind == "mistake":
        by_name = {cell.name: cell.source for cell in exercises}
        made = [(mistake.exercise, mistake.apply(by_name[mistake.exercise])) for mistake in mistakes_of(lesson)]
    else:
        text = (ALTERNATIVES / f"a{lesson.stem}.py").read_text(encoding="utf-8")
        made = [(cell.name, cell.source) for cell in percent.read(text) if cell.role == "exercise"]
    return {cell.name: [source for name, source in made if name == cell.name] or [cell.source] for cell in exercises}


def finished(draft: Draft, student: str) -> Made:
    """As files."""
    stem = draft.lesson.stem
    if draft.as_percent:
        cells = [replace(cell, source=draft.answers.get(cell.name, cell.source)) if cell.role == "exercise" else cell
                 for cell in release.student_cells(draft.lesson)]  # fmt: skip
        return Made(student, {f"{stem}.py": percent.write(cells).encode()}, None, tuple(draft.did))
    metadata = release.notebook_of([], solutions=False)["metadata"]
    notebook = {"nbformat": 4, "nbformat_minor": draft.minor, "metadata": metadata, "cells": draft.cells}
    if draft.minor < 5:
        notebook["cells"] = [{key: cell[key] for key in cell if key != "id"} for cell in draft.cells]
    return Made(student, {f"{stem}.ipynb": json.dumps(notebook).encode()}, draft.cells, tuple(draft.did))
