"""Reads and writes percent files: Python text in which `# %%` starts a cell.

The format is jupytext's, and so are the rules (tests compare the two); jupytext itself takes most of a second to
import, and a student would wait for it at every `tito test`. Begin at `read`, then `write`; their parts stand below.

Three things differ on purpose. A comment such as `# copy the row` stays a comment, where jupytext takes the word `copy`
for a shell command. `# # +` is no escape. Only newlines end a line, so a form feed inside a string survives.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tito.errors import UserError

NAMED_ROLES = ("exercise", "twin", "supplied", "check", "question", "answer")
UNREADABLE = "incorrectly_encoded_metadata"  # jupytext's name for marks that are no key=value pairs

_MARKED = re.compile(r"^\s*#\s*%%(%*)\s(.*)$")
_BARE = re.compile(r"^\s*#\s*(%%|<codecell>|In\[[0-9 ]*\]:?)\s*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_MAGICS = [
    re.compile(pattern)
    for pattern in (
        r"^\s*(# |#)*%{1,3}[a-zA-Z]",
        r"^\s*(?:(?:# |#)+\s*)?(\?|!)\s*[A-Za-z\.\~\$\\\/\{\}]",
        r"^(# |#)*\s*([a-zA-Z_][a-zA-Z_$0-9]*)\s*=\s*(%{1,3}|!)[a-zA-Z](.*)",
        r"^\s*(# )*[^\s]*\?\s*$",
    )
]
_KEEP_AS_IS = re.compile(r"^\s*(# |#)*%{1,3}[a-zA-Z](.*)#\s*noescape")


@dataclass(frozen=True)
class Cell:
    """One cell: its kind ("code", "markdown" or "raw"), marks and source, and where it stands.

    `line` is the line of the file on which the source begins, `number` the cell's position; both count from 1.
    """

    kind: str
    marks: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    line: int = 1
    number: int = 0

    @property
    def role(self) -> str:
        """imports, exercise, twin, supplied, check, question, answer; demo for other code, prose for text."""
        for role in NAMED_ROLES:
            if role in self.marks:
                return role
        if self.kind != "code":
            return "prose"
        return "imports" if self.marks.get("title") == "imports" else "demo"

    @property
    def exported(self) -> bool:
        """Whether the package is made of it: it holds definitions, and not demos, checks or text."""
        return self.role in ("imports", "exercise", "twin", "supplied")

    @property
    def written(self) -> bool:
        """Whether the student writes it: an exercise, or the answer to a question for reflection."""
        return self.role in ("exercise", "answer")

    @property
    def name(self) -> str:
        """What the mark names: `matmul` for `exercise="matmul"`; empty for a cell without a named mark."""
        return str(self.marks.get(self.role) or "")

    @property
    def id(self) -> str:
        """The name by which nbgrader and a student's notebook know the cell: `exercise-matmul`."""
        if self.role == "imports":
            return "imports"
        if self.role in NAMED_ROLES:
            return re.sub(r"[^a-zA-Z0-9_-]+", "-", f"{self.role}-{self.name}")[:64]
        return f"cell-{self.number}"

    @property
    def hidden(self) -> bool:
        """Whether the check is left out of the student's notebook."""
        return self.marks.get("hidden", False) is not False

    @property
    def points(self) -> int:
        """What the exercise, check or answer is worth; 0 where nothing is said."""
        return int(self.marks.get("points") or 0)


def read(text: str) -> list[Cell]:
    """The cells of a percent file."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    cells: list[Cell] = []
    start = _header_end(lines)
    while start < len(lines):
        kind, marks = _read_mark(lines[start], start + 1)
        end = _next_mark(lines, start, kind)
        first = start + 1 if is_mark(lines[start]) else start
        source, marks = _read_source(lines[first : _without_gap(lines, start, end)], kind, marks)
        cells.append(Cell(kind, marks, source, first + 1, len(cells) + 1))
        start = end
    return cells


def write(cells: Iterable[Cell]) -> str:
    """The percent file of these cells, with the blank lines between them that PEP 8 asks for."""
    rest: list[str] = []
    for cell in reversed(list(cells)):
        text = [_write_mark(cell), *_write_source(cell)]
        rest = text + [""] * _gap(text, rest) + rest
    return "\n".join(rest)


def header(text: str) -> str:
    """What stands before the first cell: jupytext's own lines, for example."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "".join(f"{line}\n" for line in lines[: _header_end(lines)])


def is_mark(line: str) -> bool:
    """Whether the line starts a cell."""
    return bool(_MARKED.match(line) or _BARE.match(line))


def _header_end(lines: Sequence[str]) -> int:
    """Where the cells begin: behind `#!`, an encoding line, and a YAML header between two lines `# ---`."""
    start = 0
    if lines and lines[0].startswith("#!"):
        start = 1
    if start < len(lines) and re.match(r"^[ \t\f]*#.*?coding[:=][ \t]*([-_.a-zA-Z0-9]+)", lines[start]):
        start += 1
    rest = start
    while rest < len(lines) and lines[rest].strip() == "#":
        rest += 1
    if rest < len(lines) and re.match(r"^# ?---\s*$", lines[rest]):
        return _yaml_end(lines, rest + 1) or start
    return start


def _yaml_end(lines: Sequence[str], start: int) -> int | None:
    """The line after the header's closing `# ---` and one blank line; None when nothing closes it."""
    for i in range(start, len(lines)):
        if not lines[i].startswith("#"):
            return None
        if re.match(r"^# ?---\s*$", lines[i]):
            blank = i + 1 < len(lines) and not "".join(_uncomment(lines[i + 1 : i + 2])).strip()
            return i + 2 if blank else i + 1
    return None


def _next_mark(lines: Sequence[str], start: int, kind: str) -> int:
    """The line of the next cell's mark, where a `# %%` inside a string or a fenced block is none."""
    quote: str | None = None
    fence: str | None = None
    for i in range(start, len(lines)):
        line, quoted = lines[i], quote is not None
        quote = _open_quote(line, quote)
        if quoted:
            continue
        if kind != "code":
            was = fence
            fence = _open_fence(lines, i, fence)
            if was or fence:
                continue
        if i > start and is_mark(line):
            return i
    return len(lines)


def _open_quote(line: str, triple: str | None) -> str | None:
    """The kind of triple quote that is open after `line`, given the one open before it."""
    if '"' not in line and "'" not in line:
        return triple
    if triple is None and line.lstrip().startswith("#"):
        return None
    single, last = None, -1
    for match in re.finditer("[\"'#]", line):
        i, char = match.start(), match.group()
        if char == "#":
            if single is None and triple is None:
                break
        elif line[i - 1 : i] == "\\":
            continue
        elif single is not None:
            single = None if single == char else single
        elif i >= last + 3 and line[i - 2 : i + 1] == 3 * char:
            if triple in (None, char):
                triple, last = (char if triple is None else None), i
        elif triple is None:
            single = char
    return triple


def _open_fence(lines: Sequence[str], i: int, fence: str | None) -> str | None:
    """The fence of backticks or tildes that is open after line `i`, given the one open before it."""
    if fence:
        return None if _closes(lines[i], fence) else fence
    opening = _FENCE.match(_uncomment([lines[i]])[0])
    if not opening or (opening[1][0] == "`" and "`" in opening[2]):
        return None
    return opening[1] if any(_closes(line, opening[1]) for line in lines[i + 1 :]) else None


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(_uncomment([line])[0])
    return match is not None and match[1].startswith(fence) and not match[2].strip()


def _without_gap(lines: Sequence[str], start: int, end: int) -> int:
    """Where the cell's source ends: without the one or two blank lines that part it from the next cell."""
    blank = [not line.strip() for line in lines[max(start, end - 3) : end]]
    if blank == [False, True, True]:
        return end - 2
    return end - 1 if lines[end - 1] == "" else end


def _read_source(lines: list[str], kind: str, marks: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if kind != "code":
        return "\n".join(_docstring(lines) or _uncomment(lines)), marks
    language = marks.get("language")
    if language in (None, "python"):
        return "\n".join(with_magics(lines, _bare)), marks
    others = {key: value for key, value in marks.items() if key not in ("language", "magic_args")}
    head = f"%%{language} {marks.get('magic_args', '')}".rstrip()
    return "\n".join([head, *_uncomment(lines)]), others


def _docstring(lines: Sequence[str]) -> list[str] | None:
    """The lines of a text cell that is written as one triple-quoted string."""
    match = re.fullmatch(r"""[rR]?("{3}|'{3})\n?(.*?)\n?\1""", "\n".join(lines).strip(), re.DOTALL)
    return match[2].split("\n") if match else None


def _uncomment(lines: Iterable[str]) -> list[str]:
    return [line[2:] if line.startswith("# ") else line.removeprefix("#") for line in lines]


def _comment(lines: Iterable[str]) -> list[str]:
    return [f"# {line}" if line else "#" for line in lines]


def is_magic(line: str) -> bool:
    """Whether IPython, not Python, understands the line (which may be commented out)."""
    return not _KEEP_AS_IS.match(line) and any(magic.match(line) for magic in _MAGICS)


def with_magics(lines: Iterable[str], change: Callable[[str, bool], str]) -> list[str]:
    """The lines, with `change(line, continued)` for IPython's commands outside strings.

    `continued` says that the line goes on with a command that ended in a backslash.
    """
    result, quote, continued = [], None, False
    for line in lines:
        if quote is None and (continued or is_magic(line)):
            result.append(change(line, continued))
            continued = line.rstrip().endswith("\\")
        else:
            result.append(line)
        quote = _open_quote(line, quote)
    return result


def _bare(line: str, continued: bool) -> str:
    """The line with one comment sign less."""
    code = line.lstrip()
    return line[: len(line) - len(code)] + _uncomment([code])[0]


def _commented(line: str, continued: bool) -> str:
    """The line commented out, at its indent (a continued command's own lines at the margin)."""
    code = line if continued else line.lstrip()
    return line[: len(line) - len(code)] + "# " + code


def _read_mark(line: str, number: int) -> tuple[str, dict[str, Any]]:
    """The kind and the marks that a cell's first line gives it."""
    match = _MARKED.match(line)
    if not match:
        return "code", {}
    title, marks = _read_marks(match[2].strip(), number)
    kind = "code"
    for word, meaning in (("[markdown]", "markdown"), ("[raw]", "raw"), ("[md]", "markdown")):
        if word in title:
            title, kind = title.replace(word, "").strip(), meaning
            break
    depth = {"cell_depth": len(match[1])} if match[1] else {}
    return kind, {**marks, **depth, **({"title": title} if title else {})}


def _read_marks(text: str, number: int) -> tuple[str, dict[str, Any]]:
    """A title and the marks behind it, written as key=value pairs or as one JSON object."""
    curly, equal = text.find("{"), text.find("=")
    if curly >= 0 and not 0 <= equal < curly:
        value = _value(text[curly:])
        if not isinstance(value, dict):
            _refuse_ours(text, number)
            value = {UNREADABLE: text[curly:]}
        return text[:curly].strip(), value
    words = text[:equal].split() if equal >= 0 else text.split()
    if equal >= 0 and words:
        words.pop()
    while words and words[-1].startswith("."):
        words.pop()
    title = re.match(r"\s*".join(map(re.escape, words)), text)
    assert title is not None  # the words were cut out of this text
    return title.group(), _read_pairs(text[title.end() :], number)


def _read_pairs(text: str, number: int) -> dict[str, Any]:
    """The marks in `key=value other=value flag`, read from the right as values may hold anything."""
    marks: dict[str, Any] = {}
    rest = text.strip()
    while rest:
        head, _, last = rest.rpartition(" ")
        if re.fullmatch(r"[a-zA-Z_.]+[a-zA-Z0-9_.]*", last) and not rest.startswith("--"):
            rest, pair = head, (last, None)
        else:
            found = _last_pair(rest)
            if found is None:
                _refuse_ours(text.strip(), number)
                return {UNREADABLE: rest, **marks}
            rest, pair = found[0], found[1:]
        marks = {pair[0]: pair[1], **marks}
        rest = rest.strip()
    return marks


def _last_pair(text: str) -> tuple[str, str, Any] | None:
    """What stands before the last key=value of the text, its key, and its value."""
    for match in reversed(list(re.finditer("=", text))):
        head, _, key = text[: match.start()].rstrip().rpartition(" ")
        value = _value(text[match.end() :])
        if re.fullmatch(r"[a-zA-Z0-9_.@/-]+", key) and value is not _value:
            return head, key, value
    return None


def _value(text: str) -> Any:
    """The JSON or Python literal in the text; this function itself when there is none (None is a value)."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    from ast import literal_eval  # seldom needed: JSON is the rule

    try:
        return literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _value


def _refuse_ours(text: str, number: int) -> None:
    """Marks that are no pairs are a title or a note to anyone else, but ours would be lost without a word."""
    if re.search(rf"\b({'|'.join(NAMED_ROLES)})\s*=", text):
        raise UserError(f'line {number}: the marks {text} cannot be read; write them as key="value" pairs')


def _write_mark(cell: Cell) -> str:
    marks = dict(cell.marks)
    depth = "%" * marks.pop("cell_depth", 0)
    words = [depth] if depth else []
    words += [str(marks.pop("title"))] if "title" in marks else []
    words += [f"[{cell.kind}]"] if cell.kind != "code" else []
    words += [_write_pair(key, value) for key, value in marks.items()]
    first = cell.source.split("\n")[0] if cell.kind == "code" else ""
    indent = first[: len(first) - len(first.lstrip())] if first.strip() else ""
    return f"{indent}# %%" + ("" if depth or not words else " ") + " ".join(words)


def _write_pair(key: str, value: Any) -> str:
    if key == UNREADABLE:
        return str(value)
    return key if value is None else f"{key}={json.dumps(value)}"


def _write_source(cell: Cell) -> list[str]:
    if cell.kind != "code":
        return _comment(cell.source.split("\n"))
    return with_magics(cell.source.split("\n"), _commented) if cell.source else []


def _gap(before: Sequence[str], after: Sequence[str]) -> int:
    """How many blank lines stand between two cells: two around a function or class, else one."""
    if not after:
        return 1
    if _ends_with_definition(before):
        return 2 if _has_code(after) else 1
    last = before[-1]
    ends_with_code = last.strip() and not last.startswith("#")
    return 2 if ends_with_code and _begins_with_definition(after) else 1


_DEFINITION = ("def ", "async ", "class ")


def _begins_with_definition(lines: Sequence[str]) -> bool:
    for i, line in enumerate(lines):
        if not line.strip():
            if i and not lines[i - 1].strip():
                return False
        elif line.startswith(_DEFINITION):
            return True
        elif not line.startswith(("#", "@", " ", ")")):
            return False
    return False


def _ends_with_definition(lines: Sequence[str]) -> bool:
    unquoted, quote = [], None
    for line in lines:
        if quote is None:
            unquoted.append(line)
        quote = _open_quote(line, quote)
    for i, line in enumerate(reversed(unquoted)):
        if not line.strip():
            if i and not unquoted[-i].strip():
                return False
        elif not line.startswith(("#", " ", ")")):
            return line.startswith(_DEFINITION)
    return False


def _has_code(lines: Sequence[str]) -> bool:
    for i, line in enumerate(lines):
        if not line.strip():
            if i and not lines[i - 1].strip():
                return False
        elif not line.strip().startswith("#"):
            return True
    return False
