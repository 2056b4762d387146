"""Whether the commands that a page shows exist, with their flags. Begin at `troubles`.

A command is a line in a code block (`$ ...` where there is a prompt, else a line that begins with a program) or inline
code that begins with one. Those of `tito` are held against its parser, those of `make` against the Makefile, Python's
against modules and files, `nbgrader`'s against its own applications. In inline code a command may stop early and have
placeholders in capitals, as `tito teach COMMAND`; in a block it must be whole.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape
from importlib.util import find_spec
from typing import Any

from pages.site import ROOT
from pages.text import CALL
from tito.cli import _parser
from tito.course import _read_toml

FENCE = re.compile(r"^(?P<mark>```+|~~~+)(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=mark)[ ]*$", re.M | re.S)
INLINE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
PRE = re.compile(r'(?:<div class="highlight-(\w+)[^>]*><div class="highlight">)?<pre[^>]*>(.*?)</pre>', re.S)
CODE = re.compile(r"<code[^>]*>(.*?)</code>", re.S)
TAG = re.compile(r"<[^>]+>")
GOES_ON = re.compile(r"\\\n|\n {10,}(?=\S)")  # a shell's mark, and the layout of argparse
OPTIONAL = re.compile(r"(?<=\s)\[([^\[\]]*)\](?=\s|$)")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")
PLACEHOLDER = re.compile(r"[A-Z][A-Z_.:/-]*\d*|\.\.\.|<.*>|…")
SHELL = ("", "sh", "bash", "shell", "console", "default", "text")
OPERATORS = {"&&", "||", "|", ";", "&", ">", "<", ">>", "(", ")"}
# Programs that are not ours: that they are called so is all that is known of them.
OTHERS = {
    ".",
    "[",
    "apt-get",
    "cd",
    "docker",
    "echo",
    "export",
    "git",
    "jupyter",
    "mkdir",
    "mpirun",
    "mypy",
    "node",
    "npm",
}
OTHERS |= {"podman", "ruff", "scp", "source", "sudo", "ulimit", "wsl"}
PIP = {"install", "-c", "-e", "-r", "--constraint", "--editable", "--force-reinstall", "--requirement", "--upgrade"}
PYTEST = {"-q", "-n", "-v", "-vv", "-x", "-k", "--dist"}


@dataclass(frozen=True)
class Shown:
    """A command on a page; `whole` when it stands in a block, where it must be one that runs as it stands."""

    text: str
    whole: bool


def troubles(shown: Iterable[Shown]) -> list[str]:
    """What is wrong with these commands, a sentence each; empty when all exist."""
    found = [(one, trouble(one)) for one in shown]
    return [f"{one.text!r}: {wrong}" for one, wrong in found if wrong]


def in_markdown(text: str) -> Iterator[Shown]:
    """The commands of a Markdown text; what stands for a call of pages/text.py is a placeholder in them."""
    text = CALL.sub("CALL", text)
    for block in FENCE.finditer(text):
        yield from _in_block(block["language"].strip(), block["body"])
    for inline in INLINE.finditer(FENCE.sub("", text)):
        yield from _inline(inline[2])


def in_html(page: str) -> Iterator[Shown]:
    """The commands of a built page."""
    for block in PRE.finditer(page):
        yield from _in_block(block[1] or "", _plain(block[2]))
    for inline in CODE.finditer(PRE.sub("", page)):
        yield from _inline(_plain(inline[1]))


def _plain(html: str) -> str:
    return unescape(TAG.sub("", html))


def _in_block(language: str, body: str) -> Iterator[Shown]:
    if language not in SHELL:
        return
    lines = GOES_ON.sub(" ", body).splitlines()
    prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    for line in prompted or ([] if language == "console" else lines):
        text = re.split(r"\s{2,}|\s#", line.strip())[0]  # what stands apart behind a command explains it
        if text and (prompted or language in ("sh", "bash", "shell") or _program(text) in PROGRAMS):
            yield Shown(text, whole=True)


def _inline(text: str) -> Iterator[Shown]:
    text = " ".join(text.split())
    command = _program(text) in PROGRAMS and (" " in text or text in ("tito", "make"))
    if command or re.fullmatch(r"--[a-z][\w-]*", text):
        yield Shown(text, whole=False)


def _program(text: str) -> str:
    words = [word for word in text.split() if not ASSIGNMENT.fullmatch(word)]
    return words[0].removeprefix(".venv/bin/").removeprefix("build/lock/bin/") if words else ""


def trouble(shown: Shown) -> str:
    """What is wrong with a command, or with a flag that stands alone; "" when nothing is."""
    if shown.text.startswith("--"):
        return "" if shown.text in _flags(_parser(teaches=True)) else "no command of tito has this flag"
    text = OPTIONAL.sub(lambda part: part[1].replace(" | ", " "), shown.text)  # as argparse and manuals write it
    reader = shlex.shlex(text, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError as error:
        return f"no shell can read it: {error}"
    return next(filter(None, (_of(part, shown.whole) for part in _parts(words))), "")


def _parts(words: Sequence[str]) -> Iterator[list[str]]:
    """The single commands of a line, without variables set before them and without files that take the output."""
    part: list[str] = []
    for word in [*words, ";"]:
        if word not in OPERATORS:
            part.append(word)
            continue
        while part and ASSIGNMENT.fullmatch(part[0]):
            part = part[1:]
        if part:
            yield part
        part = []


def _of(words: list[str], whole: bool) -> str:
    program = _program(words[0])
    if program in OTHERS:
        return ""
    if program not in PROGRAMS:
        return f"{program} is no program that is known here; if it should be, add it to site/pages/command_check.py"
    return PROGRAMS[program](words[1:], whole)


def _tito(words: list[str], whole: bool) -> str:
    """Follow the subcommands, then hold what is left against the last one's arguments."""
    parser: argparse.ArgumentParser = _parser(teaches=True)
    while commands := _commands(parser):
        if not words or words[0].startswith("-"):
            break
        if not whole and PLACEHOLDER.fullmatch(words[0]):
            return ""
        if words[0] not in commands:
            return f"{parser.prog} has no command {words[0]}"
        parser, words = commands[words[0]], words[1:]
    if whole and not words and _needs_command(parser):
        return f"{parser.prog} wants a command"
    return _arguments(parser, words, whole)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0]) if found else {}


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    """Those of a command and of all below it."""
    below = (_flags(each) for each in _commands(parser).values())
    return {*parser._option_string_actions, *(flag for flags in below for flag in flags)}


def _needs_command(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) and action.required for action in parser._actions)


def _arguments(parser: argparse.ArgumentParser, words: list[str], whole: bool) -> str:
    """Flags must be known, their values be among the choices, and there must be neither too many words nor too few."""
    places, left, given = 0, list(words), set()
    while left:
        word = left.pop(0)
        flag, _, value = word.partition("=")
        if not flag.startswith("-"):
            places += 1
            continue
        action = parser._option_string_actions.get(flag)
        if action is None:
            return f"{parser.prog} has no {flag}"
        given.add(action.dest)
        if action.nargs != 0 and not value:
            value = left.pop(0) if left else ""
        if whole and action.nargs != 0 and not value:
            return f"{parser.prog} {flag} wants a value"
        if wrong := _choice(action, value):
            return f"{parser.prog} {flag} takes no {wrong}"
    return _places(parser, places) or (_lacking(parser, places, given) if whole else "")


def _choice(action: argparse.Action, value: str) -> str:
    """A value that is none of the action's choices."""
    known = {str(choice) for choice in action.choices or ()}
    given = [] if PLACEHOLDER.fullmatch(value) or not value else value.strip("{}").split(",")
    return next((one for one in given if known and one not in known), "")


def _positional(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    ours = [action for action in parser._actions if not action.option_strings]
    return [action for action in ours if not isinstance(action, argparse._SubParsersAction)]


def _places(parser: argparse.ArgumentParser, count: int) -> str:
    actions = _positional(parser)
    endless = any(action.nargs in ("*", "+") for action in actions)
    return f"{parser.prog} takes {len(actions)} words at most" if count > len(actions) and not endless else ""


def _lacking(parser: argparse.ArgumentParser, count: int, given: set[str]) -> str:
    least = sum(action.nargs not in ("?", "*") for action in _positional(parser))
    wanted = [action for action in parser._actions if action.required and action.option_strings]
    missing = [action.option_strings[0] for action in wanted if action.dest not in given]
    if count < least:
        return f"{parser.prog} wants {least} words, and has {count}"
    return f"{parser.prog} wants {missing[0]}" if missing else ""


def _make(words: list[str], whole: bool) -> str:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.findall(r"^\.PHONY:(.*)$", makefile, re.M)
    targets = {name for line in phony for name in line.split()}
    for word in words:
        name, is_set, _ = word.partition("=")
        if is_set and not re.search(rf"\b{name}\s*\?=|\$\({name}\)|\$\(if \$\({name}\)", makefile):
            return f"the Makefile has no {name}"
        if not is_set and not PLACEHOLDER.fullmatch(word) and word not in targets:
            return f"the Makefile has no target {word}"
    return ""


def _python(words: list[str], whole: bool) -> str:
    while words and words[0] in ("-P", "-I"):
        words = words[1:]
    if not words or words[0] == "-c":
        return ""
    if words[0] != "-m":
        return _script(words[0], words[1:])
    module = words[1] if len(words) > 1 else ""
    if module in PROGRAMS and module != "python":
        return PROGRAMS[module](words[2:], whole)
    return "" if PLACEHOLDER.fullmatch(module) or find_spec(module) else f"there is no module {module}"


def _script(name: str, words: list[str]) -> str:
    """A file of the repository that knows these flags, or one of the reader's own without a folder before its name."""
    path = ROOT / name
    if not path.is_file():
        return f"there is no file {name}" if "/" in name else ""
    text = path.read_text(encoding="utf-8")
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    return next((f"{name} knows no {flag}" for flag in flags if flag not in text), "")


def _pip(words: list[str], whole: bool) -> str:
    project = _read_toml(ROOT / "pyproject.toml")["project"]
    for word in words:
        if word.startswith("-") and word not in PIP:
            return f"pip {word} is not known here"
        extras = re.fullmatch(rf"(?:\.|{project['name']})\[([\w,-]+)\]", word)
        for extra in extras[1].split(",") if extras else ():
            if extra not in project["optional-dependencies"]:
                return f"{project['name']} has no extra {extra}"
        if "/" in word and not word.startswith((".", "$")) and not (ROOT / word).exists():
            return f"there is no {word}"
    return ""


def _pytest(words: list[str], whole: bool) -> str:
    for word in words:
        if word.startswith("-") and word not in PYTEST:
            return f"pytest {word} is not known here"
        if "/" in word and not (ROOT / word.partition("::")[0]).exists():
            return f"there is no {word}"
    return ""


def _nbgrader(words: list[str], whole: bool) -> str:
    if not words or PLACEHOLDER.fullmatch(words[0]):
        return ""
    commands = _nbgrader_commands()
    if words[0] not in commands:
        return f"nbgrader has no command {words[0]}"
    known = {f"--{name}" for name in (*commands[words[0]].flags, *commands[words[0]].aliases)}
    flags = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    return next((f"nbgrader {words[0]} has no {flag}" for flag in flags if flag not in known and "." not in flag), "")


@cache
def _nbgrader_commands() -> dict[str, Any]:
    from nbgrader.apps import NbGraderApp  # type: ignore[import-untyped]

    return {name: app for name, (app, _) in NbGraderApp().subcommands.items()}


PROGRAMS: dict[str, Callable[[list[str], bool], str]] = {
    "tito": _tito,
    "make": _make,
    "python": _python,
    "python3": _python,
    "pip": _pip,
    "pytest": _pytest,
    "nbgrader": _nbgrader,
}
