"""The package while it grows: one File a lesson, into which the statements of all lessons are sorted."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tito import pycell
from tito.fold import imports, parts, patches
from tito.fold.imports import PACKAGE, Import
from tito.fold.names import bound_by
from tito.fold.parts import ClassPart, Part
from tito.fold.statements import Statement, read
from tito.percent import Cell

_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)
_MODULE_NAMES = ("__name__", "__doc__", "__file__")


@dataclass(frozen=True)
class FoldInput:
    """What a lesson gives to the package: its exported cells, and the text of its supplied modules by name.

    `title` is the first line of the exported file. A cell's number is its mark `cell`, else its place in its file.
    `course` are the cells as the course has them: a name that none of them defines is the student's own, exported where
    something uses it, and offered to nobody. Without them, that holds for cells whose role is not imports, exercise,
    twin or supplied. `file` is where the cells stand.
    """

    name: str
    title: str
    cells: Sequence[Cell]
    supplied: Mapping[str, str] = field(default_factory=dict)
    course: Sequence[Cell] = ()
    file: str = ""

    def names(self) -> set[str]:
        """What the course's cells define."""
        nodes = (node for cell in self.course for node in pycell.read(cell.source).tree.body)
        return {name for node in nodes for name in bound_by(node)}


@dataclass
class File:
    """One file of the package. `handed` are the imports that it hands on, from its lesson's supplied modules.

    `above` come from supplied modules that import this file, so only the package itself can hand them on; `course` are
    the names that the lesson itself defines.
    """

    name: str
    title: str
    course: set[str] = field(default_factory=set)
    imports: dict[str, Import] = field(default_factory=dict)
    handed: list[Import] = field(default_factory=list)
    above: list[Import] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)

    def pieces(self) -> Iterator[Part]:
        """All parts, and the members of classes."""
        return (piece for part in self.parts for piece in part.pieces())

    def defined(self) -> dict[str, Part]:
        """The file's own top-level names."""
        return {name: part for part in self.parts for name in part.names}

    def public(self) -> list[str]:
        """What the file offers: names handed on, and its own without an underscore that no student added."""
        own = [name for name, part in self.defined().items() if not name.startswith("_") and not part.added]
        return list(dict.fromkeys([item.bound for item in self.handed] + own))

    def needed_imports(self) -> set[Import]:
        """The imports that something in the file uses, and those handed on."""
        used = {name for piece in self.pieces() for name in piece.uses.all()}
        return {item for name, item in self.imports.items() if name in used} | set(self.handed)

    def identity(self, name: str) -> tuple[str, str] | None:
        """What a name means in this file, as (module, name there); None when it means nothing."""
        if name in self.defined():
            return f"{PACKAGE}.{self.name}", name
        if name in self.imports:
            return self.imports[name].module, self.imports[name].name
        known = hasattr(builtins, name) or name in _MODULE_NAMES
        return ("builtins", name) if known else None


class Package:
    """All files so far. `notes` collects, by lesson, one line for every statement that is left out."""

    def __init__(self, notes: dict[str, list[str]]) -> None:
        self.files: dict[str, File] = {}
        self.supplied: dict[str, str] = {}
        self.homes: dict[str, str] = {}  # public name -> the module that defines it
        self.notes = notes

    def add(self, lesson: FoldInput) -> None:
        """Sort one lesson's statements into the files. Raises FoldError."""
        file = self.files[lesson.name] = File(lesson.name, lesson.title, lesson.names())
        for module, source in lesson.supplied.items():
            self._supply(file, module, source)
        for cell in lesson.cells:
            for statement in read(cell, lesson.name):
                self._sort(file, statement)

    def _supply(self, file: File, module: str, source: str) -> None:
        self.supplied[module] = source
        builds_on_lesson = file.name in own_imports(source)
        for name in public_names(source):
            item = Import(f"{PACKAGE}.{module}", name)
            (file.above if builds_on_lesson else file.handed).append(item)
            self.homes[name] = module
            if not builds_on_lesson:
                file.imports[name] = item

    def _sort(self, file: File, statement: Statement) -> None:
        node = statement.node
        patch = patches.read(statement)
        attribute = self._class_attribute(file, statement)
        if patch:
            owner = self._owner(file, statement, patch.owner)
            owner.put(patch.member(owner))
        elif attribute and self._is_foreign(file, patches.owner_name(attribute)):
            self._leave_out(statement)
        elif attribute:
            owner = self._owner(file, statement, patches.owner_name(attribute))
            owner.put(patches.attribute(statement, attribute, owner))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for item in imports.read(node):
                self._import(file, statement, item)
        elif isinstance(node, _KEPT):
            self._define(file, statement)
        else:
            self._leave_out(statement)

    def _class_attribute(self, file: File, statement: Statement) -> ast.Attribute | None:
        """What the statement assigns to, where that is an attribute of anything but a plain value of this file."""
        for target in patches.attribute_targets(statement):
            part = file.defined().get(patches.owner_name(target))
            if part is None or isinstance(part, ClassPart):
                return target
        return None

    def _is_foreign(self, file: File, name: str) -> bool:
        """Whether a name is imported from elsewhere, as in `plt.rcParams["figure.dpi"] = 100`."""
        return name in file.imports and file.imports[name].root != PACKAGE

    def _owner(self, file: File, statement: Statement, name: str) -> ClassPart:
        """The class that a patch means, in whatever file it stands."""
        item = file.imports.get(name)
        wanted = item.name if item else name
        places = [self.files[item.inside]] if item and item.inside in self.files else [file]
        for place in places:
            part = place.defined().get(wanted)
            if isinstance(part, ClassPart):
                return part
        why = f"{name} is no class of the package that this cell can see; define it above, or import it from {PACKAGE}"
        raise statement.refuse(name, why)

    def _define(self, file: File, statement: Statement) -> None:
        """Add a part; a function that comes again replaces the first."""
        part = parts.from_statement(statement)
        if file.course and part.names:
            part.added = file.course.isdisjoint(part.names)
        old = file.defined().get(part.name)
        if isinstance(part, ClassPart):
            self._refuse_second_class(file, part, statement)
        for name in part.names:
            file.imports.pop(name, None)
            if not part.added:
                self.homes.setdefault(name, file.name)
        if old is not None and old.names == part.names and part.kind == old.kind == "def":
            part.added = part.added and old.added
            file.parts[file.parts.index(old)] = part
        else:
            file.parts.append(part)

    def _refuse_second_class(self, own: File, part: ClassPart, statement: Statement) -> None:
        """A class of the course's is defined once; the student's own may share names between lessons."""
        for file in self.files.values():
            old = file.defined().get(part.name)
            if old is not None and (file is own or not old.added):
                where = f"cell {old.origin.cell} of {file.name}"
                why = f"class {part.name} is defined in {where} already; patch that one, or choose another name"
                raise statement.refuse(part.name, why)

    def _import(self, file: File, statement: Statement, item: Import) -> None:
        if item.root in ("tito", "__future__"):
            return
        if item.name == "*" or item.root == "" or (item.root == PACKAGE and not item.name):
            wrong = item.name or item.module
            why = f"{wrong} cannot be followed by the export; import single names, as in from {PACKAGE} import Tensor"
            raise statement.refuse(wrong, why)
        file.imports[item.bound] = self._at_home(file, statement, item) if item.root == PACKAGE else item

    def _at_home(self, file: File, statement: Statement, item: Import) -> Import:
        """The import from the file that defines the name: `from tinytorch import Tensor` would import in a circle."""
        place = self.files.get(item.inside)
        if item.inside in self.supplied or (place and place is not file and item.name in place.defined()):
            return item
        home = self.homes.get(item.name)
        if home is None or home == file.name:
            why = f"{item.module} has no {item.name} that an earlier lesson exports; correct the import"
            raise statement.refuse(item.name, why)
        return Import(f"{PACKAGE}.{home}", item.name, item.alias)

    def _leave_out(self, statement: Statement) -> None:
        first = statement.lines[statement.node.lineno - 1].strip()
        line = statement.line + statement.node.lineno
        note = f"{statement.lesson}, cell {statement.cell}, line {line}: left out of the package: {first}"
        self.notes.setdefault(statement.lesson, []).append(note)


def public_names(source: str) -> tuple[str, ...]:
    """What a supplied module offers: its `__all__`, else its top-level names without an underscore."""
    body = _tree(source).body
    for node in body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and bound_by(node) == ("__all__",) and node.value:
            return tuple(ast.literal_eval(node.value))
    return tuple(name for node in body for name in bound_by(node) if not name.startswith("_"))


@lru_cache(maxsize=256)
def own_imports(source: str) -> tuple[str, ...]:
    """The files of our own package that a supplied module imports, wherever in its text."""
    items = (item for node in imports.inside(_tree(source).body) for item in imports.read(node))
    return tuple(item.inside or item.module for item in items if item.root in (PACKAGE, ""))


@lru_cache(maxsize=256)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)
