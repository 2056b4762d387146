"""The ways in which a mutant differs from a solution: each operator looks at one node and yields changes of text.

A change is (start, end, new text), in characters of the cell. An operator may yield what no one else would: what does
not alter the program, or repeats another's change, is sorted out in `mutants.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

Change = tuple[int, int, str]
Operator = Callable[["Text", ast.AST], Iterator[Change]]

SIGNS: dict[type[ast.AST], str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"},
    **{ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.And: "and", ast.Or: "or", ast.Is: "is"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in"},
    **{ast.IsNot: r"is\s+not", ast.NotIn: r"not\s+in"},
}
OTHER_SIGNS = {
    **{"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*", "//"], "//": ["/"], "%": ["*"], "**": ["*"], "@": ["*"]},
    **{"&": ["|"], "|": ["&"], "and": ["or"], "or": ["and"]},
    **{"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="]},
    **{"is": ["is not"], r"is\s+not": ["is"], "in": ["not in"], r"not\s+in": ["in"]},
}
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)  # a - b is not b - a
EITHER_WAY = {"max", "min", "maximum", "minimum", "swapaxes"}  # calls whose arguments may change places

PAIRS = "sum mean, max min, argmax argmin, maximum minimum, any all, zeros ones, zeros_like ones_like, floor ceil"
PAIRS += ", train eval, cos sin"
INSTEAD = {a: b for pair in PAIRS.split(", ") for a, b in (pair.split(), reversed(pair.split()))}
INSTEAD |= {"array": "asarray", "float32": "float64", "log1p": "log", "expm1": "exp"}  # alias; float64 leak; precision

FACTS = ("shape", "ndim", "dtype")
TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Set, ast.ListComp)


class Text:
    """A cell's text, and where the nodes of its tree stand in it."""

    def __init__(self, source: str) -> None:
        self.source, self.tree = source, ast.parse(source)
        lines = source.split("\n")
        self.bytes = [line.encode() for line in lines]  # a node's column counts bytes
        self.starts = [sum(len(line) + 1 for line in lines[:i]) for i in range(len(lines))]
        self.parent = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where the node begins and ends, in characters."""
        at = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        start, end = (self.starts[line - 1] + len(self.bytes[line - 1][:column].decode()) for line, column in at)
        return start, end

    def of(self, node: ast.AST) -> str:
        """The node's own text."""
        start, end = self.span(node)
        return self.source[start:end]

    def tight(self, node: ast.AST) -> str:
        """The node's text, in parentheses where what stands beside it could tear it apart."""
        return self.of(node) if isinstance(node, TIGHT) else f"({self.of(node)})"

    def put(self, node: ast.AST, new: str) -> Change:
        """Other text for the node."""
        return (*self.span(node), new)

    def leave(self, node: ast.AST, part: ast.AST) -> Change:
        """Of the node, leave only a part."""
        parent = self.parent[node]
        argument = isinstance(parent, ast.Call) and parent.func is not node
        alone = argument or isinstance(parent, (ast.stmt, ast.keyword))
        return self.put(node, self.of(part) if alone else self.tight(part))

    def between(self, left: ast.AST, right: ast.AST, sign: str, new: str) -> Change:
        """Another sign between two nodes, where `sign` is a pattern that may hold a word."""
        start, end = self.span(left)[1], self.span(right)[0]
        pattern = sign if sign[0].isalpha() else re.escape(sign)
        found = re.search(pattern, self.source[start:end])
        assert found is not None  # the parser has seen it
        return start + found.start(), start + found.end(), new


def other_sign(text: Text, node: ast.AST) -> Iterator[Change]:
    """`+` for `-`, `<=` for `<`, `or` for `and`, `is not` for `is`."""
    for left, sign, right in _signs(node):
        for new in OTHER_SIGNS.get(sign, ()):
            yield text.between(left, right, sign, new)


def _signs(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    if isinstance(node, ast.BinOp):
        yield node.left, SIGNS.get(type(node.op), ""), node.right
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        yield from zip(operands, (SIGNS[type(op)] for op in node.ops), operands[1:])
    if isinstance(node, ast.BoolOp):
        yield from ((a, SIGNS[type(node.op)], b) for a, b in zip(node.values, node.values[1:]))


def one_side(text: Text, node: ast.AST) -> Iterator[Change]:
    """`a` or `b` for `a + b`: a term, a factor, a shift, an epsilon or half a condition is lost."""
    if isinstance(node, ast.BinOp):
        yield from (text.leave(node, side) for side in (node.left, node.right))
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        yield from (text.leave(node, side) for side in node.values)


def other_order(text: Text, node: ast.AST) -> Iterator[Change]:
    """`b - a` for `a - b`, `f(b, a)` for `f(a, b)`, `(b, a)` for `(a, b)`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ORDERED):
        yield text.put(node, f"{text.tight(node.right)} {SIGNS[type(node.op)]} {text.tight(node.left)}")
    if isinstance(node, ast.Call) and _called(node) not in EITHER_WAY:
        yield from _exchanged(text, node.args)
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.ctx, ast.Load):
        parent = text.parent[node]
        if not isinstance(parent, ast.ExceptHandler) and _called(parent) != "isinstance":
            yield from _exchanged(text, node.elts)


def _exchanged(text: Text, nodes: Sequence[ast.expr]) -> Iterator[Change]:
    for a, b in zip(nodes, nodes[1:]):
        if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
            middle = text.source[text.span(a)[1] : text.span(b)[0]]
            yield text.span(a)[0], text.span(b)[1], text.of(b) + middle + text.of(a)


def _called(node: ast.AST) -> str:
    """The last word of what is called."""
    function = node.func if isinstance(node, ast.Call) else node
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def sign_lost(text: Text, node: ast.AST) -> Iterator[Change]:
    """`x` for `-x` and for `not x`."""
    if isinstance(node, ast.UnaryOp):
        yield text.leave(node, node.operand)


def other_constant(text: Text, node: ast.AST) -> Iterator[Change]:
    """One more, one less, twice as much, the other truth, another text, 0 for None."""
    if isinstance(node, ast.Constant) and not isinstance(text.parent[node], (ast.Expr, ast.JoinedStr)):
        compared = isinstance(text.parent[node], ast.Compare)
        yield from (text.put(node, new) for new in _other_values(node.value, compared))


def _other_values(value: object, compared: bool) -> Iterable[str]:
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), str(value - 1)]
    if isinstance(value, float):
        return [str(value + 1), str(value * 2)]
    if isinstance(value, str):
        return [repr(value[1:] or "x")]
    return ["0"] if value is None and not compared else []


def other_truth(text: Text, node: ast.AST) -> Iterator[Change]:
    """A condition turned round, always true, or never: a mode ignored, a filter lost, a case forgotten."""
    tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.IfExp)) else []
    tests += node.ifs if isinstance(node, ast.comprehension) else []
    for test in tests:
        yield from (text.put(test, new) for new in ("True", "False"))
        if not isinstance(test, (ast.Compare, ast.UnaryOp)):  # those are turned round by their own operators
            yield text.put(test, f"not {text.tight(test)}")


def lost_statement(text: Text, node: ast.AST) -> Iterator[Change]:
    """`pass` for a statement; the block alone for a `with`."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.For, ast.Break, ast.Continue)):
        yield text.put(node, "pass")
    if isinstance(node, ast.With):
        last = node.items[-1]
        yield text.span(node)[0], text.span(last.optional_vars or last.context_expr)[1], "if True"


def other_result(text: Text, node: ast.AST) -> Iterator[Change]:
    """Nothing returned; another kind of error raised."""
    if isinstance(node, ast.Return) and node.value is not None:
        yield text.put(node, "return None")
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield text.put(node.exc.func, "RuntimeError")


def other_name(text: Text, node: ast.AST) -> Iterator[Change]:
    """`mean` for `sum`, `min` for `max`, `asarray` for `array`, `float64` for `float32`."""
    parent = text.parent.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    name = _called(node) if isinstance(node, ast.Attribute) or called else ""
    if name in INSTEAD:
        end = text.span(node)[1]
        yield end - len(name), end, INSTEAD[name]


def lost_call(text: Text, node: ast.AST) -> Iterator[Change]:
    """`x` for `np.exp(x)`, `x.copy()`, `x.sum(axis=1)`, `x.T`, `x.data` and `x[0]`."""
    if isinstance(node, ast.Call) and node.args and not isinstance(node.args[0], (ast.Starred, ast.Constant)):
        yield text.leave(node, node.args[0])
    if isinstance(node, ast.Call) and _is_method(node):
        yield text.leave(node, node.func.value)  # type: ignore[attr-defined]
    facts = getattr(text.parent.get(node), "attr", "") in FACTS  # a tensor knows these of its data
    held = isinstance(node, ast.Attribute) and (node.attr == "T" or node.attr == "data" and not facts)
    if (held or isinstance(node, ast.Subscript)) and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
        yield text.leave(node, node.value)  # type: ignore[attr-defined]


def _is_method(call: ast.Call) -> bool:
    """Whether it is `x.sum(...)`, and not `f(...)`, `np.sum(...)` or `math.sqrt(...)`."""
    return isinstance(call.func, ast.Attribute) and _called(call.func.value) not in ("np", "math")


def lost_argument(text: Text, node: ast.AST) -> Iterator[Change]:
    """A call without one of its keywords (axis, keepdims, dtype), or without its last argument."""
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        yield _without(text, node, keyword)
    if node.args[1:] and not node.keywords or _is_method(node) and len(node.args) == 1:
        start = text.span(node.args[-1])[0]
        comma = text.source.rfind(",", text.span(node.args[-2])[1], start) if node.args[1:] else -1
        bracket = text.source.index("(", text.span(node.func)[1]) + 1
        yield comma if comma >= 0 else bracket, text.span(node)[1] - 1, ""


def other_axis(text: Text, node: ast.AST) -> Iterator[Change]:
    """The first axis, or the last, for the one that was asked for."""
    if isinstance(node, ast.keyword) and node.arg in ("axis", "dim") and not isinstance(node.value, ast.Constant):
        yield from (text.put(node.value, axis) for axis in ("0", "-1"))


def _without(text: Text, call: ast.Call, keyword: ast.keyword) -> Change:
    """The keyword goes, with the comma before it, else with the one behind it."""
    start, end = text.span(keyword)
    before = re.search(r",\s*$", text.source[text.span(call.func)[1] : start])
    after = re.match(r"\s*,\s*", text.source[end:])
    if before:
        return text.span(call.func)[1] + before.start(), end, ""
    return start, end + (after.end() if after else 0), ""


def other_assignment(text: Text, node: ast.AST) -> Iterator[Change]:
    """`=` and `-=` for `+=`; in place for new, and new for in place."""
    if isinstance(node, ast.AugAssign):
        sign, target, value = SIGNS[type(node.op)], text.of(node.target), text.tight(node.value)
        for new in ("=", *(f"{other}=" for other in OTHER_SIGNS[sign])):
            yield text.between(node.target, node.value, f"{sign}=", new)
        if not isinstance(node.value, ast.Constant):  # a count is no array
            yield text.put(node, f"{target} = {target} {sign} {value}")
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, left = text.of(node.targets[0]), text.of(node.value.left)
        if target == left:
            yield text.put(node, f"{target} {SIGNS[type(node.value.op)]}= {text.of(node.value.right)}")


def rebound(text: Text, node: ast.AST) -> Iterator[Change]:
    """`x = y` for `x[...] = y` and `x[:] = y`: another array instead of other numbers in the same one."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if isinstance(target, ast.Subscript) and text.of(target.slice) in ("...", ":"):
        yield text.leave(target, target.value)


def leaked_precision(text: Text, node: ast.AST) -> Iterator[Change]:
    """A float64 array returned; not by a backward half, whose results are cast by the walk."""
    function = _function(text, node)
    array = function is not None and function.returns is not None and ast.unparse(function.returns) == "np.ndarray"
    if isinstance(node, ast.Return) and node.value and array and getattr(function, "name", "") != "backward":
        yield text.put(node.value, f"np.asarray({text.of(node.value)}, np.float64)")


def spoilt_input(text: Text, node: ast.AST) -> Iterator[Change]:
    """`a -= b; return a` for `return a - b`, where `a` is an array that was passed."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp) and isinstance(node.value.left, ast.Name):
        name, sign = node.value.left.id, SIGNS[type(node.value.op)]
        if name in _arrays(text, node):
            yield text.put(node, f"{name} {sign}= {text.of(node.value.right)}; return {name}")


def _arrays(text: Text, node: ast.AST) -> set[str]:
    """The parameters of the enclosing function that are said to be arrays."""
    function = _function(text, node)
    args = function.args.args if function else []
    return {arg.arg for arg in args if arg.annotation and "ndarray" in ast.unparse(arg.annotation)}


def _function(text: Text, node: ast.AST | None) -> ast.FunctionDef | None:
    while node is not None and not isinstance(node, ast.FunctionDef):
        node = text.parent.get(node)
    return node if isinstance(node, ast.FunctionDef) else None


def moved_epsilon(text: Text, node: ast.AST) -> Iterator[Change]:
    """`sqrt(v) + eps` for `sqrt(v + eps)`, and the other way round."""
    if isinstance(node, ast.Call) and _called(node) == "sqrt" and node.args and isinstance(node.args[0], ast.BinOp):
        inner = node.args[0]
        if isinstance(inner.op, ast.Add):
            yield text.put(node, f"({text.of(node.func)}({text.of(inner.left)}) + {text.tight(inner.right)})")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_root(node.left):
        added = f"{text.of(node.left.args[0])} + {text.tight(node.right)}"  # type: ignore[attr-defined]
        yield text.put(node, f"{text.of(node.left.func)}({added})")  # type: ignore[attr-defined]


def _is_root(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) == "sqrt" and len(node.args) == 1


def one_beside(text: Text, node: ast.AST) -> Iterator[Change]:
    """Bounds of slices and ranges that are one too large or too small, and slices without a bound."""
    bounds = [bound for bound in (node.lower, node.upper) if bound] if isinstance(node, ast.Slice) else []
    yield from (text.put(bound, "") for bound in bounds)
    if isinstance(node, ast.Call) and _called(node) in ("range", "arange"):
        bounds = node.args
    for bound in bounds:
        if not isinstance(bound, (ast.Constant, ast.UnaryOp)):
            yield from (text.put(bound, f"{text.of(bound)} {step}") for step in ("+ 1", "- 1"))


OPERATORS: tuple[Operator, ...] = (
    *(other_sign, one_side, other_order, sign_lost, other_constant, other_truth, lost_statement, other_result),
    *(other_name, lost_call, lost_argument, other_assignment, spoilt_input, moved_epsilon, one_beside),
    *(other_axis, rebound, leaked_precision),
)
