"""The Python in a notebook's cell: without IPython's commands, parsed, and sorted into definitions and the rest."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from functools import lru_cache

from tito import percent

WITH_PYTHON_BODY = ("capture", "prun", "time", "timeit")  # the %%commands whose cell is Python below the first line


@dataclass(frozen=True)
class CellError:
    """Why a cell is no Python: the line (of the cell, from 1), its text, and Python's message."""

    line: int
    text: str
    message: str


@dataclass(frozen=True)
class PythonCell:
    """A cell's source with IPython's commands commented out, so that line numbers stay, and its syntax tree."""

    source: str
    tree: ast.Module
    error: CellError | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the cell holds nothing but comments."""
        return not self.tree.body and self.error is None

    @property
    def only_defines(self) -> bool:
        """Whether it holds imports, definitions and literal assignments, and nothing that does something else."""
        return bool(self.tree.body) and all(map(_defines, self.tree.body)) and not all(map(_is_idle, self.tree.body))


@lru_cache(maxsize=512)  # a cell is looked at several times on its way into a plan
def read(source: str) -> PythonCell:
    """The Python in the source. Valid Python is left as it is: what looks like a command there is none."""
    cell = _parse(source)
    if cell.error is None:
        return cell
    other = _other_language(source)
    if other:
        return PythonCell(source, cell.tree, CellError(1, other, f"{other.split()[0]} makes the cell no Python"))
    return _parse("\n".join(percent.with_magics(source.split("\n"), _without_command)))


def same(one: str, other: str) -> bool:
    """Whether two sources are the same program, whatever their layout and comments."""
    if one.strip() == other.strip():
        return True
    cells = read(one), read(other)
    return not any(cell.error for cell in cells) and ast.dump(cells[0].tree) == ast.dump(cells[1].tree)


def lacks(one: str, other: str) -> bool:
    """Whether a statement of the other source is missing in the one."""
    has, needs = ({ast.dump(node) for node in read(source).tree.body} for source in (one, other))
    return not needs <= has


def _parse(source: str) -> PythonCell:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a doubtful escape in a learner's string is for their kernel to mention
        try:
            return PythonCell(source, ast.parse(source))
        except SyntaxError as error:
            told = _located(source, error.lineno or 1, error.msg)
        except (ValueError, RecursionError, MemoryError) as error:  # null bytes, lone surrogates, endless nesting
            told = _located(source, 1, str(error) or "the code is nested too deeply")
    return PythonCell(source, ast.Module([], []), told)


def _located(source: str, line: int, message: str) -> CellError:
    lines = source.split("\n")
    return CellError(line, lines[line - 1].strip() if line <= len(lines) else "", message)


def _other_language(source: str) -> str | None:
    """The line `%%bash` or the like that gives the whole cell to another program."""
    for line in source.split("\n"):
        if line.startswith("%%") and line[2:].split(" ")[0] not in WITH_PYTHON_BODY:
            return line
        if line.strip() and not line.startswith("%%"):
            break
    return None


def _without_command(line: str, continued: bool) -> str:
    """The command as a comment; in a block `pass` stands for it, as the block may hold nothing else."""
    code = line.lstrip()
    if continued or code == line:
        return f"# {line}"
    return line if code.startswith("#") else f"{line[: len(line) - len(code)]}pass  # {code}"


def _defines(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return all(map(_is_name, targets)) and _is_literal(statement.value)
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return isinstance(statement, definitions) or _is_idle(statement)


def _is_idle(statement: ast.stmt) -> bool:
    """A `pass` or a text on its own."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and type(statement.value.value) is str
    )


def _is_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(map(_is_name, target.elts))
    return isinstance(target, (ast.Name, ast.Attribute))


def _is_literal(value: ast.expr | None) -> bool:
    try:
        return value is None or (ast.literal_eval(value), True)[1]
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
