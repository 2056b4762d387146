"""The reference of the command line, made from the parser and from what each command's module says of itself.

Begin at `page`. Of what is on it only the meaning of the exit codes is written here.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pages import html
from pages.site import Site
from tito import cli, errors, links

WIDTH = 78
SOURCE = re.compile(r"\btito/\w+(/\w+)*\.py\b")
OPTION = re.compile(r"(?<![`\w-])(--\w+)")
GROUPS = {
    "": ("For learners", "In a workspace. `NN` is a lesson's number or name: `1`, `01`, `tensor` or `01_tensor`."),
    "teach": (
        "For instructors: tito teach",
        "In a course folder. See [a course in an afternoon](../instructors/index.md).",
    ),
    "dev": ("For authors: tito dev", "In a checkout of the course."),
}
NOT_YET = {  # a command -> when it ends with 1
    "tito open": "the lesson needs others that are not exported",
    "tito test": "a check fails, is still to do or did not run",
    "tito export": "a check fails or is still to do; the package is as it was",
    "tito hint": "there is nothing to give a hint for",
    "tito doctor": "something keeps TinyTorch from running here",
    "tito milestone": "it needs lessons that are not exported, or did not reach what it wants",
    "tito teach collect": "nothing was found",
    "tito teach doctor": "no level of isolation holds here",
    "tito teach export": "nothing is graded yet",
    "tito teach feedback": "nothing is graded yet",
    "tito teach grade": "nothing was collected",
    "tito teach report": "nothing is graded yet",
    "tito teach results": "the other grader came to other results",
    "tito teach unlock": "the gradebook lacks results",
    "tito dev check": "something does not fit together",
    "tito dev measure": "something is over its limit",
    "tito dev demo": "a step failed",
}


class Command(NamedTuple):
    """A command, the sentence that the parser has for it, and its parser."""

    name: str
    help: str
    parser: argparse.ArgumentParser

    @property
    def group(self) -> str:
        """`teach` and `dev` for what stands below these, "" for the rest."""
        words = self.name.split()
        return words[1] if len(words) > 2 else ""


def page(site: Site) -> str:
    """The page as Markdown."""
    parts = [_group(group, title, told) for group, (title, told) in GROUPS.items()]
    return "\n\n".join([HEAD, _codes(), *parts, _around()]) + "\n"


def commands() -> list[Command]:
    """All commands that do something, in the parser's order."""
    return list(_below(cli._parser(teaches=True)))


def _below(parser: argparse.ArgumentParser) -> Iterator[Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, below in action.choices.items():
                inner = list(_below(below))
                yield from inner or [Command(below.prog, helps[name], below)]


def _group(group: str, title: str, told: str) -> str:
    parts = [_command(command) for command in commands() if command.group == group]
    return "\n\n".join([f"## {title}", told, *parts])


def _command(command: Command) -> str:
    parts = [f"### {command.name}", f"```text\n{usage(command.parser)}\n```", *_told(command), _arguments(command)]
    if command.name in NOT_YET:
        parts.append(f"Exit {errors.NOT_YET}: {NOT_YET[command.name]}.")
    return "\n\n".join(filter(None, parts))


def usage(parser: argparse.ArgumentParser) -> str:
    """`tito test [--all] [--keep-going] [--json] [NN]`"""
    parser.formatter_class = partial(argparse.HelpFormatter, width=WIDTH)
    return parser.format_usage().removeprefix("usage: ").replace("[-h] ", "").rstrip()


def _told(command: Command) -> Iterator[str]:
    """The module's own words, but for paragraphs that are for who reads the source."""
    doc = _doc(command.parser.get_default("module"))
    first, *rest = re.split(r"\n\n(?! {4})", doc.strip())
    if not first.startswith("`tito"):
        yield f"{_sentence(command.help)}."
    for paragraph in (re.sub(r"^`tito[^`]*`: ", "", first), *rest):
        if not SOURCE.search(paragraph):
            yield _with_blocks(OPTION.sub(r"`\1`", _sentence(paragraph)))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _with_blocks(paragraph: str) -> str:
    """Indented lines as a block of code."""
    text, *blocks = paragraph.split("\n\n")
    return "\n\n".join([text, *(f"```text\n{_dedented(block)}\n```" for block in blocks)])


def _dedented(block: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in block.split("\n"))


def _arguments(command: Command) -> str:
    shown = [action for action in command.parser._actions if not isinstance(action, argparse._HelpAction)]
    rows = [("", [f"<code>{_name(action)}</code>", html.ticked(_meaning(action))]) for action in shown]
    return html.table(f"Arguments of {command.name}", ("argument", "meaning"), rows) if rows else ""


def _name(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else _value(action)
    return " ".join([*action.option_strings[:1], value]).strip()


def _value(action: argparse.Action) -> str:
    choices = " | ".join(map(str, action.choices or ()))
    return str(action.metavar or choices or action.dest)


def _meaning(action: argparse.Action) -> str:
    """The help, and whether it may be left out."""
    needed = action.required and action.nargs != "*"
    if action.option_strings:
        return f"{action.help or ''}{'; needed' if needed else ''}".removeprefix("; ")
    return action.help or ("needed" if needed else "may be left out")


def _codes() -> str:
    rows = [
        (0, "done"),
        (errors.NOT_YET, "not yet: a check fails, something is missing; the text says what to do next"),
        (errors.WRONG_USE, "wrong use: an argument, a folder or a file is not what is needed; nothing was changed"),
        (cli.INTERRUPTED, "stopped by Ctrl-C"),
    ]
    cells = [("", [str(code), meaning]) for code, meaning in rows]
    return "## Exit codes\n\n" + html.table("Exit codes", ("code", "meaning"), cells)


def _doc(module: str) -> str:
    """What a module says of itself: read and not imported, for some need what is not installed to make a site."""
    spec = find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    return ast.get_docstring(ast.parse(source), clean=False) or ""


def _around() -> str:
    """What is no command of its own."""
    parts = [f"### {name}\n\n{_sentence(_doc(module).strip())}" for name, module in PROGRAMS.items()]
    cells = [("", [f"<code>{name}</code>", html.ticked(meaning)]) for name, meaning in VARIABLES.items()]
    variables = html.table("Variables", ("variable", "meaning"), cells)
    return "\n\n".join(["## Beside the commands", *parts, "### Variables", variables])


PROGRAMS = {"python -m tito.run": "tito.run", "pytest": "tito.pytest_plugin"}
VARIABLES = {
    "TITO_SECONDS": "how long one check may take before `tito test` stops it",
    "NO_COLOR": "anything: no colour on a terminal",
    links.VARIABLE: "another address of this site, for the links that `tito test` prints; empty for none",
}
HEAD = """\
---
myst:
  html_meta:
    description: Every command of tito with its arguments, exit codes and JSON output, made from the parser itself.
---

# The command line

`tito` alone says where you are and the one next thing to type; `tito --version` says which one it is. Every error is a
sentence that ends with a command to paste. Results go to standard output, talk to standard error; colour only on a
terminal, and none where `NO_COLOR` is set."""
