"""`tito dev measure`: what the house style measures of a lesson, as the student sees it, and what is over the limits.

Lines are non-blank lines with solutions and hidden checks cleared; the imports cell counts in no cell length.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tito import release
from tito.course import Course, Lesson
from tito.percent import Cell

LARGE = {"01", "06"}  # the two big ones: 120 minutes, 900 lines, 12 exercises
BANNED = re.compile(r"\b(simply|just|magic\w*|crucial\w*|powerful\w*)\b", re.IGNORECASE)
SHOUTS = re.compile(r"!(?![\[=])|[\U0001F300-\U0001FAFF\u2600-\u27BF]")
CODE = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$|<[^>]*>|!?\[[^\]]*\]\([^)]*\)", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\d)")
YEARS = range(1800, 2100)
SMALL = 20  # counts and sizes by hand up to this need no cell


@dataclass(frozen=True)
class Measure:
    """One figure of a lesson: its name, value and limits (least, most)."""

    name: str
    value: float
    most: float
    least: float = 0

    @property
    def fits(self) -> bool:
        """Whether it is within its limits."""
        return self.least <= self.value <= self.most


def run(args: argparse.Namespace) -> int:
    """Print the table of one lesson or all, and the words and numbers that do not belong; 1 when anything is over."""
    course = Course.find()
    lessons = [course.lesson(args.lesson)] if args.lesson else course.lessons
    rows = {lesson: measures(lesson) for lesson in lessons}
    print("lesson", *(f"{measure.name:>9}" for measure in rows[lessons[0]]))
    for lesson, row in rows.items():
        print(f"{lesson.id:>6}", *(f"{f'{m.value:g}' + ('' if m.fits else '*'):>9}" for m in row))
    faults = [f"{lesson.id}: {fault}" for lesson in lessons for fault in faults_of(lesson)]
    print(*faults, sep="\n")
    return 1 if faults or not all(measure.fits for row in rows.values() for measure in row) else 0


def measures(lesson: Lesson) -> list[Measure]:
    """The figures of a lesson."""
    large = lesson.id in LARGE
    cells = release.student_cells(lesson)
    code = [_height(cell) for cell in cells if cell.kind == "code" and cell.role != "imports"]
    text = [_height(cell) for cell in cells if cell.kind == "markdown"]
    words = sum(len(CODE.sub(" ", cell.source).split()) for cell in cells if cell.kind == "markdown")
    return [
        Measure("minutes", lesson.minutes, 120 if large else 90, least=45),
        Measure("lines", sum(map(_height, cells)), 900 if large else 600),
        Measure("words", words, 2500),
        Measure("exercises", sum(cell.role == "exercise" for cell in cells), 12 if large else 8),
        Measure("code mid", statistics.median(code), 6),
        Measure("code max", max(code), 30),
        Measure("text mid", statistics.median(text), 4),
        Measure("answer", max(_answer_lengths(lesson.cells())), 12),
        Measure("figures", sum(cell.source.count("](figures/") for cell in cells), 99, least=3),
        Measure("think", sum(cell.source.count("<summary>") for cell in cells), 6, least=3),
    ]


def faults_of(lesson: Lesson) -> Iterator[str]:
    """Banned words, shouting, and numbers in the text that no cell shows."""
    for cell in lesson.cells():
        if cell.kind == "markdown":
            prose = CODE.sub(" ", cell.source)
            yield from (f"line {cell.line}: the word {word[0]!r}" for word in BANNED.finditer(prose))
            yield from (f"line {cell.line}: {shout[0]!r}" for shout in SHOUTS.finditer(prose))


def strange_numbers(lesson: Lesson, shown: str) -> Iterator[str]:
    """Numbers in the text above 20, or with a decimal point, that stand neither in code nor in `shown`, its outputs."""
    known = {_plain(number) for number in NUMBER.findall(shown)}
    known |= {_plain(n) for cell in lesson.cells() if cell.kind == "code" for n in NUMBER.findall(cell.source)}
    for cell in lesson.cells():
        for number in NUMBER.findall(CODE.sub(" ", cell.source)) if cell.kind == "markdown" else ():
            if _tells(number) and not any(_agrees(number, each) for each in known):
                yield f"line {cell.line}: no cell shows {number}"


def _tells(number: str) -> bool:
    value = float(number.replace(",", ""))
    return "." in number or (value > SMALL and int(value) not in YEARS)


def _agrees(number: str, shown: str) -> bool:
    """Whether the shown number, rounded as the text rounds, is the text's."""
    places = len(_plain(number).partition(".")[2])
    return f"{float(shown):.{places}f}" == f"{float(_plain(number)):.{places}f}"


def _plain(number: str) -> str:
    return number.replace(",", "")


def _height(cell: Cell) -> int:
    return _lines(cell.source)


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.split("\n"))


def _answer_lengths(cells: Sequence[Cell]) -> Iterator[int]:
    """Lines of code that the student writes, of each function of each exercise."""
    for cell in (cell for cell in cells if cell.role == "exercise"):
        lines = cell.source.split("\n")
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.FunctionDef):
                yield _written(lines[node.lineno - 1 : node.end_lineno])


def _written(lines: Sequence[str]) -> int:
    """Lines of code between the marks of solutions."""
    count, inside = 0, False
    for line in (line.strip() for line in lines):
        inside = (inside or "### BEGIN SOLUTION" in line) and "### END SOLUTION" not in line
        count += inside and bool(line) and not line.startswith("#")
    return count
