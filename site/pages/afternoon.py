"""A course in an afternoon, really taught at build: every command of the instructor runs, and pages show what it said.

A small class hands in lesson 01: some are right, one makes a known mistake, one is late, one attacks, one sends no
notebook, one sends nothing. What the commands say is the same in each build but for the level of isolation that the
machine gives: where none seals a submission, it runs with limits alone, and as root not at all. Read `STEPS` first;
`step` is what text pages call.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pages.site import ROOT, Site
from tito.course import Lesson
from tito.dev.demo import answer
from tito.dev.mistakes import mistakes_of

ROSTER = """\
id,first_name,last_name,email,canvas_id
ana,Ana,Reis,ana@example.org,71
bo,Bo,Lind,bo@example.org,72
cleo,Cleo,Marks,cleo@example.org,73
dina,Dina,Sol,dina@example.org,74
emil,Emil,Roth,emil@example.org,75
fay,Fay,Ito,fay@example.org,76
gus,Gus,Berg,gus@example.org,77
hana,Hana,Wei,hana@example.org,78
"""
RULES = """\
[assignment."01_tensor"]
due = 2024-03-12T23:59:00+01:00
late = {policy = "per day", percent = 10, cap = 50, grace = 15}

[variant.short.assignment."01_tensor"]
exercises = ["create", "facts", "arithmetic", "matmul"]
points = {matmul = 6}
"""
IN_TIME, TWO_DAYS_LATE = "2024-03-10 17:20:00.000000 UTC", "2024-03-14 09:00:00.000000 UTC"
MISTAKE = "multiplies element by element"  # Cleo's, by the sentence that names it
DONE_BY_BO = 8  # exercises; the rest are as they were released
ATTACK = """\
try:
    open({course!r} + "/stolen", "w").write(open({course!r} + "/roster.csv").read())
except OSError:
    pass
print("All checks passed")
"""
NOT_SEALED = ("--level", "3", "--accept-not-isolated")
NOT_RUN = "*Not run here: on the machine that built this page nothing seals a submission, and it was built by root.*"
SHOWN = {
    "feedback": "out/feedback/01_tensor/cleo.html",
    "report": "out/report/01_tensor.html",
    "canvas": "out/01_tensor-canvas.csv",
}

Notebook = dict[str, Any]
Changes = Mapping[str, Callable[[str], str]]  # of an exercise's answer


class Step(NamedTuple):
    """A command, where it is typed, and what happens before it."""

    name: str
    words: str
    before: Callable[[Desk], object] = lambda desk: None
    place: str = "my-course"


class Desk:
    """The instructor's folder of folders, and the students' work."""

    def __init__(self, folder: Path, lesson: Lesson) -> None:
        self.folder, self.lesson = folder, lesson
        self.course = folder / "my-course"
        self.sealed = True

    def type(self, step: Step) -> dict[str, str]:
        """Run one command of `tito teach`; how it reads and what it said. Raises RuntimeError when it fails."""
        words = step.words
        if step.name == "grade" and not self.sealed:
            words = " ".join((words, *NOT_SEALED))
        done = self.run(words, step.place)
        self.sealed = self.sealed and not (step.name == "doctor" and done.returncode)
        if done.returncode and step.name != "doctor":
            raise RuntimeError(f"tito teach {words} ended with {done.returncode}: {done.stdout.strip()}")
        return {"command": f"tito teach {words}", "said": re.sub(r"; \d+\.\d s\.", ".", done.stdout)}

    def run(self, words: str, place: str) -> subprocess.CompletedProcess[str]:
        """The process, its stderr in its stdout."""
        command = [sys.executable, "-m", "tito", "teach", *words.split()]
        kept = {name: value for name, value in os.environ.items() if name not in ("JUPYTER_PATH", "PYTHONWARNINGS")}
        ours = {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "COLUMNS": "80"}
        ours |= {"HOME": str(self.folder), "TITO_SITE": ""}
        shared: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8", "check": False}
        return subprocess.run(command, cwd=self.folder / place, env=kept | ours, **shared)

    def answered(self, exercises: Iterable[str] | None = None, changes: Changes | None = None) -> Notebook:
        """The released notebook with these exercises answered, else all; `changes` are made to an answer."""
        cells = [cell for cell in self.lesson.cells() if cell.role == "exercise"]
        wanted = {cell.name for cell in cells} if exercises is None else set(exercises)
        ours = {
            cell.id: (changes or {}).get(cell.name, str)(answer(cell.source)) for cell in cells if cell.name in wanted
        }
        stem = self.lesson.stem
        notebook: Notebook = json.loads((self.course / "release" / stem / f"{stem}.ipynb").read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            cell["source"] = ours.get(cell["id"], cell["source"])
        return notebook

    def names(self) -> list[str]:
        """The lesson's exercises."""
        return [cell.name for cell in self.lesson.cells() if cell.role == "exercise"]

    def put(self, student: str, notebook: Notebook, time: str = IN_TIME) -> None:
        """Lay a notebook into the folder of what was handed in."""
        place = self.folder / "handed-in" / student
        place.mkdir(parents=True)
        (place / f"{self.lesson.stem}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        (place / "timestamp.txt").write_text(time, encoding="utf-8")


def _settle(desk: Desk) -> None:
    """The dates, and a secret that is the same in each build: it decides what hidden checks draw."""
    with open(desk.course / "course.toml", "a", encoding="utf-8") as settings:
        settings.write(f"\n{RULES}")
    (desk.course / ".teach" / "secret").write_bytes(bytes(range(32)))


def _write_roster(desk: Desk) -> None:
    (desk.folder / "students.csv").write_text(ROSTER, encoding="utf-8")


def _hand_in(desk: Desk) -> None:
    """Four by folder: right, unfinished, a known mistake, right but late."""
    mistake = next(one for one in mistakes_of(desk.lesson) if one.says == MISTAKE)
    desk.put("ana", desk.answered())
    desk.put("bo", desk.answered(desk.names()[:DONE_BY_BO]))
    desk.put("cleo", desk.answered(changes={mistake.exercise: mistake.apply}))
    desk.put("dina", desk.answered(), TWO_DAYS_LATE)


def _hand_in_by_canvas(desk: Desk) -> None:
    """Three by Canvas: an attack, two attempts of which the last is right, and no notebook at all."""
    attack = ATTACK.format(course=str(desk.course))
    hostile = desk.answered(changes={"create": lambda source: attack + source, "max": _give_up})
    sent = {
        "rothemil_75_501_01_tensor.ipynb": json.dumps(hostile),
        "itofay_76_502_My tensors.ipynb": json.dumps(desk.answered(desk.names()[:3])),
        "itofay_76_503_My tensors-1.ipynb": json.dumps(desk.answered()),
        "berggus_77_504_01_tensor.ipynb": "my dog ate it",
    }
    with zipfile.ZipFile(desk.folder / "submissions.zip", "w") as archive:
        for name, text in sent.items():
            archive.writestr(name, text)


def _give_up(source: str) -> str:
    """An answer whose function ends its own process."""
    return re.sub(r"^( +)return ", r"\1import os; os._exit(0)\n\1return ", source, count=1, flags=re.MULTILINE)


STEPS = (
    Step("doctor", "doctor", place="."),
    Step("init", "init my-course", place="."),
    Step("import-roster", "import-roster ../students.csv", _write_roster),
    Step("release", "release 01", _settle),
    Step("wheel", "wheel"),
    Step("collect", "collect 01 --folder ../handed-in", _hand_in),
    Step("collect-zip", "collect 01 --zip ../submissions.zip", _hand_in_by_canvas),
    Step("grade", "grade 01"),
    Step("feedback", "feedback 01"),
    Step("report", "report 01"),
    Step("results", "results 01"),
    Step("export-gradebook", "export 01 --to gradebook"),
    Step("export-canvas", "export 01 --to canvas"),
    Step("unlock", "unlock 01"),
    Step("drop", "results 01 --drop accuracy"),
    Step("variant", "release 01 --variant short"),
)


def step(site: Site, name: str) -> str:
    """The command of a step and what it said, as on a terminal. Raises RuntimeError when no step has this name."""
    if name not in (each.name for each in STEPS):
        raise RuntimeError(f"no step of the afternoon is {name!r}; there are {', '.join(each.name for each in STEPS)}")
    done = taught(site)["steps"].get(name)
    return f"```console\n$ {done['command']}\n{done['said']}```" if done else NOT_RUN


def roster(site: Site) -> str:
    """The list of students that the course was taught to."""
    return f"```\n{ROSTER}```"


def rules(site: Site, part: str) -> str:
    """A part of the course's settings: `assignment` or `variant`."""
    wanted = next(text for text in RULES.split("\n\n") if text.startswith(f"[{part}"))
    return f"```toml\n{wanted.strip()}\n```"


def canvas(site: Site) -> str:
    """The file for Canvas."""
    file = taught(site)["files"].get("canvas")
    return f"```\n{file.strip()}\n```" if file else NOT_RUN


def page(site: Site, name: str, *words: str) -> str:
    """A link to a page that `tito teach` wrote, `feedback` or `report`, with these words.

    A class edition has the words alone: such a page quotes what students wrote.
    """
    file = taught(site)["files"].get(name)
    if site.class_edition or file is None:
        return " ".join(words)
    alone = re.sub(r'<a href="\.\./\.\./submitted/[^"]*">(.*?)</a>', r"\1", file)  # away from the course folder
    site.tree.write(f"extra/instructors/{name}-of-01.html", alone)
    return f'<a href="{name}-of-01.html">{" ".join(words)}</a>'


def taught(site: Site) -> Mapping[str, Any]:
    """All that was said and written, kept as long as course and tool stay what they are."""
    sources = [ROOT / "tito", ROOT / "modules", ROOT / "milestones", ROOT / "course.toml", Path(__file__)]
    machine = f"root: {os.geteuid() == 0}, bwrap: {shutil.which('bwrap') is not None}"
    made: Mapping[str, Any] = site.results.of("afternoon", [*sources, machine], lambda: teach(site.solved.lesson("01")))
    return made


def teach(lesson: Lesson) -> dict[str, Any]:
    """Run all steps in a folder that is gone afterwards. Raises RuntimeError when one fails or the attack succeeds."""
    with TemporaryDirectory() as folder:
        desk, said = Desk(Path(folder), lesson), {}
        for each in STEPS:
            if each.name == "grade" and not desk.sealed and os.geteuid() == 0:
                break  # what students send never runs unsealed as root
            each.before(desk)
            said[each.name] = desk.type(each)
        if desk.sealed and (desk.course / "stolen").exists():
            raise RuntimeError("a submission wrote into the course folder; see: tito teach doctor")
        files = {name: desk.course / place for name, place in SHOWN.items()}
        return {
            "steps": said,
            "files": {name: path.read_text("utf-8") for name, path in files.items() if path.is_file()},
        }
