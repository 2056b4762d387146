"""Pages of the milestones and home: programs really run, pictures say their message, experiments change one line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tito.course import Course, Milestone
from tito.dev import export

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "site"))

from pages import home, imports, milestones, programs, text  # noqa: E402
from pages.results import Results  # noqa: E402
from pages.site import Site  # noqa: E402
from pages.tree import Tree  # noqa: E402

COURSE = Course.load(ROOT)
PROGRAM = '''"""A milestone that takes a moment."""
import json
from pathlib import Path
import matplotlib.pyplot as plt
from helper import twice
from tinytorch.tensor import Tensor

CARDS, SHOWN = 50_000, 7


def learn(cards):
    """The whole of it."""
    return twice(Tensor(cards))


right = learn(CARDS) / 1000
figure, axes = plt.subplots(1, 2, figsize=(3, 1))
figure.suptitle(f"{right:g} of 100 <learned>")
axes[0].set_title("3 read as 5\\n99 % sure")
axes[1].set_title("Before:\\nnothing", loc="left")
Path("plots").mkdir()
figure.savefig("plots/m1_cards.png")
rows = [
    {"name": "cards: right, mean", "text": f"{right:g} %", "line": "at least 90 %", "passed": right >= 90},
    {"name": "cards: shown", "text": "7", "line": "", "passed": None},
]
print(json.dumps({"title": "m1 Toy", "seconds": 0.25, "figures": rows}))
raise SystemExit(right < 90)
'''
HELPER = """from __future__ import annotations
from typing import TYPE_CHECKING
from tinytorch import Same
if TYPE_CHECKING:
    from tinytorch import Module


def twice(number):
    return 2 * Same(number)
"""
LINE = "return twice(Tensor(cards))"
TENSOR = "def Tensor(number):\n    return number\n\n\ndef Same(number):\n    return number\n"
COURSE_TOML = """title = "Toy"
[[lesson]]
id = "01"
name = "tensor"
title = "Tensors"
minutes = 5
needs = []
[[milestone]]
id = "m1"
year = 1958
title = "Toy"
file = "m1_toy.py"
needs = ["01"]
"""
LESSON = '# %% [markdown]\n# # 01\n\n# %% twin="Tensor"\ndef Tensor(number):\n    return number\n'
EXPERIMENTS = """[m1.fewer]
line = "CARDS, SHOWN = 50_000, 7"
becomes = "CARDS, SHOWN = 40_000, 7"
[m1.same]
line = "twice(Tensor(cards))"
becomes = "twice(Tensor(1 * cards))"
[m1.gone]
line = "DOGS = 1"
becomes = "DOGS = 2"
"""
FILES = {
    "course.toml": COURSE_TOML,
    "modules/01_tensor/tensor.py": LESSON,
    "milestones/m1_toy.py": PROGRAM,
    "milestones/helper.py": HELPER,
    "reference/tinytorch/__init__.py": "from tinytorch.tensor import Same, Tensor\n",
    "reference/tinytorch/tensor.py": TENSOR,
    "reference/tinytorch/another.py": "def Tensor(number):\n    return -number\n",
    "experiments.toml": EXPERIMENTS,
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site of a course with one small milestone."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.setattr(milestones, "EXPERIMENTS", tmp_path / "experiments.toml")
    course = Course.load(tmp_path)
    return Site(course, course, tmp_path / "reference", Tree(tmp_path / "tree"), Results(tmp_path / "cache"), False)


def test_a_milestone_is_run_and_its_figures_are_told(toy: Site) -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", milestones.table(toy, "m1"))
    assert "ok" in rows[1] and "100\N{NO-BREAK SPACE}%" in rows[1] and "at least 90\N{NO-BREAK SPACE}%" in rows[1]
    assert "ok" not in rows[2] and "shown, not judged" in rows[2]
    assert milestones.value(toy, "m1", "cards-right-mean") == "100\N{NO-BREAK SPACE}%"
    assert milestones.demands(toy, "m1") == "- cards: right, mean: **at least 90\N{NO-BREAK SPACE}%**"
    assert milestones.seconds(toy, "m1") == "0.2 s"
    with pytest.raises(KeyError, match="no figure 'dogs', only cards-right-mean, cards-shown"):
        milestones.value(toy, "m1", "dogs")


def test_an_elective_is_told_apart(toy: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"headline": "Cards", "says": "Learned.", "picture": "cards", "figure": "cards-right-mean", "label": "right"}
    lines = ["[m1]", *(f'{name} = "{value}"' for name, value in told.items())]
    (tmp_path / "timeline.toml").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(milestones, "TIMELINE", tmp_path / "timeline.toml")
    (one,) = toy.course.milestones
    assert milestones.electives(toy, "h2") == "" and "Cards" in milestones.timeline(toy, "h2")
    course = replace(toy.course, milestones=(), elective_milestones=(one,))
    chosen = replace(toy, course=course, solved=course)
    assert "Cards" in milestones.electives(chosen, "h2") and "Cards" not in milestones.timeline(chosen, "h2")
    assert milestones.toctree(toy) == milestones.toctree(chosen) == "```{toctree}\n:hidden:\n\nm1_toy\n```"


def test_a_run_is_kept_until_the_program_changes(toy: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = milestones.ran(toy, "m1")
    monkeypatch.setattr(programs, "run", lambda *words, **more: pytest.fail("it was run again"))
    assert milestones.ran(toy, "m1") == first
    (toy.reference / "tinytorch" / "tensor.py").write_text(TENSOR + "\n", encoding="utf-8")
    with pytest.raises(pytest.fail.Exception):
        milestones.ran(toy, "m1")


def test_a_milestone_that_misses_its_line_ends_the_build(toy: Site) -> None:
    program = toy.course.root / "milestones" / "m1_toy.py"
    program.write_text(PROGRAM.replace("50_000", "30_000"), encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"m1_toy\.py ended with 1"):
        milestones.ran(toy, "m1")


def test_the_alternative_text_of_a_picture_is_its_titles(toy: Site) -> None:
    shown = milestones.picture(toy, "m1", "cards")
    (alt,) = re.findall(r'alt="([^"]*)"', shown)
    assert alt == "100 of 100 &lt;learned&gt;. 3 read as 5, 99 % sure. Before: nothing"
    (source,) = re.findall(r'src="\.\./([^"]*)"', shown)
    assert ' loading="lazy"' in shown and "loading" not in home.hero(toy, "m1", "cards")
    drawn = (toy.tree.folder / "extra" / source).read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert f'width="{int.from_bytes(drawn[16:20])}" height="{int.from_bytes(drawn[20:24])}"' in shown


def test_an_experiment_shows_the_line_and_what_changes(toy: Site) -> None:
    shown = milestones.tried(toy, "m1", "fewer")
    assert "- CARDS, SHOWN = 50_000, 7\n+ CARDS, SHOWN = 40_000, 7" in shown
    assert "100\N{NO-BREAK SPACE}%</td><td>80\N{NO-BREAK SPACE}%</td><td>missed" in shown
    assert "cards: shown" not in shown
    assert milestones.tried(toy, "m1", "same").endswith("Not one figure changes.")
    with pytest.raises(RuntimeError, match="'DOGS = 1' stands 0 times in the program, not once"):
        milestones.tried(toy, "m1", "gone")


def test_pieces_of_the_program_are_read_from_it(toy: Site) -> None:
    assert milestones.constant(toy, "m1", "CARDS") == "50,000"
    assert milestones.constant(toy, "m1", "SHOWN") == "7"
    assert "    return twice(Tensor(cards))\n```" in milestones.function(toy, "m1", "learn")
    with pytest.raises(KeyError, match="no number DOGS"):
        milestones.constant(toy, "m1", "DOGS")


def test_names_are_followed_to_file_cell_and_line(toy: Site) -> None:
    """The program's own and those of the modules beside it, but not what only serves types."""
    found = imports.uses(toy, toy.course.milestone("m1"))
    assert found == [("Same", "tensor.py", "return 2 * Same(number)"), ("Tensor", "tensor.py", LINE)]
    shown = milestones.runs_on(toy, "m1")
    assert '<a href="../lessons/01_tensor.html#twin-Tensor">01 tensor</a>' in shown


@pytest.mark.parametrize("milestone", COURSE.every_milestone, ids=lambda milestone: milestone.id)
def test_every_name_of_a_real_milestone_is_found(milestone: Milestone, tmp_path: Path) -> None:
    site = Site(COURSE, COURSE, export.reference(COURSE), Tree(tmp_path), Results(tmp_path), False)
    found = imports.uses(site, milestone)
    owners = {name: lesson for lesson in COURSE.everything for name in imports.files_of(lesson)}
    always = {"GMDHNetwork", "Generator"} if milestone.elective else {"Tensor", "Generator"}
    assert always <= {use.name for use in found}
    needed = COURSE.everything if milestone.elective else COURSE.needs_of(milestone)  # an elective's last act may wait
    assert {owners[use.file].id for use in found} <= {lesson.id for lesson in needed}
    assert all(use.line for use in found)
    written = [use for use in found if use.file == f"{owners[use.file].name}.py"]
    assert len(written) > 0 and all(imports.cell_of(owners[use.file], use.name) for use in written)


@pytest.mark.parametrize("milestone", COURSE.every_milestone, ids=lambda milestone: milestone.id)
def test_every_experiment_changes_its_program_once(milestone: Milestone) -> None:
    source = (ROOT / "milestones" / milestone.file).read_text(encoding="utf-8")
    changes = milestones.experiments(milestone.id)
    assert 3 <= len(changes) <= 5
    for change in changes.values():
        after = milestones.changed(source, change["line"], change["becomes"])
        assert after != source
        compile(after, milestone.file, "exec")
    page = (text.TEXT / "milestones" / f"{milestone.id}.md").read_text(encoding="utf-8")
    assert re.findall(rf"milestones\.tried {milestone.id} (\S+)", page) == list(changes)


def test_the_cell_of_the_home_page_is_complete_without_scripts(toy: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    program = toy.course.root / "spirals.py"
    program.write_text(
        'import matplotlib.pyplot as plt\nplt.title("a < b")\nprint("the loss fell")\n', encoding="utf-8"
    )
    monkeypatch.setattr(home, "program", lambda site: program)
    shown = home.cell(toy)
    (told,) = re.findall(r'id="in-page">(.*?)</script>', shown)
    assert json.loads(told) == {
        "lesson": None,
        "stem": "index",
        "cells": [{"id": "spirals", "role": "demo", "name": "", "local": ""}],
    }
    assert '<div class="cell tag_cell-spirals ' in shown and shown.count("<div") == shown.count("</div>") == 3
    assert 'plt.title("a < b")' in shown
    assert 'alt="a &lt; b"' in shown and "```text\nthe loss fell\n```" in shown
    assert (toy.tree.folder / "extra" / "_static" / "pictures" / "home-spirals.png").is_file()


@pytest.mark.parametrize("edition", ["spirals.py", "spirals_class.py"])
def test_the_cells_of_the_home_page_learn_the_spirals(edition: str, tmp_path: Path) -> None:
    site = Site(COURSE, COURSE, export.reference(COURSE), Tree(tmp_path), Results(tmp_path), False)
    programs.run(site, text.TEXT / "home" / edition, tmp_path)
    (picture,) = programs.pictures(tmp_path).values()
    assert picture["titles"] == [picture["titles"][0]] and "200 of 200 points" in picture["titles"][0]


def test_the_class_edition_runs_on_numpy_alone_and_lists_no_framework(tmp_path: Path) -> None:
    site = Site(COURSE, COURSE, tmp_path, Tree(tmp_path), Results(tmp_path), True)
    assert "tinytorch" not in home.program(site).read_text(encoding="utf-8")
    assert "framework" not in home.contents(site) and home.checkout(site) == ""


def test_readme_and_start_name_the_same_commands() -> None:
    """What a student types first stands in both."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"## Begin as a student\n\n```\n(.*?)```", readme, re.DOTALL)
    start = (text.TEXT / "start.md").read_text(encoding="utf-8") + home.CHECKOUT
    assert len(block.splitlines()) == 3
    assert [line for line in block.splitlines() if line not in start.splitlines()] == []


def test_a_changed_copy_of_a_milestone_finds_the_package_of_its_workspace(tmp_path: Path) -> None:
    """As the pages say: `python -m tito.run milestones/...`, in the workspace and in no other folder of it."""
    for folder in (".tito", "milestones", "tinytorch"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tinytorch" / "__init__.py").write_text("NAME = 'mine'\n", encoding="utf-8")
    (tmp_path / "milestones" / "helper.py").write_text("from tinytorch import NAME\n", encoding="utf-8")
    (tmp_path / "milestones" / "m1.py").write_text("from helper import NAME\nprint(NAME)\n", encoding="utf-8")
    run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tito.run", "milestones/m1.py"]
    done = run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "mine\n", done.stderr
