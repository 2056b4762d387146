"""How long the package is: lines of code of a file, and how many the exported lessons may have together."""

from __future__ import annotations

import ast
import io
import tokenize

BUDGET = 1000  # lines of code of the exported lessons; what is supplied does not count, and no elective
_BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def code_lines(source: str) -> set[int]:
    """Lines with code on them: no blank line, comment or docstring; and neither imports nor the list of names."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            lines -= _rows(node.body[0])
    for statement in tree.body:
        listing = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
        if listing or isinstance(statement, (ast.Import, ast.ImportFrom)):
            lines -= _rows(statement)
    return lines


def function_lengths(source: str) -> dict[str, int]:
    """Lines of code of every function's body, by its name and line."""
    code = code_lines(source)
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return {f"{node.name}:{node.lineno}": len(code & _body(node)) for node in functions}


def _rows(node: ast.stmt) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or 0) + 1))


def _body(node: ast.FunctionDef) -> set[int]:
    return set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
