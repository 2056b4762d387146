"""The map to PyTorch names every public name of the package once, and nothing that is not there.

Public is what a module's `__all__` lists and the module itself defines, and every method, property and annotated
attribute without underscore of such a class. One that overrides a public base's, as `Add.forward` does
`Operation.forward`, is covered by the base's row. Of a base that is not public the class has its names as its own
(`Trainer.fit`), unless a public base stands beside it: what `FastSGD` does, `SGD` says.
A name stands in the file of the lesson that first defines it. Rows for operators and for attributes that a method
sets (`Tensor.__add__`, `Tensor.data`) are welcome and not demanded; nor are an elective's methods.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from tito import package
from tito.course import Course, _read_toml
from tito.dev.export import fold_input, reference

COURSE = Course.find()
MAPS = COURSE.root / "site" / "pytorch"
STEMS = [lesson.stem for lesson in COURSE.everything]
ELECTIVES = {lesson.stem for lesson in COURSE.electives}
VERDICTS = {"same", "differs", "absent"}


@dataclass
class Names:
    """What the modules of a package define. A class's `members` stand in its body, its methods set `attributes`."""

    public: set[str] = field(default_factory=set)
    members: dict[str, set[str]] = field(default_factory=dict)
    attributes: dict[str, set[str]] = field(default_factory=dict)
    bases: dict[str, list[str]] = field(default_factory=dict)

    def chain(self, name: str) -> Iterator[str]:
        """The class and every base of it that the package defines."""
        if name in self.members:
            yield name
            for base in self.bases[name]:
                yield from self.chain(base)

    def reached(self, name: str) -> set[str]:
        """The members that the class has, its own and inherited."""
        return {member for each in self.chain(name) for member in self.members[each]}

    def required(self) -> set[str]:
        """The dotted names that the map must have."""
        classes = self.public & set(self.members)
        dotted = {f"{name}.{member}" for name in classes for member in self.own(name) if not member.startswith("_")}
        return self.public | dotted

    def own(self, name: str) -> set[str]:
        """The members that no row of a public base covers."""
        above = [base for base in self.chain(name) if base != name and base in self.public]
        if not above:
            return self.reached(name)
        return self.members[name] - {member for base in above for member in self.reached(base)}

    def exists(self, dotted: str) -> bool:
        """Whether the package has such a name."""
        owner, _, member = dotted.partition(".")
        known = self.reached(owner) | {name for each in self.chain(owner) for name in self.attributes[each]}
        return owner in self.public and (not member or member in known)


def names_of(folder: Path) -> Names:
    """What the package in this folder defines."""
    names = Names()
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            _read(names, ast.parse(path.read_text(encoding="utf-8")))
    return names


def _read(names: Names, module: ast.Module) -> None:
    offered = {name for node in module.body for name in _offered(node)}
    for node in module.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.public |= {node.name} & offered
        if isinstance(node, ast.ClassDef):
            assert node.name not in names.members or node.name not in names.public, node.name
            names.members[node.name] = {name for part in node.body for name in _defined(part)}
            names.attributes[node.name] = {each.attr for each in ast.walk(node) if _is_set_on_self(each)}
            names.bases[node.name] = [ast.unparse(base) for base in node.bases]


def _offered(node: ast.stmt) -> list[str]:
    """What `__all__` lists, if the statement makes it."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return []
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return list(ast.literal_eval(node.value)) if ast.unparse(target) == "__all__" else []


def _defined(part: ast.stmt) -> list[str]:
    """The method, property or annotated attribute that a statement of a class's body makes."""
    if isinstance(part, ast.FunctionDef):
        return [part.name]
    return [part.target.id] if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) else []


def _is_set_on_self(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[set[str]]:
    """What the map must have of the packages with no lesson, with the first one, with the first two, and so on."""
    inputs, cache = [fold_input(lesson) for lesson in COURSE.everything], tmp_path_factory.mktemp("packages")
    upto = [package.cached(cache, inputs[: count + 1]) / package.PACKAGE for count in range(len(inputs))]
    return [set(), *(names_of(folder).required() for folder in upto)]


def rows_of(stem: str) -> list[dict[str, Any]]:
    """The rows of a lesson's file."""
    return list(_read_toml(MAPS / f"{stem}.toml")["name"])


WHOLE = names_of(reference(COURSE) / package.PACKAGE)


def test_there_is_a_file_for_each_lesson_and_no_other() -> None:
    assert sorted(path.stem for path in MAPS.glob("*.toml")) == STEMS


@pytest.mark.parametrize("stem", STEMS)
def test_every_public_name_of_a_lesson_has_a_row(stem: str, known: list[set[str]]) -> None:
    place = STEMS.index(stem)
    wanted = known[place + 1] - known[place]
    if stem in ELECTIVES:
        wanted = {name for name in wanted if "." not in name}
    missing = wanted - {row["ours"] for row in rows_of(stem)}
    assert not missing, f"site/pytorch/{stem}.toml lacks {sorted(missing)}"


def test_no_name_has_two_rows() -> None:
    rows = [row for stem in STEMS for row in rows_of(stem)]
    ours = Counter(row["ours"] for row in rows if row["ours"])
    lacking = Counter(row["torch"] for row in rows if not row["ours"])
    assert [name for name, count in (*ours.items(), *lacking.items()) if count > 1] == []


@pytest.mark.parametrize("stem", STEMS)
def test_a_row_names_what_exists(stem: str) -> None:
    assert [row["ours"] for row in rows_of(stem) if row["ours"] and not WHOLE.exists(row["ours"])] == []


@pytest.mark.parametrize("stem", STEMS)
def test_a_row_is_whole(stem: str) -> None:
    for row in rows_of(stem):
        assert set(row) - {"how"} == {"ours", "torch", "verdict"}, row
        assert row["verdict"] in VERDICTS, row
        assert (row["verdict"] == "absent") == (not row["ours"] or not row["torch"]), row
        assert row["ours"] or row["torch"], row
        how = row.get("how", "")
        assert bool(how) == (row["verdict"] != "same"), row
        assert not how or (how.endswith(".") and "\n" not in how), row
