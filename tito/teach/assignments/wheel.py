"""The class wheel: the same distribution without solutions, hidden checks, mistakes and questions' answers.

It is built in a staging copy by hatchling, searched, and only then put in its place. Begin at `build`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import tito
from tito import links, percent, release
from tito.course import Course, Lesson, _read_toml
from tito.errors import UserError
from tito.percent import Cell
from tito.teach.assignments import leaks, variants
from tito.teach.folder import Folder
from tito.workspace import write_text

NAME = "tinytorch-course"
ANSWERS = "teach/assignments/milestone_questions.py"  # the one file of tito that holds answers
FILES = ("hints.toml", "fingerprints.json")  # of a lesson, beside its source, its figures and supplied modules
TOOL_LINES = 3  # lines of a solution in one file of tito that are no chance: `import warnings` is in both
INSIDE = "tito/_course"


def build(course: Course, folder: Folder) -> Path:
    """Build the wheel into out/. Raises UserError when anything secret is found in it; then there is no wheel."""
    graded = [variants.released(folder, lesson.stem).lesson(lesson) for lesson in course.everything]
    settings = course_toml(course, folder)
    with tempfile.TemporaryDirectory(prefix="tito-wheel-") as place:
        staging = Path(place)
        _stage_tito(staging / "tito")
        _stage_course(course, graded, staging / INSIDE)
        write_text(staging / INSIDE / "course.toml", settings)
        write_text(staging / "pyproject.toml", _pyproject())
        made = _hatchling(staging)
        refuse_leaks(made, course)
        folder.out.mkdir(exist_ok=True)
        return Path(shutil.copy(made, folder.out / made.name))


def class_text(lesson: Lesson) -> str:
    """The lesson's source with stubs for solutions, marks left in, so that it is released like the whole one."""
    text = lesson.source.read_text(encoding="utf-8")
    return percent.header(text) + percent.write(map(_class_cell, lesson.cells(), release.student_cells(lesson)))


def course_toml(course: Course, folder: Folder) -> str:
    """The course's own, with the site that the class's settings name. Raises UserError for what is no address."""
    text = (course.root / "course.toml").read_text(encoding="utf-8")
    told = _read_toml(folder.settings).get("site") if folder.settings.exists() else None
    if told is None:
        return text
    if told and not links.WELL_FORMED.fullmatch(str(told)):
        raise UserError(f"the site in {folder.settings} is {told!r}, no https://... address; for none leave it out")
    return f"site = {json.dumps(told)}\n" + re.sub(r"(?m)^site = .*\n", "", text)


def secrets_of(course: Course) -> frozenset[str]:
    """All lines that the wheel must not hold. Hints are given to students, and the last of three is nearly the line."""
    shown = [path.read_text(encoding="utf-8") for lesson in course.everything for path in lesson.supplied]
    shown += [path.read_text(encoding="utf-8") for path in (course.root / "milestones").glob("*.py")]
    secrets = leaks.secrets_of((cell.source for lesson in course.everything for cell in lesson.cells()), shown)
    hints = "".join(line for lesson in course.everything for line in leaks.lines(_hints(lesson)))
    return frozenset(line for line in secrets if line not in hints)


def refuse_leaks(wheel: Path, course: Course) -> None:
    """Raises UserError when the wheel holds a secret line, or a file that belongs to the instructor."""
    secrets, texts = secrets_of(course), dict(leaks.archive(wheel))
    tools = {name for name in texts if name.startswith("tito/") and not name.startswith(INSIDE)}
    ours = leaks.found(((name, texts[name]) for name in texts.keys() - tools), secrets)
    hits = ours or leaks.found(((name, texts[name]) for name in tools), secrets, TOOL_LINES)
    kept = [name for name in texts if name == f"tito/{ANSWERS}" or name.endswith("/mistakes.py") and name not in tools]
    if hits or kept:
        where, line = hits[0] if hits else (kept[0], "")
        raise UserError(
            f"the wheel would tell an answer, {where} {line[:40]!r}; no wheel was made; see: tito dev check"
        )


def _class_cell(ours: Cell, given: Cell) -> Cell:
    """A hidden check keeps its visible line; a written cell its marks, with the student's stub between them."""
    if not ours.written:
        return given
    lines, inside = [], False
    for line in ours.source.split("\n"):
        if "BEGIN SOLUTION" in line:
            indent = line[: len(line) - len(line.lstrip())]
            stub = release.STUB if ours.kind == "code" else release.ANSWER
            lines += [line, indent + stub]
            inside = True
        elif "END SOLUTION" in line:
            lines.append(line)
            inside = False
        elif not inside:
            lines.append(line)
    return replace(ours, source="\n".join(lines))


def _stage_tito(target: Path) -> None:
    source = Path(tito.__file__).parent
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "_course"))
    (target / ANSWERS).unlink()


def _stage_course(course: Course, lessons: list[Lesson], target: Path) -> None:
    target.mkdir(parents=True)
    shutil.copytree(course.root / "milestones", target / "milestones", ignore=shutil.ignore_patterns("__pycache__"))
    for lesson in lessons:
        place = target / "modules" / lesson.folder.name
        (place / "figures").mkdir(parents=True)
        write_text(place / lesson.source.name, class_text(lesson))
        for path in (*lesson.supplied, *(lesson.folder / name for name in FILES)):
            if path.is_file():
                shutil.copyfile(path, place / path.name)
        for path in lesson.figures:
            shutil.copyfile(path, place / "figures" / path.name)


def _pyproject() -> str:
    """A project that hatchling can build, with what the installed distribution says of itself."""
    about = metadata.metadata(NAME)
    needs = [line for line in metadata.requires(NAME) or () if "extra ==" not in line]
    scripts = {each.name: each.value for each in metadata.distribution(NAME).entry_points if each.group != "pytest11"}
    plugins = {each.name: each.value for each in metadata.distribution(NAME).entry_points if each.group == "pytest11"}
    lines = [
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n\n[project]',
        *(f"{key} = {json.dumps(value)}" for key, value in (("name", NAME), ("version", tito.__version__))),
        f"description = {json.dumps(about['Summary'])}",
        f"requires-python = {json.dumps(about['Requires-Python'])}",
        f"dependencies = {json.dumps(needs)}",
        *_table("[project.scripts]", scripts),
        *_table("[project.entry-points.pytest11]", plugins),
        '[tool.hatch.build.targets.wheel]\nonly-include = ["tito"]',
    ]
    return "\n".join(lines) + "\n"


def _table(head: str, entries: dict[str, str]) -> Iterator[str]:
    yield f"\n{head}"
    yield from (f"{json.dumps(name)} = {json.dumps(value)}" for name, value in entries.items())


def _hatchling(staging: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(staging / "dist")]
    done = subprocess.run(command, cwd=staging, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise UserError(f"hatchling made no wheel: {said[0]}; install it: pip install 'tinytorch-course[instructor]'")
    (wheel,) = (staging / "dist").glob("*.whl")
    return wheel


def _hints(lesson: Lesson) -> str:
    path = lesson.folder / "hints.toml"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
