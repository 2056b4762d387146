"""Pages written by hand: copied, with `{{ module.function words }}` replaced by what a module of `pages` makes.

So a number, a table or a command's output in a text page comes from where it is true, and is typed nowhere.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from pages import pictures
from pages.site import TEXT, Site

CALL = re.compile(r"\{\{ (\w+)\.(\w+)((?: [^ }]+)*) \}\}")
NOT_PAGES = ("lessons", "milestones")  # parts of generated pages


def write(site: Site) -> None:
    """Every text page but those that other modules take in."""
    for path in sorted(TEXT.rglob("*.md")):
        name = path.relative_to(TEXT)
        if name.parts[0] not in NOT_PAGES and not (site.class_edition and path.stem in SELF_STUDY_ONLY):
            text = pictures.brought(site, filled(site, path), path, len(name.parts) - 1)
            site.tree.write(name.as_posix(), text)


SELF_STUDY_ONLY = ("framework",)  # shows the reference


def filled(site: Site, path: Path) -> str:
    """The text of a page with its calls answered."""
    return CALL.sub(lambda call: _answer(site, call, path), path.read_text(encoding="utf-8"))


def sections(text: str) -> dict[str, str]:
    """By second-level heading, the text below it; what stands before the first is under ""."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {"": parts[0].strip(), **{title: body.strip() for title, body in zip(parts[1::2], parts[2::2])}}


def _answer(site: Site, call: re.Match[str], path: Path) -> str:
    module, name, words = call.groups()
    try:
        made = getattr(import_module(f"pages.{module}"), name)
    except (ImportError, AttributeError) as error:
        raise RuntimeError(f"{path.name}: {call.group()} names nothing that makes text ({error})") from None
    return str(made(site, *words.split()))
