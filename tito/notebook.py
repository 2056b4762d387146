"""What a lesson imports: patch, check, probe, raises, draw. The import puts the student's package on the path.

Folder of the package: that of the enclosing workspace, else the one that TINYTORCH_PACKAGE names.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, overload

from tito.checks import check, draw, engine, failure, probe, raises

__all__ = ["check", "draw", "patch", "probe", "raises"]

VARIABLE = "TINYTORCH_PACKAGE"
STALE = "tinytorch was exported again; restart the kernel to use the new build."


@overload
def patch(target: type[property]) -> Callable[[Callable[..., Any]], Any]: ...
@overload
def patch(target: type[classmethod[Any, Any, Any]]) -> Callable[[Callable[..., Any]], Any]: ...
@overload
def patch(target: Callable[..., Any]) -> Any: ...
def patch(target: Any) -> Any:
    """`@patch def relu(self: Tensor)` gives class Tensor a method; also `@patch(property)`, `@patch(classmethod)`.

    The class is the annotation of the first parameter. What the function's name stood for before, it stands for again.
    Raises TypeError when that annotation is missing or no class, NameError when its name is unknown.
    """
    if target is property or target is classmethod:
        return lambda function: _patch(function, target)
    if not hasattr(target, "__code__"):
        name = (target if isinstance(target, type) else type(target)).__name__
        raise TypeError(f"patch: cannot use {name}; write @patch, @patch(property) or @patch(classmethod) above a def.")
    return _patch(target, lambda function: function)


def _patch(function: Any, wrap: Callable[[Any], Any]) -> Any:
    owner, name, scope = _owner(function), function.__name__, function.__globals__
    function.__qualname__ = f"{owner.__qualname__}.{name}"
    setattr(owner, name, wrap(function))
    return scope.get(name, vars(builtins).get(name, function))


def _owner(function: Any) -> type:
    """`self: Tensor` -> class Tensor; `cls: type[Tensor]` as well."""
    code, name = function.__code__, function.__name__
    first = code.co_varnames[0] if code.co_argcount else ""
    annotation = function.__annotations__.get(first)
    if annotation is None:
        wanted = f"def {name}({first or 'self'}: Tensor)"
        raise TypeError(f"patch: {name} does not say which class it belongs to; write {wanted}.")
    owner = annotation
    while isinstance(owner, str):  # once more where a quoted name was also postponed
        owner = _looked_up(owner, function)
    owner = owner.__args__[0] if getattr(owner, "__origin__", None) is type else owner
    if not isinstance(owner, type):
        raise TypeError(f"patch: {name} belongs to {annotation}, which is no class; write def {name}({first}: Tensor).")
    return owner


def _looked_up(annotation: str, function: Any) -> Any:
    try:
        return eval(annotation, function.__globals__)
    except NameError as error:
        said = f"patch: {function.__name__} belongs to {annotation}, which is not defined"
        raise NameError(f"{said}; run the cell that defines it first.") from error


def workspace() -> Path | None:
    """The nearest folder from the current one upwards that holds `.tito`."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".tito").is_dir()), None)


def find_package() -> Path | None:
    """Puts the folder that holds `tinytorch` on the path -> the workspace whose build is in use, if it is one.

    A runner has put its own build there already and named it in TINYTORCH_PACKAGE: that one stays.
    """
    named = os.environ.get(VARIABLE)
    if named and Path(named).resolve() in {Path(entry).resolve() for entry in sys.path}:
        return None
    found = workspace()
    if found is None and not (named and Path(named).is_dir()):
        raise ImportError(_nowhere(named))
    sys.path.insert(0, str(found or named))
    return found


def _nowhere(named: str | None) -> str:
    if named:
        return f"{VARIABLE} names {named}, which is no folder; set it to the folder that holds tinytorch."
    if sys.platform == "emscripten":
        return "The browser has no workspace; run this first: from tito.inpage import lite; lite.start('01')"
    return f"This notebook lies in no workspace; run tito init, open it there, or set {VARIABLE} to tinytorch's folder."


class Watch:
    """Says once when the build on disk is no longer the one that this kernel imported."""

    def __init__(self, folder: Path) -> None:
        self.manifest = folder / ".tito" / "package.json"
        self.build = self._read()

    def look(self) -> None:
        build = self._read()
        if build is None or build == self.build:
            return
        self.build = build
        if "tinytorch" in sys.modules:
            print(STALE, file=sys.stderr)

    def _read(self) -> str | None:
        try:
            manifest = json.loads(self.manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # nothing exported yet, or being exported now
            return None
        build = manifest.get("build") if isinstance(manifest, dict) else None
        return None if build is None else str(build)


def _place_of(filename: str, line: int) -> str:
    from tito import whence

    return whence.place_of(filename, line)


_workspace = find_package()
if _workspace is not None:
    engine.before_check = Watch(_workspace).look
    failure.place_of = _place_of
