"""The error messages that a lesson's code raises, as its site explains them, and which of them a raised error is.

In a message's text `…` stands for what differs from error to error: `matmul: inner sizes differ: …; transpose one
side?`. Where a lesson is shown without its solutions (the class edition), the messages in them are unknown here, too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tito import pycell

if TYPE_CHECKING:
    from tito.course import Lesson

GAP = "…"
LEAST = 2  # words that a text must have of its own: `…: …` fits everything


class Message(NamedTuple):
    """The type of the error, and its text."""

    error: str
    text: str


def of(lesson: Lesson) -> list[Message]:
    """The messages of the lesson's exported cells and supplied modules, in order."""
    sources = [cell.source for cell in lesson.cells() if cell.exported]
    sources += [path.read_text(encoding="utf-8") for path in lesson.supplied]
    return [message for source in sources for message in _raised_in(source)]


def said(lesson: Lesson, error: str, text: str) -> str:
    """The text, with gaps, of the lesson's message that this error is; "" where it is none of them."""
    found = [each.text for each in of(lesson) if each.error == error and fits(each.text, text)]
    return max(found, key=lambda text: len(text.replace(GAP, "")), default="")


def fits(message: str, text: str) -> bool:
    """Whether the text is the message with something in each gap."""
    parts = message.split(GAP)
    if len(parts) == 1 or len(" ".join(parts).split()) < LEAST:
        return message == text
    first, *middle, last = parts
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last):
        return False
    at = len(first)
    for part in middle:  # the first place of each will do, and no text makes this slow
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return at <= end


def template(node: ast.expr) -> str:
    """The text that an expression makes, with gaps; "" for one that is passed on."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return ""


@lru_cache(maxsize=512)
def _raised_in(source: str) -> tuple[Message, ...]:
    return tuple(_walk(pycell.read(source).tree))


def _walk(tree: ast.Module) -> Iterator[Message]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = template(node.exc.args[0])
            if text:
                yield Message(ast.unparse(node.exc.func).rpartition(".")[2], text)
