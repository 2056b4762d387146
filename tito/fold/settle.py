"""After the last statement: unused helpers go, every name must mean in its file what it meant in the notebook."""

from __future__ import annotations

from tito.errors import UserError
from tito.fold import imports
from tito.fold.files import File, Package, own_imports
from tito.fold.imports import PACKAGE
from tito.fold.names import line_of
from tito.fold.parts import ClassPart, Part
from tito.fold.statements import FoldError

_HINTS_ONLY = ("typing", "collections.abc")


def settle(package: Package) -> None:
    """Make the package whole. Raises FoldError where it would not work as the notebooks did."""
    for file in package.files.values():
        _refuse_public_twice(package, file)
    for file in reversed(list(package.files.values())):
        _drop_unused(package, file)
    leaves = {module for module, source in package.supplied.items() if not own_imports(source)}
    for file in package.files.values():
        for part in file.parts:
            for piece in part.pieces():
                _Resolver(package, file, part, piece, leaves).resolve()
    _refuse_circle(package)


def _refuse_public_twice(package: Package, file: File) -> None:
    for name in file.public():
        home = package.homes[name]
        part = file.defined().get(name)
        if part is not None and home != file.name:
            why = f"{name} is exported by {home}.py already; choose another name, or patch that one"
            raise part.origin.refuse(name, why)


def _drop_unused(package: Package, file: File) -> None:
    """Of what the student added, keep what the exported code uses."""
    others = [item for other in package.files.values() for item in other.needed_imports()]
    used = {item.name for item in others if item.inside == file.name}
    kept = [part for part in file.parts if not part.added]
    waiting = [part for part in file.parts if part.added]
    while True:
        used |= {name for part in kept for piece in part.pieces() for name in piece.uses.all()}
        found = [part for part in waiting if used & set(part.names)]
        if not found:
            break
        kept += found
        waiting = [part for part in waiting if part not in found]
    file.parts = [part for part in file.parts if part not in waiting]


class _Resolver:
    """Looks after the names of one piece: a function, a value, a class's head or one of its members."""

    def __init__(self, package: Package, file: File, part: Part, piece: Part, leaves: set[str]) -> None:
        self.file, self.part, self.piece, self.leaves = file, part, piece, leaves
        self.origin = package.files[piece.origin.lesson]

    def resolve(self) -> None:
        """Add the imports that the piece may bring along. Raises FoldError for any other name that is missing."""
        self._refuse_imports()
        uses = self.piece.uses
        for name in sorted(uses.all()):
            if self.piece.patched:
                self._check_patched(name, hint=name not in uses.early | uses.late)
            elif self.file.identity(name) is None:
                raise self._error(name, "which no exported cell defines; define it in an exercise's cell, or import it")
        if self.piece.patched:
            self._refuse_too_early()

    def _check_patched(self, name: str, hint: bool) -> None:
        if name == "super":
            raise self._error(name, "which works in no patch; name the base class instead")
        meant, found = self.origin.identity(name), self.file.identity(name)
        if meant is None:
            raise self._error(name, f"which no exported cell of {self.origin.name} defines; {self._allowed()}")
        if found is None and self._may_bring(name, hint):
            self.file.imports[name] = self.origin.imports[name]
        elif found is None:
            raise self._error(name, f"which {self.file.name}.py does not have; {self._allowed()}")
        elif found != meant and not (hint and _is_same_hint(found, meant)):
            raise self._error(name, f"which is something else in {self.file.name}.py, where it goes; rename yours")

    def _may_bring(self, name: str, hint: bool) -> bool:
        item = self.origin.imports.get(name)
        return item is not None and (item.inside in self.leaves or (hint and item.module in _HINTS_ONLY))

    def _allowed(self) -> str:
        return f"a method of {self.part.name} may use built-ins, names of {self.file.name}.py and supplied modules"

    def _refuse_too_early(self) -> None:
        """A class body runs from above: its decorators and values cannot use what the file defines further down."""
        below = self.file.parts[self.file.parts.index(self.part) :]
        for name in sorted(self.piece.uses.early & {name for part in below for name in part.names}):
            raise self._error(name, f"which comes below class {self.part.name}; use a literal, or @patch above a def")

    def _refuse_imports(self) -> None:
        """Imports inside functions: tito is no part of the package, and a patch may not draw in other lessons."""
        if isinstance(self.piece, ClassPart):
            return
        foreign = ("tito", "", PACKAGE) if self.piece.patched else ("tito", "")
        for node in imports.inside([self.piece.node]):
            for item in imports.read(node):
                if item.root in foreign:
                    why = f"{self.piece.name} imports {item.module}, which exported code may not; {self._allowed()}"
                    raise self.piece.origin.refuse(item.module, why, node.lineno)

    def _error(self, name: str, why: str) -> FoldError:
        line = line_of(self.piece.node, name)
        return self.piece.origin.refuse(name, f"{self.piece.name} uses {name}, {why}", line)


def _is_same_hint(found: tuple[str, str], meant: tuple[str, str]) -> bool:
    """Whether both are the name of one type: `typing` has `Callable` too."""
    return found[1] == meant[1] and found[0] in _HINTS_ONLY and meant[0] in _HINTS_ONLY


def _refuse_circle(package: Package) -> None:
    """Files that import one another cannot be imported; only a supplied module can close such a circle."""
    edges = {name: {item.inside for item in file.needed_imports()} for name, file in package.files.items()}
    edges |= {module: set(own_imports(source)) for module, source in package.supplied.items()}
    for start in edges:
        path = _circle(edges, [start])
        if path:
            chain = " -> ".join(f"{name}.py" for name in path)
            raise UserError(f"files import each other in a circle: {chain}; move what they share into a supplied file")


def _circle(edges: dict[str, set[str]], path: list[str]) -> list[str] | None:
    """A way along imports from the first file of the path back to it."""
    for step in sorted(edges.get(path[-1], ())):
        if step == path[0]:
            return [*path, step]
        if step not in path:
            found = _circle(edges, [*path, step])
            if found:
                return found
    return None
