"""`tito dev fingerprints [NN]`: writes what every known mistake gives at the visible checks; see tito/diagnosis.py."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace

from tito.course import Course, Lesson
from tito.dev import lookalikes, trials, variants
from tito.dev.export import needs_of
from tito.dev.lookalikes import Unsure
from tito.dev.mistakes import mistakes_of
from tito.dev.variants import Variant
from tito.diagnosis import FILE, Json, digest, load, same, wrong


def run(args: argparse.Namespace) -> int:
    """Write the files, and say how many mistakes each can name."""
    course = Course.find()
    for lesson in [course.lesson(args.lesson)] if args.lesson else course.lessons:
        made = fingerprints(course, lesson)
        (lesson.folder / FILE).write_text(text(made), encoding="utf-8", newline="\n")
        print(f"{lesson.id} {lesson.name:<12} {len(mistakes_of(lesson)):>3} mistakes, {len(nameable(made)):>3} named")
    return 0


def fingerprints(course: Course, lesson: Lesson, unsure: Unsure | None = None) -> dict[str, Json]:
    """What stands in the lesson's file. Which mistakes are not to be named is found out unless it is given."""
    solutions = variants.solutions_of(lesson)
    tried = variants.mistaken(lesson)
    solved = [replace(variants.visible(lesson, Variant(*one)), observed=one[0]) for one in solutions.items()]
    jobs = [*solved, *(variants.visible(lesson, variant) for variant in tried)]
    seen = trials.observe_all(jobs, needs_of(course, lesson))
    right = dict(zip(solutions, seen))
    marks = [wrong(each, right[one.exercise]) for one, each in zip(tried, seen[len(solved) :])]
    found = [(one, mark) for one, mark in zip(tried, marks) if mark]
    if unsure is None:
        unsure = lookalikes.unsure(course, lesson, right, found)
    return {
        name: {
            "checks": digest(lesson.cells(), name),
            "right": right[name],
            "mistakes": _entries([pair for pair in found if pair[0].exercise == name], unsure),
        }
        for name in solutions
    }


def unsure_of(made: dict[str, Json]) -> Unsure:
    """The mistakes that are not named, since something else looks the same."""
    return {(name, one["says"]) for name, table in made.items() for one in table["mistakes"] if one["unsure"]}


def nameable(made: dict[str, Json]) -> list[tuple[str, str]]:
    """The exercise and sentence of every mistake that its fingerprint names."""
    rows = [(name, one) for name, table in made.items() for one in table["mistakes"]]
    return [(name, one["says"]) for name, one in rows if _is_named(one, made[name]["mistakes"])]


def _is_named(one: Json, all_of_it: Sequence[Json]) -> bool:
    alike = [other for other in all_of_it if same(other["wrong"], one["wrong"])]
    return not any(other["unsure"] or other["says"] != one["says"] for other in alike)


def _entries(found: Sequence[tuple[Variant, Json]], unsure: Unsure) -> list[Json]:
    return [{"says": one.says, "unsure": (one.exercise, one.says) in unsure, "wrong": mark} for one, mark in found]


def text(made: dict[str, Json]) -> str:
    """JSON with a line for every fingerprint, so that a change of one is a change of one line."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_table(table)}" for name, table in made.items()) + "\n}\n"


def _table(table: Json) -> str:
    lines = ",\n  ".join(_line(one) for one in table["mistakes"])
    return f'{{"checks": "{table["checks"]}", "right":\n {_line(table["right"])},\n "mistakes": [\n  {lines}\n ]}}'


def _line(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def is_fresh(made: dict[str, Json], lesson: Lesson) -> bool:
    """Whether the lesson's file says the same, but for the last digits: those may be another machine's."""
    return same(json.loads(text(made)), load(lesson))
