"""Which known mistakes have the fingerprint of something else, so that their sentence could be wrong.

The visible checks may give the same for two programs that differ. So every generic change of the solutions is tried;
one that has a mistake's fingerprint is compared with the mistake on all checks of the lesson, hidden ones too. Where
that shows a difference, the mistake is not named. It is not named either where less code does the same: who scales a
copy and who forgets to scale leave the same behind, and the second is told no tale of copies.

`lookalikes.toml` is what an author adds who has looked at the pairs, with reasons: `sure` sentences are right of all
that look like them, `unsure` ones are wrong of something that no check tells apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tito.course import Course, Lesson, _read_toml
from tito.dev import trials, variants
from tito.dev.export import needs_of
from tito.dev.variants import Variant
from tito.diagnosis import Json, same, wrong

Unsure = set[tuple[str, str]]  # exercise, sentence


class Pair(NamedTuple):
    """A mistake, and another change with the same fingerprint."""

    mistake: Variant
    other: Variant


def unsure(course: Course, lesson: Lesson, right: dict[str, Json], found: Sequence[tuple[Variant, Json]]) -> Unsure:
    """The mistakes among `found` (each with what is wrong at the visible checks) that are not to be named."""
    return _alike(course, lesson, right, found) - reviewed(lesson, "sure") | reviewed(lesson, "unsure")


def reviewed(lesson: Lesson, verdict: str) -> Unsure:
    """The mistakes that the lesson's lookalikes.toml calls so; none without the file."""
    path = lesson.folder / "lookalikes.toml"
    entries = _read_toml(path).get(verdict, []) if path.exists() else []
    return {(entry["exercise"], entry["says"]) for entry in entries}


def _alike(course: Course, lesson: Lesson, right: dict[str, Json], found: Sequence[tuple[Variant, Json]]) -> Unsure:
    others = list(variants.changed(lesson))
    seen = trials.observe_all([variants.visible(lesson, one) for one in others], needs_of(course, lesson))
    marks = [wrong(each, right[one.exercise]) for one, each in zip(others, seen)]
    pairs = [
        Pair(mistake, other)
        for mistake, known in found
        for other, mark in zip(others, marks)
        if mark and mistake.exercise == other.exercise and same(known, mark)
    ]
    sizes = {name: variants.size(source) for name, source in variants.solutions_of(lesson).items()}
    behaviours = _behaviours(course, lesson, {variant for pair in pairs for variant in pair})
    return {
        (pair.mistake.exercise, pair.mistake.says)
        for pair in pairs
        if not same(*(behaviours[variant] for variant in pair)) or _is_less(pair, sizes[pair.mistake.exercise])
    }


def _is_less(pair: Pair, solution: int) -> bool:
    """Whether the other change takes code away, and the mistake does not."""
    return variants.size(pair.other.source) < solution <= variants.size(pair.mistake.source)


def _behaviours(course: Course, lesson: Lesson, tried: set[Variant]) -> dict[Variant, Json]:
    """What each gives at all checks of its exercise, and how it fares at those of the whole lesson."""
    needs, each = needs_of(course, lesson), list(tried)
    jobs = [variants.whole(lesson, variant) for variant in each]
    seen = trials.observe_all([replace(job, observed=one.exercise) for job, one in zip(jobs, each)], needs)
    told = [
        {name: [str(verdict.get(key)) for key in ("status", "kind")] for name, verdict in verdicts.items()}
        for verdicts in trials.run_all(jobs, needs)
    ]
    return {variant: [one, two] for variant, one, two in zip(each, seen, told)}
