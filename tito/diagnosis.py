"""Names a learner's mistake: compares what their code gave with the fingerprints of the known ones. No NumPy here.

`modules/NN_x/fingerprints.json` is made by `tito dev fingerprints`: for each exercise, what the code with each known
mistake in it gave where visible checks failed (tito/checks/observe.py says how that is written down). No answer can be
read from it, so it goes wherever the lesson's checks go. A sentence is said only when all that fits has this sentence,
and never that of a mistake which is unsure: something else looks the same (tito/dev/lookalikes.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tito.course import Lesson
    from tito.percent import Cell

FILE = "fingerprints.json"
NEAR = 3e-5  # of the number itself: the digits that are kept, and the noise of float32
TODO = {"todo": True}
ABSENT = "absent"
NEARLY_ZERO = 2e-6  # of the largest number beside it

Json = Any
Seen = Sequence[Json]  # [check, step, what came out], in order


def looks_like(lesson: Lesson, exercise: str, seen: Seen) -> str:
    """The sentence that completes "looks like: ...", or "" where none fits or several do."""
    known = load(lesson).get(exercise, {})
    if known.get("checks") != digest(lesson.cells(), exercise):  # made for other checks, or for none
        return ""
    return says(known, seen)


def says(known: Json, seen: Seen) -> str:
    """The sentence, by an exercise's fingerprints."""
    found = wrong(seen, known["right"])
    sentences = {"" if one["unsure"] else one["says"] for one in known["mistakes"] if fits(one["wrong"], found)}
    return sentences.pop() if len(sentences) == 1 else ""


def load(lesson: Lesson) -> dict[str, Json]:
    """The lesson's fingerprints by exercise; none without the file."""
    path = lesson.folder / FILE
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def digest(cells: Iterable[Cell], exercise: str) -> str:
    """Which visible checks the exercise's fingerprints were made with."""
    checks = [cell for cell in cells if cell.role == "check" and not cell.hidden]
    text = "\n".join(cell.source for cell in checks if cell.name.split()[0] == exercise)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def fits(known: Seen, seen: Seen) -> bool:
    """Whether the same steps went wrong, with the same results. Nothing is known of what a learner has yet to do."""
    unknown = {check: step for check, step, outcome in seen if outcome == TODO}
    one, other = (_known(each, unknown) for each in (known, seen))
    return bool(other) and one.keys() == other.keys() and all(same(one[place], other[place]) for place in one)


def _known(seen: Seen, unknown: dict[str, int]) -> dict[tuple[str, int], Json]:
    return {(check, step): outcome for check, step, outcome in seen if step < unknown.get(check, step + 1)}


def wrong(seen: Seen, right: Seen) -> list[Json]:
    """What was seen and differs from what the solution gives."""
    expected = {(check, step): outcome for check, step, outcome in right}
    return [entry for entry in seen if not same(expected.get((entry[0], entry[1]), ABSENT), entry[2])]


def same(one: Json, other: Json, scale: float = 0.0) -> bool:
    """Whether two outcomes are the same but for noise; `scale` is the largest number beside them."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return bool(abs(one - other) <= NEAR * abs(one) + NEARLY_ZERO * scale)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        scale = max((abs(x) for x in one if isinstance(x, float)), default=0.0)
        return len(one) == len(other) and all(same(x, y, scale) for x, y in zip(one, other))
    return bool(one == other)
