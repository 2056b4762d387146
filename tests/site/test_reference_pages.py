"""The reference, the finished framework, the facts: what they say comes from package, parser, lessons and results."""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from dataclasses import replace
from inspect import isfunction, signature
from pathlib import Path

import pytest

from tito.course import Course
from tito.dev.export import reference as reference_folder
from tito.dev.mistakes import Mistake, mistakes_of
from tito.percent import Cell

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "site"))

from pages import cli, defined_in, docstrings, facts, framework, measured, pytorch, reference, text
from pages.results import Results
from pages.site import ROOT, TEXT, Site
from pages.tree import Tree

COURSE = Course.find()
ARGUMENTS = {  # facts that want to be told of what
    "requires": ["numpy"],
    "ratio": ["W1"],
    "step": ["W1"],
    "to_torch": ["W1"],
    "peak": ["W4"],
    "calls": ["W1"],
    "call_us": ["W1"],
    "command": ["tito", "test", "01"],
    "measured_with": ["numpy"],
}
ENDS_WITH_1 = re.compile(r"return NOT_YET|else NOT_YET|return 1\b|else 1\b|, NOT_YET\)")
FACTS = {name: made for name, made in vars(facts).items() if isfunction(made) and made.__module__ == facts.__name__}
PUBLIC = sorted(name for name, made in FACTS.items() if name[0] != "_" and "site" in signature(made).parameters)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Where the packages that are documented lie, built once."""
    return Results(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def site(tmp_path: Path, kept: Results) -> Site:
    """The whole course; pages go into a temporary folder."""
    return Site(COURSE, COURSE, reference_folder(COURSE), Tree(tmp_path / "tree"), kept, False)


@pytest.fixture
def stubs(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The same without solutions: what every lesson's file says is what a student gets."""
    from tito import package, release

    def student(lesson: object) -> list[Cell]:
        return [cell for cell in release.student_cells(lesson) if cell.exported]  # type: ignore[arg-type]

    monkeypatch.setattr(package, "exported", student)
    return replace(site, results=Results(tmp_path / "cache"), class_edition=True)


# Docstrings


@pytest.mark.parametrize(
    ("plain", "marked"),
    [
        ("The product `a @ b`.", r"The product ``a @ b``\ ."),
        ("`x`s and `y`", r"``x``\ s and ``y``\ "),
        ("1 - y**2.", r"1 - y\*\*2."),
        ("of |x| and name_", r"of \|x\| and name\_"),
        ('of h["x"]', r"of h[\"x\"]"),
        ("- a point", r"\- a point"),
        ("1. first", r"\1. first"),
    ],
)
def test_only_backticks_mark(plain: str, marked: str) -> None:
    assert docstrings.text(plain) == marked


def test_a_docstring_is_taken_apart() -> None:
    """Contract, the rest, errors and source each have their class; an indented block stays as it is."""
    doc = "Adds up. `(N,)`\n\nOf all\nnumbers. Raises ValueError when\nempty. Source: Gauss, 1786.\n\n    sum([1, 2])"
    lines = list(docstrings.converted(doc))
    assert [line for line in lines if line.startswith("..")] == [
        f".. rst-class:: {name}" for name in ("contract", "told", "raises", "source")
    ]
    assert "   Raises ValueError when empty." in lines and "   Source: Gauss, 1786." in lines
    assert lines[-4:] == ["::", "", "    sum([1, 2])", ""]


def test_every_docstring_of_the_package_is_plain_text_again() -> None:
    """docutils finds in each no fault and no markup but code, and shows the words that were written."""
    from docutils.core import publish_doctree

    strict = {"report_level": 1, "halt_level": 1}
    for name, doc in documented():
        tree = publish_doctree("\n".join(docstrings.converted(doc)), settings_overrides=strict)
        assert words(tree.astext()) == words(doc.replace("`", "")), name


def documented() -> list[tuple[str, str]]:
    package = defined_in.Package(reference_folder(COURSE), COURSE)
    names = [name for lesson in COURSE.everything for name in package.names(lesson)]
    found = [(each.name, ast.get_docstring(each.node)) for name in names for each in (name, *package.members(name))]
    return [(name, doc) for name, doc in found if doc]


def words(plain: str) -> list[str]:
    return re.sub(r"\s+", " ", plain).replace("\\ ", "").split()


# The API


def test_every_public_name_has_one_entry(site: Site) -> None:
    reference.write(site)
    pages = {lesson.name: written(site, f"reference/{lesson.name}.md") for lesson in COURSE.everything}
    asked = re.compile(r"auto(?:class|function):: tinytorch\.(\w+)")
    entries = [name for page in pages.values() for name in asked.findall(page)]
    assert sorted(entries) == sorted(facts.public(site.reference)) and len(entries) > 90
    assert "tinytorch.RandomSampler" in pages["dataloader"] and "tinytorch.FastAdam" in pages["optimizers"]


def test_a_supplied_base_is_told_with_the_class_that_is_offered(site: Site) -> None:
    members = reference_members(site, "training", "Trainer")
    assert {"train_batch", "fit", "predict"} <= members and "_optimizer_update" not in members
    assert "parameters" not in reference_members(site, "layers", "Linear")  # Module is offered itself


def reference_members(site: Site, lesson: str, name: str) -> set[str]:
    page = reference.page(site, defined_in.of(site), COURSE.lesson(lesson))
    found = re.search(rf"autoclass:: tinytorch\.{name}\n   :members: (.*)", page)
    return set(found[1].split(", ")) if found else set()


def test_every_entry_leads_to_the_cell_that_defines_it(site: Site) -> None:
    """A function's name stands in the source of the cell that its link names."""
    said = dict(reference.places(site, defined_in.of(site)))
    assert "../lessons/01_tensor.html#exercise-matmul>" in "".join(said["tinytorch.MatMul"])
    assert "#exercise-arithmetic>" in "".join(said["tinytorch.Mul.backward"])
    cells = {f"{lesson.stem}.html#{cell.id}": cell for lesson in COURSE.everything for cell in lesson.cells()}
    found = [(name, line) for name, lines in said.items() for line in lines if "../lessons/" in line]
    assert len(found) > 150
    for name, line in found:
        cell = cells[line.partition("../lessons/")[2].partition(">")[0]]
        for each in re.findall(r"``(\w+)``", line) or [name.split(".")[-1]]:
            assert cell.exported and re.search(rf"\b{each}\b", cell.source), (name, line)


def test_the_class_edition_documents_stubs(stubs: Site) -> None:
    """Of the source that Sphinx imports there, no line of a solution is left; the entries are the same."""
    folder = defined_in.importable(stubs)
    assert folder != stubs.reference
    assert "raise NotImplementedError" in class_text(folder, "MatMul")
    assert "raise NotImplementedError" not in class_text(stubs.reference, "MatMul")
    assert defined_in.of(stubs).public == set(facts.public(stubs.reference))


def class_text(folder: Path, name: str) -> str:
    tree = ast.parse((folder / "tinytorch" / "tensor.py").read_text(encoding="utf-8"))
    return next(ast.unparse(node) for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def test_the_class_edition_leads_to_no_source(stubs: Site) -> None:
    reference.write(stubs)
    framework.write(stubs)
    made = [path for path in stubs.tree.folder.rglob("*") if path.is_file()]
    assert len(made) > 10 and not [path for path in made if "framework" in path.parts]
    assert not [path.name for path in made if "framework/" in path.read_text(encoding="utf-8")]


# The command line


def test_every_command_has_its_part_with_every_argument(site: Site) -> None:
    page = cli.page(site)
    parts = dict(zip(re.findall(r"^### (.+)$", page, re.M), re.split(r"^### .+$", page, flags=re.M)[1:]))
    commands = cli.commands()
    assert len(commands) > 30 and len({command.name for command in commands}) == len(commands)
    for command in commands:
        for action in command.parser._actions:
            if not isinstance(action, argparse._HelpAction):
                shown = (action.option_strings or [str(action.metavar or action.dest)])[0]
                assert f"<code>{shown}" in parts[command.name], (command.name, shown)


def test_what_a_command_prints_as_json_is_told(site: Site) -> None:
    page = cli.page(site)
    assert '{"lessons": [{"id": "01"' in page and '{"workspace": ' in page
    assert "With `--json`" in page and "tito/revise.py" not in page


def test_exit_codes_are_told_of_commands_that_exist() -> None:
    names = {command.name for command in cli.commands()}
    assert names >= cli.NOT_YET.keys()
    for command in cli.commands():
        module = ROOT / f"{command.parser.get_default('module').replace('.', '/')}.py"
        ends = ENDS_WITH_1.search(module.read_text(encoding="utf-8"))
        assert not ends or command.name in cli.NOT_YET, command.name


# The framework


def test_every_file_of_the_package_is_shown_in_full(site: Site) -> None:
    framework.write(site)
    files = sorted((site.reference / "tinytorch").glob("*.py"))
    for path in files:
        if path.stem != "__init__":
            assert path.read_text(encoding="utf-8").rstrip() in written(site, f"framework/{path.stem}.md"), path.name
            assert f"framework/{path.stem}\n" in framework.toctree(site)


def test_every_mistake_has_a_row_with_its_change(site: Site) -> None:
    framework.write(site)
    page = written(site, "framework/mistakes.md")
    known = [one for lesson in COURSE.everything for one in mistakes_of(lesson)]
    assert page.count("<details>") == len(known) > 400
    assert framework._change(known[0]) in page
    assert (
        framework._change(Mistake("x", "a\n\n<b>", "c", "", "")) == "- a&#10;- &#10;- &lt;b&gt;&#10;+ c"
    )  # one line of HTML
    assert not [table for table in re.findall(r"<table.*?</table>", page, re.S) if "\n\n" in table]


# Facts, and pages that call them


def test_every_fact_is_in_the_list_and_says_something(site: Site) -> None:
    listed = set(re.findall(r"`(\w+)[^`]*`(?=[^|]*\|)", facts.__doc__ or ""))
    assert set(PUBLIC) <= listed, set(PUBLIC) - listed
    for name in PUBLIC:
        told = FACTS[name](site, *ARGUMENTS.get(name, []))
        assert isinstance(told, str) and told.strip(), name


def test_facts_agree_with_each_other(site: Site) -> None:
    def number(told: str) -> int:
        return int(told.replace(",", ""))

    assert number(facts.checks(site)) == number(facts.checks_visible(site)) + number(facts.checks_hidden(site))
    assert number(facts.lines(site)) == number(facts.lines_exported(site)) + number(facts.lines_supplied(site))
    assert sum(number(facts.exercises(site, lesson.id)) for lesson in COURSE.lessons) == number(facts.exercises(site))
    assert number(facts.mistakes_named(site)) < number(facts.mistakes(site))
    assert number(facts.lines_exported(site)) <= number(facts.budget(site))


def test_a_fact_follows_what_was_measured(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    results = measured.of("results")
    works = {**results["threads"]["1"], "W1": {"ours": {"cpu_ratio": [77.0, 76.0, 78.0]}}}
    monkeypatch.setattr(measured, "of", lambda name: {"threads": {"1": works}})
    assert facts.ratio(site, "W1") == "77.00"


@pytest.mark.parametrize("name", ["questions", "framework"])
def test_a_page_is_filled_and_holds_no_typed_number(name: str, site: Site) -> None:
    """Digits stand in calls, code, links and names alone."""
    path = TEXT / f"{name}.md"
    assert "{{ " not in text.filled(site, path)
    by_hand = re.sub(
        r"(?s)\{\{.*?\}\}|```.*?```|`[^`]*`|\]\([^)]*\)|float\d+|lesson \d\d", "", path.read_text(encoding="utf-8")
    )
    assert not re.findall(r"(?<!^)\b\d+(?!\. )\b", by_hand)


def test_questions_lead_to_no_page_that_the_class_edition_lacks(site: Site) -> None:
    assert "framework.md" in text.filled(site, TEXT / "questions.md")
    assert "framework.md" not in text.filled(replace(site, class_edition=True), TEXT / "questions.md")


# Beside PyTorch


def test_the_map_shows_every_row(site: Site) -> None:
    rows = [row for lesson in COURSE.everything for row in pytorch.rows(lesson.stem)]
    page = pytorch.page(site)
    assert page.count("<tr>") - page.count("<thead>") == len(rows) > 300
    assert "torch.<wbr>Tensor.<wbr>sum" in page


@pytest.mark.parametrize("row", [("a", "b", "absent"), ("", "", "same"), ("a", "b", "alike")])
def test_a_row_that_cannot_be_meant_is_refused(row: tuple[str, str, str]) -> None:
    with pytest.raises(RuntimeError, match="01_x.toml"):
        pytorch._row("01_x", *row)


def test_descriptions_are_short(site: Site) -> None:
    reference.write(site)
    framework.write(site)
    for path in site.tree.folder.rglob("*.md"):
        found = re.search(r"^    description: (.*)$", path.read_text(encoding="utf-8"), re.M)
        assert found and len(found[1].strip('"')) <= 155, path.name


def written(site: Site, name: str) -> str:
    return (site.tree.folder / name).read_text(encoding="utf-8")


def test_the_command_line_is_described_without_what_only_tests_need() -> None:
    """The site is made in an environment of its own, and there is no pytest in it."""
    program = "import sys; sys.modules['pytest'] = None; from pages import cli; print(cli._around())"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "site"), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "### pytest\n\n" in done.stdout and "name cells" in done.stdout
