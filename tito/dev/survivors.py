"""`tito dev check --mutants`: which small changes of the solutions do the checks not notice?

Every mutant of every exercise (see `mutants.py`) runs the exercise's own checks and then those of the whole lesson,
until one is not ok. Those that no check notices are survivors: a hole in the checks, or the same program in other
words. The latter stand with their reason in the lesson's `equivalent.toml`, and are taken out of the score.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

from tito.course import Course, Lesson, _read_toml
from tito.dev import jobs, trials
from tito.dev.export import needs_of
from tito.dev.mutants import Mutant, mutants
from tito.errors import UserError
from tito.percent import Cell
from tito.testing import Job

LEAST = 0.95  # of the mutants that are no equivalents
SECONDS = 2  # of a processor; a mutant that takes longer is caught
LONGEST = 30  # seconds by the clock, for one that sleeps
SHOWN = ("exercise", "line", "old", "new", "operator")


@dataclass(frozen=True)
class Equivalent:
    """In an exercise, a line that becomes one of others without a difference, and why there is none."""

    exercise: str
    old: str
    new: tuple[str, ...]
    why: str

    def covers(self, mutant: Mutant) -> bool:
        """Whether the mutant is one of these."""
        return (self.exercise, self.old) == (mutant.exercise, mutant.old) and mutant.new in self.new


@dataclass(frozen=True)
class Score:
    """What became of a lesson's mutants."""

    id: str
    mutants: int
    caught: int
    equivalent: int
    seconds: float
    survivors: tuple[Mutant, ...]
    problems: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the mutants that are no equivalents, the share that a check caught."""
        return self.caught / max(1, self.caught + len(self.survivors))

    @property
    def is_good(self) -> bool:
        """Whether the checks catch enough, and every equivalent stands as listed."""
        return self.share >= LEAST and not self.problems


def run(args: argparse.Namespace) -> int:
    """Score one lesson, or all; 1 when a score is too low or an equivalent is none."""
    course = Course.find()
    lessons = [course.lesson(args.lesson)] if args.lesson else course.lessons
    scores = [score(course, lesson) for lesson in lessons]
    print(json.dumps({"lessons": [_as_dict(found) for found in scores]}) if args.json else _table(scores))
    return 0 if all(found.is_good for found in scores) else 1


def score(course: Course, lesson: Lesson) -> Score:
    """Try every mutant of the lesson, and before them the solutions as they are."""
    began = time.perf_counter()
    solutions, made = _exercises(lesson), mutants_of(lesson)
    variants = [(cell.name, cell.source) for cell in solutions]
    ok = _all_ok(course, lesson, variants + [(mutant.exercise, mutant.source) for mutant in made])
    lived = list(compress(made, ok[len(solutions) :]))
    known = equivalents_of(lesson)
    survivors = tuple(mutant for mutant in lived if not any(entry.covers(mutant) for entry in known))
    failing = [f"the solution of {cell.name} fails a check" for cell, is_ok in zip(solutions, ok) if not is_ok]
    counts = len(made), len(made) - len(lived), len(lived) - len(survivors)
    problems = (*failing, *_stale(known, made, lived))
    return Score(lesson.id, *counts, time.perf_counter() - began, survivors, problems)


def mutants_of(lesson: Lesson) -> list[Mutant]:
    """Every mutant of every exercise, with the line that it has in the lesson's file."""
    return [mutant.below(cell.line - 1) for cell in _exercises(lesson) for mutant in mutants(cell.name, cell.source)]


def _exercises(lesson: Lesson) -> list[Cell]:
    return [cell for cell in lesson.cells() if cell.role == "exercise"]


def equivalents_of(lesson: Lesson) -> list[Equivalent]:
    """The entries of the lesson's equivalent.toml; none without the file."""
    path = lesson.folder / "equivalent.toml"
    entries = _read_toml(path)["equivalent"] if path.exists() else []
    return [Equivalent(e["exercise"], _line(e["old"]), tuple(map(_line, e["new"])), e["why"]) for e in entries]


def _line(text: str) -> str:
    return " ".join(text.split())


def _stale(known: Iterable[Equivalent], made: Iterable[Mutant], lived: Sequence[Mutant]) -> Iterator[str]:
    """Entries that are no longer made, or that a check catches: two ways to be out of date."""
    occurs = {(mutant.exercise, mutant.old, mutant.new) for mutant in made}
    lives = {(mutant.exercise, mutant.old, mutant.new) for mutant in lived}
    for entry in known:
        for new in entry.new:
            change = (entry.exercise, entry.old, new)
            if change not in lives:
                fault = "is caught by a check" if change in occurs else "no longer occurs"
                yield f"equivalent.toml: {entry.exercise}: {entry.old} -> {new} {fault}; take the entry out"


def _all_ok(course: Course, lesson: Lesson, variants: Iterable[tuple[str, str]]) -> list[bool]:
    """Whether all checks are ok, for each variant: an exercise, and the source of its cell."""
    if not hasattr(os, "fork"):
        raise UserError("this system cannot fork, as trials of mutants do; leave it out: tito dev check")
    tried = [jobs.first(jobs.solved(lesson, {exercise: source}), exercise) for exercise, source in variants]
    found = trials._tried(tried, needs_of(course, lesson), _try)
    return [[event["status"] for event in events] == ["ok"] * len(job.checks) for job, events in zip(tried, found)]


def _try(job: Job, target: Path) -> None:
    """Run the job up to its first FAIL, without a search for the line to blame, for a limited time."""
    from tito.checks import engine

    engine.SLOW = -1
    warnings.simplefilter("default")  # as for a learner, whatever pytest makes of them
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.alarm(LONGEST)
    trials._run_of(job, target, keep_going=False).run()


def _as_dict(found: Score) -> dict[str, Any]:
    names = ("id", "mutants", "caught", "equivalent", "problems")
    told = {"score": round(found.share, 4), "seconds": round(found.seconds, 1)}
    survivors = [{name: getattr(mutant, name) for name in SHOWN} for mutant in found.survivors]
    return {**{name: getattr(found, name) for name in names}, **told, "survivors": survivors}


def _table(scores: Iterable[Score]) -> str:
    lines = ["lesson  mutants  caught  equivalent  score  seconds"]
    for s in scores:
        counts = f"{s.id:>6}  {s.mutants:>7}  {s.caught:>6}  {s.equivalent:>10}"
        lines.append(f"{counts}  {s.share:>5.1%}  {s.seconds:>7.1f}")
        lines += [f"        {m.exercise}, line {m.line}: {m.old} -> {m.new}" for m in s.survivors]
        lines += [f"        {problem}" for problem in s.problems]
    return "\n".join(lines)
