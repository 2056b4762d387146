"""Pictures of a page: each is brought into the tree twice, drawn for a light and for a dark page. Begin at `brought`.

Our SVGs follow the reader's system by a media query. On a page they must follow the page, which has a switch.
"""

from __future__ import annotations

import re
from pathlib import Path

from pages.site import Site

PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)")
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{(.*?\}) \}")


def brought(site: Site, text: str, source: Path, depth: int) -> str:
    """The Markdown with its pictures of files in the repository written into `images/` and named there.

    `source` is the file that the text came from, `depth` how many folders below the root its page lies. Raises
    RuntimeError for a picture that is not there.
    """

    def replaced(found: re.Match[str]) -> str:
        alt, place = found.groups()
        name = f"images/{write(site, (source.parent / place).resolve(), source)}"
        return both(alt, "../" * depth + name)

    return PICTURE.sub(replaced, text)


def both(alt: str, stem: str) -> str:
    """Markdown that shows `stem.light.svg` on a light page and `stem.dark.svg` on a dark one."""
    return " ".join(f"![{alt}]({stem}.{mode}.svg){{.only-{mode}}}" for mode in ("light", "dark"))


def write(site: Site, picture: Path, source: Path, folder: str = "images") -> str:
    """Write both forms of an SVG below the tree's folder; the stem of their names."""
    if not picture.is_file():
        raise RuntimeError(f"{source.name} shows {picture}, and there is no such file; draw it or name another")
    stem, drawn = f"{picture.parent.name}-{picture.stem}", picture.read_text(encoding="utf-8")
    site.tree.write(f"{folder}/{stem}.light.svg", light(drawn))
    site.tree.write(f"{folder}/{stem}.dark.svg", dark(drawn))
    return stem


def light(drawn: str) -> str:
    """The drawing for a light page, whatever the system says."""
    return DARK.sub("", drawn)


def dark(drawn: str) -> str:
    """The drawing for a dark page, whatever the system says."""
    return DARK.sub(r"\1", drawn)
