"""Small pieces of HTML for tables that Markdown cannot say: named rows, code in several lines, scrolling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape


def table(label: str, head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    """A table that scrolls inside itself where it is too wide; each row has an id ("" for none) and its cells' HTML."""
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "\n".join(_row(id, cells) for id, cells in rows)
    inner = f'<table class="table">\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody></table>'
    return f'<div class="scrolls" role="region" aria-label="{escape(label)}" tabindex="0">{inner}</div>'


def code(text: str) -> str:
    """Code or a value, its lines kept."""
    return f'<code class="lines">{escape(text)}</code>' if text else ""


def ticked(text: str) -> str:
    """Plain words with `code` between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def slug(words: str) -> str:
    """`add broadcasts -> add-broadcasts`"""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _row(id: str, cells: Sequence[str]) -> str:
    named = f' id="{id}"' if id else ""
    return f"<tr{named}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
