"""Patched functions and attributes -> members of a class, and what a patch may not do."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from functools import lru_cache

from tito.fold import names, text
from tito.fold.parts import ClassPart, Part
from tito.fold.statements import Statement

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
WRAPPERS = ("property", "classmethod")


@dataclass(frozen=True)
class Patch:
    """A function under `@patch`: its decorator, what `patch(...)` was given, and the name of the class."""

    statement: Statement
    node: ast.FunctionDef | ast.AsyncFunctionDef
    decorator: ast.expr
    wrapper: str
    owner: str

    def member(self, owner: ClassPart) -> Part:
        """The method as a part of its class. Raises FoldError where a patch does what it may not."""
        _refuse_unfoldable(self.statement, self.node)
        lines = text.as_method(self.statement.lines, self.node, self.decorator, self.wrapper, owner.indent)
        uses = names.uses(_bare(self.node, self.decorator))
        return Part("def", (self.node.name,), lines, uses, self.statement, self.node, patched=True)


def read(statement: Statement) -> Patch | None:
    """The patch that a statement is, or None."""
    node, found = statement.node, decorator(statement.node)
    if not isinstance(node, Function) or found is None:
        return None
    given = found.args if isinstance(found, ast.Call) else []
    return Patch(statement, node, found, _wrapper(statement, given), _owner(statement, node))


def decorator(node: ast.stmt) -> ast.expr | None:
    """The `@patch` or `@patch(...)` above a function, if there is one."""
    for found in node.decorator_list if isinstance(node, Function) else ():
        called = found.func if isinstance(found, ast.Call) else found
        if isinstance(called, ast.Name) and called.id == "patch":
            return found
    return None


def _wrapper(statement: Statement, given: list[ast.expr]) -> str:
    wrapper = ast.unparse(given[0]) if given else ""
    if wrapper and wrapper not in WRAPPERS:
        offered = "@patch, @patch(property) or @patch(classmethod)"
        raise statement.refuse(wrapper, f"patch({wrapper}) is not offered; use {offered}")
    return wrapper


def _owner(statement: Statement, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The class that the first parameter's annotation names: `self: Tensor`, `cls: type[Tensor]`, or in quotes."""
    first = next(iter([*node.args.posonlyargs, *node.args.args]), None)
    annotation = first.annotation if first else None
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "type":
        annotation = annotation.slice
    name = annotation.value if isinstance(annotation, ast.Constant) else annotation and ast.unparse(annotation)
    if not isinstance(name, str):
        example = f"def {node.name}(self: Tensor)"
        raise statement.refuse(node.name, f"{node.name} is patched into no class; name it on self, as in {example}")
    return name.removeprefix("type[").removesuffix("]")


def _refuse_unfoldable(statement: Statement, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
        if not names.is_literal(default):
            value = ast.unparse(default)
            why = f"{node.name} has the default {value}, which is no literal; use None and put {value} into the body"
            raise statement.refuse(value, why, default.lineno)
    hidden = names.mangled(node, "\n".join(statement.lines))
    if hidden:
        why = f"{node.name} uses {hidden}, which means another name inside a class; use one underscore"
        raise statement.refuse(hidden, why)


@lru_cache(maxsize=4096)  # one node, so that its names are looked for once
def _bare(node: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr) -> ast.stmt:
    """The function as its class will have it, for its names: no `patch`, no annotation on self."""
    bare, bare.args = copy.copy(node), copy.copy(node.args)
    bare.decorator_list = [d for d in node.decorator_list if d is not decorator]
    own = "posonlyargs" if node.args.posonlyargs else "args"
    first, *rest = getattr(node.args, own)
    setattr(bare.args, own, [ast.arg(first.arg), *rest])
    return bare


def attribute_targets(statement: Statement) -> list[ast.Attribute]:
    """The `NAME.attribute` among what a statement assigns to, as in `Tensor.grad = None`."""
    nodes = [child for target in names.targets(statement.node) for child in ast.walk(target)]
    return [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]


def owner_name(target: ast.Attribute) -> str:
    """`Tensor` of `Tensor.grad`."""
    assert isinstance(target.value, ast.Name)
    return target.value.id


def attribute(statement: Statement, target: ast.Attribute, owner: ClassPart) -> Part:
    """The class attribute that such a statement makes. Raises FoldError for what no class body can hold."""
    node = statement.node
    if names.targets(node) != [target] or not isinstance(node, (ast.Assign, ast.AnnAssign)):
        why = f"{ast.unparse(target)} must be assigned alone, as in {ast.unparse(target)} = None"
        raise statement.refuse(target.attr, why)
    inside = copy.deepcopy(node)
    name = ast.Name(target.attr, ast.Store())
    if isinstance(inside, ast.Assign):
        inside.targets = [name]
    else:
        inside.target, inside.simple = name, 1
    lines = text.as_attribute(statement.lines, target, owner.indent)
    return Part("value", (target.attr,), lines, names.uses(inside), statement, node, patched=True)
