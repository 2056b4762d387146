"""HTML pages that need nothing but themselves: one skeleton, one way to escape, and a policy that forbids the rest.

Begin at `render`. Whatever a template shows goes through `visible` and is then escaped, so no template can forget it.
The policy (a Content-Security-Policy of the page itself) allows its own style sheet, by hash, and nothing else: no
script, no image, no font, no form, no request. So templates hold no `style` attribute and no `<script>`.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from tito import __version__

MOST = 2048  # bytes of one text that a student's code made


def render(template: str, **values: Any) -> str:
    """The page that `templates/TEMPLATE.html` makes of the values."""
    return _environment().get_template(f"{template}.html").render(values)


def write(path: Path, page: str) -> Path:
    """Put the page there, whole or not at all; a link that lies there is replaced and not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(page, encoding="utf-8")
    fresh.replace(path)
    return path


def visible(value: Any) -> Any:
    """Text in which what has no shape of its own (controls, changes of direction, lone surrogates) is spelled out.

    A page shows `\\x1b` and `\\u202e` where these characters stood, so that a name or an output looks like what it is.
    """
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "".join(map(_shown, value.replace("\r\n", "\n")))


def _shown(character: str) -> str:
    kept = character.isprintable() or character in "\n\t\xa0"
    return character if kept else character.encode("unicode_escape").decode("ascii")


def cut(text: str, most: int = MOST) -> str:
    """The text as it is shown, or its first `most` bytes and a line that says so."""
    data = str(visible(text[: most + 1])).encode("utf-8")
    if len(data) <= most:
        return data.decode("utf-8")
    return data[:most].decode("utf-8", errors="ignore") + "\n... (the rest is left out)"


def number(value: float) -> str:
    """`2`, `1.5`: points without needless digits."""
    return f"{round(value, 2):g}"


def percent(share: float) -> str:
    """`41 %`, kept together; only what is all is called 100 %, only what is none 0 %."""
    near = min(max(round(100 * share), 1), 99) if 0 < share < 1 else round(100 * share)
    return f"{near}\xa0%"


def count(many: int, word: str) -> str:
    """`1 check`, `2 checks`."""
    return f"{many:,} {word}{'s' * (many != 1)}"


def ticks(text: str) -> Markup:
    """The text, escaped, with what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def address(*parts: str) -> str:
    """A relative link to a folder, whatever the names in it hold."""
    return "/".join(part if part == ".." else quote(part, safe="") for part in parts) + "/"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tito.teach.pages"),
        autoescape=True,
        finalize=visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(cut=cut, number=number, percent=percent, count=count, ticks=ticks)
    style = resources.files("tito.teach.pages").joinpath("templates", "style.css").read_text(encoding="utf-8")
    environment.globals.update(css=Markup(style), csp=_policy(style), version=__version__)
    return environment


def _policy(style: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return Markup(f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
