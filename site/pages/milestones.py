"""Pages of the milestones: their text, and what text pages ask of them: results, pictures, experiments.

Each milestone is really run, on the reference package, in a temporary folder; so is each experiment, which is the same
program with one line changed (text/milestones/experiments.toml). Begin at `write`; the functions below it that take a
site and words are what text pages call.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pages import html, imports, programs, text
from pages.site import ROOT, TEXT, Site
from tito.course import Course, Lesson, Milestone, _read_toml

EXPERIMENTS = TEXT / "milestones" / "experiments.toml"
TIMELINE = TEXT / "milestones" / "timeline.toml"
MARKS = {True: "ok", False: "FAIL", None: ""}
ELECTIVES = "Beside the course, if you like: what an elective lesson opens."
MISSED = 1  # a milestone's exit code when a figure misses its pass line


def write(site: Site) -> None:
    """The page that lists them, and one for each."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process of its own
        list(pool.map(lambda one: ran(site, *one), _all(site)))
    for milestone in site.course.every_milestone:
        source = TEXT / "milestones" / f"{milestone.id}.md"
        site.tree.write(f"milestones/{stem(milestone)}.md", text.filled(site, source))
    site.tree.write("milestones/index.md", text.filled(site, TEXT / "milestones" / "index.md"))


def _all(site: Site) -> Iterator[tuple[str, str]]:
    for milestone in site.course.every_milestone:
        yield milestone.id, ""
        yield from ((milestone.id, name) for name in experiments(milestone.id))


def stem(milestone: Milestone) -> str:
    """The name of its page: `m1_perceptron_1958`."""
    return Path(milestone.file).stem


# What text pages call


def facts(site: Site, id: str) -> str:
    """The box on top of a page: when it opens, how to run it, how long that took here."""
    milestone = site.course.milestone(id)
    needs = site.course.needs_of(milestone)
    rows = {
        "Opens": f"when you have exported {_lessons(needs)}",
        "Run it": f"`tito milestone {id}` in your workspace",
        "Time": f"{seconds(site, id)} on the machine that built this page",
        "Program": f"`milestones/{milestone.file}`, {len(_source(site, milestone).splitlines())} lines",
    }
    lines = "\n".join(f"{name}\n: {value}\n" for name, value in rows.items())
    return f":::{{container}} facts\n{lines}\n:::"


def _lessons(needs: tuple[Lesson, ...]) -> str:
    """`lesson 01`, or `lessons 01 to 03`, with links."""
    links = [f"[{lesson.id}](../lessons/{lesson.stem}.ipynb)" for lesson in needs]
    return f"lesson {links[0]}" if len(links) == 1 else f"lessons {', '.join(links[:-1])} and {links[-1]}"


def table(site: Site, id: str) -> str:
    """What the milestone measured, and which of it had to pass."""
    told = ran(site, id)["told"]
    rows = [("", [_mark(row), escape(row["name"]), _kept(row["text"]), _line(row)]) for row in told["figures"]]
    return html.table(f"Results of {told['title']}", ("passed", "figure", "measured", "demanded"), rows)


def _mark(row: dict[str, Any]) -> str:
    mark = MARKS[row["passed"]]
    return f'<span class="mark-{mark.lower()}">{mark}</span>' if mark else ""


def _line(row: dict[str, Any]) -> str:
    return _kept(row["line"]) if row["line"] else '<span class="shown">shown, not judged</span>'


def _kept(text: str) -> str:
    """A number and its unit stay in one line."""
    return escape(text).replace(" %", "\N{NO-BREAK SPACE}%")


def demands(site: Site, id: str) -> str:
    """The figures that are judged, each with its pass line, as a list."""
    rows = [row for row in ran(site, id)["told"]["figures"] if row["line"]]
    return "\n".join(f"- {row['name']}: **{_kept(row['line'])}**" for row in rows)


def value(site: Site, id: str, name: str, experiment: str = "") -> str:
    """One measured figure, by the slug of its name; `experiment` names a changed run."""
    return _kept(row_of(site, id, name, experiment)["text"])


def row_of(site: Site, id: str, name: str, experiment: str = "") -> dict[str, Any]:
    """A row of the results; KeyError where there is none of that name."""
    rows = {html.slug(row["name"]): row for row in ran(site, id, experiment)["told"]["figures"]}
    if name not in rows:
        raise KeyError(f"{id} has no figure {name!r}, only {', '.join(rows)}")
    found: dict[str, Any] = rows[name]
    return found


def picture(site: Site, id: str, name: str) -> str:
    """A picture of the milestone, which leads to itself in full size."""
    return (
        f'<p class="picture">\n{linked(image(site, id, name, "../"), f"../{programs.PICTURES}/{id}_{name}.png")}\n</p>'
    )


def linked(image: str, address: str) -> str:
    """A picture that leads somewhere."""
    return f'<a href="{address}">{image}</a>'


def image(site: Site, id: str, name: str, up: str = "", *, lazy: bool = True) -> str:
    """The `img` of a picture, which is written into the tree; `up` leads from the page to the root."""
    made = ran(site, id)["pictures"][f"{id}_{name}"]
    return programs.img(site, f"{id}_{name}", made, up, lazy=lazy)


def runs_on(site: Site, id: str) -> str:
    """Which names the program takes from the package, where they come from, and a line that uses each."""
    owners = {name: lesson for lesson in site.course.everything for name in imports.files_of(lesson)}
    rows = [("", _use_row(site.course, use, owners[use.file])) for use in imports.uses(site, site.course.milestone(id))]
    head = ("name", "your file", "lesson", "a line that uses it")
    return html.table("What runs on which of your files", head, rows)


def _use_row(course: Course, use: imports.Use, lesson: Lesson) -> list[str]:
    anchor = f"#{cell}" if (cell := imports.cell_of(lesson, use.name)) else ""
    given = "" if use.file == f"{lesson.name}.py" else " (supplied)"
    where = f'<a href="../lessons/{lesson.stem}.html{anchor}">{lesson.id} {lesson.name}</a>{given}'
    return [f"<code>{use.name}</code>", f"<code>tinytorch/{use.file}</code>", where, html.code(use.line)]


def seconds(site: Site, id: str) -> str:
    """How long the run took."""
    return f"{ran(site, id)['told']['seconds']:.1f} s"


def constant(site: Site, id: str, name: str) -> str:
    """A number that stands on top of the program: `100,000`."""
    for node in ast.parse(_source(site, site.course.milestone(id))).body:
        for part, number in _assigned(node):
            if isinstance(part, ast.Name) and part.id == name:
                return f"{ast.literal_eval(number):,}"
    raise KeyError(f"{id} has no number {name} on top")


def _assigned(node: ast.stmt) -> list[tuple[ast.expr, ast.expr]]:
    """Targets and values of an assignment: two pairs for `A, B = 1, 2`."""
    if not isinstance(node, ast.Assign):
        return []
    (target,) = node.targets
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        return list(zip(target.elts, node.value.elts, strict=True))
    return [(target, node.value)]


def timeline(site: Site, heading: str, up: str = "") -> str:
    """The milestones by year, each with a picture and a measured figure.

    `heading` is the level of their headlines on the page, h2 or h3; `up` leads from the page to the root.
    """
    return _eras(site, site.course.milestones, heading, up)


def electives(site: Site, heading: str, up: str = "") -> str:
    """The elective milestones in the same form, apart from the course's, below a sentence; "" where there are none."""
    found = site.course.elective_milestones
    return f"{ELECTIVES}\n\n{_eras(site, found, heading, up)}" if found else ""


def _eras(site: Site, found: Iterable[Milestone], heading: str, up: str) -> str:
    told = _read_toml(TIMELINE)
    eras = "\n".join(_era(site, one, told[one.id], heading, up) for one in found)
    return f'<ol class="timeline">\n{eras}\n</ol>'


def toctree(site: Site) -> str:
    """Their pages for the menu, by year."""
    names = [stem(one) for one in sorted(site.course.every_milestone, key=lambda one: one.year)]
    return "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])


def _era(site: Site, milestone: Milestone, told: dict[str, str], heading: str, up: str) -> str:
    page = f"{up}milestones/{stem(milestone)}.html"
    shown = linked(image(site, milestone.id, told["picture"], up), page)
    figure = f"<strong>{value(site, milestone.id, told['figure'])}</strong> {escape(told['label'])}"
    return f"""<li>
<div class="year">{milestone.year}</div>
<div class="era">
<{heading}><a href="{page}">{escape(told["headline"])}</a></{heading}>
<p>{escape(told["says"])}</p>
<p class="measured">{figure}</p>
</div>
<div class="shot">{shown}</div>
</li>"""


def function(site: Site, id: str, name: str) -> str:
    """The source of one function of the program, as a code block."""
    source = _source(site, site.course.milestone(id))
    node = next(node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == name)
    return f"```python\n{ast.get_source_segment(source, node)}\n```"


def tried(site: Site, id: str, name: str) -> str:
    """An experiment: the line and what it becomes, and the figures that came out otherwise."""
    change = experiments(id)[name]
    block = f"```diff\n- {change['line']}\n+ {change['becomes']}\n```"
    before, after = (ran(site, id, which)["told"]["figures"] for which in ("", name))
    pairs = zip(before, after, strict=False)  # a quick run leaves out the last
    rows = [("", _changed(*pair)) for pair in pairs if pair[0]["text"] != pair[1]["text"]]
    if not rows:
        return f"{block}\n\nNot one figure changes."
    return f"{block}\n\n{html.table(f'Changed by {name}', ('figure', 'as it is', 'changed', 'pass line'), rows)}"


def _changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    missed = "missed" if before["passed"] and not after["passed"] else ""
    return [escape(before["name"]), _kept(before["text"]), _kept(after["text"]), missed]


# What is run


def experiments(id: str) -> dict[str, dict[str, Any]]:
    """By name, the line of the milestone's program that is changed, and what it becomes."""
    found: dict[str, dict[str, Any]] = _read_toml(EXPERIMENTS)[id]
    return found


def ran(site: Site, id: str, experiment: str = "") -> dict[str, Any]:
    """What the milestone told and drew, run with seed 0: `{"told": its JSON, "pictures": {name: ...}}`.

    An experiment's pictures are not kept. Raises RuntimeError when the program breaks, and when the milestone itself,
    with no line changed, misses a pass line.
    """
    milestone, change = site.solved.milestone(id), experiments(id)[experiment] if experiment else {}
    depends = [site.solved.root / "milestones", site.reference / "tinytorch", ROOT / "requirements" / "lock.txt"]
    name = "-".join(filter(None, ("milestone", id, experiment)))
    made: dict[str, Any] = site.results.of(
        name, [*depends, *programs.TELLS, json.dumps(change)], lambda: _run(site, milestone, change)
    )
    return made


def _run(site: Site, milestone: Milestone, change: dict[str, Any]) -> dict[str, Any]:
    """`quick` in a change leaves out what the program calls long."""
    words = ["--json", "--quick"] if change.get("quick") else ["--json"]
    with TemporaryDirectory() as folder:
        scripts = Path(folder) / "milestones"
        shutil.copytree(site.solved.root / "milestones", scripts, ignore=shutil.ignore_patterns("__pycache__"))
        program = scripts / milestone.file
        if change:
            text = changed(program.read_text(encoding="utf-8"), change["line"], change["becomes"])
            program.write_text(text, encoding="utf-8")
        said = programs.run(site, program, Path(folder), *words, allowed=(0, MISSED) if change else (0,))
        drawn = {} if change else programs.pictures(Path(folder) / "plots")
    return {"told": json.loads(said), "pictures": drawn}


def changed(source: str, line: str, becomes: str) -> str:
    """The program with one line changed; RuntimeError unless it stands there once."""
    if source.count(line) != 1:
        raise RuntimeError(f"experiments.toml: {line!r} stands {source.count(line)} times in the program, not once")
    return source.replace(line, becomes)


def _source(site: Site, milestone: Milestone) -> str:
    return (site.solved.root / "milestones" / milestone.file).read_text(encoding="utf-8")
